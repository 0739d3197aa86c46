/** Paths, sizes and files of the host: what is followed, what is refused, and what is left where something fails. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { readJsonFile, readWholeJson, writeFileAtomic } from './atomic-file.js';
import { buildOf } from './build.js';
import { canonicalAncestor, canonicalPath } from './canonical-path.js';
import { identityOf, isIdentity, openWithoutLinks } from './directory-identity.js';
import { type ErrnoCode, ErrnoError, exitCodeFor, fromSystemError, hasCode, orSystemError } from './errno.js';
import { freshDirectory, inParent } from './fresh-directory.js';
import { cacheDirectory, checkInstallation, installedBuild, watchInstallation } from './installation.js';
import { exactSize, parseSize } from './size-text.js';
import { readSmallFile, smallFileAt } from './small-file.js';
import { isLast, walkPath } from './walk-path.js';

let base = '';
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-places-')));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));
const at = (...names: string[]) => join(base, ...names);
const write = (path: string, text = path) => {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
};

describe('a path', () => {
  it('is walked as the kernel walks it, links and all', () => {
    const world: Readonly<Record<string, string | true>> = {
      '/a': true,
      '/a/b': true,
      '/a/up': '..',
      '/a/deep': 'b/./c',
      '/a/b/c': true,
      '/a/root': '/',
      '/a/dangling': 'none/x',
      '/loop': 'loop',
      '/l0': '/a',
    };
    for (let number = 1; number <= 41; number += 1) Object.assign(world, { [`/l${number}`]: `l${number - 1}` });
    const asked: string[] = [];
    const walk = (path: string) => {
      const steps = walkPath(path);
      let next = steps.next();
      while (next.done !== true) {
        const { place } = next.value;
        asked.push(place);
        const found = world[place];
        next = steps.next(found === undefined ? 'nothing' : found === true ? 'something' : { link: found });
      }
      return [next.value.path, next.value.exists];
    };
    const paths: readonly (readonly [string, string, boolean])[] = [
      ['/', '/', true],
      ['//a//b/', '/a/b', true],
      ['/a/./b/..', '/a', true],
      ['/../..', '/', true],
      ['/a/up/a', '/a', true],
      ['/a/deep/..', '/a/b', true],
      ['/a/root/a/b', '/a/b', true],
      ['/a/none/x/y', '/a/none/x/y', false],
      ['/a/none/../b', '/a/b', true],
      ['/a/none/x/../../b', '/a/b', true],
      ['/a/none/../none', '/a/none', false],
      ['/a/dangling/y', '/a/none/x/y', false],
      ['/a/b/c/../../deep', '/a/b/c', true],
      ['/l39/b', '/a/b', true],
    ];
    for (const [path, expected, exists] of paths) assert.deepEqual(walk(path), [expected, exists], path);
    for (const path of ['/loop', '/loop/x', '/l40']) assert.throws(() => walk(path), { code: 'ELOOP' }, path);
    asked.length = 0;
    walk('/none/a/b');
    assert.deepEqual(asked, ['/none'], 'below nothing there is nothing to look at');
    const ends: readonly (readonly [readonly string[], boolean])[] = [
      [[], true],
      [['', '.'], true],
      [['.', 'x'], false],
      [['..'], false],
    ];
    for (const [rest, expected] of ends) assert.equal(isLast({ place: '/', rest }), expected);
  });

  it('of what is there has no links, and what is yet to be made is below its deepest ancestor', () => {
    write('real/deep/file');
    symlinkSync('real', at('link'));
    symlinkSync('deep/none', at('real/dangling'));
    symlinkSync('circle', at('circle'));
    const same: readonly (readonly [string, string])[] = [
      ['link/deep/../deep', 'real/deep'],
      ['link/none/x', 'real/none/x'],
      ['link/dangling/y', 'real/deep/none/y'],
      ['link/deep/file/x', 'real/deep/file/x'],
    ];
    for (const [path, expected] of same) assert.equal(canonicalAncestor(at(path)), at(expected), path);
    assert.deepEqual(
      [canonicalPath(at('link')), canonicalPath(at('none')), canonicalPath(at('real/deep/file/x'))],
      [at('real'), undefined, undefined],
    );
    assert.throws(() => canonicalAncestor(at('circle')), { code: 'ELOOP' });
    const nothing = ['real/dangling', 'circle', 'circle/x', 'x'.repeat(300), 'x/'.repeat(3000), 'a\0b'];
    for (const path of nothing) assert.equal(canonicalPath(at(path)), undefined, path.slice(0, 20));
  });
});

describe('a directory', () => {
  it('is known by its number, by a path without links', () => {
    write('real/deep/file');
    symlinkSync('real', at('link'));
    const { dev, ino } = statSync(at('real/deep'), { bigint: true });
    assert.equal(identityOf(at('real/deep')), `${dev}:${ino}`);
    const before = readdirSync('/proc/self/fd').length;
    for (const [path, code] of [
      ['link', 'ESTALE'],
      ['link/deep', 'ESTALE'],
      ['real/deep/file', 'ESTALE'],
      ['none', 'ENOENT'],
      ['real/deep/file/x', 'ESTALE'],
    ] as const)
      assert.throws(() => identityOf(at(path)), { code }, path);
    assert.equal(readdirSync('/proc/self/fd').length, before);
    const descriptor = openWithoutLinks('/', 'test');
    assert.equal(fstatSync(descriptor).ino, statSync('/').ino);
    closeSync(descriptor);
    for (const text of ['1:2', `${'9'.repeat(20)}:${'9'.repeat(20)}`]) assert.ok(isIdentity(text), text);
    for (const text of ['', '1', '1:', ':1', 'a:1', '1:2:3', ' 1:2', '1:2\n3', `${'9'.repeat(21)}:1`, 7, null])
      assert.ok(!isIdentity(text), String(text));
  });

  it('is fresh where it was made just now, or is there and empty', () => {
    const fresh = (path: string) => freshDirectory(at(path), 'test', 0o750);
    const made = fresh('new');
    assert.deepEqual(
      [made.path, made.identity, statSync(at('new')).mode & 0o777],
      [at('new'), identityOf(at('new')), 0o750 & ~process.umask()],
    );
    assert.deepEqual(fresh('new'), made);
    write('full/file');
    symlinkSync('new', at('link'));
    symlinkSync('none', at('dangling'));
    for (const path of ['full', 'full/file', 'link', 'dangling'])
      assert.throws(() => fresh(path), { code: 'EEXIST' }, path);
    assert.throws(() => fresh('none/new'), { code: 'ENOENT' });
    assert.throws(() => fresh('full/file/new'), { code: 'ESTALE' });
    symlinkSync('full', at('way'));
    assert.equal(fresh('way/below').path, at('full/below'));
    assert.deepEqual(readdirSync(at()).sort(), ['dangling', 'full', 'link', 'new', 'way']);
  });

  it('holds what is made in it, by descriptor, and what is thrown there goes on', () => {
    mkdirSync(at('real'));
    symlinkSync('real', at('link'));
    const before = readdirSync('/proc/self/fd').length;
    const seen = inParent(at('link/file'), 'test', (path, canonical) => {
      writeFileSync(path, 'x');
      return canonical;
    });
    assert.deepEqual([seen, readFileSync(at('real/file'), 'utf8')], [at('real/file'), 'x']);
    assert.throws(() => inParent(at('link/file'), 'test', () => assert.fail('thrown')), /thrown/);
    assert.equal(readdirSync('/proc/self/fd').length, before);
  });
});

describe('a file', () => {
  it('is whole or absent, of its mode, and nothing is beside it where writing failed', () => {
    write('old', '1');
    writeFileAtomic(at('old'), '2', { durable: true, mode: 0o640 });
    writeFileAtomic(at('new'), '\u00e4'.repeat(70_000), { durable: false });
    assert.deepEqual(
      [statSync(at('old')).mode & 0o777, statSync(at('new')).mode & 0o777],
      [0o640 & ~process.umask(), 0o600],
    );
    assert.equal(readFileSync(at('new'), 'utf8').length, 70_000);
    writeFileAtomic(at('old'), '3', { durable: false, beside: at('draft') });
    assert.deepEqual([readFileSync(at('old'), 'utf8'), readdirSync(at()).sort()], ['3', ['new', 'old']]);
    mkdirSync(at('directory/full'), { recursive: true });
    for (const durable of [true, false])
      assert.throws(() => writeFileAtomic(at('directory'), 'x', { durable }), { code: /^E(?:ISDIR|NOTEMPTY|EXIST)$/ });
    assert.throws(() => writeFileAtomic(at('none/x'), 'x', { durable: false }), { code: 'ENOENT' });
    assert.deepEqual(readdirSync(at()).sort(), ['directory', 'new', 'old']);
  });

  it('of JSON that is damaged is refused, or none where it can be done without', () => {
    write('json', '{"a":1}');
    for (const text of ['', '{', '{"a":1}x']) {
      write('damaged', text);
      assert.throws(() => readJsonFile(at('damaged')), { code: 'EIO' }, text);
      assert.equal(readWholeJson(at('damaged')), undefined);
    }
    assert.deepEqual(
      [readJsonFile(at('json')), readWholeJson(at('json')), readWholeJson(at('none'))],
      [{ a: 1 }, { a: 1 }, undefined],
    );
    for (const read of [readJsonFile, readWholeJson]) assert.throws(() => read(at()), { code: 'EISDIR' });
  });

  it('that came with a project is read where it is one and small, and nothing is waited for', () => {
    write('small', 'x'.repeat(100));
    execFileSync('mkfifo', [at('pipe')]);
    symlinkSync('small', at('link'));
    assert.deepEqual([readSmallFile(at('small'), 100).length, readSmallFile(at('link'), 100).length], [100, 100]);
    assert.throws(() => readSmallFile(at('small'), 99), { code: 'EFBIG' });
    for (const path of [at('pipe'), at(), '/dev/null'])
      assert.throws(() => readSmallFile(path, 100), { code: 'EINVAL' }, path);
    assert.throws(() => readSmallFile(at('none'), 100), { code: 'ENOENT' });
    // Files whose size says nothing of what they hold.
    assert.match(readSmallFile('/proc/self/status', 100_000), /^Name:/);
    assert.throws(() => readSmallFile('/proc/self/status', 99), { code: 'EFBIG' });
    assert.equal(smallFileAt(at('small'), 100)?.length, 100);
    symlinkSync('circle', at('circle'));
    const none = [at('none'), at('circle'), at('circle/x'), at('x'.repeat(300)), at('small/x'), at('')];
    for (const path of none) assert.equal(smallFileAt(path, 100), undefined, path.slice(-20));
    assert.equal(smallFileAt(at('small'), 99), undefined);
  });
});

describe('a size', () => {
  it('is read in units of 1024, and nothing else is one', () => {
    const sizes: readonly (readonly [string, number])[] = [
      ['1', 1],
      ['10K', 10240],
      ['1k', 1024],
      ['512M', 2 ** 29],
      ['4G', 2 ** 32],
      ['2T', 2 ** 41],
      ['1.5k', 1536],
      ['0.5', 1],
      ['007', 7],
    ];
    for (const [text, bytes] of sizes) assert.equal(parseSize(text), bytes, text);
    for (const text of ['', '0', '0.4', '-1', '1P', '1KB', ' 1', '1 ', '1.', '.5', '1e3', '9999999999T', 'K', '1\n2'])
      assert.throws(() => parseSize(text), { code: 'EINVAL' }, text);
  });

  it('is shown in the largest unit that it is a whole number of', () => {
    assert.deepEqual([1, 1023, 1024, 1025, 2 ** 20, 3 * 2 ** 30, 2 ** 40, 2 ** 40 + 2 ** 10].map(exactSize), [
      '1 bytes',
      '1023 bytes',
      '1 KiB',
      '1025 bytes',
      '1 MiB',
      '3 GiB',
      '1 TiB',
      '1073741825 KiB',
    ]);
  });
});

describe('an error', () => {
  it('has the exit code of its kind, each of them', () => {
    const codes: Readonly<Record<number, readonly ErrnoCode[]>> = {
      130: ['ECANCELED'],
      2: ['E2BIG', 'EINVAL', 'ENAMETOOLONG'],
      13: ['EACCES', 'EDQUOT', 'EPERM'],
      69: ['EAGAIN', 'EBUSY', 'ENOSYS', 'ENOTCONN', 'ENOTSUP'],
      1: ['EIO', 'ENOENT', 'ENOSPC', 'ESTALE', 'ETIMEDOUT', 'EEXIST', 'EROFS'],
    };
    for (const [exit, list] of Object.entries(codes))
      for (const code of list)
        assert.equal(exitCodeFor(new ErrnoError(code, { operation: 'x', reason: 'y' })), Number(exit), code);
    assert.equal(exitCodeFor('text'), 70);
  });

  it('of the system is one of ours, once, and of the disk is no defect', () => {
    const system = (code: string, more = {}) =>
      Object.assign(new Error(`${code}: said, open '/x'`), { code, syscall: 'open', path: '/x', ...more });
    const ours = new ErrnoError('EIO', { operation: 'first', reason: 'y' });
    assert.equal(fromSystemError(ours, 'second'), ours);
    const wrapped = fromSystemError(system('ENOENT'), 'second');
    assert.deepEqual(
      [wrapped.code, wrapped.operation, wrapped.path, wrapped.reason],
      ['ENOENT', 'second', '/x', 'open failed: said'],
    );
    assert.equal(fromSystemError(system('ENOENT'), 'second', '/y').path, '/y');
    for (const other of [system('ERR_INVALID_ARG_TYPE'), system('ERRno'), new Error('no code'), 'text'])
      assert.throws(
        () => fromSystemError(other, 'x'),
        (error) => error === other,
      );
    for (const code of ['EDQUOT', 'EIO', 'ENOSPC', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'ENOMEM'])
      assert.ok(orSystemError(system(code)) instanceof ErrnoError, code);
    for (const other of [system('ENOENT'), new TypeError('x'), undefined]) assert.equal(orSystemError(other), other);
    assert.deepEqual(
      [
        hasCode(system('EIO'), 'EIO'),
        hasCode(ours, 'EIO'),
        hasCode(ours, 'ENOENT'),
        hasCode({ code: 'EIO' }, 'EIO'),
        hasCode(undefined, 'EIO'),
      ],
      [true, true, false, false, false],
    );
    const foreign = Object.assign(new Error('x'), { name: 'ErrnoError', code: 'EBUSY' });
    assert.deepEqual([foreign instanceof ErrnoError, exitCodeFor(foreign)], [true, 69]);
  });
});

describe('an installation', () => {
  const files = [
    'bin/ctx',
    'dist/cli/ctx.cjs',
    `dist/native/${process.arch}/jail`,
    'dist/sdk/index.js',
    'dist/node_modules/x/y.js',
  ];
  const others = [
    'docs/install.md',
    'dist/native/other/jail',
    `dist/node_modules/@lmdb/${process.arch === 'x64' ? 'lmdb-linux-arm64' : 'lmdb-linux-x64'}/x`,
  ];
  const digest = (path: string) => createHash('sha256').update(path).digest('hex');
  const environment = () => ({ XDG_CACHE_HOME: at('cache') });
  const check = (
    part: Parameters<typeof checkInstallation>[0] = 'cli',
    variables: Record<string, string> = environment(),
  ) => checkInstallation(part, variables, at('ctx'));
  function install(): void {
    for (const path of files) write(`ctx/${path}`, path);
    const all = Object.fromEntries([...files, ...others].map((path) => [path, digest(path)]));
    write('ctx/dist/build.json', JSON.stringify({ version: '1', commit: 'abc', files: all }));
  }
  const damage = (path: string) => {
    const { atime, mtime } = statSync(at('ctx', path));
    writeFileSync(at('ctx', path), path.toUpperCase());
    utimesSync(at('ctx', path), atime, mtime);
  };

  it('is checked where it is one, and of a part each file that it has here', () => {
    assert.deepEqual([check(), installedBuild(at('ctx'))], [false, undefined]);
    const parts = { cli: [0, 1, 2], sdk: [2, 3], 'chunk store': [4] } as const;
    for (const [part, own] of Object.entries(parts))
      for (const [index, path] of files.entries()) {
        install();
        assert.equal(check(part as never), true);
        damage(path);
        if ((own as readonly number[]).includes(index))
          assert.throws(() => check(part as never), { code: 'EIO' }, `${part} ${path}`);
        else assert.equal(check(part as never), true, `${part} ${path}`);
      }
  });

  it('is refused where a file or its list is gone or another, with notes and without', () => {
    for (const variables of [environment(), {}, { HOME: 'relative' }] as Record<string, string>[]) {
      install();
      assert.equal(check('cli', variables), true);
      unlinkSync(at('ctx/bin/ctx'));
      assert.throws(() => check('cli', variables), { code: 'EIO' });
      for (const text of ['{', '{}', '{"version":"1","commit":"x","files":{"a":1}}']) {
        write('ctx/dist/build.json', text);
        assert.throws(() => check('cli', variables), { code: 'EIO' });
      }
    }
    rmSync(at('ctx/dist/build.json'));
    mkdirSync(at('ctx/dist/build.json'));
    assert.throws(() => check(), { code: 'EIO' });
  });

  it('is read again where its note is not of these files, and the note is no one else’s to read', () => {
    install();
    check();
    const [note = ''] = readdirSync(at('cache/ctxfs'));
    assert.deepEqual(
      [
        readdirSync(at('cache/ctxfs')).length,
        statSync(at('cache/ctxfs', note)).mode & 0o777,
        statSync(at('cache/ctxfs')).mode & 0o777,
      ],
      [1, 0o600, 0o700],
    );
    const text = readFileSync(at('cache/ctxfs', note), 'utf8');
    for (const path of files.slice(0, 3)) assert.ok(text.includes(path));
    check('sdk');
    check('chunk store');
    assert.equal(readdirSync(at('cache/ctxfs')).length, 3);
    // Of another commit: everything is read.
    const build = JSON.parse(readFileSync(at('ctx/dist/build.json'), 'utf8'));
    write(
      'ctx/dist/build.json',
      JSON.stringify({ ...build, commit: 'def', files: { ...build.files, 'bin/ctx': digest('x') } }),
    );
    assert.throws(() => check(), { code: 'EIO' });
    chmodSync(at('cache/ctxfs', note), 0);
    install();
    assert.equal(check(), true);
    assert.deepEqual(
      [
        cacheDirectory({ XDG_CACHE_HOME: 'x', HOME: '/h' }),
        cacheDirectory({ HOME: '/h', XDG_CACHE_HOME: '/c' }),
        cacheDirectory({}),
      ],
      ['/h/.cache/ctxfs', '/c/ctxfs', undefined],
    );
  });

  it('that is watched is the same until a file of it is another or gone', () => {
    assert.equal(watchInstallation('cli', at('ctx'))(), true);
    install();
    const before = process.env['XDG_CACHE_HOME'];
    process.env['XDG_CACHE_HOME'] = at('cache');
    try {
      for (const change of [() => damage('bin/ctx'), () => unlinkSync(at('ctx/dist/cli/ctx.cjs'))]) {
        install();
        const isSame = watchInstallation('cli', at('ctx'));
        assert.equal(isSame(), true);
        change();
        assert.equal(isSame(), false);
      }
    } finally {
      if (before === undefined) delete process.env['XDG_CACHE_HOME'];
      else process.env['XDG_CACHE_HOME'] = before;
    }
  });

  it('is of one build as long as its bundles and programs are of the same time', () => {
    install();
    mkdirSync(at('ctx/dist/native'), { recursive: true });
    const program = at('ctx/dist/cli/ctx.cjs');
    const build = buildOf(program);
    utimesSync(program, 5, 5);
    assert.equal(buildOf(program), build);
    for (const path of ['ctx/dist/cli', 'ctx/dist/native']) {
      const last = buildOf(program);
      utimesSync(at(path), 7, 7);
      assert.notEqual(buildOf(program), last, path);
    }
    // As in images and stores of packages that give all files one time.
    const another = at('another/dist');
    for (const name of ['cli', 'native']) {
      mkdirSync(join(another, name), { recursive: true });
      utimesSync(join(another, name), 7, 7);
    }
    assert.notEqual(buildOf(join(another, 'cli/ctx.cjs')), buildOf(program));
  });
});
