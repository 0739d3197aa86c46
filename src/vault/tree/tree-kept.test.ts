/** What is kept of a person’s directory: names of the store’s files, marks of what is gone, lists of rights. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FileTime } from './tree.js';
import { freshPlace, isRoot, tree } from './tree-fixture.js';

const { at, write } = freshPlace();
const shift = isRoot ? 100_000 : undefined;
const setAttribute = (path: string, name: string, value: string) =>
  assert.equal(spawnSync('setfattr', ['-n', name, '-v', value, at(path)]).status, 0);

describe('a mirror with links', () => {
  /** Whatever makes the file in the layer another one than a copy of the person's would be. */
  const changes: Readonly<Record<string, () => void>> = {
    nothing: () => undefined,
    mode: () => chmodSync(at('origin/f'), 0o640),
    'setuid in the layer': () => chmodSync(at('trunk/f'), 0o4644),
    'setgid in the layer': () => chmodSync(at('trunk/f'), 0o2644),
    'a sticky bit in the layer': () => chmodSync(at('trunk/f'), 0o1644),
    size: () => writeFileSync(at('origin/f'), 'text and more'),
    time: () => utimesSync(at('origin/f'), 1, 2000),
    'an attribute of theirs': () => setAttribute('origin/f', 'user.note', 'x'),
    'an attribute of the layer’s': () => setAttribute('trunk/f', 'user.note', 'x'),
    'more attributes of theirs than are looked at': () => {
      for (let number = 0; number < 8; number += 1) setAttribute('origin/f', `user.${'n'.repeat(200)}${number}`, 'x');
    },
    'a second name of theirs': () => linkSync(at('origin/f'), at('origin/second')),
    'a link in the layer': () => {
      rmSync(at('trunk/f'));
      symlinkSync('text', at('trunk/f'));
    },
    'nothing in the layer': () => rmSync(at('trunk/f')),
    ...(isRoot
      ? {
          owner: () => chownSync(at('origin/f'), 6, 8),
          group: () => chownSync(at('origin/f'), 7, 9),
          'an owner that is not shifted': () => chownSync(at('trunk/f'), 7, 8),
        }
      : {}),
  };

  it('names the file of the layer where it is a copy of theirs, and copies theirs where anything differs', async () => {
    for (const [name, change] of Object.entries(changes)) {
      write('origin/f', 'text');
      if (isRoot) chownSync(at('origin/f'), 7, 8);
      chmodSync(at('origin/f'), 0o644);
      utimesSync(at('origin/f'), 1, 1000);
      await tree.copy({ root: at('origin'), destination: at('trunk'), signatures: at('s'), shift });
      change();
      if (name !== 'time' && name !== 'nothing in the layer') utimesSync(at('origin/f'), 1, 1000);
      await sleep(25);
      const keeping = { root: at('origin'), into: at('kept'), layers: [at('trunk')], paths: ['f'], links: true, shift };
      assert.deepEqual(await tree.mirror(keeping), [], name);
      const isOne = existsSync(at('trunk/f')) && lstatSync(at('trunk/f')).ino === lstatSync(at('kept/f')).ino;
      assert.equal(isOne, name === 'nothing', name);
      const [kept, theirs] = [lstatSync(at('kept/f')), lstatSync(at('origin/f'))];
      assert.equal(readFileSync(at('kept/f'), 'utf8'), readFileSync(at('origin/f'), 'utf8'), name);
      const ids = [theirs.uid + (shift ?? 0), theirs.gid + (shift ?? 0)];
      assert.deepEqual([kept.uid, kept.gid, kept.mode, kept.mtimeMs], [...ids, theirs.mode, theirs.mtimeMs], name);
      for (const place of ['origin', 'trunk', 'kept']) await tree.remove(at(place));
    }
  });
});

describe('a mirror', () => {
  it('marks what is gone as deleted where the layers have it, in directories as they are now', async () => {
    for (const path of ['d/e/gone', 'd/e/kept', 'there', 'tree/in/f', 'file-then/f']) write(`layer/${path}`);
    for (const path of ['d/e/kept', 'new/inner/f']) write(`origin/${path}`);
    write('origin/file-then');
    chmodSync(at('origin/d/e'), 0o2750);
    chmodSync(at('origin/d'), 0o701);
    setAttribute('origin/d', 'user.note', 'x');
    for (const name of ['d/e', 'd']) utimesSync(at('origin', name), 1, 1234);
    const paths = ['d/e/gone', 'd/e/never', 'file-then/f', 'missing/x/y', 'new/inner/f', 'there', 'tree/in/f'];
    assert.deepEqual(await tree.mirror({ root: at('origin'), into: at('kept'), layers: [at('layer')], paths }), []);
    const found = readdirSync(at('kept'), { recursive: true, encoding: 'utf8' }).sort();
    assert.deepEqual(found, ['d', 'd/e', 'd/e/gone', 'file-then', 'new', 'new/inner', 'new/inner/f', 'there', 'tree']);
    for (const path of ['d/e/gone', 'there', 'tree']) {
      const status = lstatSync(at('kept', path));
      assert.deepEqual([status.isCharacterDevice(), status.rdev], [true, 0], path);
    }
    for (const path of ['d', 'd/e']) {
      const [kept, theirs] = [statSync(at('kept', path)), statSync(at('origin', path))];
      assert.deepEqual([kept.mode, kept.mtimeMs], [theirs.mode, theirs.mtimeMs], path);
    }
    assert.equal(spawnSync('getfattr', ['-n', 'user.note', at('kept/d')]).status, 0);
    assert.ok(lstatSync(at('kept/file-then')).isFile());
  });

  it('gives the top the mode, owner and time of theirs', async () => {
    mkdirSync(at('origin'));
    chmodSync(at('origin'), 0o1753);
    utimesSync(at('origin'), 1, 1234);
    await tree.mirror({ root: at('origin'), into: at('kept'), layers: [], paths: ['.'], shift });
    const [kept, theirs] = [statSync(at('kept')), statSync(at('origin'))];
    assert.deepEqual([kept.mode, kept.mtimeMs, kept.uid], [theirs.mode, theirs.mtimeMs, theirs.uid + (shift ?? 0)]);
  });

  it('leaves out what is no file, tells it, and lets nothing of the layers show in its place', async () => {
    for (const name of ['socket', 'device']) write(`layer/${name}`);
    mkdirSync(at('origin'));
    const bind = 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])';
    assert.equal(spawnSync('python3', ['-c', bind, 'socket'], { cwd: at('origin') }).status, 0);
    if (isRoot) assert.equal(spawnSync('mknod', [at('origin/device'), 'b', '1', '3']).status, 0);
    const paths = isRoot ? ['device', 'socket'] : ['socket'];
    const mirror = async (into: string, sockets: boolean) => {
      return (await tree.mirror({ root: at('origin'), into: at(into), layers: [at('layer')], paths, sockets })).map(
        ({ path, code }) => `${path} ${code}`,
      );
    };
    const devices = isRoot ? ['device ENOTSUP'] : [];
    assert.deepEqual(await mirror('kept', false), [...devices, 'socket ENOTSUP']);
    assert.deepEqual(await mirror('with-sockets', true), devices);
    for (const into of ['kept', 'with-sockets']) {
      assert.deepEqual(readdirSync(at(into)), paths, into);
      for (const name of paths) {
        const { rdev } = lstatSync(at(into, name));
        const isKept = into === 'with-sockets' && name === 'socket';
        assert.equal(lstatSync(at(into, name)).isSocket(), isKept, `${into}/${name}`);
        assert.equal(lstatSync(at(into, name)).isCharacterDevice() && rdev === 0, !isKept, `${into}/${name}`);
      }
    }
  });
});

/** u::rw, g::GROUP, m::rw, o::---, u:OWN:rw. The bits of the group in a mode are those of the mask. */
function rightsOf(group: number): string {
  const entry = (tag: number, permissions: number, id = 0xffff_ffff) => {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt16LE(tag, 0);
    bytes.writeUInt16LE(permissions, 2);
    bytes.writeUInt32LE(id, 4);
    return bytes.toString('hex');
  };
  const own = process.getuid?.() ?? 0;
  return `0x02000000${entry(1, 6)}${entry(2, 6, own)}${entry(4, group)}${entry(0x10, 6)}${entry(0x20, 0)}`;
}
const access = 'system.posix_acl_access';
const rights = (path: string) =>
  spawnSync('getfattr', ['--absolute-names', '-e', 'hex', '--only-values', '-n', access, at(path)]).stdout.toString(
    'hex',
  );

describe('a list of rights', () => {
  const put = (more: { readonly undoes?: boolean; readonly durable?: boolean }) =>
    tree.apply({
      uppers: [at('up')],
      root: at('to'),
      plan: [{ action: 'put', path: 'f' }],
      expected: [at('before')],
      ...more,
    });
  const makeSides = () => {
    for (const side of ['up', 'to', 'before']) {
      write(`${side}/f`, side === 'up' ? 'new' : 'old');
      chmodSync(at(side, 'f'), 0o660);
    }
  };

  it('of a file that is replaced goes to the one that replaces it; a new file has the mode alone', async () => {
    for (const durable of [true, false]) {
      makeSides();
      setAttribute('to/f', access, rightsOf(0));
      const before = rights('to/f');
      assert.notEqual(before, '');
      assert.deepEqual((await put({ durable })).narrowed, []);
      assert.deepEqual([readFileSync(at('to/f'), 'utf8'), rights('to/f')], ['new', before]);
      assert.equal(statSync(at('to/f')).mode & 0o777, 0o660);
      for (const side of ['up', 'to', 'before']) await tree.remove(at(side));
    }
    makeSides();
    renameSync(at('to/f'), at('to/g'));
    rmSync(at('before/f'));
    assert.deepEqual((await put({})).narrowed, []);
    assert.deepEqual([statSync(at('to/f')).mode & 0o777, rights('to/f')], [0o660, '']);
  });

  it('that the undo brings back is the one that was mirrored, whatever is at the place now', async () => {
    for (const durable of [true, false]) {
      write('origin/f', 'old');
      chmodSync(at('origin/f'), 0o660);
      setAttribute('origin/f', access, rightsOf(4));
      const before = rights('origin/f');
      await tree.mirror({ root: at('origin'), into: at('up'), layers: [], paths: ['f'] });
      assert.equal(rights('up/f'), '', 'beside the copy, not at it');
      for (const side of ['to', 'before']) write(`${side}/f`, 'now');
      assert.deepEqual((await put({ undoes: true, durable })).narrowed, []);
      assert.deepEqual([readFileSync(at('to/f'), 'utf8'), rights('to/f')], ['old', before]);
      for (const side of ['up', 'to', 'before', 'origin']) await tree.remove(at(side));
    }
  });

  it('that cannot be brought back takes the rights of the group along, and that is told', async () => {
    makeSides();
    setAttribute('up/f', 'user.ctxfs.access', 'no list');
    assert.deepEqual((await put({ undoes: true })).narrowed, ['f']);
    assert.deepEqual([readFileSync(at('to/f'), 'utf8'), statSync(at('to/f')).mode & 0o777], ['new', 0o600]);
  });
});

describe('the undo of a directory', () => {
  it('gives back the last bit of its mode; an apply leaves setgid to the person', async () => {
    for (const [undoes, expected] of [
      [true, 0o750],
      [false, 0o2750],
    ] as const) {
      for (const side of ['up', 'to', 'before']) mkdirSync(at(`${side}-${undoes}`, 'd'), { recursive: true });
      chmodSync(at(`up-${undoes}`, 'd'), 0o750);
      chmodSync(at(`to-${undoes}`, 'd'), 0o2755);
      const root = at(`to-${undoes}`);
      const { dev, ino } = statSync(root);
      tree.know(root, `${dev}:${ino}`);
      const plan = [{ action: 'put', path: 'd' } as const];
      await tree.apply({ uppers: [at(`up-${undoes}`)], root, plan, expected: [at(`before-${undoes}`)], undoes, shift });
      assert.equal(statSync(`${root}/d`).mode & 0o7777, expected, `${undoes}`);
    }
  });
});

describe('new names of files, with their times', () => {
  it('are told where a name of the same file was there before, and of others only what has changed', async () => {
    const names = ['linked', 'alone', 'apart'];
    for (const side of ['lower', 'upper'])
      for (const name of names.slice(0, 2)) {
        write(`${side}/${name}`, name);
        utimesSync(at(side, name), 1, 1000);
      }
    write('upper/apart', 'apart');
    for (let number = 0; number < 70; number += 1) {
      for (const side of ['lower', 'upper']) {
        write(`${side}/many/f${number}`, 'x');
        utimesSync(at(side, 'many', `f${number}`), 1, 1000);
      }
      linkSync(at('upper/many', `f${number}`), at('upper/many', `g${number}`));
    }
    linkSync(at('upper/linked'), at('upper/more-of-linked'));
    linkSync(at('upper/apart'), at('upper/more-of-apart'));
    const times: readonly FileTime[] = await tree.diffWithTimes(
      { uppers: [at('upper')], lowers: [at('lower')] },
      () => undefined,
    );
    const told = times.map(({ path, state, links }) => `${path} ${state} ${links === undefined}`);
    const many = Array.from({ length: 70 }, (_, number) => [
      `many/f${number} same false`,
      `many/g${number} added false`,
    ]);
    assert.deepEqual(told.sort(), ['linked same false', 'more-of-linked added false', ...many.flat()].sort());
  });
});
