/**
 * What one agent sees of the objects there are: what its Authority allows, decided by `authority/decide` as every call is. A name of a
 * tool means the first executable file of that name along the agent's path and no other, so what is visible is what would be run.
 * Pure.
 */
import type { Authority } from '../../authority/authority.js';
import { decide, type ObjectFacts } from '../../authority/decide.js';
import { isObjectName } from '../../authority/name.js';
import type { Grant } from '../../authority/permission.js';
import type { Verdict } from '../../authority/refusal.js';
import { lineageDepth } from '../../base/limits/objects.js';
import { type Catalogue, type FoundObject, type ObjectPlace, type ToolPlace, toolPlaceOf } from './catalogue.js';

export interface Viewer {
  /** As its files say now, and those of the agents it descends from. */
  readonly authority: Authority;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The models that its `model` file names, and those of all its parents. */
  readonly models?: readonly string[] | undefined;
}

export interface ToolHit extends FoundObject {
  readonly place: ObjectPlace;
}

function verdictFor({ authority, now }: Viewer, grant: Grant, object: ObjectFacts): Verdict {
  const { uid, gid } = authority.identity;
  return decide({ authority, credential: { uid, gid }, ...grant, object, now, used: 0 });
}

function isSeen(viewer: Viewer, grant: Grant, found: FoundObject | undefined): boolean {
  return found !== undefined && found.problem === undefined && verdictFor(viewer, grant, found.facts).allowed;
}

/** The directories of tools that this agent searches, in order: of no other user, and of spaces it may read alone. */
export function searchedPlaces(catalogue: Catalogue, viewer: Viewer): readonly ToolPlace[] {
  const { toolPath, identity } = viewer.authority;
  return toolPath.flatMap((path) => {
    const found = toolPlaceOf(path);
    if (found === undefined || (found.uid !== undefined && found.uid !== identity.uid)) return [];
    return found.space === undefined || isSpaceSeen(catalogue, viewer, found.space) ? [found] : [];
  });
}

/** The first executable file of that name, from the left. */
export function toolHit(catalogue: Catalogue, viewer: Viewer, name: string): ToolHit | undefined {
  if (!isObjectName(name)) return undefined;
  for (const { place } of searchedPlaces(catalogue, viewer)) {
    const found = catalogue.tool(place, name);
    if (found !== undefined) return { place, ...found };
  }
  return undefined;
}

export function verdictOnTool(viewer: Viewer, name: string, { facts }: ToolHit): Verdict {
  return verdictFor(viewer, { class: 'tool', name, permission: 'execute' }, facts);
}

/** The hit of that name, where it is in this directory and may be executed. */
export function seenTool(catalogue: Catalogue, viewer: Viewer, place: ObjectPlace, name: string): ToolHit | undefined {
  const hit = toolHit(catalogue, viewer, name);
  if (hit?.place !== place) return undefined;
  return isSeen(viewer, { class: 'tool', name, permission: 'execute' }, hit) ? hit : undefined;
}

export function seenTools(catalogue: Catalogue, viewer: Viewer, place: ObjectPlace): readonly string[] {
  if (!searchedPlaces(catalogue, viewer).some((searched) => searched.place === place)) return [];
  return catalogue.tools(place).filter((name) => seenTool(catalogue, viewer, place, name) !== undefined);
}

export function isAgentSeen(catalogue: Catalogue, viewer: Viewer, place: ObjectPlace, name: string): boolean {
  return isSeen(viewer, { class: 'agent', name, permission: 'read' }, catalogue.agent(place, name));
}

/** Its `model` file names it, and it may use it. `place` is of its provider. */
export function isModelSeen(catalogue: Catalogue, viewer: Viewer, place: ObjectPlace, name: string): boolean {
  const whole = `${place.slice(place.lastIndexOf('/') + 1)}/${name}`;
  if (viewer.models?.includes(whole) !== true) return false;
  return isSeen(viewer, { class: 'model', name: whole, permission: 'use' }, catalogue.model(place, name));
}

/** Of the agent that is found first, the machine's and the users' before the person's own. */
export function verdictOnAgent(
  catalogue: Catalogue,
  viewer: Viewer,
  name: string,
  permission: 'start' | 'stop' | 'read' | 'write',
): Verdict {
  const places = ['agent', `home/${viewer.authority.identity.uid}/agent`];
  const found = places.map((place) => catalogue.agent(place, name)).find((each) => each !== undefined);
  const facts = found === undefined || found.problem !== undefined ? { exists: false, visible: true } : found.facts;
  return verdictFor(viewer, { class: 'agent', name, permission }, facts);
}

/**
 * The agents from `name` up to and without `ancestor`, as their files say; undefined where it does not descend from it. An agent does not
 * descend from itself.
 */
export function lineBelow(
  catalogue: Catalogue,
  { authority }: Viewer,
  ancestor: string,
  name: string,
): readonly string[] | undefined {
  const places = ['agent', `home/${authority.identity.uid}/agent`];
  const parentOf = (agent: string): string | undefined => {
    const place = places.find((each) => catalogue.agent(each, agent) !== undefined);
    const text = place === undefined ? undefined : catalogue.control(place, agent, 'parent')?.read().toString('utf8');
    return /^agent:([^\s]+)/.exec(text ?? '')?.[1];
  };
  const line: string[] = [];
  for (let at: string | undefined = name; at !== undefined && line.length <= lineageDepth; at = parentOf(at)) {
    if (at === ancestor) return line.length === 0 ? undefined : line;
    line.push(at);
  }
  return undefined;
}

/** With the permission, of its own descendants alone: never its own files, and never a stranger's. */
export function mayWriteAgent(catalogue: Catalogue, viewer: Viewer, writer: string, name: string): boolean {
  return (
    verdictOnAgent(catalogue, viewer, name, 'write').allowed && lineBelow(catalogue, viewer, writer, name) !== undefined
  );
}

export function isSpaceSeen(catalogue: Catalogue, viewer: Viewer, name: string): boolean {
  return isSeen(viewer, { class: 'shared', name, permission: 'read' }, catalogue.space(name));
}
