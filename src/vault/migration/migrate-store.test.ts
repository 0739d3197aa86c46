/** A store of format 1 that becomes one of this format and back: each promise of a migration, whatever was done before or between. */
import assert from 'node:assert/strict';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { loadFlock } from '../../base/file-lock.js';
import { nativeProgram } from '../../base/native-program.js';
import { lookAt, type Shown } from '../forks/vault-fixture.js';
import { readForkMeta } from '../store/fork-meta.js';
import { storePaths, vaultId, vaultPaths, workspaceRoot } from '../store/layout.js';
import { isOlderStore, openStore } from '../store/store.js';
import { readVaultMeta } from '../store/vault-meta.js';
import { freshPlace, tree } from '../tree/tree-fixture.js';
import { closeFork, openFork } from '../vault.js';
import { migrateStore, settleMigration, undoMigration } from './migrate-store.js';
import { firstChange, type MigrationStep, takeBack, takeStep } from './steps.js';

const { at, write } = freshPlace();
const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, shift: 0 };
const profile = 'userxattr,index=off,redirect_dir=nofollow,metacopy=off';
const store = () => at('store');
const paths = (origin = at('project')) => vaultPaths(store(), vaultId(origin));
const aboutStore = () => JSON.parse(readFileSync(storePaths(store()).meta, 'utf8'));

/** Two vaults, of which one has a fork with a home, more layers than it names, and all that format 2 has no use for. */
function older(): Shown {
  const vault = `store/vault/${vaultId(at('project'))}`;
  const about = { format: 1, created: '2026-01-01', nextLayer: 3 };
  mkdirSync(at('project'));
  write('project/own', 'mine');
  write(`${vault}/meta.json`, JSON.stringify({ ...about, origin: at('project'), layers: ['0', '2'], clashes: ['a'] }));
  write(`${vault}/layer/0/own`, 'mine');
  write(`${vault}/layer/2/later`, 'mine');
  write(`${vault}/layer/7/lost`);
  write(`${vault}/fork/main/upper/made`, 'inside');
  write(`${vault}/fork/main/home/.rc`, 'home');
  write(`${vault}/fork/main/work/x`);
  write(`${vault}/fork/stray/x`);
  write(`${vault}/origin.scan`);
  const other = `store/vault/${vaultId(at('other'))}`;
  write(`${other}/meta.json`, JSON.stringify({ ...about, origin: at('other'), layers: ['0'], clashes: [] }));
  for (const name of ['layer/0', 'fork']) mkdirSync(at(other, name), { recursive: true });
  write('store/session/x', 'session');
  mkdirSync(at('store/trash'));
  write('store/meta.json', `${JSON.stringify({ format: 1, overlay: profile })}\n`);
  for (const { lock } of [paths(), paths(at('other'))]) writeFileSync(lock, '');
  return lookAt(store());
}

function assertMigrated(): void {
  const [vault, fork] = [readVaultMeta(paths().meta), readForkMeta(paths().fork('main').directory)];
  assert.deepEqual(
    [vault?.origin, vault?.trunk, vault?.current, fork?.base, fork?.clashes],
    [at('project'), ['m0', 'm2'], 'main', ['m0', 'm2'], ['a']],
  );
  const shown = (layer: string) => lookAt(paths().tree(layer, workspaceRoot));
  assert.deepEqual(
    [shown('m0'), shown('m2'), shown(fork?.live ?? '')],
    [{ own: 'mine' }, { later: 'mine' }, { made: 'inside' }],
  );
  assert.equal(readFileSync(join(paths().fork('main').home, '.rc'), 'utf8'), 'home');
}

/** As the file of the list of steps has it, which stays until the migration is settled. */
const stepsOf = () =>
  (
    JSON.parse(readFileSync(join(storePaths(store()).migration, 'plan.json'), 'utf8')) as {
      readonly steps: readonly MigrationStep[];
    }
  ).steps;

it('a store is migrated once, opened from then on, and taken back as it was, byte for byte', () => {
  const before = older();
  assert.throws(() => openStore(store()), isOlderStore);
  assert.deepEqual(lookAt(store()), before, 'a look changes nothing');
  assert.deepEqual(migrateStore(store()), { from: 1, to: 2, resumed: false });
  assertMigrated();
  const about = aboutStore();
  assert.deepEqual({ ...about, marked: undefined }, { format: 2, overlay: profile, migrated: 1, marked: undefined });
  assert.equal(openStore(store(), nativeProgram('flock.node')).migrated, 1);
  const migrated = lookAt(store());
  assert.equal(migrateStore(store()), undefined);
  assert.deepEqual(lookAt(store()), migrated);
  assert.equal(undoMigration(store()), 1);
  assert.deepEqual(lookAt(store()), before);
  assert.throws(() => undoMigration(store()), { code: 'ESTALE' });
});

it('the first command settles it, and after that nothing is taken back', async () => {
  older();
  migrateStore(store());
  const opened = openStore(store());
  const request = { store: opened, tree, origin: at('project'), owner, wait: true, purpose: 'test' };
  closeFork(await openFork({ ...request, onlyLooks: true }));
  assert.equal(aboutStore().migrated, 1);
  closeFork(await openFork(request));
  assert.deepEqual([aboutStore().migrated, existsSync(storePaths(store()).migration)], [undefined, false]);
  assert.throws(() => undoMigration(store()), { code: 'ESTALE' });
  settleMigration(opened);
  assert.equal(aboutStore().format, 2);
});

it('a command that comes while it is taken back, or after, does not settle what is gone', () => {
  older();
  migrateStore(store());
  const opened = openStore(store());
  const about = aboutStore();
  writeFileSync(storePaths(store()).meta, JSON.stringify({ ...about, migrating: 1 }));
  assert.throws(() => settleMigration(opened), { code: 'ESTALE' });
  assert.throws(() => openStore(store()), isOlderStore);
  writeFileSync(storePaths(store()).meta, JSON.stringify(about));
  undoMigration(store());
  assert.throws(() => settleMigration(opened), { code: 'ESTALE' });
});

it('one that was cut off after any of its steps goes on to its end, forwards and backwards', () => {
  const before = older();
  migrateStore(store());
  const [migrated, steps] = [lookAt(store()), stepsOf()];
  assert.ok(steps.length > 20 && new Set(steps.map(({ step }) => step)).size === 4);
  const without = (all: Shown) =>
    Object.fromEntries(Object.entries(all).filter(([path]) => path !== 'meta.json' && !path.startsWith('migration')));
  const stray = (path: string) => writeFileSync(`${path}.migrating`, 'half');
  for (let cut = steps.length; cut >= 0; cut -= 1) {
    const back = [...steps].reverse();
    for (const step of back) takeBack(step);
    assert.deepEqual(without(lookAt(store())), without(before), `taken back, ${cut}`);
    for (const step of steps.slice(0, cut)) takeStep(step);
    const next = steps[cut];
    if (next?.step === 'write' && existsSync(join(next.path, '..'))) stray(next.path);
    if (cut % 2 === 0) for (const step of back) takeBack(step);
    for (const step of steps) takeStep(step);
    assert.deepEqual(without(lookAt(store())), without(migrated), `gone on, ${cut}`);
    assert.equal(firstChange(steps), undefined);
  }
  for (const step of [...steps].reverse()) takeBack(step);
  writeFileSync(storePaths(store()).meta, JSON.stringify({ ...aboutStore(), migrated: undefined, migrating: 1 }));
  assert.deepEqual(migrateStore(store()), { from: 1, to: 2, resumed: true });
  assertMigrated();
  undoMigration(store());
  assert.deepEqual(lookAt(store()), before);
});

it('what changed since a migration keeps it from being taken back, wherever it is, and what only looks leave does not', () => {
  older();
  migrateStore(store());
  const migrated = lookAt(store());
  for (const name of ['lock', 'queue', 'joined']) writeFileSync(join(paths().fork('main').directory, name), '');
  mkdirSync(paths().fork('main').group);
  assert.equal(firstChange(stepsOf()), undefined);
  const more = (directory: string) =>
    [() => mkdirSync(join(directory, 'more')), () => rmSync(join(directory, 'more'), { recursive: true })] as const;
  const text = readFileSync(paths().meta, 'utf8');
  const changes: readonly (readonly [() => unknown, () => unknown])[] = [
    more(paths().layers),
    more(paths().forks),
    more(paths().scans),
    more(paths().allEdits),
    more(paths().fork('main').directory),
    more(storePaths(store()).vaults),
    [
      () => renameSync(paths().fork('main').home, `${paths().fork('main').home}s`),
      () => renameSync(`${paths().fork('main').home}s`, paths().fork('main').home),
    ],
    [() => writeFileSync(paths().meta, `${text} `), () => writeFileSync(paths().meta, text)],
    [() => unlinkSync(paths().tree('m0', 'of-trunk')), () => writeFileSync(paths().tree('m0', 'of-trunk'), '')],
    [() => mkdirSync(paths().layer('0')), () => rmSync(paths().layer('0'), { recursive: true })],
  ];
  for (const [change, restore] of changes) {
    change();
    assert.notEqual(firstChange(stepsOf()), undefined, String(change));
    restore();
    assert.equal(firstChange(stepsOf()), undefined, String(change));
  }
  mkdirSync(paths().layer('more'));
  assert.throws(() => undoMigration(store()), { code: 'ESTALE', path: paths().layers });
  rmSync(paths().layer('more'), { recursive: true });
  for (const name of ['lock', 'queue', 'joined', 'group'])
    rmSync(join(paths().fork('main').directory, name), { recursive: true });
  assert.deepEqual(lookAt(store()), migrated);
});

it('nothing is touched where a vault is damaged or in use, and no lock stays', () => {
  const before = older();
  const lock = openSync(paths().lock, 'a+');
  loadFlock(nativeProgram('flock.node'), 'test').lock(lock, 0);
  for (let count = 0; count < 2; count += 1) assert.throws(() => migrateStore(store()), { code: 'EBUSY' });
  closeSync(lock);
  writeFileSync(paths().meta, '{}');
  assert.throws(() => migrateStore(store()), { code: 'EIO' });
  writeFileSync(paths().meta, before[`vault/${vaultId(at('project'))}/meta.json`] ?? '');
  const left = lookAt(store());
  assert.deepEqual(
    Object.keys(left).filter((path) => left[path] !== before[path]),
    ['migration', 'migration/lock'],
  );
  writeFileSync(storePaths(store()).meta, JSON.stringify({ format: 0, overlay: profile }));
  assert.throws(() => migrateStore(store()), { code: 'ENOSYS' });
  for (const text of ['{', '{}', '{"format":1}', '[]']) {
    writeFileSync(storePaths(store()).meta, text);
    assert.throws(() => migrateStore(store()), { code: 'EIO' }, text);
  }
});

it('a list of steps that is damaged is not gone on with', () => {
  older();
  migrateStore(store());
  const file = join(storePaths(store()).migration, 'plan.json');
  const plan = JSON.parse(readFileSync(file, 'utf8'));
  assert.equal(statSync(storePaths(store()).migration).mode & 0o777, 0o700);
  writeFileSync(storePaths(store()).meta, JSON.stringify({ ...aboutStore(), migrated: undefined, migrating: 1 }));
  for (const damaged of [
    undefined,
    {},
    { ...plan, steps: [{ step: 'move', from: '/a' }] },
    { ...plan, before: {} },
    { ...plan, from: -1 },
  ]) {
    if (damaged === undefined) unlinkSync(file);
    else writeFileSync(file, JSON.stringify(damaged));
    assert.throws(() => migrateStore(store()), { code: 'EIO' }, JSON.stringify(damaged));
  }
  writeFileSync(file, JSON.stringify(plan));
  assert.equal(migrateStore(store())?.resumed, true);
  assertMigrated();
});

it('a directory that is in both places is not lost to a move, nor its mode', () => {
  const step: MigrationStep = { step: 'move', from: at('from'), to: at('to'), mode: 0o500 };
  write('from/x', 'from');
  write('to/x', 'to');
  for (const act of [takeStep, takeBack]) assert.throws(() => act(step), { code: 'EIO' });
  assert.deepEqual([lookAt(at('from')), lookAt(at('to'))], [{ x: 'from' }, { x: 'to' }]);
  rmSync(at('to'), { recursive: true });
  takeStep(step);
  assert.deepEqual([existsSync(at('from')), statSync(at('to')).mode & 0o777], [false, 0o500]);
  takeBack(step);
  assert.deepEqual([existsSync(at('to')), statSync(at('from')).mode & 0o777], [false, 0o500]);
});
