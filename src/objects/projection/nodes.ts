/**
 * The directories of a view. Nothing of it is stored: each directory says what is in it when it is asked. Pure, over a catalogue.
 */
import { isObjectName } from '../../authority/name.js';
import { controlFiles } from '../control-file.js';
import type { Catalogue, ControlText, ObjectPlace } from './catalogue.js';
import type { ShownSpace } from './shown-spaces.js';
import { isAgentSeen, isSpaceSeen, mayWriteAgent, seenTool, seenTools, type Viewer } from './visible.js';

export type ViewNode = ViewDirectory | ViewFile | ViewLink;

export interface ViewDirectory {
  readonly kind: 'directory';
  /** It is in every view like this one, whatever is granted. */
  readonly isFixed?: boolean;
  names(): readonly string[];
  child(name: string): ViewNode | undefined;
  /** All names with what they are, where that costs less than to ask for each. */
  entries?(): readonly (readonly [string, ViewNode])[];
}

export interface ViewFile {
  readonly kind: 'file';
  readonly executable: boolean;
  readonly text: ControlText;
  /** Where its viewer may: replaces all of it, or says what is wrong with that. */
  readonly write?: ((text: string) => Promise<void>) | undefined;
}

export interface ViewLink {
  readonly kind: 'symlink';
  readonly isFixed?: boolean;
  readonly target: string;
}

export interface Shown {
  readonly catalogue: Catalogue;
  /** Undefined for the operator, who sees every object of each tier. Asked anew each time: its files change. */
  viewer(): Viewer | undefined;
  /** Whose tier is shown below `home`. */
  readonly uid: number;
  /** What every object's executable file holds. */
  readonly client: ControlText;
  /** Writes a control file of an agent that descends from the viewer; without it nothing is written. */
  readonly writes?: WriteControl | undefined;
  /** Where its mount file shows shared spaces, or parts of them: their files are links to that. */
  readonly spaces?: (() => readonly ShownSpace[]) | undefined;
  /** Where the agent's own home is, as a link of the view. */
  readonly home?: { readonly agent: string; readonly target: string; readonly socket?: string } | undefined;
}

export type WriteControl = (agent: string, file: string, text: string) => Promise<void>;

export function directory(entries: Readonly<Record<string, () => ViewDirectory>>): ViewDirectory {
  return {
    kind: 'directory',
    isFixed: true,
    names: () => Object.keys(entries),
    child: (name) => (Object.hasOwn(entries, name) ? entries[name]?.() : undefined),
  };
}

/** What every executable of a view is. */
export function fileOf({ client }: Shown): ViewFile {
  return { kind: 'file', executable: true, text: client };
}

export function controlDirectory({ catalogue }: Shown, place: ObjectPlace, name: string): ViewDirectory {
  return {
    kind: 'directory',
    names: () => catalogue.controls(place, name),
    child: (file) => {
      const text = catalogue.controls(place, name).includes(file) ? catalogue.control(place, name, file) : undefined;
      return text === undefined ? undefined : { kind: 'file', executable: false, text };
    },
  };
}

/** `NAME.d` is the directory of NAME, which no object's name ends in. */
export function objectOf(entry: string): { readonly name: string; readonly isControl: boolean } | undefined {
  const isControl = entry.endsWith('.d');
  const name = isControl ? entry.slice(0, -2) : entry;
  return isObjectName(name) ? { name, isControl } : undefined;
}

/** The operator sees what cannot be run, too: the control files of a tool without an executable file. */
export function toolDirectory(shown: Shown, place: ObjectPlace, isFixed = true): ViewDirectory {
  const { catalogue } = shown;
  const isThere = (name: string, isControl: boolean) => {
    const viewer = shown.viewer();
    if (viewer !== undefined) return seenTool(catalogue, viewer, place, name) !== undefined;
    return isControl ? catalogue.isDescribed(place, name) : catalogue.tool(place, name) !== undefined;
  };
  const file = fileOf(shown);
  const entries = () => {
    const viewer = shown.viewer();
    const runs = viewer === undefined ? catalogue.tools(place) : seenTools(catalogue, viewer, place);
    const described = viewer === undefined ? catalogue.described(place) : runs;
    return [
      ...runs.map((name) => [name, file] as const),
      ...described.map((name) => [`${name}.d`, controlDirectory(shown, place, name)] as const),
    ];
  };
  return {
    kind: 'directory',
    isFixed,
    names: () => entries().map(([name]) => name),
    entries,
    child: (entry) => {
      const object = objectOf(entry);
      if (object === undefined || !isThere(object.name, object.isControl)) return undefined;
      return object.isControl ? controlDirectory(shown, place, object.name) : file;
    },
  };
}

/** With what the viewer may write of an agent: the process that writes it asks again. */
function writableControls(shown: Shown, place: ObjectPlace, name: string): ViewDirectory {
  const { writes, home, catalogue } = shown;
  const viewer = shown.viewer();
  const controls = controlDirectory(shown, place, name);
  if (writes === undefined || viewer === undefined || home === undefined) return controls;
  if (!mayWriteAgent(catalogue, viewer, home.agent, name)) return controls;
  return {
    ...controls,
    child: (file) => {
      const node = controls.child(file);
      if (node?.kind !== 'file' || controlFiles('agent')[file]?.writer !== 'operator') return node;
      return { ...node, write: (text) => writes(name, file, text) };
    },
  };
}

export function agentDirectory(shown: Shown, place: ObjectPlace): ViewDirectory {
  const { catalogue, home } = shown;
  const ofHome = place.startsWith('home/') ? home : undefined;
  // Beside its own control files, wherever those are.
  const isOwn = home !== undefined && (place === 'agent') === (catalogue.agent('agent', home.agent) !== undefined);
  const socket = isOwn && home.socket !== undefined ? { name: `${home.agent}.sock`, target: home.socket } : undefined;
  const isThere = (name: string) => {
    const viewer = shown.viewer();
    if (viewer === undefined) return catalogue.agent(place, name) !== undefined;
    return isAgentSeen(catalogue, viewer, place, name);
  };
  // In a user's tier that name is its home.
  const isRun = place === 'agent';
  return {
    kind: 'directory',
    isFixed: true,
    names: () => [
      ...(ofHome === undefined ? [] : [ofHome.agent]),
      ...(socket === undefined ? [] : [socket.name]),
      ...catalogue
        .described(place)
        .filter(isThere)
        .flatMap((name) => [...(isRun ? [name] : []), `${name}.d`]),
    ],
    child: (entry) => {
      if (ofHome !== undefined && entry === ofHome.agent)
        return { kind: 'symlink', target: ofHome.target, isFixed: true };
      if (socket !== undefined && entry === socket.name)
        return { kind: 'symlink', target: socket.target, isFixed: true };
      const object = objectOf(entry);
      if (object === undefined || !isThere(object.name)) return undefined;
      if (!object.isControl) return isRun ? fileOf(shown) : undefined;
      return writableControls(shown, place, object.name);
    },
  };
}

/** Its files, but for its tools, which are decided about one by one. They are where they are mounted: there the kernel decides. */
function linksOf(shown: Shown, space: string): ReadonlyMap<string, string> {
  const { directory: host, names } = shown.catalogue.spaceFiles(space);
  const files = names.filter((name) => name !== 'tool');
  if (shown.viewer() === undefined) return new Map(files.map((name) => [name, `${host}/${name}`]));
  const mounted = (shown.spaces?.() ?? []).filter((each) => each.name === space);
  return new Map(
    mounted.flatMap(({ part, target }): (readonly [string, string])[] => {
      if (part === '') return files.map((name) => [name, `${target === '/' ? '' : target}/${name}`]);
      return files.includes(part) ? [[part, target]] : [];
    }),
  );
}

function spaceDirectory(shown: Shown, space: string): ViewDirectory {
  return {
    kind: 'directory',
    names: () => ['tool', ...linksOf(shown, space).keys()],
    child: (name) => {
      if (name === 'tool') return toolDirectory(shown, `shared/${space}/tool`, false);
      const target = linksOf(shown, space).get(name);
      return target === undefined ? undefined : { kind: 'symlink', target };
    },
  };
}

export function sharedDirectory(shown: Shown): ViewDirectory {
  const { catalogue } = shown;
  const isThere = (name: string) => {
    const viewer = shown.viewer();
    return viewer === undefined ? catalogue.space(name) !== undefined : isSpaceSeen(catalogue, viewer, name);
  };
  return {
    kind: 'directory',
    isFixed: true,
    names: () => catalogue.spaces().filter(isThere),
    child: (name) => {
      if (!isObjectName(name) || !isThere(name)) return undefined;
      return spaceDirectory(shown, name);
    },
  };
}
