/** What a report says beside what the command did: of a run that was killed before it, of what the fork cannot hold, of git. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { closeSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readForkMeta } from '../vault/store/fork-meta.js';
import { readGroup } from '../vault/store/group.js';
import { vaultId, vaultPaths, workspaceRoot } from '../vault/store/layout.js';
import { Member } from '../vault/store/member.js';
import { closeFork, openFork } from '../vault/vault.js';
import type { AskedTree } from './asked-tree.js';
import { execute } from './execute.js';
import { placeOf as placeOfProject } from './host.js';
import { testHost } from './host-fixture.js';
import type { ExecRequest } from './run/exec-request.js';
import { isUndoNoted } from './run/fork-target.js';
import { onFork } from './run/open-fork-target.js';

const { host, project, recorded } = testHost();

function run(cwd: string, script: string, more: Partial<ExecRequest> = {}) {
  const own = { environmentAdditions: [], weakened: [], streams: 'capture', stdin: 'nothing', wait: false } as const;
  return execute(host, { argv: ['sh', '-c', script], cwd, ...own, ...more }, onFork);
}

const placeOf = (cwd: string) => vaultPaths(host.store.directory, vaultId(cwd)).fork('main');
const since = (from: number) => recorded.slice(from).filter(({ type }) => type !== 'audit.chain');

describe('a run whose process was killed', () => {
  it('has an end in the record from the next command, with what it had changed, once', async () => {
    const cwd = project({ a: 'one' });
    await run(cwd, 'echo two > b');
    const place = placeOf(cwd);
    const facts = { command: 'make', roots: [workspaceRoot], owners: '', checkpoint: 1 };
    const killed = await Member.enter(host.tree, place, facts, []);
    const whose = { type: 'exec', object: `fork/${vaultId(cwd)}/main`, agent: null } as const;
    for (const name of ['killed', 'ended']) {
      killed.begin({ run: name, agent: null });
      host.recorder.append({ ...whose, status: 'begin', facts: { run: name, argv: [name] } });
    }
    killed.begin({ run: 'never begun', agent: null });
    host.recorder.append({ ...whose, status: 'ok', facts: { run: 'ended' } });
    closeSync(killed.descriptor);
    assert.deepEqual(
      (await readGroup(host.tree, place)).dead.map(({ command }) => command),
      ['make'],
    );
    const from = recorded.length;
    await run(cwd, 'true');
    const interrupted = since(from).filter(({ facts: of }) => of?.['interrupted'] === true);
    assert.equal(interrupted.length, 1);
    const { status, object, makesRoom, facts: said } = interrupted[0] ?? {};
    const { stateAfter, ...rest } = said ?? {};
    assert.deepEqual([status, object, makesRoom], ['failed', whose.object, true]);
    assert.deepEqual(rest, { run: 'killed', argv: ['killed'], interrupted: true, changes: ['added b'] });
    assert.match(String(stateAfter), /^[0-9a-f]{64}$/);
    assert.deepEqual(await readGroup(host.tree, place), { live: [], dead: [] });
    const later = recorded.length;
    await run(cwd, 'true');
    assert.deepEqual(
      since(later).filter(({ facts: of }) => of?.['interrupted'] === true),
      [],
    );
  });
});

describe('the warnings of a report', () => {
  it('name what of the directory is not in the fork, with the reason', async () => {
    const cwd = project({ a: '' });
    const server = createServer().listen(join(cwd, 'socket'));
    await once(server, 'listening');
    const about = ({ warnings }: { readonly warnings: readonly string[] }) =>
      warnings.filter((text) => text.startsWith('not in the fork: '));
    try {
      const [first = '', ...more] = about(await run(cwd, 'true'));
      assert.match(first, /^not in the fork: socket \([A-Z]+: .+\)$/);
      assert.deepEqual(more, []);
    } finally {
      server.close();
    }
  });

  it('say that nothing is signed to whoever makes a commit, and to no other', async () => {
    const path = join(host.home, '.gitconfig');
    writeFileSync(path, '[commit]\n\tgpgsign = true\n');
    try {
      const cwd = project({ a: '' });
      mkdirSync(join(cwd, '.git'));
      const isSaid = async (script: string) =>
        (await run(cwd, script)).warnings.some((text) => text.includes('are not signed'));
      assert.deepEqual(
        [await isSaid('echo x > a; echo x > .gitx'), await isSaid('echo x > .git/x'), await isSaid('echo y > a')],
        [false, true, false],
      );
    } finally {
      rmSync(path);
    }
  });
});

describe('what a command wrote to a tree', () => {
  it('is undone by a rollback where the checkpoint could be told, else the report says why not', async () => {
    const cwd = project({ a: '' });
    const { store, tree } = host;
    const { origin, owner } = placeOfProject(host, cwd);
    await run(cwd, 'true');
    const fork = await openFork({ store, tree, origin, owner, wait: true, purpose: 'test' });
    const undo = [{ file: '/tree', before: 'one', after: 1 }];
    const outcome = () => ({ changes: [], more: 0, undo, undoable: true });
    const trees = [{ writable: true, outcome } as unknown as AskedTree];
    const [checkpoint, isKept] = [fork.meta.checkpoints[0]?.id ?? 0, false];
    const unwritten: string[] = [];
    try {
      assert.equal(isUndoNoted({ fork, checkpoint, isKept, trees }, unwritten), true);
      assert.deepEqual(readForkMeta(fork.place.directory)?.checkpoints[0]?.trees, undo);
      assert.equal(isUndoNoted({ fork, checkpoint, isKept: true, trees: [] }, unwritten), true);
      assert.deepEqual(unwritten, []);
      // Where its state cannot be written, as on a full disk.
      const lost = { ...fork, place: { ...fork.place, directory: join(fork.place.directory, 'none') } };
      assert.equal(isUndoNoted({ fork: lost, checkpoint, isKept, trees }, unwritten), false);
      assert.match(unwritten.join(), /^could not write how to undo what it changed in mounted trees: .* \(ENOENT\)$/);
    } finally {
      closeFork(fork);
    }
  });
});

describe('a command that its view refuses', () => {
  it('is in the record as refused, and leaves the fork to others', async () => {
    const cwd = project({ 'docs/notes/a': '' });
    const from = recorded.length;
    const grants = { reads: [join(cwd, 'docs')], writes: [join(cwd, 'docs/notes')] };
    await assert.rejects(run(cwd, 'true', grants), { code: 'ENOTSUP' });
    assert.deepEqual(
      since(from).map(({ type, status, layer, facts }) => [type, status, layer, facts?.['error']]),
      [['exec', 'denied', 'proxy', 'ENOTSUP']],
    );
    assert.deepEqual(await readGroup(host.tree, placeOf(cwd)), { live: [], dead: [] });
    assert.equal((await run(cwd, 'true', { alone: true })).exitCode, 0);
  });
});
