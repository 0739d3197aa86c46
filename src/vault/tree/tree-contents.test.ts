/** Contents with holes, attributes and owners: what is compared is what is read, no mark of our own travels, and ids stay. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  ftruncateSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/process.js';
import { randomFrom, testSeed } from '../../../test/support/random.js';
import { differences, freshPlace, isRoot, program, tree } from './tree-fixture.js';

const { at, write } = freshPlace();
const block = 64 * 1024;

/** A letter a block: `.` is a hole, `0` zeros that are written. */
function makeBlocks(path: string, blocks: string): void {
  const descriptor = openSync(at(path), 'w', 0o644);
  ftruncateSync(descriptor, blocks.length * block);
  for (const [number, letter] of [...blocks].entries()) {
    const bytes = Buffer.alloc(block, letter === '0' ? 0 : letter);
    if (letter !== '.') writeSync(descriptor, bytes, 0, block, number * block);
  }
  closeSync(descriptor);
  utimesSync(at(path), 1, 1);
}

describe('files with holes', () => {
  it('are compared by what is read, wherever either of them has a hole', async () => {
    const random = randomFrom(testSeed);
    const blocks = () => Array.from({ length: 1 + Math.floor(random() * 5) }, () => '...0ab'[Math.floor(random() * 6)]);
    mkdirSync(at('left'));
    mkdirSync(at('right'));
    // Every way in which a hole and data can follow each other in three blocks, and some at random.
    const everyOrder = Array.from({ length: 8 }, (_, bits) =>
      [4, 2, 1].map((bit) => (bits & bit ? 'a' : '.')).join(''),
    );
    const pairs = [
      ...everyOrder.flatMap((one) => everyOrder.map((other) => [one, other])),
      ...Array.from({ length: 60 }, () => [blocks().join(''), blocks().join('')]),
    ];
    const read = (text = '') => text.replaceAll('.', '0');
    const differing: string[] = [];
    for (const [number, [left = '', right = '']] of pairs.entries()) {
      makeBlocks(`left/${number}`, left);
      makeBlocks(`right/${number}`, right);
      if (read(left) !== read(right)) differing.push(String(number));
    }
    const found = await differences(at('left'), at('right'));
    assert.deepEqual(
      found.filter(({ content }) => content).map(({ path }) => path),
      differing.sort(),
      JSON.stringify(pairs),
    );
    assert.deepEqual(await tree.copy({ root: at('left'), destination: at('copy'), signatures: at('s') }), []);
    for (const number of pairs.keys()) {
      assert.ok(readFileSync(at('copy', String(number))).equals(readFileSync(at('left', String(number)))), `${number}`);
      assert.ok(statSync(at('copy', String(number))).blocks <= statSync(at('left', String(number))).blocks);
    }
  });
});

/** The names of the user attributes of each. */
function attributesOf(paths: readonly string[]): readonly string[][] {
  const code =
    'import os, sys, json; print(json.dumps([sorted(n for n in os.listxattr(p) if n.startswith("user.")) for p in sys.argv[1:]]))';
  return JSON.parse(spawnSync('python3', ['-c', code, ...paths], { encoding: 'utf8' }).stdout) as string[][];
}

function setAttributes(paths: readonly string[], names: readonly string[]): void {
  const code =
    'import os, sys, json\nfor p in json.loads(sys.argv[1]):\n for n in json.loads(sys.argv[2]): os.setxattr(p, n, b"y")';
  const { status, stderr } = spawnSync('python3', ['-c', code, JSON.stringify(paths), JSON.stringify(names)]);
  assert.equal(status, 0, String(stderr));
}

describe('attributes that mean something to overlay or to ctx', () => {
  const marks = ['user.overlay.metacopy', 'user.ctxfs.access', 'user.ctxfs.other'];

  it('come neither into the store nor into the person’s directory; all others of the person’s do', async () => {
    // More names than the first look has room for.
    const long = Array.from({ length: 8 }, (_, number) => `user.${'n'.repeat(200)}${number}`);
    const plain = [...long, 'user.note', 'user.overlayed'].concat('user.ctxfsy').sort();
    for (const path of ['file', 'directory/file']) write(`origin/${path}`);
    const paths = ['file', 'directory', 'directory/file'];
    setAttributes(
      paths.map((path) => at('origin', path)),
      [...marks, ...plain],
    );
    assert.deepEqual(await tree.copy({ root: at('origin'), destination: at('copy'), signatures: at('s') }), []);
    write('home/file', 'before');
    const plan = paths.map((path) => ({ action: 'put', path }) as const);
    await tree.apply({ uppers: [at('origin')], root: at('home'), plan });
    await tree.mirror({ root: at('origin'), into: at('mirrored'), layers: [], paths: ['directory/file', 'file'] });
    const made = ['copy', 'home', 'mirrored'].flatMap((place) => paths.map((path) => at(place, path)));
    assert.deepEqual(
      attributesOf(made),
      made.map(() => plain),
    );
  });
});

describe('who owns what root applies', { skip: isRoot ? false : 'only root can give files away' }, () => {
  const shift = 100_000;

  it('is its owner in the fork, whatever group the directory hands on', async () => {
    const ids: Readonly<Record<string, readonly [number, number]>> = {
      file: [0, 0],
      group: [0, 1234],
      link: [0, 0],
      inner: [7, 0],
    };
    for (const mode of [0o755, 0o2775]) {
      const [up, home] = [`up-${mode}`, `home-${mode}`];
      mkdirSync(at(up));
      write(`${up}/file`);
      write(`${up}/group`);
      symlinkSync('file', at(up, 'link'));
      mkdirSync(at(up, 'inner'));
      for (const [name, [uid, gid]] of Object.entries(ids)) lchownSync(at(up, name), shift + uid, shift + gid);
      write(`${home}/file`, 'before');
      chownSync(at(home), 0, 1234);
      chmodSync(at(home), mode);
      const plan = Object.keys(ids).map((path) => ({ action: 'put', path }) as const);
      await tree.apply({ uppers: [at(up)], root: at(home), plan, shift });
      for (const [name, own] of Object.entries(ids)) {
        const { uid, gid } = lstatSync(at(home, name));
        assert.deepEqual([uid, gid], own, `${name} in a directory of mode ${mode.toString(8)}`);
      }
    }
  });
});

describe('times of files', () => {
  it('are told of what is new, changed, touched or has two names; with `known` of nothing that is only new', async () => {
    for (const name of ['same', 'touched', 'changed']) write(`lower/${name}`, name);
    for (const name of ['same', 'touched', 'new', 'linked']) write(`upper/${name}`, name);
    write('upper/changed', 'other');
    linkSync(at('upper/linked'), at('upper/linked-too'));
    for (const name of ['lower/same', 'upper/same', 'lower/touched']) utimesSync(at(name), 1, 1);
    const sides = { uppers: [at('upper')], lowers: [at('lower')] };
    const told = async (known: boolean) =>
      (await tree.times({ ...sides, known })).map(({ path, state }) => `${path} ${state}`);
    const linked = ['linked added', 'linked-too added'];
    assert.deepEqual(await told(false), ['changed modified', ...linked, 'new added', 'touched same']);
    assert.deepEqual(await told(true), ['changed modified', ...linked, 'touched same']);
  });

  it('that are aged come before the time that is given, in the order that they had, however few there are', async () => {
    const before = 1_500_000_000n * 1_000_000_000n;
    for (const count of [1, 2, 3]) {
      const names = Array.from({ length: count }, (_, number) => `f${number}`);
      for (const [number, name] of names.entries()) {
        write(`up-${count}/${name}`);
        utimesSync(at(`up-${count}`, name), 1_600_000_000 + number, 1_600_000_000 + number);
      }
      mkdirSync(at(`to-${count}`));
      const plan = names.map((path) => ({ action: 'age', path }) as const);
      await tree.apply({ uppers: [at(`up-${count}`)], root: at(`to-${count}`), plan, forward: 'now', before });
      const times = names.map((name) => statSync(at(`to-${count}`, name), { bigint: true }).mtimeNs);
      for (const [number, time] of times.entries()) {
        assert.ok(time > before - 10n && time < (times[number + 1] ?? before), `${time} of ${count}`);
      }
    }
  });
});

describe('what root applies to a directory of another user', {
  skip: isRoot ? false : 'only root can be another',
}, () => {
  it('is made, replaced and deleted whatever its kind and owner, in a directory that is open or closed to its owner', async () => {
    const [shift, person] = [100_000, 4242];
    const kinds = ['file', 'link', 'pipe', 'directory'];
    for (const [mode, owner, durable] of [0o755, 0o2775, 0o555].flatMap((each) =>
      [person, 0, 7].flatMap((id) => [true, false].map((waits) => [each, id, waits] as const)),
    )) {
      const [up, home] = ['up', 'home'].map((name) => `${name}-${mode}-${owner}-${durable}`) as [string, string];
      write(`${up}/file`);
      write(`${up}/directory/inner/file`);
      symlinkSync('file', at(up, 'link'));
      assert.equal(spawnSync('mkfifo', [at(up, 'pipe')]).status, 0);
      assert.equal(spawnSync('chown', ['-hR', `${shift + owner}:${shift + owner}`, at(up)]).status, 0);
      mkdirSync(at(home));
      chownSync(at(home), person, person);
      chmodSync(at(home), mode);
      const { dev, ino } = statSync(at(home));
      tree.know(at(home), `${dev}:${ino}`);
      const paths = [...kinds, 'directory/inner', 'directory/inner/file'];
      const to = { uppers: [at(up)], root: at(home), shift, durable };
      const plan = paths.map((path) => ({ action: 'put', path }) as const);
      // Twice: where nothing is, and over what is there.
      for (const time of ['first', 'second']) {
        await tree.apply({ ...to, plan });
        for (const path of paths) {
          const [made, asked] = [lstatSync(at(home, path)), lstatSync(at(up, path))];
          assert.deepEqual([made.uid, made.gid, made.mode], [owner, owner, asked.mode], `${time}: ${home}/${path}`);
        }
      }
      await tree.apply({ ...to, plan: paths.reverse().map((path) => ({ action: 'remove', path }) as const) });
      assert.deepEqual(readdirSync(at(home)), [], home);
      const { uid, mode: now } = lstatSync(at(home));
      assert.deepEqual([uid, now & 0o7777], [person, mode]);
    }
  });
});

describe('ids that a shift would wrap around', { skip: isRoot ? false : 'only root can give files away' }, () => {
  it('are refused, of whatever kind the entry is: they could come out as root’s', async () => {
    const [shift, most] = [100_000, 0xffff_fffe];
    const make = {
      file: (path: string) => write(path),
      link: (path: string) => symlinkSync('x', at(path)),
      fifo: (path: string) => void spawnSync('mkfifo', [at(path)]),
      directory: (path: string) => mkdirSync(at(path)),
    };
    for (const [kind, makes] of Object.entries(make)) {
      for (const [which, uid, gid] of [
        ['uid', most, 0],
        ['gid', 0, most],
      ] as const) {
        const origin = `${kind}-${which}`;
        mkdirSync(at(origin));
        makes(`${origin}/entry`);
        lchownSync(at(origin, 'entry'), uid, gid);
        const copying = tree.copy({ root: at(origin), destination: at(`${origin}-copy`), signatures: at('s'), shift });
        await assert.rejects(copying, { code: 'EOVERFLOW' }, origin);
      }
    }
  });
});

describe('what an agent made and nobody can want', () => {
  it('is not put into a directory: no socket, no device', async () => {
    for (const name of ['upper', 'origin']) mkdirSync(at(name));
    const bind = 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])';
    assert.equal(spawnSync('python3', ['-c', bind, 'socket'], { cwd: at('upper') }).status, 0);
    const devices = isRoot ? ['c', 'b'] : [];
    for (const type of devices) assert.equal(spawnSync('mknod', [at('upper', type), type, '1', '3']).status, 0);
    for (const path of ['socket', ...devices]) {
      const put = { uppers: [at('upper')], root: at('origin'), plan: [{ action: 'put', path } as const] };
      await assert.rejects(tree.apply(put), { code: 'EPERM' }, path);
      if (path !== 'socket') await assert.rejects(tree.apply({ ...put, sockets: true }), { code: 'EPERM' }, path);
    }
    assert.deepEqual(readdirSync(at('origin')), []);
    const plan = [{ action: 'put', path: 'socket' } as const];
    await tree.apply({ uppers: [at('upper')], root: at('origin'), plan, sockets: true });
    assert.ok(lstatSync(at('origin/socket')).isSocket(), 'into a directory of the store');
  });
});

describe('a pipe in a tree', () => {
  it('is opened by nothing that looks at it: whoever waits at its other end goes on waiting', async () => {
    for (const side of ['origin', 'layer']) {
      mkdirSync(at(side));
      assert.equal(spawnSync('mkfifo', [at(side, 'pipe')]).status, 0);
    }
    const writers = ['origin', 'layer'].map((side) => spawn('sh', ['-c', `echo ready; echo x > ${at(side, 'pipe')}`]));
    try {
      for (const { pid, stdout } of writers) {
        await once(stdout, 'data');
        await until(() => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(' S '), 'it waits');
      }
      const [root, layers] = [at('origin'), [at('layer')]];
      await tree.scan({ root, signatures: at('signatures') });
      await tree.copy({ root, destination: at('copy'), signatures: at('copied') });
      await tree.compare({ layers, root, paths: ['pipe'] });
      await tree.mirror({ root, into: at('mirrored'), layers, paths: ['pipe'], links: true });
      await tree.digest({ layers, most: 1024 });
      await tree.diff({ uppers: layers, lowers: [root] });
      await tree.read({ layers, paths: ['pipe'] });
      const plan = [{ action: 'put', path: 'pipe' } as const];
      await tree.apply({ uppers: layers, root, plan, expected: [at('copy')], durable: true });
      assert.deepEqual(
        writers.map(({ exitCode }) => exitCode),
        [null, null],
      );
    } finally {
      for (const writer of writers) writer.kill('SIGKILL');
    }
  });
});

describe('a whiteout that is no device', () => {
  it('hides by its mark, empty or not, in a directory that says so, and where it is empty itself', async () => {
    const names = ['empty-mark', 'mark', 'unmarked', 'filled'];
    for (const directory of ['said', 'unsaid']) {
      for (const name of names) {
        write(`lower/${directory}/${name}`, 'below');
        write(`upper/${directory}/${name}`, name === 'filled' ? 'x' : '');
      }
    }
    const mark = (path: string, name: string, value: string) =>
      assert.equal(spawnSync('setfattr', ['-n', name, '-v', value, at('upper', path)]).status, 0);
    mark('said', 'user.overlay.opaque', 'x');
    for (const directory of ['said', 'unsaid']) {
      mark(`${directory}/empty-mark`, 'user.overlay.whiteout', '');
      for (const name of ['mark', 'filled']) mark(`${directory}/${name}`, 'user.overlay.whiteout', 'y');
    }
    const changes = await tree.diff({ uppers: [at('upper')], lowers: [at('lower')] });
    const deleted = changes.filter(({ kind }) => kind === 'deleted').map(({ path }) => path);
    assert.deepEqual(deleted, ['said/empty-mark', 'said/mark']);
  });
});

describe('deleting', () => {
  it('a tree does not follow a link, at its top or inside', async () => {
    write('outside/kept');
    write('tree/file');
    symlinkSync('../outside', at('tree/link'));
    symlinkSync('outside', at('top'));
    await tree.remove(at('top')).catch(() => undefined);
    await tree.remove(`${at('top')}/`).catch(() => undefined);
    await tree.remove(at('tree'));
    assert.equal(readFileSync(at('outside/kept'), 'utf8'), 'outside/kept');
  });
});

describe('a copy that runs out of descriptors', () => {
  it('fails, and does not leave out what it could not open', async () => {
    const deep = Array.from({ length: 40 }, (_, level) => `d${level}`).join('/');
    mkdirSync(at('origin', deep), { recursive: true });
    write(`origin/${deep}/file`);
    const words = ['--nofile=24', program, 'copy', at('origin'), at('copy'), '--out', at('s')];
    const { status, stdout, stderr } = spawnSync('prlimit', words, { encoding: 'latin1' });
    if (status === 0) assert.equal(readFileSync(at('copy', deep, 'file'), 'utf8'), `origin/${deep}/file`, stdout);
    else assert.match(stderr, /EMFILE/, `${status} ${stdout}`);
  });
});
