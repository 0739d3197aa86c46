/** What a tree that a person wrote comes to: engines at paths. Most are one engine at `/`; a table has several, and overlays. Pure. */
import { flag, having, list, membersOf, optional, refuseShape, type Shape, word } from '../base/shape.js';
import type { Name } from './names.js';
import type { EngineSpecification } from './specification.js';

export type Source =
  | EngineSpecification
  | { readonly engine: 'overlay'; readonly upper: Source; readonly lower: readonly Source[] };

export interface PlannedMount {
  /** By component; empty for the root. */
  readonly path: readonly Name[];
  readonly source: Source;
  /** Undefined where it was not said. */
  readonly writable: boolean | undefined;
}

export interface TreePlan {
  readonly mounts: readonly PlannedMount[];
  /** It is a table's: each of its mounts says itself whether it is written to. */
  readonly isTable: boolean;
}

const engineShapes: Readonly<Record<EngineSpecification['engine'], Shape>> = {
  memory: having({}),
  host: having({ path: word }),
  chunked: having({ file: word, snapshot: optional(word) }),
  s3: having({ bucket: word, prefix: word }),
  webdav: having({ url: word }),
  rclone: having({ remote: word }),
};

const sourceShape: Shape = (value, at) => {
  const { engine } = membersOf(value);
  const shape = Object.entries({ ...engineShapes, overlay: overlayShape }).find(([name]) => name === engine)?.[1];
  (shape ?? refuseShape(`${at}.engine`, 'the name of an engine', engine))(value, at);
};
const overlayShape = having({ upper: sourceShape, lower: list(sourceShape) });
const planShape = having({
  mounts: list(having({ path: list(word), source: sourceShape, writable: optional(flag) })),
  isTable: flag,
});

/** One that was written as JSON. EINVAL */
export function checkedPlan(value: unknown): TreePlan {
  planShape(value, 'plan of a tree');
  return value as TreePlan;
}

/** A part of this machine that a tree shows, or keeps its content in. */
export interface Backing {
  readonly path: string;
  readonly kind: 'directory' | 'file';
}

/** What is ours to write to without being asked: nothing of the person's other files changes by it. */
export function isOurs(source: Source): boolean {
  if (source.engine === 'chunked') return source.snapshot === undefined;
  return source.engine === 'memory' || source.engine === 'overlay';
}

/** `asked`: what the one who opens it said, or undefined. */
export function isWritable(plan: TreePlan, mount: PlannedMount, asked: boolean | undefined): boolean {
  if (!plan.isTable) return asked ?? isOurs(mount.source);
  return asked !== false && (mount.writable ?? isOurs(mount.source));
}

/** Each engine of a plan, those of overlays too. */
export function sourcesOf(source: Source): readonly EngineSpecification[] {
  return source.engine === 'overlay' ? [source.upper, ...source.lower].flatMap(sourcesOf) : [source];
}

export function enginesOf({ mounts }: TreePlan): readonly EngineSpecification[] {
  return mounts.flatMap(({ source }) => sourcesOf(source));
}

/** What is written to where a plan is opened: of an overlay, its upper tree. */
export function writtenEngines(plan: TreePlan, asked: boolean | undefined): readonly EngineSpecification[] {
  const written = (source: Source): EngineSpecification =>
    source.engine === 'overlay' ? written(source.upper) : source;
  return plan.mounts.filter((mount) => isWritable(plan, mount, asked)).map(({ source }) => written(source));
}

/** The same plan with other engines. */
export function withEngines(plan: TreePlan, change: (engine: EngineSpecification) => EngineSpecification): TreePlan {
  const changed = (source: Source): Source =>
    source.engine === 'overlay'
      ? { ...source, upper: changed(source.upper), lower: source.lower.map(changed) }
      : change(source);
  return { ...plan, mounts: plan.mounts.map((mount) => ({ ...mount, source: changed(mount.source) })) };
}

export function backingOf(engine: EngineSpecification): Backing | undefined {
  if (engine.engine === 'host') return { path: engine.path, kind: 'directory' };
  return engine.engine === 'chunked' ? { path: engine.file, kind: 'file' } : undefined;
}

/** Whether others than the process that opened it may change it, so that nothing of it can be kept in a cache. */
export function isShared(plan: TreePlan, asked: boolean | undefined): boolean {
  return plan.mounts.some((mount) => changesBelow(mount.source, isWritable(plan, mount, asked)));
}

/** Of an overlay only the uppermost tree is written to, and has no other writer. */
function changesBelow(source: Source, writable: boolean): boolean {
  if (source.engine === 'overlay') {
    return changesBelow(source.upper, writable) || source.lower.some((lower) => changesBelow(lower, false));
  }
  if (source.engine === 'chunked') return !writable && source.snapshot === undefined;
  return source.engine !== 'memory';
}
