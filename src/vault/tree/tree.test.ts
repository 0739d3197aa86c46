import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { longPathBytes } from '../../base/limits/store.js';
import { decodePath, encodePath } from '../../base/path-bytes.js';
import { countChanges } from './too-deep.js';
import { type Step, Tree } from './tree.js';
import { differences, freshPlace, isRoot, program, tree } from './tree-fixture.js';

const nobody = 65534;

/** The same program as an ordinary user: through setpriv where the tests run as root. */
const unprivileged = mkdtempSync(join(tmpdir(), 'ctx-tree-program-'));
chmodSync(unprivileged, 0o755);
copyFileSync(program, join(unprivileged, 'tree'));
const dropping = `exec /usr/bin/setpriv --reuid ${nobody} --regid ${nobody} --clear-groups`;
writeFileSync(
  join(unprivileged, 'tree.sh'),
  `#!/bin/sh\n${isRoot ? dropping : 'exec'} '${join(unprivileged, 'tree')}' "$@"\n`,
  { mode: 0o755 },
);
const userTree = new Tree({ program: join(unprivileged, 'tree.sh') });
after(() => rmSync(unprivileged, { recursive: true }));

const { at, write } = freshPlace();

/** Node has no xattr calls; perl is essential on Debian. */
function attribute(path: string, name: string, value?: string): string | undefined {
  const [set, get] = process.arch === 'arm64' ? [5, 8] : [188, 191];
  const code =
    value === undefined
      ? `my $b = "\\0" x 100; my $n = syscall(${get}, $ARGV[0], $ARGV[1], $b, 100); exit 1 if $n < 0; print substr($b, 0, $n)`
      : `exit(syscall(${set}, $ARGV[0], $ARGV[1], $ARGV[2], length($ARGV[2]), 0) == 0 ? 0 : 1)`;
  const result = spawnSync('perl', ['-e', code, path, name, ...(value === undefined ? [] : [value])]);
  if (value !== undefined) assert.equal(result.status, 0, `could not set ${name} on ${path}`);
  return result.status === 0 ? result.stdout.toString() : undefined;
}

/** Old enough for every timestamp to be trusted, so that a test does not wait for it. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 25));

/** A chain of directories deeper than any path can say, with a leaf at its end; `beside` names a sibling at a level. */
function makeChain(path: string, name: string, depth: number, beside: (level: number) => string | undefined): void {
  mkdirSync(at(path));
  const siblings = Array.from({ length: depth }, (_, level) => beside(level) ?? '').join(',');
  const code = `my ($n, $s) = @ARGV; my @s = split /,/, $s, -1;
    for (@s) { mkdir $_ if length; mkdir $n; chdir $n or die } open my $f, '>', 'leaf' or die; print $f 'x';`;
  execFileSync('perl', ['-e', code, name, siblings], { cwd: at(path) });
}

describe('tree scan', () => {
  it('says nothing of an unchanged tree, and names what was added, changed and removed', async () => {
    for (const path of ['o/a/one', 'o/a/two', 'o/a.txt', 'o/b/c/deep', 'o/d/kept']) write(path);
    const options = { root: at('o'), signatures: at('new'), against: at('old') };
    await tree.scan({ root: at('o'), signatures: at('old') });
    assert.deepEqual(await tree.scan(options), []);
    writeFileSync(at('o/a/one'), 'x'.repeat(at('o/a/one').length));
    rmSync(at('o/b'), { recursive: true });
    write('o/a/three');
    write('o/d/more');
    chmodSync(at('o/a'), 0o700);
    assert.deepEqual(await tree.scan(options), [
      { path: 'a', what: 'changed' },
      { path: 'a/one', what: 'changed' },
      { path: 'a/three', what: 'added' },
      { path: 'b', what: 'removed' },
      { path: 'b/c', what: 'removed' },
      { path: 'b/c/deep', what: 'removed' },
      { path: 'd/more', what: 'added' },
    ]);
  });

  it('sees a write of the same size that comes right after the scan', async () => {
    write('o/f', 'one');
    await tree.scan({ root: at('o'), signatures: at('old') });
    writeFileSync(at('o/f'), 'two');
    assert.deepEqual(await tree.scan({ root: at('o'), signatures: at('new'), against: at('old') }), [
      { path: 'f', what: 'changed' },
    ]);
  });

  it('takes a missing, cut, changed or foreign signature file for an empty tree', async () => {
    write('o/f');
    await tree.scan({ root: at('o'), signatures: at('good') });
    const good = readFileSync(at('good'));
    const flipped = Buffer.from(good);
    flipped[flipped.length - 1] = (flipped.at(-1) ?? 0) ^ 1;
    const damaged = { cut: good.subarray(0, -1), flipped, short: good.subarray(0, 7), foreign: Buffer.from('hello') };
    for (const [name, bytes] of Object.entries(damaged)) writeFileSync(at(name), bytes);
    for (const against of ['missing', ...Object.keys(damaged)]) {
      const drift = await tree.scan({ root: at('o'), signatures: at('new'), against: at(against) });
      assert.deepEqual(drift, [{ path: 'f', what: 'added' }], against);
    }
  });

  it('leaves out a skipped directory, and never follows a link', async () => {
    write('o/store/layer/f');
    write('o/g');
    symlinkSync('/', at('o/out'));
    const { dev, ino } = statSync(at('o/store'));
    const skip = [{ device: dev, inode: ino }];
    const drift = await tree.scan({ root: at('o'), signatures: at('new'), against: at('none'), skip });
    assert.deepEqual(
      drift.map(({ path }) => path),
      ['g', 'out'],
    );
  });

  it('gives the same file whoever of its threads comes first', async () => {
    for (let i = 0; i < 600; i++) write(`o/${i % 7}/${i % 3}/${i}`);
    for (let i = 0; i < 600; i++) write(`o/flat/${i}`);
    await settle();
    const runs = await Promise.all(
      [0, 1, 2, 3].map(async (run) => {
        await tree.scan({ root: at('o'), signatures: at(`s${run}`) });
        return readFileSync(at(`s${run}`));
      }),
    );
    for (const run of runs) assert.ok(run.equals(runs[0] ?? Buffer.alloc(0)));
  });

  it('fails with the reason where the directory is missing', async () => {
    await assert.rejects(tree.scan({ root: at('none'), signatures: at('s') }), { code: 'ENOENT', path: at('none') });
  });
});

describe('tree copy', () => {
  it('keeps content, modes, times, links, hard links, fifos and user attributes', async () => {
    write('o/d/file', 'content');
    write('o/d/empty', '');
    linkSync(at('o/d/file'), at('o/second'));
    symlinkSync('d/file', at('o/link'));
    symlinkSync('nowhere', at('o/dangling'));
    execFileSync('mkfifo', [at('o/pipe')]);
    attribute(at('o/d/file'), 'user.note', 'kept');
    attribute(at('o/d'), 'user.note', 'kept too');
    attribute(at('o/d'), 'user.overlay.opaque', 'y');
    chmodSync(at('o/d/file'), 0o4751);
    utimesSync(at('o/d/file'), 1, 1234.5);
    chmodSync(at('o/d'), 0o2555);
    utimesSync(at('o/d'), 1, 99.25);
    assert.deepEqual(await tree.copy({ root: at('o'), destination: at('c'), signatures: at('s') }), []);
    const file = statSync(at('c/d/file'));
    assert.equal(file.mode & 0o7777, 0o751);
    assert.equal(file.mtimeMs, 1234500);
    assert.equal(file.ino, statSync(at('c/second')).ino);
    assert.equal(statSync(at('c/d')).mode & 0o7777, 0o2555);
    assert.equal(statSync(at('c/d')).mtimeMs, 99250);
    assert.equal(readlinkSync(at('c/dangling')), 'nowhere');
    assert.equal(attribute(at('c/d/file'), 'user.note'), 'kept');
    assert.equal(attribute(at('c/d'), 'user.note'), 'kept too');
    assert.equal(attribute(at('c/d'), 'user.overlay.opaque'), undefined);
    assert.ok(lstatSync(at('c/pipe')).isFIFO());
    const drift = await tree.scan({ root: at('o'), signatures: at('s2'), against: at('s') });
    assert.deepEqual(drift, [], 'the copy knows what it copied');
  });

  it('leaves out sockets, says so, and does not report them again at the next scan', async () => {
    write('o/f');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(at('o/socket'), resolve));
    const problems = await tree.copy({ root: at('o'), destination: at('c'), signatures: at('s') });
    assert.deepEqual(problems, [{ path: 'socket', code: 'ENOTSUP', reason: 'sockets are left out' }]);
    assert.deepEqual(readdirSync(at('c')), ['f']);
    assert.deepEqual(await tree.scan({ root: at('o'), signatures: at('s2'), against: at('s') }), []);
    await new Promise((resolve) => server.close(resolve));
  });

  it('copies a sparse file of 2 GiB as holes', async () => {
    write('o/sparse', 'head');
    truncateSync(at('o/sparse'), 2 ** 31);
    const file = openSync(at('o/sparse'), 'r+');
    writeSync(file, 'middle', 2 ** 30);
    closeSync(file);
    await tree.copy({ root: at('o'), destination: at('c'), signatures: at('s') });
    assert.deepEqual(await differences(at('c'), at('o')), []);
    const copied = statSync(at('c/sparse'));
    assert.equal(copied.size, 2 ** 31);
    assert.ok(copied.blocks * 512 < 2 ** 20);
  });

  it('reports progress, the last of it whole', async () => {
    for (let i = 0; i < 20; i++) write(`o/${i}`, '0123456789');
    const seen: unknown[] = [];
    const onProgress = (progress: unknown) => seen.push(progress);
    await tree.copy({ root: at('o'), destination: at('c'), signatures: at('s'), onProgress });
    assert.deepEqual(seen.at(-1), { files: 20, bytes: 200 });
  });

  it('can be aborted', async () => {
    for (let i = 0; i < 2000; i++) write(`o/${i}`);
    const abort = new AbortController();
    const copying = tree.copy({ root: at('o'), destination: at('c'), signatures: at('s'), signal: abort.signal });
    abort.abort();
    await assert.rejects(copying, { code: 'ECANCELED' });
  });

  it('refuses a destination that holds something', async () => {
    write('o/f');
    write('c/g');
    const copying = tree.copy({ root: at('o'), destination: at('c'), signatures: at('s') });
    await assert.rejects(copying, { code: 'ENOTEMPTY' });
  });

  it('shifts owners on the way in and back', { skip: !isRoot && 'only root can give files away' }, async () => {
    write('o/d/f');
    chownSync(at('o/d/f'), 1000, 1001);
    const shift = 100_000;
    await tree.copy({ root: at('o'), destination: at('c'), signatures: at('s'), shift });
    assert.equal(statSync(at('c/d/f')).uid, 101_000);
    assert.equal(statSync(at('c/d')).gid, 100_000);
    const paths = ['d', 'd/f'];
    const verdicts = await tree.compare({ layers: [at('c')], root: at('o'), paths, shift });
    assert.deepEqual([...verdicts.values()], ['same', 'same']);
    for (const [uid, gid] of [
      [1001, 1001],
      [1000, 1000],
    ] as const) {
      chownSync(at('o/d/f'), uid, gid);
      const other = await tree.compare({ layers: [at('c')], root: at('o'), paths: ['d/f'], shift });
      assert.equal(other.get('d/f'), 'different', `${uid}:${gid}`);
    }
    chownSync(at('o/d/f'), 1000, 1001);
    mkdirSync(at('back'));
    chownSync(at('back'), 7, 8);
    write('c/unshifted');
    for (const [name, uid, gid] of [
      ['half-uid', shift + 5, 6],
      ['half-gid', 5, shift + 6],
    ] as const) {
      write(`c/${name}`);
      chownSync(at('c', name), uid, gid);
    }
    const unshifted = ['unshifted', 'half-uid', 'half-gid'];
    const plan: Step[] = [...paths, ...unshifted].map((path) => ({ action: 'put', path }));
    await tree.apply({ uppers: [at('c')], root: at('back'), plan, shift });
    assert.deepEqual([statSync(at('back/d/f')).uid, statSync(at('back/d/f')).gid], [1000, 1001]);
    for (const name of unshifted) {
      const { uid, gid } = statSync(at('back', name));
      assert.deepEqual([uid, gid], [7, 8], `${name}: one id that no jail gives makes both the directory’s`);
    }
    // Its owner could not write there: root can, as root.
    chmodSync(at('back'), 0o555);
    write('c/closed');
    chownSync(at('c/closed'), shift + 7, shift + 8);
    await tree.apply({ uppers: [at('c')], root: at('back'), plan: [{ action: 'put', path: 'closed' }], shift });
    assert.equal(statSync(at('back/closed')).uid, 7);
  });
});

describe('tree with hostile names and shapes', () => {
  const names = ['new\nline', '\u001b[2Jclear', 'tab\t', ' ', '-rf', '"\'`$', 'naïve', '\udcff\udc80', 'a\udcc3'];

  it('carries every byte of a name through every verb', async () => {
    for (const name of names) {
      mkdirSync(Buffer.concat([Buffer.from(`${at('o')}/d-`), encodePath(name)]), { recursive: true });
      writeFileSync(Buffer.concat([Buffer.from(`${at('o')}/d-`), encodePath(`${name}/${name}`)]), name);
    }
    const expected = names.flatMap((name) => [`d-${name}`, `d-${name}/${name}`]);
    const sorted = (paths: Iterable<string>) => [...paths].sort();
    const drift = await tree.scan({ root: at('o'), signatures: at('s'), against: at('none') });
    assert.deepEqual(sorted(drift.map(({ path }) => path)), sorted(expected));
    await tree.copy({ root: at('o'), destination: at('c'), signatures: at('s') });
    mkdirSync(at('nothing'));
    const changes = await differences(at('c'), at('nothing'));
    assert.deepEqual(sorted(changes.map(({ path }) => path)), sorted(expected));
    await tree.mirror({ root: at('o'), into: at('m'), layers: [], paths: expected });
    assert.deepEqual(await differences(at('m'), at('o')), []);
    mkdirSync(at('back'));
    const done: string[] = [];
    const plan = changes.map(({ path }): Step => ({ action: 'put', path }));
    await tree.apply({ uppers: [at('c')], root: at('back'), plan, onDone: (path) => done.push(path) });
    assert.deepEqual(
      done,
      changes.map(({ path }) => path),
    );
    const verdicts = await tree.compare({ layers: [at('c')], root: at('back'), paths: expected });
    assert.deepEqual(new Set(verdicts.values()), new Set(['same']));
  });

  it('walks, copies, compares and deletes directories 800 deep', async () => {
    const depth = 800;
    const name = 'directory-name-long';
    makeChain('o', name, depth, (level) => (level % 100 === 0 ? 'side' : undefined));
    assert.deepEqual(await tree.copy({ root: at('o'), destination: at('c'), signatures: at('s') }), []);
    assert.deepEqual(await tree.scan({ root: at('o'), signatures: at('s2'), against: at('s') }), []);
    assert.deepEqual(await differences(at('c'), at('o')), []);
    mkdirSync(at('nothing'));
    const added = await differences(at('c'), at('nothing'));
    assert.equal(added.length, depth + depth / 100 + 1);
    const leaf = `${`${name}/`.repeat(depth)}leaf`;
    const verdicts = await tree.compare({ layers: [at('c')], root: at('o'), paths: [leaf] });
    assert.equal(verdicts.get(leaf), 'same');
    const plan = added.map(({ path }): Step => ({ action: 'put', path }));
    mkdirSync(at('back'));
    await tree.apply({ uppers: [at('c')], root: at('back'), plan });
    assert.deepEqual(await differences(at('back'), at('o')), []);
    await tree.mirror({ root: at('o'), into: at('m'), layers: [], paths: [leaf] });
    await tree.remove(at('c'));
    assert.equal(existsSync(at('c')), false);
  });

  it('deletes a tree deeper than the number of files it may open', async () => {
    makeChain('deep', 'd', 1500, () => 'e');
    const result = spawnSync('bash', ['-c', 'ulimit -n 400; exec "$0" delete "$1"', program, at('deep')]);
    assert.equal(result.status, 0, result.stderr.toString());
    assert.equal(existsSync(at('deep')), false);
  });

  it('tells what it did not enter where a tree is deeper than the number of files it may open', async () => {
    makeChain('deep', 'd', 300, () => 'e');
    mkdirSync(at('nothing'));
    const command = 'ulimit -n 100; exec "$0" diff --upper "$1" --lower "$2"';
    const result = spawnSync('bash', ['-c', command, program, at('deep'), at('nothing')]);
    assert.equal(result.status, 0, result.stderr.toString());
    const fields = result.stdout.toString().split('\0').slice(0, -1);
    const unlisted = fields.filter((_, index) => index % 8 === 6 && fields[index] !== '0');
    assert.equal(unlisted.length, 1);
    assert.equal(fields.length / 8 + Number(unlisted[0]), 2 * 300 + 1, 'every entry is listed or counted');
  });

  it('counts what is too deep to be listed, in little memory, and refuses those who need all of it', async () => {
    const [depth, name] = [1500, 'n'.repeat(100)];
    makeChain('deep', name, depth, (level) => (level % 100 === 0 ? 'side' : undefined));
    mkdirSync(at('nothing'));
    const sides = { uppers: [at('deep')], lowers: [at('nothing')] };
    const told = await tree.diff({ ...sides, tellsUnlisted: true });
    assert.equal(told.filter(({ unlisted }) => unlisted !== undefined).length, 1);
    assert.equal(countChanges(told), depth + depth / 100 + 1);
    assert.ok(told.reduce((length, { path }) => length + path.length, 0) < longPathBytes + 512 * told.length);
    await assert.rejects(tree.diff(sides), { code: 'E2BIG' });
    // With room neither for the largest stack that it makes itself nor for the walk on the one that it was given. A program built
    // with sanitizers maps terabytes for itself: it is asked for its answer alone.
    const bound = process.env['CTX_TEST_TREE'] === undefined ? 'ulimit -v 200000; ulimit -s 256; ' : '';
    const command = `${bound}exec "$0" diff --upper "$1" --lower "$2" --most 8000000`;
    const result = spawnSync('bash', ['-c', command, program, at('deep'), at('nothing')], { maxBuffer: 1 << 28 });
    assert.equal(result.status, 0, result.stderr.toString());
    // What was there and is deleted is as deep.
    const gone = await tree.diff({ uppers: [at('nothing')], lowers: [at('deep')], whole: true, tellsUnlisted: true });
    assert.deepEqual(new Set(gone.map(({ kind }) => kind)), new Set(['deleted']));
    assert.equal(countChanges(gone), depth + depth / 100 + 1);
  });

  it('neither blocks on a fifo nor reads through a link where a file was expected', async () => {
    write('secret', 'secret');
    for (const side of ['layer', 'origin']) {
      mkdirSync(at(side));
      execFileSync('mkfifo', [at(side, 'pipe')]);
    }
    write('layer/file', 'secret');
    symlinkSync(at('secret'), at('origin/file'));
    mkdirSync(at('origin/elsewhere'));
    write('outside/inner', 'x');
    write('layer/swapped/inner', 'x');
    symlinkSync(at('outside'), at('origin/swapped'));
    const paths = ['pipe', 'file', 'swapped', 'swapped/inner'];
    const verdicts = await tree.compare({ layers: [at('layer')], root: at('origin'), paths });
    assert.deepEqual([...verdicts.values()], ['same', 'different', 'different', 'only-layers']);
    const apply = (path: string, action: Step['action'] = 'put') =>
      tree.apply({ uppers: [at('layer')], root: at('origin'), plan: [{ action, path }] });
    await assert.rejects(apply('swapped/inner'), (error: { code: string }) => /ELOOP|ENOTDIR/.test(error.code));
    await apply('swapped/inner', 'remove'); // it is not in the tree, so it is gone already
    assert.equal(readFileSync(at('outside/inner'), 'utf8'), 'x');
  });

  it('refuses paths that leave the tree', async () => {
    for (const path of ['../x', '/etc/passwd', 'a/../../x', '', 'a//b', './a', '/', 'a//', '../', './', 'a/../']) {
      mkdirSync(at('l'), { recursive: true });
      const options = { uppers: [at('l')], root: at('l'), plan: [{ action: 'remove', path } as const] };
      await assert.rejects(tree.apply(options), { code: 'EINVAL' }, path);
      await assert.rejects(tree.compare({ layers: [at('l')], root: at('l'), paths: [path] }), { code: 'EINVAL' });
    }
  });

  it('is not blinded by chmod 000, for an ordinary user either', async () => {
    chmodSync(at(), 0o777);
    write('o/d/f', 'hidden');
    write('low/d/f', 'shown');
    for (const path of ['o', 'o/d', 'o/d/f', 'low', 'low/d', 'low/d/f']) {
      if (isRoot) chownSync(at(path), nobody, nobody);
    }
    chmodSync(at('o/d/f'), 0);
    chmodSync(at('o/d'), 0);
    assert.deepEqual(await userTree.copy({ root: at('o'), destination: at('c'), signatures: at('s') }), []);
    assert.equal(statSync(at('c/d')).mode & 0o777, 0);
    const changes = await userTree.diff({ uppers: [at('o')], lowers: [at('low')] });
    assert.deepEqual(
      changes.map(({ path, content, mode }) => [path, content, mode]),
      [
        ['d', false, 0],
        ['d/f', true, 0],
      ],
    );
    await userTree.remove(at('c'));
    assert.equal(existsSync(at('c')), false);
    const layers = [at('low')];
    await userTree.remove(at('o/d'));
    await userTree.mirror({ root: at('o'), into: at('m'), layers, paths: ['d/f', 'd'] });
    assert.ok(lstatSync(at('m/d')).isCharacterDevice(), 'whiteouts need no privilege');
  });

  it('deletes what it may not enter, twice if need be', async () => {
    write('c/d/e/f');
    chmodSync(at('c/d/e'), 0);
    chmodSync(at('c/d'), 0o500);
    if (isRoot) for (const path of ['c', 'c/d', 'c/d/e', 'c/d/e/f']) chownSync(at(path), nobody, nobody);
    chmodSync(at(), 0o777);
    await userTree.remove(at('c'));
    assert.equal(existsSync(at('c')), false);
    await userTree.remove(at('c'));
  });
});

describe('tree diff of planted layers', () => {
  it('reads whiteouts and opaque directories in lower layers too', async () => {
    write('bottom/d/hidden');
    write('bottom/d/again', 'old');
    write('bottom/gone/x');
    write('middle/d/again', 'new');
    attribute(at('middle/d'), 'user.overlay.opaque', 'y');
    write('middle/other');
    await tree.mirror({ root: at('middle'), into: at('white'), layers: [at('bottom')], paths: ['gone'] });
    mkdirSync(at('upper'));
    const view = async (uppers: string[], lowers: string[]) =>
      (await tree.diff({ uppers, lowers })).map(({ kind, path }) => `${kind} ${path}`);
    mkdirSync(at('nothing'));
    const stack = ['white', 'middle', 'bottom'].map((name) => at(name));
    assert.deepEqual(await view(stack, [at('nothing')]), ['added d', 'added d/again', 'added other']);
    assert.deepEqual(await view(stack.slice(0, 2), [at('bottom')]), [
      'modified d/again',
      'deleted d/hidden',
      'deleted gone',
      'deleted gone/x',
      'added other',
    ]);
    assert.deepEqual(await view([at('upper')], stack), []);
  });

  it('takes a marked empty file for a whiteout only in a directory that says so', async () => {
    write('low/d/f');
    write('low/e/f');
    write('up/d/f', '');
    write('up/e/f', '');
    attribute(at('up/d'), 'user.overlay.opaque', 'x');
    for (const name of ['d', 'e']) attribute(at('up', name, 'f'), 'user.overlay.whiteout', 'y');
    const changes = await differences(at('up'), at('low'));
    assert.deepEqual(
      changes.map(({ kind, path }) => `${kind} ${path}`),
      ['deleted d/f', 'modified e/f'],
    );
  });
});

describe('tree diff stamps', () => {
  it('differ when a file is written again to the same size, and stay when it is not', async () => {
    write('up/d/f', 'one');
    mkdirSync(at('low'));
    const stamps = async () => (await differences(at('up'), at('low'))).map(({ stamp }) => stamp);
    const [directory, first] = await stamps();
    assert.deepEqual(await stamps(), [directory, first]);
    assert.equal(directory, '');
    await settle();
    writeFileSync(at('up/d/f'), 'two');
    assert.notEqual((await stamps())[1], first);
  });
});

describe('tree apply', () => {
  it('replaces files whole, strips what gives power, and runs again after an interruption', async () => {
    write('up/bin', 'evil');
    chmodSync(at('up/bin'), 0o7755);
    attribute(at('up/bin'), 'user.note', 'kept');
    symlinkSync('bin', at('up/link'));
    write('up/dir/new', 'n');
    write('up/was-directory', 'file now');
    write('origin/bin', 'good');
    write('origin/dir', 'a file in the way');
    write('origin/was-directory/inner');
    write('origin/old');
    const before = statSync(at('origin/bin')).ino;
    const plan: Step[] = [
      { action: 'remove', path: 'was-directory/inner' },
      { action: 'put', path: 'was-directory' },
      { action: 'remove', path: 'old' },
      { action: 'put', path: 'bin' },
      { action: 'put', path: 'link' },
      { action: 'put', path: 'dir' },
      { action: 'put', path: 'dir/new' },
    ];
    for (let run = 0; run < 2; run++) await tree.apply({ uppers: [at('up')], root: at('origin'), plan });
    assert.equal(readFileSync(at('origin/bin'), 'utf8'), 'evil');
    assert.notEqual(statSync(at('origin/bin')).ino, before);
    assert.equal(statSync(at('origin/bin')).mode & 0o7777, 0o755);
    assert.equal(attribute(at('origin/bin'), 'user.note'), 'kept');
    assert.deepEqual(readdirSync(at('origin')).sort(), ['bin', 'dir', 'link', 'was-directory']);
    assert.equal(readFileSync(at('origin/dir/new'), 'utf8'), 'n');
  });

  it('stops at the first failure, says which steps were done, and leaves no temporary', async () => {
    for (const name of ['a', 'b', 'blocked', 'c']) write(`up/${name}`);
    write('origin/blocked/full');
    const done: string[] = [];
    const plan = ['a', 'b', 'blocked', 'c'].map((path): Step => ({ action: 'put', path }));
    const applying = tree.apply({ uppers: [at('up')], root: at('origin'), plan, onDone: (path) => done.push(path) });
    await assert.rejects(applying, { code: 'ENOTEMPTY', path: 'blocked' });
    assert.deepEqual(done, ['a', 'b']);
    assert.deepEqual(readdirSync(at('origin')).sort(), ['a', 'b', 'blocked']);
    const orphan = tree.apply({ uppers: [at('up')], root: at('none'), plan });
    await assert.rejects(orphan, { code: 'ENOENT' });
  });

  it('leaves no temporary when it is aborted', async () => {
    mkdirSync(at('origin'));
    write('up/large', '');
    const chunk = Buffer.alloc(2 ** 20, 1);
    const large = openSync(at('up/large'), 'w');
    for (let i = 0; i < 200; i++) writeSync(large, chunk);
    closeSync(large);
    const abort = new AbortController();
    const plan: Step[] = [{ action: 'put', path: 'large' }];
    const applying = tree.apply({ uppers: [at('up')], root: at('origin'), plan, signal: abort.signal });
    const watch = setInterval(() => {
      if (readdirSync(at('origin')).length > 0) abort.abort();
    }, 1);
    // Where it was faster than the watch, the file is there and nothing else.
    await applying
      .then(
        () => assert.deepEqual(readdirSync(at('origin')), ['large']),
        (error: { code: string }) => {
          assert.equal(error.code, 'ECANCELED');
          assert.ok(readdirSync(at('origin')).every((name) => name === 'large'));
        },
      )
      .finally(() => clearInterval(watch));
  });

  it('never makes a device', async () => {
    write('bottom/f');
    mkdirSync(at('o'));
    await tree.mirror({ root: at('o'), into: at('up'), layers: [at('bottom')], paths: ['f'] });
    mkdirSync(at('origin'));
    const applying = tree.apply({ uppers: [at('up')], root: at('origin'), plan: [{ action: 'put', path: 'f' }] });
    await assert.rejects(applying, { code: 'ENOENT' });
  });
});

describe('tree lock', () => {
  it('is held by the open file of the caller, and refuses a second', async () => {
    write('lock');
    const [first, second] = [openSync(at('lock'), 'r'), openSync(at('lock'), 'r')];
    await tree.lock({ descriptor: first, wait: false });
    await assert.rejects(tree.lock({ descriptor: second, wait: false }), { code: 'EBUSY' });
    await tree.lock({ descriptor: first, wait: false });
    const waiting = tree.lock({ descriptor: second, wait: true });
    closeSync(first);
    await waiting;
    closeSync(second);
  });
});

describe('tree program', () => {
  it('that dies without a word is EIO, bad usage is EINVAL', async () => {
    writeFileSync(at('dies'), '#!/bin/sh\nkill -9 $$\n', { mode: 0o755 });
    await assert.rejects(new Tree({ program: at('dies') }).remove(at('x')), { code: 'EIO' });
    await assert.rejects(new Tree({ program: at('none') }).remove(at('x')), { code: 'EIO' });
    await assert.rejects(tree.diff({ uppers: [], lowers: [] }), { code: 'EINVAL' });
  });
});

describe('tree under change', () => {
  it('never trusts the copy of a file that is being written', async () => {
    write('o/busy', 'x');
    const writer = spawn('sh', ['-c', 'while :; do i=$((i+1)); echo $i > "$0"; done', at('o/busy')]);
    const problems = await tree.copy({ root: at('o'), destination: at('c'), signatures: at('s') });
    const ended = new Promise((resolve) => writer.once('exit', resolve));
    writer.kill('SIGKILL');
    await ended;
    // On a busy host the writer may pause long enough to be copied whole.
    for (const problem of problems) assert.deepEqual([problem.path, problem.code], ['busy', 'EBUSY']);
    const drift = await tree.scan({ root: at('o'), signatures: at('s2'), against: at('s') });
    if (drift.length === 0) assert.deepEqual(readFileSync(at('c/busy')), readFileSync(at('o/busy')));
    else assert.deepEqual(drift, [{ path: 'busy', what: 'changed' }]);
    if (problems.length > 0) assert.equal(drift.length, 1);
  });

  it('survives directories and links being swapped under it', async () => {
    write('secret/inner', 'outside');
    write('o/d/inner', 'inside');
    const stop = swapForLink(at('o'));
    try {
      for (let run = 0; run < 20; run++) {
        await tree.copy({ root: at('o'), destination: at(`c${run}`), signatures: at('s') });
        const copied = at(`c${run}`, 'd');
        if (existsSync(copied) && lstatSync(copied).isDirectory() && existsSync(join(copied, 'inner'))) {
          assert.equal(readFileSync(join(copied, 'inner'), 'utf8'), 'inside');
        }
      }
    } finally {
      await stop();
    }
  });
});

function swapForLink(origin: string): () => Promise<void> {
  let running = true;
  const loop = (async () => {
    while (running) {
      renameSync(join(origin, 'd'), join(dirname(origin), 'aside'));
      symlinkSync('../secret', join(origin, 'd'));
      await new Promise((resolve) => setImmediate(resolve));
      rmSync(join(origin, 'd'));
      renameSync(join(dirname(origin), 'aside'), join(origin, 'd'));
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  return async () => {
    running = false;
    await loop;
  };
}

describe('path bytes of tree entries', () => {
  it('come back from the disk as they were written', () => {
    const name = decodePath(Buffer.from([0x66, 0xff]));
    mkdirSync(at('o'));
    writeFileSync(Buffer.concat([Buffer.from(`${at('o')}/`), encodePath(name)]), '');
    assert.deepEqual(
      readdirSync(Buffer.from(at('o')), 'buffer').map((entry) => decodePath(entry)),
      [name],
    );
  });
});
