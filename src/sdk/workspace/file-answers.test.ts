import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { ErrnoError } from '../../base/errno.js';
import { encodePath } from '../../base/path-bytes.js';
import { entriesOf, failureOf, listCommand, matchesOf, operand, searchCommand, writeCommand } from './file-answers.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-files-'));
after(() => rmSync(directory, { recursive: true, force: true }));

function run([program = '', ...words]: readonly string[], input = ''): Buffer {
  return spawnSync(program, words, { cwd: directory, input, env: { PATH: process.env['PATH'], LC_ALL: 'C' } }).stdout;
}

describe('file operations as commands', () => {
  it('write to the very path that was named, whatever it is named', () => {
    const name = fc.stringMatching(/^[a-z '"$`\\;&|<>(){}*?!~#=\n-]{1,20}$/).filter((each) => !/^\.*$/.test(each));
    fc.assert(
      fc.property(fc.tuple(name, name), ([above, below]) => {
        const path = `${above} d/${below} f`;
        run(writeCommand(path), path);
        assert.equal(readFileSync(join(directory, path), 'utf8'), path);
      }),
      { numRuns: 40 },
    );
  });

  it('list every name, with line ends and blanks in it', () => {
    run(writeCommand('names/a\nb c'), 'xyz');
    run(['ln', '-s', 'to nowhere', 'names/link']);
    const [file, link] = entriesOf(run(listCommand('names', 1)));
    assert.deepEqual([file?.path, file?.type, file?.size], ['a\nb c', 'file', 3]);
    assert.deepEqual([link?.path, link?.type, link?.target], ['link', 'symlink', 'to nowhere']);
  });

  it('leave out what was cut off', () => {
    const whole = Buffer.from('f 1 644\0a\0\0f 2 644\0b\0\0');
    for (let end = 0; end < whole.length; end += 1) {
      assert.deepEqual(
        entriesOf(whole.subarray(0, end)).map(({ path }) => path),
        end < 11 ? [] : ['a'],
      );
    }
  });

  it('find lines by a pattern that looks like an option', () => {
    run(writeCommand('-rf/-x'), 'one\n--version: here\n');
    assert.deepEqual(matchesOf(run(searchCommand('--version', { path: '-rf' }))), [
      { path: '-rf/-x', line: 2, text: '--version: here' },
    ]);
  });

  it('find lines in files of any name, and in none that is not there', () => {
    const names = ['a\nb', 'c\n./d', '\n', 'e\n7:f', 'g:8:h', './././i', ' '];
    for (const [index, name] of names.entries()) run(writeCommand(`strange/${index} ${name}`), 'one\nneedle: two\n');
    const found = matchesOf(run(searchCommand('needle', { path: 'strange' })));
    const paths = entriesOf(run(listCommand('strange', 9))).filter(({ type }) => type === 'file');
    assert.equal(found.length, names.length);
    assert.deepEqual(found.map(({ path }) => path).sort(), paths.map(({ path }) => `strange/${path}`).sort());
    for (const { line, text } of found) assert.deepEqual([line, text], [2, 'needle: two']);
  });

  it('name files that are not UTF-8 so that they are read by that name', () => {
    writeFileSync(
      Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0x6f, 0xff, 0x64])]),
      'needle \xff\n',
      'latin1',
    );
    const path = 'o\udcffd';
    assert.ok(entriesOf(run(listCommand('.', 1))).some((entry) => entry.path === path));
    assert.deepEqual(
      matchesOf(Buffer.from([...encodePath(`./${path}`), ...Buffer.from('\x001:needle \xff\n', 'latin1')])),
      [{ path, line: 1, text: 'needle \ufffd' }],
    );
  });

  it('give the last line of a match that was cut off as far as it came, and no other twice', () => {
    const whole = Buffer.from('a\x001:one\nb\nc\x0022:two\n');
    const counts = Array.from({ length: whole.length + 1 }, (_, end) => matchesOf(whole.subarray(0, end)).length);
    assert.deepEqual(counts, [...counts].sort());
    assert.equal(counts.at(-1), 2);
  });

  it('refuse what is no path and no pattern', () => {
    for (const path of ['', 'a\0b']) assert.throws(() => operand(path), ErrnoError);
    for (const path of ['a/', '.', 'a/.', '..', '../..', '/'])
      assert.throws(() => writeCommand(path), { code: 'EISDIR' }, path);
    for (const path of ['a', '.a', 'a.', '...', 'a/..b']) writeCommand(path);
    for (const pattern of ['', 'a\nb', 'a\0']) assert.throws(() => searchCommand(pattern, {}), ErrnoError);
  });

  it('fail with the code that the program meant', () => {
    for (const [message, code] of [
      ['No such file or directory', 'ENOENT'],
      ['Permission denied', 'EACCES'],
      ['Is a directory', 'EISDIR'],
      ['Not a directory', 'ENOTDIR'],
      ['File exists', 'ENOTDIR'],
      ['Read-only file system', 'EROFS'],
      ['No space left on device', 'ENOSPC'],
      ['Disk quota exceeded', 'EDQUOT'],
      ['File name too long', 'ENAMETOOLONG'],
      ['Too many levels of symbolic links', 'ELOOP'],
      ['Operation not permitted', 'EPERM'],
      ['Invalid regular expression', 'EINVAL'],
      ['Unmatched [, [^, [:, [., or [=', 'EINVAL'],
      ['Input/output error', 'EIO'],
    ]) {
      const { code: found, reason } = failureOf('read', 'x', `earlier: File exists\nhead: 'x': ${message}\n`);
      assert.deepEqual([found, reason], [code, `head: 'x': ${message}`]);
    }
    assert.equal(failureOf('read', 'x', '').code, 'EIO');
    const remedyOf = (operation: string, said: string) => failureOf(operation, 'x', said).remedy;
    for (const said of ['Is a directory', 'Not a directory', 'File exists'])
      assert.notEqual(
        remedyOf('write', said),
        remedyOf('read', said),
        'what is written is neither listed nor read instead',
      );
    assert.equal(remedyOf('write', 'Read-only file system'), remedyOf('read', 'Read-only file system'));
  });
});
