/**
 * Mount v0: `source<TAB>target<TAB>mode<TAB>options`, one mount a line. Paths are normal and absolute: what a `..`
 * means depends on symlinks, so it is refused, never tidied. `-` stands alone and means no option. A target named twice
 * is refused, since which of the two is seen would depend on order. Blank lines and lines that start with `#` are
 * skipped, as in policies.
 *
 * A source is a path of the host; a tree of the VFS (`memory:`, `chunked:/FILE` and the others, by the name of their engine); or a
 * path of the agent's own view of the objects, `/ctx` or below it.
 */
import { pathBytes, viewMounts } from '../base/limits/objects.js';
import { contains, isNormalPath, normalPathRule } from './absolute-path.js';
import { meaningfulLines, quoted, refuse, refuseAt, type SourcePlace } from './syntax.js';

const operation = 'parse mount';

export type MountMode = 'ro' | 'rw';

const mountOptions = Object.freeze(['bind', 'rbind', 'nosuid', 'nodev', 'noexec'] as const);
export type MountOption = (typeof mountOptions)[number];

export interface Mount {
  readonly source: string;
  readonly target: string;
  readonly mode: MountMode;
  /** In the order of `mountOptions`, whatever order the file had. */
  readonly options: readonly MountOption[];
}

/** Where agents see the objects. */
export const objectsPath = '/ctx';

const engineName = /^[a-z][a-z0-9]*:/;

/** A tree that a process serves; which engines there are is not known here. */
export function isTreeSource(source: string): boolean {
  return engineName.test(source);
}

export type MountSource = 'host' | 'tree' | 'objects';

export function kindOfSource(source: string): MountSource {
  if (isTreeSource(source)) return 'tree';
  return contains(objectsPath, source) ? 'objects' : 'host';
}

/** What is wrong with the words of an options field, or undefined. */
function optionsFault(words: readonly string[]): string | undefined {
  const unknown = words.find((word) => !mountOptions.some((option) => option === word));
  if (unknown === '-') return 'expected `-` alone';
  if (unknown !== undefined) return `expected options of ${mountOptions.join(', ')} or \`-\`, got ${quoted(unknown)}`;
  const repeated = words.find((word, index) => words.indexOf(word) !== index);
  if (repeated !== undefined) return `expected each option once, got ${repeated} twice`;
  if (words.includes('bind') && words.includes('rbind')) return 'expected either bind or rbind, got both';
  return undefined;
}

export function orderedOptions(words: Iterable<string>): readonly MountOption[] {
  const set = new Set(words);
  return Object.freeze(mountOptions.filter((option) => set.has(option)));
}

/** A mount made by a program or read from a table; the same rules hold as for a line. */
export function makeMount(parts: {
  readonly source: string;
  readonly target: string;
  readonly mode: string;
  readonly options: readonly string[];
}): Mount {
  const { source, target, mode, options } = parts;
  for (const [field, fault] of [
    ['source', sourceFault(source)],
    ['target', pathFault(target)],
  ] as const) {
    if (fault !== undefined) refuse('mount', `${field}: ${fault}`);
  }
  if (mode !== 'ro' && mode !== 'rw') return refuse('mount', `mode: expected ro or rw, got ${quoted(mode)}`);
  const fault = optionsFault(options);
  if (fault !== undefined) refuse('mount', `options: ${fault}`);
  return Object.freeze({ source, target, mode, options: orderedOptions(options) });
}

function pathFault(path: string): string | undefined {
  if (/[\t\n]/.test(path)) return `expected a path without tab or newline, got ${quoted(path)}`;
  return isNormalPath(path) ? undefined : `expected ${normalPathRule}, got ${quoted(path)}`;
}

function sourceFault(source: string): string | undefined {
  if (!isTreeSource(source)) return pathFault(source);
  const isPlain = !/[\t\n\0]/.test(source) && Buffer.byteLength(source) <= pathBytes;
  return isPlain ? undefined : `expected a tree without tab, newline or NUL, within ${pathBytes} bytes`;
}

function parseLine(file: string, number: number, line: string): Mount {
  const fields = line.split('\t');
  const [source = '', target = '', mode = '', options = ''] = fields;
  const at = (field: number): SourcePlace => {
    const before = fields.slice(0, field).reduce((length, text) => length + text.length + 1, 0);
    return { file, line: number, column: Math.min(before, line.length) + 1 };
  };
  if (fields.length !== 4) {
    return refuseAt(
      operation,
      at(Math.min(fields.length, 4)),
      `expected source<TAB>target<TAB>mode<TAB>options, four fields; got ${fields.length}`,
    );
  }
  for (const [field, fault] of [sourceFault(source), pathFault(target)].entries()) {
    if (fault !== undefined) refuseAt(operation, at(field), fault);
  }
  if (mode !== 'ro' && mode !== 'rw') return refuseAt(operation, at(2), `expected ro or rw, got ${quoted(mode)}`);
  const words = options === '-' ? [] : options.split(',');
  const fault = optionsFault(words);
  if (fault !== undefined) refuseAt(operation, at(3), fault);
  return Object.freeze({ source, target, mode, options: orderedOptions(words) });
}

export function parseMounts(text: string, file: string): readonly Mount[] {
  const mounts: Mount[] = [];
  const lineOf = new Map<string, number>();
  for (const { number, text: line } of meaningfulLines(operation, text, file)) {
    const mount = parseLine(file, number, line);
    const earlier = lineOf.get(mount.target);
    const place = { file, line: number, column: mount.source.length + 2 };
    if (earlier !== undefined)
      refuseAt(operation, place, `expected each target once; this one is already on line ${earlier}`);
    if (mounts.length === viewMounts) refuseAt(operation, place, `expected at most ${viewMounts} mounts`);
    lineOf.set(mount.target, number);
    mounts.push(mount);
  }
  return Object.freeze(mounts);
}

export function printMount(mount: Mount): string {
  const options = mount.options.length === 0 ? '-' : mount.options.join(',');
  return `${mount.source}\t${mount.target}\t${mount.mode}\t${options}`;
}

export function printMounts(mounts: readonly Mount[]): string {
  return mounts.map((mount) => `${printMount(mount)}\n`).join('');
}
