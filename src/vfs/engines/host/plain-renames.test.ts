/** Renames to a new name, on a filesystem that can rename without replacing, and on one that says it cannot (EINVAL). */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { callRefuser } from '../../../../test/support/refuse-call.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-plain-renames-'));
after(() => rmSync(base, { recursive: true, force: true }));

/** Each kind to each kind, in one directory and to another; what each call said, and all that is there then. */
const script = `
const { HostCalls } = await import(${JSON.stringify(new URL('./anchored.js', import.meta.url).href)});
const fs = await import('node:fs');
const { execFileSync } = await import('node:child_process');
const calls = new HostCalls();
const kinds = {
  file: (path) => fs.writeFileSync(path, 'of ' + path),
  empty: (path) => fs.mkdirSync(path, { mode: 0o750 }),
  full: (path) => (fs.mkdirSync(path, { mode: 0o705 }), fs.mkdirSync(path + '/deep'), fs.writeFileSync(path + '/deep/file', 'of ' + path)),
  link: (path) => fs.symlinkSync('of ' + path, path),
  pipe: (path) => execFileSync('mkfifo', [path]),
  nothing: () => undefined,
};
const look = (path) => {
  const about = fs.lstatSync(path, { throwIfNoEntry: false });
  if (about === undefined) return 'nothing';
  const what = about.mode.toString(8) + ' ' + (about.isDirectory() ? '' : about.nlink);
  if (about.isFile()) return [what, fs.readFileSync(path, 'utf8')];
  if (about.isSymbolicLink()) return [what, fs.readlinkSync(path)];
  return about.isDirectory() ? [what, fs.readdirSync(path).map((name) => [name, look(path + '/' + name)])] : what;
};
const said = [];
fs.mkdirSync('tree');
process.chdir('tree');
for (const into of ['.', 'other'])
  for (const [from, make] of Object.entries(kinds))
    for (const [to, makeTaken] of Object.entries(kinds)) {
      fs.mkdirSync('other');
      make('from');
      makeTaken(into + '/to');
      const before = fs.lstatSync('from', { throwIfNoEntry: false })?.ino;
      const [here, there] = ['.', into].map((path) => fs.openSync(path, 'r'));
      let code = 'done';
      try {
        calls.renameNew(here, 'from', there, 'to');
      } catch (error) {
        code = error.code;
      }
      for (const each of [here, there]) fs.closeSync(each);
      const isSame = fs.lstatSync(into + '/to', { throwIfNoEntry: false })?.ino === before;
      said.push([into, from, to, code, isSame, look('from'), look(into + '/to')]);
      for (const path of ['from', into + '/to', 'other']) fs.rmSync(path, { recursive: true, force: true });
    }
process.chdir('..');
fs.rmdirSync('tree');
console.log(JSON.stringify(said));
`;

type Said = readonly [
  into: string,
  from: string,
  to: string,
  code: string,
  isSame: boolean,
  left: unknown,
  there: unknown,
];

const renamed = (before: readonly string[]): readonly Said[] => {
  const [program = '', ...words] = [...before, process.execPath, '--input-type=module', '-e', script];
  return JSON.parse(execFileSync(program, words, { cwd: base, encoding: 'utf8' })) as readonly Said[];
};

it('end in the same on both, for every kind of entry, whatever is in the way', () => {
  const refusing = callRefuser(base);
  const able = renamed([]);
  for (const [into, from, to, code, isSame] of able) {
    const expected = from === 'nothing' ? 'ENOENT' : to === 'nothing' ? 'done' : 'EEXIST';
    const label = `${from} to ${to} in ${into}`;
    assert.equal(code, expected, label);
    if (code === 'done') assert.ok(isSame, label);
  }
  const unable = renamed(refusing({ call: 'renameat2', error: constants.errno.EINVAL, arguments: [[4, 1]] }));
  assert.deepEqual(unable, able);
});
