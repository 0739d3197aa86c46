/** The tree walker against the kernel: whatever is done through an overlay mount, both must see the same. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import type { Change, Step } from './tree.js';
import { differences, freshPlace, isRoot, program, tree } from './tree-fixture.js';

const { at, write } = freshPlace();

interface Seen {
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  readonly content: string;
}
type Snapshot = Map<string, Seen>;

const typeOf: Readonly<Record<string, Change['type']>> = { f: 'file', d: 'directory', l: 'symlink', p: 'fifo' };

function parseSnapshot(text: string): Snapshot {
  const [entries = '', sums = ''] = text.split('====\n');
  const digests = new Map(sums.split('\n').map((line) => [line.slice(36), line.slice(0, 32)]));
  const snapshot: Snapshot = new Map();
  for (const line of entries.split('\n').filter((part) => part !== '')) {
    const [path = '', kind = '', mode = '', size = '', target = ''] = line.split('\t');
    const type = typeOf[kind] ?? kind;
    const content = type === 'file' ? (digests.get(path) ?? '') : target;
    snapshot.set(path, { type, mode: Number.parseInt(mode, 8), size: kind === 'd' ? 0 : Number(size), content });
  }
  return snapshot;
}

const walkOrder = (a: string, b: string) => (a.replaceAll('/', '\0') < b.replaceAll('/', '\0') ? -1 : 1);

type Unstamped = Omit<Change, 'stamp'>;

const unstamped = (changes: readonly Change[]) => changes.map(({ stamp: _, ...change }): Unstamped => change);

function naiveDiff(before: Snapshot, later: Snapshot): Unstamped[] {
  const changes: Unstamped[] = [];
  for (const path of [...new Set([...before.keys(), ...later.keys()])].sort(walkOrder)) {
    const [old, now] = [before.get(path), later.get(path)];
    const shown = now ?? old;
    if (shown === undefined) continue;
    const content = old?.type !== now?.type || old?.content !== now?.content;
    const kind = old === undefined ? 'added' : now === undefined ? 'deleted' : 'modified';
    if (kind === 'modified' && !content && (old?.mode === now?.mode || now?.type === 'symlink')) continue;
    changes.push({ kind, type: shown.type as Change['type'], mode: shown.mode, size: shown.size, content, path });
  }
  return changes;
}

/** Root alone sees what is behind them, to compare it. */
const closed = process.geteuid?.() === 0 ? ['600', '000'] : [];
const somePath = fc
  .array(fc.constantFrom('a', 'b', 'c'), { minLength: 1, maxLength: 3 })
  .map((components) => components.join('/'));
const operation = fc.oneof(
  { weight: 3, arbitrary: somePath.map((path) => `mkdir -p ${path}`) },
  // Writing to or reading from a fifo would wait for ever.
  fc.tuple(somePath, fc.integer({ min: 0, max: 3 })).map(([path, text]) => `[ -p ${path} ] || echo ${text} > ${path}`),
  somePath.map((path) => `[ -p ${path} ] || echo more >> ${path}`),
  { weight: 2, arbitrary: somePath.map((path) => `rm -rf ${path}`) },
  { weight: 2, arbitrary: somePath.map((path) => `rm -rf ${path} && mkdir ${path}`) },
  somePath.map((path) => `rm -rf ${path} && mkdir ${path} && echo in > ${path}/a`),
  somePath.map((path) => `rm -rf ${path}/* && rmdir ${path} && mkdir -p ${path}/b`),
  fc.tuple(somePath, somePath).map(([path, target]) => `ln -sfn ${target} ${path}`),
  fc.tuple(somePath, somePath).map(([from, to]) => `mv -T ${from} ${to}`),
  fc.tuple(somePath, somePath).map(([from, to]) => `ln ${from} ${to}`),
  fc.tuple(fc.constantFrom('700', '755', ...closed), somePath).map(([mode, path]) => `chmod ${mode} ${path}`),
  somePath.map((path) => `mkfifo ${path}`),
  somePath.map((path) => `touch -c -h ${path}`),
  somePath.map((path) => `[ -f ${path} ] && cp -p ${path} ${path}.same && mv ${path}.same ${path}`),
);
const script = (operations: readonly string[]) =>
  operations.map((line) => `{ ${line}; } 2>/dev/null </dev/null || :`).join('\n');
const snapshotScript = `find . -mindepth 1 -printf '%P\\t%y\\t%m\\t%s\\t%l\\n'; echo ====; find . -type f -exec md5sum {} +`;

/** Runs operations through a real overlay mount in its own mount namespace, which ends with the script. */
function throughOverlay(lowers: readonly string[], upper: string, operations: readonly string[]): Snapshot {
  const work = `${upper}.work`;
  const point = `${upper}.mount`;
  for (const directory of [upper, work, point]) mkdirSync(directory);
  const profile = 'userxattr,index=off,redirect_dir=nofollow,metacopy=off';
  const options = `${profile},lowerdir=${lowers.join(':')},upperdir=${upper},workdir=${work}`;
  const text = `mount -t overlay overlay -o '${options}' '${point}' || exit 9\ncd '${point}'\n${script(operations)}\n${snapshotScript}`;
  const flags = isRoot ? '-m' : '-Urm';
  return parseSnapshot(execFileSync('unshare', [flags, 'sh', '-c', text], { encoding: 'utf8' }));
}

function canMountOverlay(): boolean {
  const probe = mkdtempSync(join(tmpdir(), 'ctx-tree-probe-'));
  try {
    mkdirSync(join(probe, 'low'));
    throughOverlay([join(probe, 'low')], join(probe, 'up'), []);
    return true;
  } catch {
    return false;
  } finally {
    spawnSync(program, ['delete', probe]);
  }
}

const noOverlay = canMountOverlay() ? false : `overlay cannot be mounted on ${tmpdir()} here`;

function planOf(changes: readonly Change[]): Step[] {
  const gone = changes.filter(({ kind }) => kind === 'deleted').reverse();
  const rest = changes.filter(({ kind }) => kind !== 'deleted');
  return [
    ...gone.map(({ path }): Step => ({ action: 'remove', path })),
    ...rest.map(({ path }): Step => ({ action: 'put', path })),
  ];
}

describe('tree against real overlay mounts', { skip: noOverlay }, () => {
  const operations = fc.array(operation, { maxLength: 12 });
  // Something to empty, to replace and to make again: on an empty tree most of what is done to it is nothing.
  const populated = operations.map((lines) => [
    'mkdir -p a/b a/c b/a/c c; for d in a a/b a/c b b/a b/a/c c; do echo low > $d/f; done',
    ...lines,
  ]);

  it('diff and apply agree with what the mount shows, whatever was done through it', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(populated, operations, operations, async (first, second, third) => {
        const home = at(`run-${run++}`);
        mkdirSync(join(home, 'low'), { recursive: true });
        const in_low = `cd '${join(home, 'low')}'\n${script(first)}\n${snapshotScript}`;
        const original = parseSnapshot(execFileSync('sh', ['-c', in_low], { encoding: 'utf8' }));
        const [low, one, two] = ['low', 'one', 'two'].map((name) => join(home, name)) as [string, string, string];
        const middle = throughOverlay([low], one, second);
        const last = throughOverlay([one, low], two, third);
        assert.deepEqual(unstamped(await tree.diff({ uppers: [one], lowers: [low] })), naiveDiff(original, middle));
        assert.deepEqual(unstamped(await tree.diff({ uppers: [two], lowers: [one, low] })), naiveDiff(middle, last));
        const whole = await tree.diff({ uppers: [two, one], lowers: [low] });
        assert.deepEqual(unstamped(whole), naiveDiff(original, last));

        const copied = join(home, 'copied');
        await tree.copy({ root: low, destination: copied, signatures: join(home, 's') });
        assert.deepEqual(await differences(copied, low), []);
        const paths = [...new Set([...original.keys(), ...last.keys()])];
        const layers = [two, one, low];
        const verdicts = await tree.compare({ layers, root: copied, paths });
        const touched = new Set(whole.map(({ path }) => path));
        for (const [path, verdict] of verdicts) assert.equal(verdict === 'same', !touched.has(path), path);
        await tree.apply({ uppers: [two, one], root: copied, plan: planOf(whole) });
        const after = await tree.compare({ layers, root: copied, paths });
        for (const [path, verdict] of after) assert.equal(verdict, 'same', path);
        await tree.remove(home);
      }),
      { ...seeded(40), endOnFailure: true },
    );
  });

  it('mirror makes the mount show what the origin became', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(populated, operations, operations, async (first, second, third) => {
        const home = at(`run-${run++}`);
        const origin = join(home, 'origin');
        mkdirSync(origin, { recursive: true });
        const change = (lines: readonly string[]) =>
          execFileSync('sh', ['-c', `cd '${origin}'\n${script(lines)}\n${snapshotScript}`], { encoding: 'utf8' });
        change(first);
        const layers = [join(home, '0')];
        let against = join(home, 's0');
        assert.deepEqual(await tree.copy({ root: origin, destination: join(home, '0'), signatures: against }), []);
        for (const [index, lines] of [second, third].entries()) {
          const now = parseSnapshot(change(lines));
          const signatures = join(home, `s${index + 1}`);
          const drift = await tree.scan({ root: origin, signatures, against });
          against = signatures;
          const into = join(home, String(index + 1));
          const paths = drift.map(({ path }) => path);
          assert.deepEqual(await tree.mirror({ root: origin, into, layers, paths }), []);
          layers.unshift(into);
          const shown = throughOverlay(layers, join(home, `probe-${index}`), []);
          assert.deepEqual(new Map([...shown].sort()), new Map([...now].sort()));
        }
        await tree.remove(home);
      }),
      { ...seeded(30), endOnFailure: true },
    );
  });

  it('merge makes one layer of several that shows the same, linked or copied', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(populated, operations, operations, fc.boolean(), async (first, second, third, copies) => {
        const home = at(`run-${run++}`);
        const [low, one, two, merged] = ['low', 'one', 'two', 'merged'].map((name) => join(home, name)) as [
          string,
          string,
          string,
          string,
        ];
        mkdirSync(low, { recursive: true });
        execFileSync('sh', ['-c', `cd '${low}'\n${script(first)}`]);
        throughOverlay([low], one, second);
        const shown = throughOverlay([one, low], two, third);
        await tree.merge({ layers: [two, one], below: [low], into: merged, copies });
        assert.deepEqual(await tree.diff({ uppers: [merged, low], lowers: [two, one, low], whole: true }), []);
        assert.deepEqual(throughOverlay([merged, low], join(home, 'probe'), []), shown);
        const whole = join(home, 'whole');
        await tree.merge({ layers: [two, one, low], into: whole, whole: true, copies });
        assert.deepEqual(await tree.diff({ uppers: [whole], lowers: [two, one, low], whole: true }), []);
        const changed = new Set((await tree.diff({ uppers: [two, one], lowers: [low] })).map(({ path }) => path));
        const again = await tree.diff({ uppers: [merged], lowers: [low] });
        assert.deepEqual(new Set(again.map(({ path }) => path)), changed);
        // Deleted by name, and without what only repeats what is below.
        const named = join(home, 'named');
        const unrepeated = [...shown.keys()];
        await tree.merge({ layers: [two, one], lowers: [low], below: [low], unrepeated, into: named, copies });
        assert.deepEqual(await tree.diff({ uppers: [named, low], lowers: [two, one, low], whole: true }), []);
        await tree.remove(home);
      }),
      { ...seeded(30), endOnFailure: true },
    );
  });

  it('an agent cannot plant marks that hide or resurrect files', async () => {
    write('low/d/f', 'shown');
    const plant = `perl -e 'syscall(${process.arch === 'arm64' ? 5 : 188}, "d", "user.overlay.opaque", "y", 1, 0)'`;
    const seen = throughOverlay([at('low')], at('up'), []);
    renameSync(at('up'), at('spent'));
    rmSync(at('up.work'), { recursive: true });
    rmSync(at('up.mount'), { recursive: true });
    writeFileSync(at('plant.sh'), `touch d/g; ${plant}; mknod d/f c 0 0; rm -f d/g`);
    const later = throughOverlay([at('low')], at('up'), [`. ${at('plant.sh')}`]);
    assert.deepEqual(later, seen);
    assert.deepEqual(await differences(at('up'), at('low')), []);
  });
});
