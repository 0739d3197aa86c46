/** Both sides of what the walker reads, counts and takes as words; and the trash, of which nobody waits. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, linkSync, mkdirSync, openSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { refusing } from '../../../test/support/refuse-bits.js';
import { Blake3 } from '../../base/blake3.js';
import { freshPlace, isRoot, program, tree } from './tree-fixture.js';
import { splitFields } from './tree-program.js';

const { at, write } = freshPlace();

describe('what is read of files', () => {
  const digestOf = (text: Buffer) => new Blake3().hex(text);
  const text = (size: number) => Buffer.alloc(size, `${size} bytes that differ by where they are; `);

  it('is all of a file up to the limit, and the first bytes of a longer one; the digest is of all', async () => {
    mkdirSync(at('layer'));
    for (const [most, digests] of [
      [1, true],
      [1000, true],
      [1000, false],
      [undefined, false],
      [2 * 1024 * 1024 + 1, true],
    ] as const) {
      const limit = most ?? 1024 * 1024;
      const sizes = [0, 1, limit - 1, limit, limit + 1, 2 * limit + 3, ...(most === 1000 ? [300_000] : [])];
      for (const size of sizes) writeFileSync(at('layer', String(size)), text(size), { mode: 0o640 });
      const found = await tree.read({ layers: [at('layer')], paths: sizes.map(String), most, digests });
      for (const [index, size] of sizes.entries()) {
        const { bytes, digest, ...rest } = found[index] ?? assert.fail();
        assert.deepEqual(rest, { type: 'file', mode: 0o640, size }, `${size} of ${limit}`);
        assert.ok(bytes.equals(text(size).subarray(0, limit)), `${size} of ${limit}: ${bytes.length}`);
        assert.equal(digest, digests ? digestOf(text(size)) : '', `${size} of ${limit}`);
      }
    }
  });

  it('is the target of a link, and of other kinds only which they are', async () => {
    mkdirSync(at('layer/directory'), { recursive: true });
    symlinkSync('x'.repeat(4000), at('layer/link'));
    assert.equal(spawnSync('mkfifo', ['-m', '604', at('layer/pipe')]).status, 0);
    const found = await tree.read({
      layers: [at('layer')],
      paths: ['link', 'directory', 'missing', 'pipe', 'missing/x'],
    });
    const told = found.map(({ type, mode, size, digest, bytes }) => [type, mode, size, digest, bytes.length]);
    assert.deepEqual(told, [
      ['symlink', 0o777, 4000, '', 4000],
      ['directory', statSync(at('layer/directory')).mode & 0o7777, 0, '', 0],
      ['missing', 0, 0, '', 0],
      ['fifo', 0o604, 0, '', 0],
      ['missing', 0, 0, '', 0],
    ]);
    assert.equal(found[0]?.bytes.toString(), 'x'.repeat(4000));
  });
});

describe('the digest of a layer', () => {
  it('is given up to so many bytes of all its files together', async () => {
    for (const name of ['a', 'd/b', 'd/e/c']) write(`layer/${name}`, 'x'.repeat(100));
    const isGiven = async (most: number) => (await tree.digest({ layers: [at('layer')], most }))[0] !== undefined;
    assert.deepEqual(
      [await isGiven(99), await isGiven(299), await isGiven(300), await isGiven(301)],
      [false, false, true, true],
    );
    const [large, small] = [at('layer'), at('layer/d/e')];
    const several = await tree.digest({ layers: [large, small, large, small], most: 200 });
    assert.deepEqual(
      several.map((each) => each === undefined),
      [true, false, true, false],
      'each on its own',
    );
  });

  it('has attributes in the order of their names, with their values', async () => {
    const set = (path: string, attributes: readonly (readonly [string, string])[]) => {
      write(path, 'text');
      for (const [name, value] of attributes)
        assert.equal(spawnSync('setfattr', ['-n', `user.${name}`, '-v', value, at(path)]).status, 0);
    };
    const all = [
      ['b', '1'],
      ['a', '22'],
      ['c', ''],
    ] as const;
    set('one/f', all);
    set('two/f', [...all].reverse());
    for (const [index, [name, value]] of all.entries())
      set(
        `other${index}/f`,
        all.map((each) => (each[0] === name ? [name, `${value}x`] : each)),
      );
    set('moved/f', [
      ['b', '22'],
      ['a', '1'],
      ['c', ''],
    ]);
    set('less/f', all.slice(0, 2));
    set('more/f', [...all, ['d', '']]);
    const places = ['one', 'two', 'other0', 'other1', 'other2', 'moved', 'less', 'more'];
    const [one, two, ...others] = await tree.digest({ layers: places.map((place) => at(place)), most: 1000 });
    assert.equal(one, two);
    assert.equal(new Set([one, ...others]).size, others.length + 1);
  });
});

describe('the digest of a layer', { skip: isRoot ? false : 'only root can set them' }, () => {
  it('is without attributes that are not the user’s own', async () => {
    write('layer/f', 'text');
    const digest = async () => (await tree.digest({ layers: [at('layer')], most: 1000 }))[0];
    const before = await digest();
    for (const name of ['trusted.note', 'security.note'])
      for (const path of ['layer', 'layer/f'])
        assert.equal(spawnSync('setfattr', ['-n', name, '-v', 'x', at(path)]).status, 0, name);
    assert.equal(await digest(), before);
  });
});

describe('a list of changes', () => {
  it('has paths that are longer than people’s as long as there is room for the rest of them', () => {
    const above = `${'a'.repeat(250)}/${'b'.repeat(250)}`;
    mkdirSync(at('lower'));
    for (const [length, most, isListed] of [
      [512, 1, true],
      [513, 1, true],
      [514, 1, false],
      [514, 2, true],
    ] as const) {
      write(`upper-${length}-${most}/${above}/${'c'.repeat(length - above.length - 1)}`, '');
      const words = ['diff', '--upper', at(`upper-${length}-${most}`), '--lower', at('lower'), '--most', String(most)];
      const told = splitFields(spawnSync(program, words).stdout);
      assert.equal(told.length / 8, isListed ? 3 : 2, `${length} bytes, room for ${most}`);
    }
  });
});

describe('files with several names', () => {
  it('are counted once, however many there are', async () => {
    mkdirSync(at('layer'));
    for (let number = 0; number < 600; number += 1) {
      writeFileSync(at(`layer/f${number}`), 'x');
      linkSync(at(`layer/f${number}`), at(`layer/g${number}`));
    }
    const [, inodes, unseen, files, content, longest] = usage(['--layer', at('layer')]);
    assert.deepEqual([inodes, unseen, files, content, longest], ['600', '0', '600', '600', '1']);
  });
});
const usage = (words: readonly string[]) => splitFields(spawnSync(program, ['usage', ...words]).stdout);

describe('the words of a job', () => {
  /** What each verb cannot do without, and what is given to one that has all. */
  const needs: Readonly<Record<string, readonly string[]>> = {
    scan: ['DIRECTORY'],
    copy: ['DIRECTORY', 'DESTINATION', '--out'],
    diff: ['--upper'],
    compare: ['--layer', '--to'],
    mirror: ['DIRECTORY', '--into'],
    apply: ['--upper', '--to'],
    delete: ['DIRECTORY'],
    lock: ['--lock-fd'],
    read: ['--layer'],
    usage: ['--layer'],
    sync: ['DIRECTORY'],
    empty: ['DIRECTORY'],
    merge: ['--upper', '--into'],
    held: ['--layer'],
    digest: ['--layer'],
    names: ['--layer'],
  };
  const given = (need: string, index: number): readonly string[] => {
    if (need === '--lock-fd') return [need, '3'];
    const place = at(`${need.replace('--', '')}${index}`);
    if (!['DESTINATION', '--into', '--out'].includes(need)) mkdirSync(place);
    return need.startsWith('--') ? [need, place] : [place];
  };
  const run = (words: readonly string[]) => {
    const lock = openSync(at('lock'), 'w');
    const { status, stderr } = spawnSync(program, words, { stdio: ['ignore', 'pipe', 'pipe', lock] });
    closeSync(lock);
    return { status, why: stderr.toString() };
  };

  it('are refused where one is missing that the verb needs, and taken where all are there', () => {
    for (const [verb, all] of Object.entries(needs)) {
      // A directory that is missing makes the next one the first.
      for (const [index, without] of all.entries()) {
        const lacks =
          without === 'DIRECTORY' ? all.filter((need) => need.startsWith('--')) : all.filter((_, at) => at !== index);
        const { status, why } = run([verb, ...lacks.flatMap((need, place) => given(need, place + 10 * index))]);
        assert.deepEqual([status, /^tree: .*missing\n$/.test(why)], [2, true], `${verb} without ${without}: ${why}`);
        spawnSync('sh', ['-c', `rm -r ${at('*')}`]);
      }
      const { status, why } = run([verb, ...all.flatMap(given)]);
      assert.deepEqual([status, why], [0, ''], verb);
      spawnSync('sh', ['-c', `rm -r ${at('*')}`]);
    }
  });

  it('are refused where they are none, too many, or no number where one has to be', () => {
    mkdirSync(at('d'));
    const unfit = [
      [],
      ['none'],
      ['scan', at('d'), at('d'), at('d'), '--out', at('s')],
      ['sync', at('d'), '--unknown', 'x'],
      ['sync', at('d'), '--most'],
      ...['', 'x', '1x', '-1', '+1', ' 1', '1 ', '18446744073709551616'].map((most) => [
        'sync',
        at('d'),
        '--most',
        most,
      ]),
      ...['4294967296', '99999999999'].map((shift) => ['sync', at('d'), '--shift', shift]),
      ...['1', '1:', ':1', '1:2:', 'x:1'].map((skip) => ['sync', at('d'), '--skip', skip]),
      ...['1', '1:2', '1:2:', '1:2:relative', 'x:1:/'].map((known) => ['sync', at('d'), '--known', known]),
    ];
    for (const words of unfit) assert.equal(run(words).status, 2, words.join(' '));
    const { dev, ino } = statSync(at('d'));
    const fit = [
      ['--most', '18446744073709551615'],
      ['--shift', '4294967295'],
      ['--skip', `${dev}:${ino}`],
      ['--known', `${dev}:${ino}:${at('d')}`],
      ['--known', `1:1:${at('elsewhere')}`],
    ];
    for (const words of fit)
      assert.deepEqual(run(['sync', at('d'), ...words]), { status: 0, why: '' }, words.join(' '));
    for (const [device, inode] of [
      [dev + 1, ino],
      [dev, ino + 1],
    ]) {
      const { status, why } = run(['sync', at('d'), '--known', `${device}:${inode}:${at('d')}`]);
      assert.deepEqual([status, why.split('\0')[0]], [1, 'ESTALE']);
    }
  });
});

describe('a call that fails', () => {
  /** All that callers may match; what is in no list is an EIO. */
  const names =
    'E2BIG EACCES EAGAIN EBADF EBUSY ECANCELED EDQUOT EEXIST EFBIG EINTR EINVAL EIO EISDIR ELOOP EMFILE EMLINK ' +
    'ENAMETOOLONG ENODATA ENODEV ENOENT ENOLCK ENOMEM ENOSPC ENOSYS ENOTCONN ENOTDIR ENOTEMPTY ENOTSUP ENXIO EPERM ' +
    'EPIPE ERANGE EROFS ESRCH ESTALE ETIMEDOUT EXDEV';

  it('is told by the name of its error, with what was to be done and where', () => {
    const told = (number: number) => {
      const [file = '', ...words] = [...refusing(at(), [['syncfs', 0, '0', number]]), program, 'sync', at()];
      return splitFields(spawnSync(file, words).stderr);
    };
    const { errno } = constants as { readonly errno: Readonly<Record<string, number>> };
    for (const name of names.split(' ')) assert.deepEqual(told(errno[name] ?? 0), [name, 'sync', at()]);
    assert.deepEqual(told(errno['ECHILD'] ?? 0), ['EIO', 'sync', at()]);
  });
});

describe('the trash', () => {
  const empty = (path: string, cwd = '/') => spawnSync(program, ['empty', path], { cwd }).status;

  it('is emptied of its trees, and is still there', () => {
    for (const path of ['trash/d/e/f', 'trash/.hidden/f']) write(path);
    symlinkSync(at('kept'), at('trash/d/link'));
    write('kept/f');
    assert.equal(empty(at('trash')), 0);
    assert.deepEqual(readdirSync(at('trash')), []);
    assert.deepEqual(readdirSync(at('kept')), ['f']);
    write('trash/again/f');
    assert.equal(empty('trash', at('.')), 0);
    assert.deepEqual(readdirSync(at('trash')), []);
    assert.equal(empty(at('missing')), 0);
  });

  it('is left to who is emptying it already', () => {
    write('trash/d/f');
    const script = 'exec 9<"$1"; flock 9; "$2" empty "$1"; ls "$1"; flock -u 9; "$2" empty "$1"; ls "$1"';
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', at('trash'), program]);
    assert.equal(stdout.toString(), 'd\n');
  });

  const own = ['--user', '--map-root-user', '--mount'];
  const skip = spawnSync('unshare', [...own, 'true']).status === 0 ? false : 'this user may make no namespace here';
  it('keeps what cannot be deleted, and nothing else for its sake', { skip }, () => {
    for (const name of ['a', 'busy/mount', 'z']) write(`trash/${name}/f`);
    const script =
      'mount --bind "$1/trash/busy/mount" "$1/trash/busy/mount"; "$2" empty "$1/trash"; echo $?; ls "$1/trash"';
    const { stdout } = spawnSync('unshare', [...own, 'sh', '-c', script, 'sh', at('.'), program]);
    assert.equal(stdout.toString(), '0\nbusy\n');
  });
});
