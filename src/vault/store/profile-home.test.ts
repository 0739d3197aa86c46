/** Homes that are kept, and those of one run with secrets in them: what is in each, whose it is, and when it goes. */
import assert from 'node:assert/strict';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { profileFileBytes } from '../../base/limits/commands.js';
import { freshPlace, isRoot, tree } from '../tree/tree-fixture.js';
import { type ProfileHome, profileHome } from './profile-home.js';
import { openStore } from './store.js';
import { toolHome, toolHomes } from './tool-home.js';

const { at, write } = freshPlace();
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, shift: 0 };
const home = (more: Partial<ProfileHome> = {}) => {
  const store = openStore(at('store'));
  const paths = { source: at('person'), copies: ['.rc', '.config/deep/x'], secrets: [] };
  return profileHome({ store, tree, name: 'agent', owner, ...paths, fresh: false, ...more });
};
const kept = () => at('store', 'home', 'agent', String(owner.uid));
const beside = () => readdirSync(at('store', 'home', 'agent')).sort();
const all = ['', '.lock', '.users'].map((end) => `${owner.uid}${end}`);
const read = (...names: string[]) => readFileSync(join(...names), 'utf8');

function person() {
  write('person/.rc', 'mine');
  write('person/.config/deep/x', 'deep');
  write('person/.key', 'secret');
  mkdirSync(at('person/.copied-not'));
}

it('a home is made of copies once, and is kept with all that was done in it', async () => {
  person();
  const first = await home({ copies: ['.rc', '.config/deep/x', '.none', '.rc/below', '.copied-not'] });
  assert.equal(first.path, kept());
  assert.deepEqual(readdirSync(first.path).sort(), ['.config', '.rc']);
  assert.deepEqual([read(first.path, '.rc'), read(first.path, '.config/deep/x')], ['mine', 'deep']);
  assert.deepEqual(
    [statSync(first.path).mode & 0o777, statSync(join(first.path, '.config')).mode & 0o777],
    [0o700, 0o700],
  );
  writeFileSync(join(first.path, '.rc'), 'theirs');
  await first.release();
  write('person/.rc', 'later');
  const second = await home();
  assert.equal(read(second.path, '.rc'), 'theirs');
  await second.release();
  assert.deepEqual(readdirSync(`${kept()}.users`), []);
});

it('a file is copied up to a limit, and no home is left where one is beyond it', async () => {
  write('person/.rc');
  truncateSync(at('person/.rc'), profileFileBytes + 1);
  await assert.rejects(home(), { code: 'EFBIG' });
  assert.ok(!existsSync(kept()));
  truncateSync(at('person/.rc'), profileFileBytes);
  const { path, release } = await home();
  assert.equal(statSync(join(path, '.rc')).size, profileFileBytes);
  await release();
});

it('a fresh home takes the place of the other, unless a run has that', async () => {
  person();
  const first = await home();
  writeFileSync(join(first.path, 'left'), 'x');
  await assert.rejects(home({ fresh: true }), { code: 'EBUSY' });
  assert.equal(read(first.path, 'left'), 'x');
  const beside = await home();
  await first.release();
  await assert.rejects(home({ fresh: true }), { code: 'EBUSY' });
  await beside.release();
  // Of a run that was killed: no one has it locked.
  writeFileSync(join(`${kept()}.users`, 'killed'), '1 ctx run');
  write('person/.rc', 'later');
  const fresh = await home({ fresh: true });
  assert.deepEqual([existsSync(join(fresh.path, 'left')), read(fresh.path, '.rc')], [false, 'later']);
  assert.equal(readdirSync(`${kept()}.users`).length, 1);
  await fresh.release();
  mkdirSync(join(`${kept()}.users`, 'directory'));
  await assert.rejects(home({ fresh: true }), { code: 'EISDIR' });
});

it('secrets are in a home of the run alone, whatever is in their place, and go with it', async () => {
  person();
  const plain = await home();
  symlinkSync(at('person'), join(plain.path, '.key'));
  writeFileSync(join(plain.path, 'own'), 'x');
  const run = await home({ secrets: ['.key', '.none', '.config/secret'] });
  assert.ok(run.path.startsWith(`${kept()}.with-`));
  assert.deepEqual([read(run.path, '.key'), read(run.path, 'own'), read(run.path, '.rc')], ['secret', 'x', 'mine']);
  assert.equal(read(at('person'), '.key'), 'secret');
  writeFileSync(join(run.path, 'own'), 'other');
  const other = await home({ secrets: ['.key'] });
  assert.notEqual(other.path, run.path);
  assert.deepEqual(
    [read(plain.path, 'own'), read(other.path, 'own')],
    ['x', 'x'],
    'a copy is no second name of a file',
  );
  await run.release();
  assert.deepEqual([existsSync(run.path), existsSync(other.path)], [false, true]);
  await other.release();
  await plain.release();
  assert.deepEqual(beside(), all);
  assert.equal(readlinkSync(join(kept(), '.key')), at('person'));
});

it('what killed runs left of their secrets goes with the next run, and what others use stays', async () => {
  person();
  const run = await home({ secrets: ['.key'] });
  const left = ['killed', 'killed.over', 'nameless'].map((name) => `${kept()}.with-${name}`);
  for (const directory of left) mkdirSync(directory);
  writeFileSync(join(`${kept()}.users`, 'killed'), '1 ctx run');
  const next = await home();
  assert.deepEqual(
    left.filter((directory) => existsSync(directory)),
    [],
  );
  assert.deepEqual([existsSync(run.path), read(run.path, '.key')], [true, 'secret']);
  await run.release();
  await next.release();
});

it('where secrets cannot be laid over it nothing of them is left, and no one has the home', async () => {
  person();
  truncateSync(at('person/.key'), profileFileBytes + 1);
  await assert.rejects(home({ secrets: ['.rc', '.key'] }), { code: 'EFBIG' });
  assert.deepEqual(beside(), all);
  assert.deepEqual(readdirSync(`${kept()}.users`), []);
  const fresh = await home({ fresh: true });
  await fresh.release();
});

it('a home that is shifted belongs to whom root’s commands run as', { skip: !isRoot && 'needs root' }, async () => {
  person();
  const shifted = { uid: 0, gid: 0, shift: 1_000_000 };
  const { path, release } = await home({ owner: shifted });
  for (const below of ['', '.rc', '.config', '.config/deep', '.config/deep/x']) {
    const { uid, gid } = statSync(join(path, below));
    assert.deepEqual([uid, gid], [1_000_000, 1_000_000], below);
  }
  await release();
  const tool = toolHome(at('store'), 'x', shifted);
  assert.equal(statSync(tool).uid, 1_000_000);
});

it('the home of a tool is one for each user, and is never replaced', () => {
  openStore(at('store'));
  const first = toolHome(at('store'), 'x', owner);
  writeFileSync(join(first, 'left'), 'x');
  assert.equal(toolHome(at('store'), 'x', owner), first);
  assert.deepEqual([readdirSync(first), statSync(first).mode & 0o777], [['left'], 0o700]);
  assert.notEqual(toolHome(at('store'), 'x', { ...owner, uid: owner.uid + 1 }), first);
  assert.deepEqual(readdirSync(toolHomes(at('store'), 'x')).length, 2);
  write('store/tool/file');
  assert.throws(() => toolHome(at('store'), 'file', owner), { code: /^E(?:NOTDIR|EXIST)$/ });
});
