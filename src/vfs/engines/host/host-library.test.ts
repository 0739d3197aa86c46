/** `native/host.node` by itself: every call refuses what is not one name of the directory, and none of them follows a link. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { constants as numbers, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { nativeProgram } from '../../../base/native-program.js';
import { places } from './anchored.js';

type Call = (...given: readonly unknown[]) => number | string;
const module: { exports: Record<string, Call> } = { exports: {} };
process.dlopen(module, nativeProgram('host.node'));
const call = (name: string, ...given: readonly unknown[]) => module.exports[name]?.(...given);
const { errno } = numbers;
const path = 0o10000000;
const isRoot = process.geteuid?.() === 0;

const base = mkdtempSync(join(tmpdir(), 'ctx-host-library-'));
after(() => rmSync(base, { recursive: true, force: true }));
let place = '';
let directory = -1;
let count = 0;
const found = new Float64Array(18);
const at = (name: string) => join(place, name);
const opened = () => readdirSync('/proc/self/fd').length;

beforeEach(() => {
  count += 1;
  place = join(base, String(count), 'inside');
  mkdirSync(join(place, 'below', 'deeper'), { recursive: true });
  writeFileSync(join(base, String(count), 'outside'), 'outside');
  writeFileSync(at('file'), 'content');
  writeFileSync(at('below/deeper/file'), 'deep');
  symlinkSync('file', at('link'));
  symlinkSync('below', at('other'));
  symlinkSync('../outside', at('out'));
  if (directory >= 0) closeSync(directory);
  directory = openSync(place, 'r');
});
after(() => closeSync(directory));

/** As each call takes a name: where in its arguments it is, and the rest of them. */
const naming: Readonly<Record<string, (name: unknown) => readonly unknown[]>> = {
  stat: (name) => [directory, name, found],
  unlink: (name) => [directory, name, 0],
  'unlink of a directory': (name) => [directory, name, 0x200],
  rename: (name) => [directory, name, directory, 'new', 0],
  'rename to it': (name) => [directory, 'file', directory, name, 0],
  mkdir: (name) => [directory, name, 0o755],
  symlink: (name) => ['target', directory, name],
  link: (name) => [directory, directory, name],
};
const callOf = (name: string) => name.split(' ')[0] ?? '';

describe('a name', () => {
  it('is one name: everything else is refused by every call, and nothing is done', () => {
    const tree = () => readdirSync(join(base, String(count)), { recursive: true }).sort();
    const before = tree();
    const bad: readonly (readonly [unknown, number])[] = [
      ['.', errno.EINVAL],
      ['..', errno.EINVAL],
      ['/', errno.EINVAL],
      ['a/', errno.EINVAL],
      ['/tmp', errno.EINVAL],
      ['../outside', errno.EINVAL],
      ['below/deeper', errno.EINVAL],
      ['a\0b', errno.EINVAL],
      [1, errno.EINVAL],
      [undefined, errno.EINVAL],
      ['x'.repeat(256), errno.ENAMETOOLONG],
    ];
    for (const [name, given] of Object.entries(naming)) {
      for (const [text, number] of bad) {
        assert.equal(call(callOf(name), ...given(text)), -number, `${name} ${JSON.stringify(text)}`);
      }
      if (name !== 'stat') assert.equal(call(callOf(name), ...given('')), -errno.EINVAL, `${name} without a name`);
    }
    assert.deepEqual(tree(), before);
  });

  it('has up to 255 bytes, each whatever it likes to be', () => {
    for (const name of ['x'.repeat(255), '...', '..x', '\xe4\xff\x01', ' ']) {
      assert.equal(call('mkdir', directory, name, 0o750), 0, JSON.stringify(name));
      assert.equal(call('stat', directory, name, found), 0);
      assert.equal((found[places.mode] ?? 0) & 0o170000, 0o040000);
      assert.ok(readdirSync(place, { encoding: 'latin1' }).includes(name), JSON.stringify(name));
      assert.equal(call('unlink', directory, name, 0x200), 0);
    }
  });
});

/** Where each leads: 0 is to what is there. */
const paths = (): readonly (readonly [path: string, flags: number, answer: number])[] => [
  ['file', 0, 0],
  ['below', 0, 0],
  ['below/deeper/file', 0, 0],
  ['.', 0, 0],
  ['', 0, -errno.ENOENT],
  ['missing', 0, -errno.ENOENT],
  ['missing/file', 0, -errno.ENOENT],
  ['file/below', 0, -errno.ENOTDIR],
  ['link', 0, -errno.ELOOP],
  ['out', 0, -errno.ELOOP],
  ['other/deeper', 0, -errno.ELOOP],
  ['link', path, 0],
  ['other/deeper', path, -errno.ELOOP],
  ['..', 0, -errno.EXDEV],
  ['../outside', 0, -errno.EXDEV],
  ['below/../../outside', 0, -errno.EXDEV],
  [join(base, 'x'), 0, -errno.EXDEV],
  ['a\0b', 0, -errno.EINVAL],
  [`${'below/../'.repeat(500)}file`, 0, -errno.ENAMETOOLONG],
];

/** Without openat2, as older kernels and some containers are. */
const walking = `
  const [library, place, rows] = JSON.parse(process.argv[1]);
  const calls = require(library);
  const { openSync, fstatSync, closeSync, readdirSync } = require('node:fs');
  const directory = openSync(place, 'r');
  // The first that is opened has the number 0, as in a process that was started without stdin.
  closeSync(0);
  const before = readdirSync('/proc/self/fd').length;
  const answers = rows.map(([path, flags]) => {
    const answer = calls.open(directory, path, flags, 0, new Float64Array(18));
    if (answer < 0) return answer;
    const { ino } = fstatSync(answer);
    closeSync(answer);
    return ino;
  });
  console.log(JSON.stringify([answers, readdirSync('/proc/self/fd').length - before]));`;
const noStrace = spawnSync('strace', ['-V']).status === 0 ? false : 'no strace';

describe('a path', () => {
  it('leads to what is below the directory, and nowhere else; what is refused leaves nothing open', () => {
    for (const [name, flags, number] of paths()) {
      const before = opened();
      const answer = Number(call('open', directory, name, flags, 0, found));
      if (number < 0) assert.equal(answer, number, name);
      else {
        assert.ok(answer >= 0, `${name}: ${answer}`);
        const kind = lstatSync(at(name));
        assert.equal((found[places.inodeLow] ?? 0) + (found[places.inodeHigh] ?? 0) * 2 ** 32, kind.ino, name);
        closeSync(answer);
      }
      // What was opened to start this test may be closed meanwhile.
      assert.ok(opened() <= before, `open after ${name}`);
    }
  });

  it('leads to the same where it is walked name after name, and where stdin is closed', { skip: noStrace }, () => {
    const given = JSON.stringify([nativeProgram('host.node'), place, paths()]);
    for (const error of ['ENOSYS', 'EPERM', undefined]) {
      const failing = error === undefined ? [] : ['-e', `inject=openat2:error=${error}`];
      const traced = ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=openat2', ...failing];
      const { stdout, stderr } = spawnSync('strace', [...traced, process.execPath, '-e', walking, given], {
        encoding: 'utf8',
      });
      const [answers, left] = JSON.parse(stdout || `["${stderr}"]`) as [number[], number];
      for (const [index, [name, , number]] of paths().entries()) {
        const answer = answers[index] ?? 0;
        if (number < 0) assert.ok(answer < 0, `${name}: ${answer}`);
        else assert.equal(answer, lstatSync(at(name)).ino, name);
      }
      assert.equal(left, 0, 'nothing is left open');
    }
  });

  it('is opened with the flags and the mode that were asked for, and is not given to programs', () => {
    const before = process.umask(0);
    const flags = constants.O_CREAT | constants.O_EXCL | constants.O_RDWR;
    for (const mode of [0o600, 0o644, 0o777, 0o000]) {
      const name = `new${mode}`;
      const made = Number(call('open', directory, name, flags, mode, found));
      assert.ok(made >= 0);
      assert.equal((found[places.mode] ?? 0) & 0o7777, mode);
      assert.match(readFileSync(`/proc/self/fdinfo/${made}`, 'utf8'), /^flags:\t0?2\d{6}$/m, 'close-on-exec');
      closeSync(made);
      assert.equal(call('open', directory, name, flags, mode, found), -errno.EEXIST);
    }
    process.umask(before);
  });

  it('is closed again where its attributes have no room', () => {
    const before = opened();
    for (const room of [new Float64Array(17), new Float32Array(18), new Array(18), undefined]) {
      assert.equal(call('open', directory, 'file', 0, 0, room), -errno.EINVAL);
      assert.equal(call('stat', directory, 'file', room), -errno.EINVAL);
    }
    assert.equal(opened(), before);
  });
});

describe('attributes', () => {
  it('are those of the entry itself, each in its place', () => {
    linkSync(at('file'), at('second'));
    utimesSync(at('file'), 1_000.5, 2_000.25);
    const fifth = 5_000_000_000;
    for (const name of ['file', 'below', 'link', 'out', '']) {
      assert.equal(call('stat', directory, name, found), 0, name);
      const about = lstatSync(at(name), { bigint: true });
      const two = (from: number) => BigInt(found[from] ?? 0) * 1_000_000_000n + BigInt(found[from + 1] ?? 0);
      assert.deepEqual(
        {
          mode: BigInt(found[places.mode] ?? 0),
          nlink: BigInt(found[places.links] ?? 0),
          uid: BigInt(found[places.uid] ?? 0),
          gid: BigInt(found[places.gid] ?? 0),
          rdev: BigInt(found[places.device] ?? 0),
          size: BigInt(found[places.size] ?? 0),
          blocks: BigInt(found[places.blocks] ?? 0),
          ino: (BigInt(found[places.inodeHigh] ?? 0) << 32n) | BigInt(found[places.inodeLow] ?? 0),
          dev: BigInt(found[places.filesystem] ?? 0),
          atimeNs: two(places.accessed),
          mtimeNs: two(places.modified),
          ctimeNs: two(places.changed),
          birthtimeNs: two(places.born),
        },
        Object.fromEntries(
          Object.entries(about).filter(([key]) => /^(mode|nlink|uid|gid|rdev|size|blocks|ino|dev|.*timeNs)$/.test(key)),
        ),
        name,
      );
    }
    assert.ok((found[places.modified] ?? 0) < fifth);
    const null_ = openSync('/dev', 'r');
    assert.equal(call('stat', null_, 'null', found), 0);
    closeSync(null_);
    assert.equal(found[places.device], lstatSync('/dev/null').rdev);
  });

  it('are set at the entry itself, and each time alone where that is asked for', () => {
    const [now, keep] = [-1, -2];
    for (const name of ['file', 'link', 'below']) {
      const before = statSync(at('file'));
      const entry = Number(call('open', directory, name, path, 0, found));
      assert.equal(call('times', entry, 1_111, 5, 2_222, 6), 0);
      const about = () => lstatSync(at(name), { bigint: true });
      assert.deepEqual([about().atimeNs, about().mtimeNs], [1_111_000_000_005n, 2_222_000_000_006n], name);
      assert.equal(call('times', entry, 0, keep, 3_333, 0), 0);
      assert.deepEqual([about().atimeNs, about().mtimeNs], [1_111_000_000_005n, 3_333_000_000_000n], name);
      assert.equal(call('times', entry, 4_444, 0, 0, keep), 0);
      assert.deepEqual([about().atimeNs, about().mtimeNs], [4_444_000_000_000n, 3_333_000_000_000n], name);
      const begin = Date.now();
      assert.equal(call('times', entry, 0, now, 0, now), 0);
      for (const time of [about().atimeNs, about().mtimeNs]) {
        assert.ok(Math.abs(Number(time / 1_000_000n) - begin) < 60_000, name);
      }
      if (name === 'link') assert.equal(statSync(at('file')).mtimeMs, before.mtimeMs);
      closeSync(entry);
    }
  });

  it('name the owner that was asked for, also one above 2^31', { skip: isRoot ? false : 'for root alone' }, () => {
    for (const [uid, gid] of [
      [1, 2],
      [4_000_000_000, 3_000_000_000],
    ] as const) {
      for (const name of ['file', 'link']) {
        const entry = Number(call('open', directory, name, path, 0, found));
        assert.equal(call('owner', entry, uid, gid), 0);
        assert.deepEqual([lstatSync(at(name)).uid, lstatSync(at(name)).gid], [uid, gid]);
        assert.equal(call('owner', entry, -1, gid + 1), 0);
        assert.deepEqual([lstatSync(at(name)).uid, lstatSync(at(name)).gid], [uid, gid + 1]);
        closeSync(entry);
      }
      assert.equal(statSync(at('out')).uid, process.geteuid?.());
    }
  });
});

describe('entries', () => {
  it('are deleted, renamed and linked as what they are, not as what they lead to', () => {
    assert.equal(call('unlink', directory, 'below', 0), -errno.EISDIR);
    assert.equal(call('unlink', directory, 'file', 0x200), -errno.ENOTDIR);
    assert.equal(call('unlink', directory, 'below', 0x200), -errno.ENOTEMPTY);
    assert.equal(call('unlink', directory, 'out', 0), 0);
    assert.equal(readFileSync(join(place, '..', 'outside'), 'utf8'), 'outside');
    const below = openSync(at('below'), 'r');
    assert.equal(call('rename', directory, 'link', below, 'moved', 0), 0);
    assert.equal(readlinkSync(at('below/moved')), 'file');
    assert.equal(call('rename', directory, 'file', below, 'moved', 1), -errno.EEXIST);
    assert.equal(call('rename', directory, 'file', below, 'moved', 0), 0);
    assert.equal(readFileSync(at('below/moved'), 'utf8'), 'content');
    assert.equal(call('rename', directory, 'file', below, 'moved'), -errno.EINVAL, 'flags are not left out');
    closeSync(below);
  });

  it('are linked and read by their inode, whatever has their name by now', () => {
    const entry = Number(call('open', directory, 'file', path, 0, found));
    rmSync(at('file'));
    linkSync(at('below/deeper/file'), at('file'));
    const reread = Number(call('reopen', entry, constants.O_RDONLY));
    assert.ok(reread >= 0);
    const bytes = Buffer.alloc(20);
    assert.equal(bytes.toString('utf8', 0, readSync(reread, bytes)), 'content');
    assert.match(readFileSync(`/proc/self/fdinfo/${reread}`, 'utf8'), /^flags:\t0?2\d{6}$/m, 'close-on-exec');
    for (const each of [entry, reread]) assert.equal(call('close', each), 0);
    assert.equal(call('close', entry), -errno.EBADF);
    const kept = Number(call('open', directory, 'file', path, 0, found));
    assert.equal(call('link', kept, directory, 'again'), 0);
    assert.equal(call('link', kept, directory, 'again'), -errno.EEXIST);
    assert.equal(readFileSync(at('again'), 'utf8'), 'deep');
    closeSync(kept);
  });

  it('that are links hold any text of a path, and say it', () => {
    for (const target of ['x', '../..', '/', '\xff\xe4', 'y'.repeat(4_095)]) {
      assert.equal(call('symlink', target, directory, 'made'), 0);
      const entry = Number(call('open', directory, 'made', path, 0, found));
      assert.equal(call('readlink', entry), target);
      closeSync(entry);
      assert.equal(call('unlink', directory, 'made', 0), 0);
    }
    assert.equal(call('symlink', 'y'.repeat(4_096), directory, 'made'), -errno.ENAMETOOLONG);
    assert.equal(call('symlink', '', directory, 'made'), -errno.ENOENT);
    assert.equal(call('readlink', directory), -errno.ENOENT);
  });
});
