/**
 * What there is, no matter who looks: the durable objects below CTX_ROOT, by the directory they are in. A projection
 * decides over these facts which of them one agent sees. Pure: `disk-catalogue` reads them, tests make them up.
 */
import type { ObjectFacts } from '../../authority/decide.js';
import { isObjectName } from '../../authority/name.js';
import type { Policy } from '../../authority/policy.js';

/** A directory of objects below the root, as `tool`, `home/1000/agent`, `shared/project-a/tool` or `model/PROVIDER`. */
export type ObjectPlace = string;

const modelPlace = /(?:^|\/)model\/[^/]+$/;

/** A provider may have any name, also that of another kind. */
export function kindOf(place: ObjectPlace): 'agent' | 'tool' | 'model' {
  if (modelPlace.test(place)) return 'model';
  return place.endsWith('agent') ? 'agent' : 'tool';
}

/** The control files of a model. */
export const modelFiles: readonly string[] = ['name', 'description', 'policy', 'status', 'log', 'meta.json'];

export interface ControlText {
  readonly size: number;
  /** Nanoseconds since 1970. */
  readonly modified: bigint;
  read(): Buffer;
}

export interface Catalogue {
  /** Names that have an executable file in a directory of tools. */
  tools(place: ObjectPlace): readonly string[];
  /** Undefined where the directory has no executable file of that name; facts without a policy that could be read say `problem`. */
  tool(place: ObjectPlace, name: string): FoundObject | undefined;
  /** Of a tool, whether it has an executable file or not: its own policy, where it has one, or what is wrong with that. */
  policy(
    place: ObjectPlace,
    name: string,
  ): { readonly policy?: Policy | undefined; readonly problem?: string | undefined };
  /** Names that have a directory of control files. */
  described(place: ObjectPlace): readonly string[];
  isDescribed(place: ObjectPlace, name: string): boolean;
  agent(place: ObjectPlace, name: string): FoundObject | undefined;
  /** Directories in one of models, `model` or `home/UID/model`: each is a place of its own. */
  providers(place: ObjectPlace): readonly string[];
  model(place: ObjectPlace, name: string): FoundObject | undefined;
  /** Shared spaces. */
  spaces(): readonly string[];
  space(name: string): FoundObject | undefined;
  /** What is in it, and where that directory is on the host. */
  spaceFiles(name: string): { readonly directory: string; readonly names: readonly string[] };
  /** Names of an object's control files. */
  controls(place: ObjectPlace, name: string): readonly string[];
  control(place: ObjectPlace, name: string, file: string): ControlText | undefined;
}

export interface FoundObject {
  readonly facts: ObjectFacts;
  /** Of its files, where one cannot be read: then it is granted to no agent. */
  readonly problem?: string | undefined;
  /** Its executable file on the host. */
  readonly program?: string | undefined;
  /** `device:inode` of that. */
  readonly identity?: string | undefined;
  /** A tool that every installation has. */
  readonly builtIn?: boolean | undefined;
  /** A tool of a source: where the source is, and what it calls the tool. */
  readonly source?: FoundSource | undefined;
}

export interface FoundSource {
  readonly name: string;
  readonly tool: string;
  readonly directory: string;
}

const toolPlace = /^(?:tool|home\/(0|[1-9]\d*)\/tool|shared\/([^/]+)\/tool)$/;

export interface ToolPlace {
  readonly place: ObjectPlace;
  /** Of a user's tier. */
  readonly uid?: number | undefined;
  /** Of a shared space. */
  readonly space?: string | undefined;
}

/** The directory of tools that a line of an agent's `path` names; undefined where it names none. */
export function toolPlaceOf(seen: string): ToolPlace | undefined {
  const place = seen.startsWith('/ctx/') ? seen.slice('/ctx/'.length) : undefined;
  const match = place === undefined ? null : toolPlace.exec(place);
  if (place === undefined || match === null) return undefined;
  const [, uid, space] = match;
  if (space !== undefined && !isObjectName(space)) return undefined;
  return { place, uid: uid === undefined ? undefined : Number(uid), space };
}
