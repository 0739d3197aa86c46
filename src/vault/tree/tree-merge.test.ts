/**
 * What a merge makes of one entry: every kind of it in the layers, with every kind of what lies below, asked to be left out
 * or not. The expectation is a rule of its own, entry by entry.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { freshPlace, tree } from './tree-fixture.js';

const { at, write } = freshPlace();

/** In the layers. A directory holds what it repeats of the lower one, or something else as well. */
const kinds = [
  'file',
  'other file',
  'deleted',
  'repeating',
  'changing',
  'of another mode',
  'of another attribute',
  'opaque',
  'over a file',
];
const lowers = ['nothing', 'file', 'directory'] as const;
const belows = ['nothing', 'file', 'directory', 'directory with gone'] as const;
type Kind = (typeof kinds)[number];
type Lower = (typeof lowers)[number];
type Below = (typeof belows)[number];

interface Entry {
  readonly kind: Kind;
  readonly lower: Lower;
  readonly below: Below;
  /** Whether it is to be left out where it only repeats: with what is in it, alone, or not. */
  readonly asked: 'all' | 'itself' | 'no';
}
const entries: readonly Entry[] = kinds.flatMap((kind) =>
  lowers.flatMap((lower) =>
    belows.flatMap((below) => (['all', 'itself', 'no'] as const).map((asked) => ({ kind, lower, below, asked }))),
  ),
);
const nameOf = (entry: Entry) => `${entries.indexOf(entry)}`;
const isDirectory = (kind: string) => !['file', 'other file', 'deleted'].includes(kind);

function put(path: string, text: string): void {
  write(path, text);
  utimesSync(at(path), 1, 1000);
}
function whiteOut(path: string): void {
  linkSync(at('whiteout'), at(path));
}
/** With an attribute and a time that say whose it is. */
const directories: { readonly path: string; readonly mode: number; readonly whose: string }[] = [];
function directory(path: string, mode: number, whose: string): void {
  mkdirSync(at(path), { recursive: true });
  directories.push({ path, mode, whose });
}
const times = { layer: 1000, own: 1000, lower: 1000, below: 3000 } as const;
function finishDirectories(): void {
  for (const whose of Object.keys(times)) {
    const paths = directories.filter((each) => each.whose === whose).map(({ path }) => at(path));
    // What is repeated has the same attributes, too.
    const value = whose === 'lower' ? 'layer' : whose;
    assert.equal(spawnSync('setfattr', ['-n', 'user.whose', '-v', value, ...paths]).status, 0);
  }
  for (const { path, mode, whose } of directories) {
    chmodSync(at(path), mode);
    utimesSync(at(path), 1, times[whose as keyof typeof times]);
  }
}

function makeSides(): void {
  directories.length = 0;
  for (const side of ['top', 'bottom', 'lower', 'below']) mkdirSync(at(side));
  assert.equal(spawnSync('mknod', [at('whiteout'), 'c', '0', '0']).status, 0);
  const opaque: string[] = [];
  for (const entry of entries) {
    const { kind, lower, below } = entry;
    const [top, under] = [`top/${nameOf(entry)}`, `lower/${nameOf(entry)}`];
    if (kind === 'file') put(top, 'same');
    if (kind === 'other file') put(top, 'other');
    if (kind === 'deleted') whiteOut(top);
    if (isDirectory(kind)) {
      directory(top, kind === 'of another mode' ? 0o700 : 0o750, kind === 'of another attribute' ? 'own' : 'layer');
      put(`${top}/repeated`, 'same');
      if (kind === 'changing') put(`${top}/changed`, 'changed');
    }
    if (kind === 'opaque') opaque.push(at(top));
    if (kind === 'over a file') put(`bottom/${nameOf(entry)}`, 'hidden');
    if (lower === 'file') put(under, 'same');
    if (lower === 'directory') {
      directory(under, 0o750, 'lower');
      put(`${under}/repeated`, 'same');
      put(`${under}/gone`, 'shown there');
      whiteOut(`${under}/never`);
    }
    if (below === 'file') put(`below/${nameOf(entry)}`, 'of now');
    if (below.startsWith('directory')) directory(`below/${nameOf(entry)}`, 0o711, 'below');
    if (below === 'directory with gone') put(`below/${nameOf(entry)}/gone`, 'of now');
  }
  assert.equal(spawnSync('setfattr', ['-n', 'user.overlay.opaque', '-v', 'y', ...opaque]).status, 0);
  finishDirectories();
}

interface How {
  readonly hasLower: boolean;
  readonly hasBelow: boolean;
  readonly whole: boolean;
}
const deleted = 'deleted';

/** What the merged layer has of an entry, by path. */
function expected({ kind, lower, below, asked: list }: Entry, { hasLower, hasBelow, whole }: How) {
  const asked = hasLower && list !== 'no';
  const isDeletedFor = (isBelow: boolean) => !whole && (!hasBelow || isBelow);
  if (kind === 'deleted') {
    const says = (!asked || lower !== 'nothing') && isDeletedFor(below !== 'nothing');
    return says ? { '': deleted } : {};
  }
  if (!isDirectory(kind)) {
    if (asked && kind === 'file' && lower === 'file') return {};
    return { '': kind === 'file' ? 'same' : 'other' };
  }
  const onDirectory = hasLower && lower === 'directory';
  const found: Record<string, string> = {};
  if (!(hasLower && list === 'all' && lower === 'directory')) found['/repeated'] = 'same';
  if (kind === 'changing') found['/changed'] = 'changed';
  const hides = kind === 'opaque' || kind === 'over a file';
  if (hides && onDirectory && isDeletedFor(below === 'directory with gone')) found['/gone'] = deleted;
  const isSame = asked && lower === 'directory' && !kind.startsWith('of another');
  if (isSame && Object.keys(found).length === 0) return {};
  const follows = isSame && hasBelow && below.startsWith('directory');
  const isOpaque = hides && !hasLower && (hasBelow ? below.startsWith('directory') : !whole);
  const own = kind === 'of another mode' ? '700 layer' : kind === 'of another attribute' ? '750 own' : '750 layer';
  found[''] = `${follows ? '711 below 3000' : `${own} 1000`}${isOpaque ? ' opaque' : ''}`;
  return found;
}

/** The same of what was made. */
function found(top: string): Readonly<Record<string, string>> {
  const dump = spawnSync('getfattr', ['-R', '-d', '-m', 'user', '--absolute-names', top], { encoding: 'utf8' }).stdout;
  const attributes = new Map(dump.split('\n\n').map((block) => [/^# file: (.*)$/m.exec(block)?.[1], block] as const));
  const all = readdirSync(top, { recursive: true, encoding: 'utf8' });
  return Object.fromEntries(
    all.map((path) => {
      const status = lstatSync(join(top, path));
      if (status.isCharacterDevice()) return [path, status.rdev === 0 ? deleted : 'a device'];
      if (status.isFile()) return [path, readFileSync(join(top, path), 'utf8')];
      const block = attributes.get(join(top, path)) ?? '';
      const whose = /^user\.whose="(.*)"$/m.exec(block)?.[1] ?? 'of none';
      const mark = /^user\.overlay\.opaque="y"$/m.test(block) ? ' opaque' : '';
      return [path, `${(status.mode & 0o7777).toString(8)} ${whose} ${status.mtimeMs / 1000}${mark}`];
    }),
  );
}

const everyHow: readonly How[] = [true, false].flatMap((hasLower) =>
  [true, false].flatMap((hasBelow) => [true, false].map((whole) => ({ hasLower, hasBelow, whole }))),
);

describe('a merge of layers', () => {
  it('has of each entry what says something, whatever is known of what they lay on and will lie on', async () => {
    makeSides();
    const unrepeated = entries.flatMap((entry) => {
      const inside = entry.asked === 'all' ? [`${nameOf(entry)}/repeated`] : [];
      return entry.asked === 'no' ? [] : [...inside, nameOf(entry)];
    });
    for (const [number, how] of everyHow.entries()) {
      const into = at(`merged-${number}`);
      const copies = number % 3 === 0;
      await tree.merge({
        layers: [at('top'), at('bottom')],
        lowers: how.hasLower ? [at('lower')] : [],
        below: how.hasBelow ? [at('below')] : [],
        unrepeated,
        into,
        whole: how.whole,
        copies,
      });
      const wanted = new Map(
        entries.flatMap((entry) =>
          Object.entries(expected(entry, how)).map(([path, shown]) => [`${nameOf(entry)}${path}`, shown] as const),
        ),
      );
      const made = found(into);
      for (const path of new Set([...wanted.keys(), ...Object.keys(made)])) {
        const told = JSON.stringify({ ...entries[Number(path.split('/')[0])], ...how });
        assert.equal(made[path], wanted.get(path), `${path} of ${told}`);
      }
      const other = nameOf(entries.find(({ kind }) => kind === 'other file') ?? assert.fail());
      const isOne = statSync(join(into, other)).ino === statSync(at('top', other)).ino;
      assert.equal(isOne, !copies, 'further names of the files of the layers, or copies');
    }
  });

  it('is a layer of its own: it is made new, with the mode, time and attributes of the topmost one', async () => {
    put('top/f', 'above');
    put('bottom/f', 'below');
    assert.equal(spawnSync('setfattr', ['-n', 'user.whose', '-v', 'layer', at('top')]).status, 0);
    chmodSync(at('top'), 0o1750);
    utimesSync(at('top'), 1, 1000);
    const merge = (into: string) => tree.merge({ layers: [at('top'), at('bottom')], into: at(into) });
    assert.deepEqual(await merge('merged'), []);
    const { mode, mtimeMs } = statSync(at('merged'));
    assert.deepEqual([mode & 0o7777, mtimeMs], [0o1750, 1_000_000]);
    assert.equal(spawnSync('getfattr', ['-n', 'user.whose', at('merged')]).status, 0);
    assert.equal(readFileSync(at('merged/f'), 'utf8'), 'above');
    writeFileSync(at('merged/mine'), '');
    await assert.rejects(merge('merged'), { code: 'EEXIST' });
    assert.deepEqual(readdirSync(at('merged')).sort(), ['f', 'mine']);
  });

  it('keeps setuid and setgid of files, linked or copied: a layer is exact', async () => {
    for (const mode of [0o4755, 0o2755, 0o6755, 0o1755, 0o755]) {
      put(`top/${mode}`, 'x');
      chmodSync(at(`top/${mode}`), mode);
    }
    for (const copies of [false, true]) {
      await tree.merge({ layers: [at('top')], into: at(`merged-${copies}`), copies });
      for (const name of readdirSync(at('top')))
        assert.equal(statSync(at(`merged-${copies}`, name)).mode & 0o7777, Number(name), `${name} ${copies}`);
    }
  });
});
