/** What a person does with a fork, each verb with what it is in the record, and what is refused before anything happens. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { ErrnoError } from '../base/errno.js';
import { diffedFileBytes, filesDiffedAtOnce, looksAtBusyFork } from '../base/limits/store.js';
import { noteTrees } from '../vault/forks/checkpoint.js';
import { lookAt } from '../vault/forks/vault-fixture.js';
import { type ForkMeta, readForkMeta, writeForkMeta } from '../vault/store/fork-meta.js';
import { Member } from '../vault/store/member.js';
import { readVaultMeta } from '../vault/store/vault-meta.js';
import { applyForkTo } from './apply-to.js';
import { diffOfFork, statusOfFork } from './fork-diff.js';
import { lookAtFork } from './fork-status.js';
import { applyFork, dropFork, withFork } from './fork-verbs.js';
import {
  createFork,
  deleteCheckpoint,
  deleteFork,
  listCheckpoints,
  listForks,
  lookAtCheckpoint,
  rollBackFork,
  saveCheckpoint,
  useFork,
} from './history-verbs.js';
import { lookIntoFork } from './look-into-fork.js';
import { syncFork, undoApply } from './vault-verbs.js';
import { freshWorkspace } from './workspace-fixture.js';

const { at, write, command, host, recorded, shown, warnings, access, withFork: withOpen } = freshWorkspace();
const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
const here = <T extends object>(more: T = {} as T) => ({ cwd: at('project'), wait: false, ...more });
const choices = { conflicts: 'refuse', allowSensitive: true } as const;
const told = ({ type, status, durable, makesRoom, facts }: RecordEntry) => ({
  verb: `${type} ${status}${durable === true ? ' durable' : ''}${makesRoom === true ? ' makes room' : ''}`,
  facts: facts as Record<string, unknown>,
});
const verbs = () => recorded().map((entry) => told(entry).verb);
const object = (name = 'main') => `fork/${access().id}/${name}`;

async function work() {
  write('project/own', 'mine');
  await command(put('own', 'inside'));
  await command(put('new', 'inside'));
  recorded();
}

describe('an apply', () => {
  it('is in the record before it is done, before it writes and when it has ended, and leaves the store tidy', async () => {
    await work();
    const report = await applyFork(host(), here(), choices);
    assert.deepEqual([report.done, lookAt(at('project'))], [true, { new: 'inside', own: 'inside' }]);
    const entries = recorded();
    assert.deepEqual(
      entries.map((entry) => told(entry).verb),
      ['apply begin durable', 'apply begin durable', 'apply ok durable'],
    );
    const facts = { origin: at('project'), choice: 'refuse', allowSensitive: true };
    const steps = ['put new', 'put own'];
    assert.deepEqual(
      entries.map((entry) => told(entry).facts),
      [facts, { ...facts, steps }, { ...facts, steps, conflicts: [], heldBack: [] }],
    );
    assert.deepEqual(new Set(entries.map((entry) => entry.object)), new Set([object()]));
    const layers = readdirSync(access().paths.layers);
    const named = new Set([...(readVaultMeta(access().paths.meta)?.trunk ?? [])]);
    assert.ok(layers.length <= named.size + 6, 'what nobody needs has gone');
    const undone = await undoApply(host(), here());
    assert.deepEqual(
      [undone.done, undone.pending, lookAt(at('project')), 'fork' in undone],
      [true, 2, { own: 'mine' }, false],
    );
    assert.deepEqual(verbs(), ['apply undo begin durable', 'apply undo begin durable', 'apply undo ok durable']);
  });

  it('that is only planned is in no record, and what refuses it comes before anything', async () => {
    await work();
    const planned = await applyFork(host(), here(), { ...choices, dryRun: true });
    assert.deepEqual(
      [planned.done, 'fork' in planned, lookAt(at('project')), verbs()],
      [false, false, { own: 'mine' }, []],
    );
    for (const more of [
      { only: ['/elsewhere'] },
      { ours: ['/elsewhere'] },
      { theirs: ['/elsewhere'] },
      { ours: ['own'], theirs: ['own'] },
    ]) {
      await assert.rejects(applyFork(host(), here(), { ...choices, ...more }), { code: 'EINVAL' });
      await assert.rejects(applyForkTo(host(), here(), at(), { ...choices, ...more }), { code: 'EINVAL' });
    }
    const refusing = async () => {
      throw new ErrnoError('EACCES', { operation: 'test', reason: 'no' });
    };
    await assert.rejects(applyFork(host(), here(), choices, refusing), { code: 'EACCES' });
    assert.deepEqual([verbs(), lookAt(at('project'))], [[], { own: 'mine' }]);
  });

  it('with a conflict is recorded as failed, with nothing written', async () => {
    await work();
    write('project/own', 'edited');
    assert.equal((await applyFork(host(), here(), choices)).done, false);
    const entries = recorded();
    assert.deepEqual(
      entries.map((entry) => told(entry).verb),
      ['apply begin durable', 'apply failed durable'],
    );
    const { steps, conflicts } = told(entries[1] as RecordEntry).facts;
    assert.deepEqual([steps, conflicts], [[], ['own']]);
  });

  it('onto another directory is in the record with it, and never onto the fork’s own or ctx’s', async () => {
    await work();
    write('copy/own', 'mine');
    write('file', '');
    for (const [to, code] of [
      [at('project'), 'EINVAL'],
      [at('store'), 'EINVAL'],
      [at(), 'EINVAL'],
      [at('store/vault'), 'EINVAL'],
      [at('file'), 'ENOTDIR'],
      [at('none'), 'ENOENT'],
    ] as const)
      await assert.rejects(applyForkTo(host(), here(), to, choices), { code }, to);
    assert.deepEqual(verbs(), []);
    assert.equal((await applyForkTo(host(), here(), at('copy'), { ...choices, dryRun: true })).done, false);
    assert.deepEqual(verbs(), []);
    const report = await applyForkTo(host(), here(), at('copy'), choices);
    assert.deepEqual(
      [report.to, report.done, lookAt(at('copy'))],
      [at('copy'), true, { new: 'inside', own: 'inside' }],
    );
    const entries = recorded();
    assert.deepEqual(
      entries.map((entry) => told(entry).verb),
      ['apply begin durable', 'apply begin durable', 'apply ok durable'],
    );
    assert.deepEqual(
      entries.map((entry) => told(entry).facts['to']),
      [at('copy'), at('copy'), at('copy')],
    );
  });
});

it('a fork that is dropped says how much went, and is in the record where the disk is full, too', async () => {
  await work();
  assert.deepEqual(await dropFork(host(), here()), { dropped: 2 });
  const entries = recorded();
  assert.deepEqual(
    entries.map((entry) => told(entry)),
    [
      { verb: 'drop begin makes room', facts: { origin: at('project'), changes: 2 } },
      { verb: 'drop ok makes room', facts: { origin: at('project'), changes: 2 } },
    ],
  );
  assert.deepEqual(await dropFork(host(), here()), { dropped: 0 });
  assert.deepEqual(await withOpen((fork) => shown(fork)), { own: 'mine' });
  const { directory } = access().paths.fork('main');
  for (const name of readdirSync(directory).filter((each) => each.startsWith('state')))
    writeFileSync(join(directory, name), '{');
  warnings.length = 0;
  await assert.rejects(lookAtFork(host(), here()), { code: 'EIO' });
  await dropFork(host(), here());
  assert.equal(warnings.length, 1);
  assert.ok((readForkMeta(directory)?.deltas.length ?? 1) === 0);
});

it('no verb makes a vault where none is', async () => {
  write('project/own', 'mine');
  for (const verb of [
    () => applyFork(host(), here(), choices),
    () => dropFork(host(), here()),
    () => lookAtFork(host(), here()),
    () => undoApply(host(), here()),
  ])
    await assert.rejects(verb(), { code: 'ENOENT' });
  assert.ok(!existsSync(access().paths.meta));
});

describe('history', () => {
  it('is saved, listed, looked at and forgotten, each in the record', async () => {
    await work();
    const saved = await saveCheckpoint(host(), here(), 'named');
    assert.deepEqual(
      [
        saved.name,
        saved.automatic,
        Object.keys(saved).some((key) => ['base', 'deltas', 'position', 'trees'].includes(key)),
      ],
      ['named', false, false],
    );
    await command(put('later', 'inside'));
    assert.deepEqual(
      (await listCheckpoints(host(), here())).map(({ id }) => id),
      [1, 2, 3, 4],
    );
    const looked = await lookAtCheckpoint(host(), here(), 'named');
    assert.deepEqual([looked.checkpoint.id, looked.changes.map(({ path }) => path)], [3, ['later']]);
    assert.deepEqual(verbs(), ['checkpoint begin', 'checkpoint ok']);
    assert.equal((await deleteCheckpoint(host(), here(), 'named')).id, 3);
    await assert.rejects(deleteCheckpoint(host(), here(), 'named'), { code: 'ENOENT' });
    await assert.rejects(saveCheckpoint(host(), here(), '7'), { code: 'EINVAL' });
    assert.deepEqual(verbs(), [
      'checkpoint delete begin makes room',
      'checkpoint delete ok makes room',
      'checkpoint begin',
      'checkpoint failed makes room',
    ]);
    assert.deepEqual(
      (await listCheckpoints(host(), here())).map(({ id }) => id),
      [1, 2, 4],
    );
  });

  it('is gone back to, all of it or some paths, and says what was undone', async () => {
    await work();
    await command(put('own', 'again'));
    const some = await rollBackFork(host(), here({ paths: ['own'], checkpoint: '1' }));
    assert.deepEqual([some.undone.map(({ path }) => path), some.pending, some.to.id, some.trees], [['own'], 1, 1, []]);
    const facts = told(recorded().at(-1) as RecordEntry).facts;
    assert.deepEqual(
      [facts['paths'], facts['undone'], facts['changes'], facts['checkpoint']],
      [['own'], 1, ['modified own'], 1],
    );
    const last = await rollBackFork(host(), here({ paths: [] }));
    assert.deepEqual(
      last.undone.map(({ path }) => path),
      ['own'],
    );
    const none = await rollBackFork(host(), here({ paths: ['ow', 'none'], checkpoint: '1' }));
    assert.deepEqual(none.undone, []);
    const all = await rollBackFork(host(), here({ paths: ['.'], checkpoint: '1' }));
    assert.equal(all.pending, 0);
    assert.deepEqual(verbs().filter((verb) => verb.endsWith('ok makes room')).length, 3);
    await assert.rejects(rollBackFork(host(), here({ paths: ['/elsewhere'] })), { code: 'EINVAL' });
    assert.deepEqual(verbs(), []);
  });

  it('says what it takes back of what was applied, and nothing of what the person edited, which stays', async () => {
    const undone = async (more: object) => {
      const { undone: back, unmatched } = await rollBackFork(host(), here({ paths: [], ...more }));
      return [back.map(({ kind, path }) => `${kind} ${path}`), unmatched];
    };
    await command(put('first', 'inside'));
    await command(put('second', 'inside'));
    await applyFork(host(), here(), choices);
    write('project/own', 'mine');
    await syncFork(host(), here());
    assert.deepEqual(await undone({ checkpoint: '3' }), [[], []]);
    assert.deepEqual(await undone({ checkpoint: '2', paths: ['second'] }), [['added second'], []]);
    assert.deepEqual(told(recorded().at(-1) as RecordEntry).facts['changes'], ['added second']);
    assert.deepEqual(await undone({ checkpoint: '2', paths: ['own'] }), [[], ['own']]);
    assert.deepEqual(await undone({ checkpoint: '1' }), [['added first'], []]);
    // Made by the person after the checkpoint, and removed inside.
    write('project/late', 'mine');
    await command((directory) => rmSync(join(directory, 'late')));
    assert.deepEqual(await undone({ checkpoint: '2' }), [['deleted first', 'deleted late'], []]);
  });

  it('takes back the trees that commands changed, with the whole and not with some paths', async () => {
    await work();
    await withOpen((fork) => noteTrees(fork, 2, [{ file: at('none.tree'), before: 'x', after: 1 }]));
    assert.deepEqual((await rollBackFork(host(), here({ paths: ['new'], checkpoint: '1' }))).trees, []);
    const { trees } = await rollBackFork(host(), here({ paths: [], checkpoint: '1' }));
    assert.deepEqual(
      trees.map(({ file, problem }) => [file, problem === null]),
      [[at('none.tree'), false]],
    );
    const entries = recorded();
    assert.deepEqual(
      entries.map((entry) => told(entry).facts['trees']),
      [undefined, undefined, [at('none.tree')], [at('none.tree')]],
    );
    const { checkpoints = [] } = readForkMeta(access().paths.fork('main').directory) ?? {};
    assert.deepEqual(
      checkpoints.flatMap(({ id, trees: noted }) => (noted === undefined ? [] : [id])),
      [2],
    );
  });

  it('of forks: each source by its words, and none that is not there', async () => {
    write('project/own', 'mine');
    await assert.rejects(createFork(host(), at('project'), 'a', 'main'), { code: 'ENOENT' });
    assert.equal((await createFork(host(), at('project'), 'first', undefined)).name, 'first');
    assert.deepEqual(verbs().slice(2), ['vault begin', 'vault ok', 'fork begin', 'fork ok']);
    await command(put('own', 'inside'));
    await command(put('new', 'inside'));
    const sources: readonly (readonly [string | undefined, string | undefined, object])[] = [
      [undefined, 'main', { new: 'inside', own: 'inside' }],
      ['main', 'main', { new: 'inside', own: 'inside' }],
      ['main@2', 'main@2', { own: 'inside' }],
      ['@1', 'main@1', { own: 'mine' }],
      ['origin', undefined, { own: 'mine' }],
    ];
    for (const [from, expected, content] of sources) {
      const { name, meta } = await createFork(host(), at('project'), undefined, from);
      assert.deepEqual([meta.from, await withOpen((fork) => shown(fork), { fork: name })], [expected, content], from);
    }
    for (const from of ['none', 'main@9', 'main@1@1', '@', 'none@1', '../main']) {
      await assert.rejects(createFork(host(), at('project'), undefined, from), { code: 'ENOENT' }, from);
    }
    await useFork(host(), at('project'), 'first');
    const forks = listForks(host(), at('project'));
    assert.deepEqual(
      forks.filter(({ current }) => current).map(({ name }) => name),
      ['first'],
    );
    recorded();
    await deleteFork(host(), at('project'), 'fork-1');
    assert.deepEqual(verbs(), ['fork delete begin makes room', 'fork delete ok makes room']);
    await assert.rejects(deleteFork(host(), at('project'), 'main'), { code: 'EINVAL' });
    assert.equal(listForks(host(), at('project')).length, forks.length - 1);
  });
});

describe('a look at a fork', () => {
  it('says what it holds, as far as is asked for, and what waits', async () => {
    await work();
    const status = await lookAtFork(host(), here());
    const { changes, ...rest } = status;
    assert.deepEqual(rest, {
      origin: at('project'),
      vault: access().id,
      fork: 'main',
      layers: 2,
      clashes: [],
      checkpoints: 2,
      temporary: { bytes: 0, files: 0 },
      freeing: 0,
      running: [],
      waiting: 0,
    });
    assert.deepEqual(
      changes.map(({ path }) => path),
      ['new', 'own'],
    );
    const some = async (paths: readonly string[], more = {}) =>
      (await statusOfFork(host(), here({ paths, ...more }))).changes.map(({ path }) => path);
    assert.deepEqual(
      [
        await some(['own']),
        await some(['.']),
        await some([]),
        await some(['ow']),
        await some(['./new', at('project/own')]),
        await some([], { since: '2' }),
      ],
      [['own'], ['new', 'own'], ['new', 'own'], [], ['new', 'own'], ['new']],
    );
    await assert.rejects(some(['../elsewhere']), { code: 'EINVAL' });
    await assert.rejects(some([], { since: '9' }), { code: 'ENOENT' });
    const temporary = access().paths.fork('main').temporary;
    mkdirSync(temporary);
    assert.deepEqual((await lookAtFork(host(), here())).temporary, { bytes: 0, files: 0 });
    writeFileSync(join(temporary, 'a'), 'x'.repeat(5000));
    const { bytes, files } = (await lookAtFork(host(), here())).temporary;
    assert.ok(bytes >= 4096 && files === 1);
  });

  it('is given each change with both sides, git’s own only where it is named', async () => {
    await work();
    await command((directory) => {
      mkdirSync(join(directory, '.git/objects/ab'), { recursive: true });
      put(`.git/objects/ab/${'c'.repeat(38)}`, 'x')(directory);
    });
    const visited = async (paths: readonly string[]) => {
      const found: string[] = [];
      const diff = await diffOfFork(
        host(),
        here({ paths }),
        ({ change, before, after }) => void found.push(`${change.path} ${before.bytes} ${after.bytes}`),
      );
      return [found, diff.left, diff.repository > 0] as const;
    };
    const [all, left, hasRepository] = await visited([]);
    assert.deepEqual(
      [all.filter((each) => !each.startsWith('.git')), left, hasRepository],
      [['new  inside', 'own mine inside'], 0, true],
    );
    assert.ok(!all.some((each) => each.includes('cccc')));
    const [named] = await visited(['.git']);
    assert.ok(named.some((each) => each.endsWith('ccc  x')));
  });

  it('is given as much of a file and as many of the changes as it asks for', async () => {
    write('project/long', 'x'.repeat(diffedFileBytes + 10));
    await command((directory) => {
      writeFileSync(join(directory, 'long'), 'y'.repeat(diffedFileBytes + 10));
      for (let count = 0; count < filesDiffedAtOnce; count += 1) writeFileSync(join(directory, `n${count}`), '');
    });
    const lengths = async (full: boolean | undefined) => {
      const found: [string, number][] = [];
      const { left, status } = await diffOfFork(
        host(),
        here({ paths: [], full }),
        ({ change, after }) => void found.push([change.path, after.bytes.length]),
      );
      return [found.length, found[0], left, status.changes.length];
    };
    const all = filesDiffedAtOnce + 1;
    assert.deepEqual(await lengths(undefined), [filesDiffedAtOnce, ['long', diffedFileBytes], 1, all]);
    assert.deepEqual(await lengths(true), [all, ['long', diffedFileBytes + 10], 0, all]);
  });

  it('says who is at work on it, and how many edits wait for them', async () => {
    await work();
    const place = access().paths.fork('main');
    const { tree } = host();
    const facts = { command: 'sleep', roots: ['workspace'], owners: '', checkpoint: 1 };
    const member = await Member.enter(tree, place, facts, []);
    write('project/own', 'edited');
    write('project/more', 'edited');
    const status = await lookAtFork(host(), here());
    assert.deepEqual(
      [status.running.map(({ pid, command: text }) => [pid, text]), status.waiting],
      [[[process.pid, 'sleep']], 2],
    );
    const files = readdirSync(place.directory);
    assert.ok(!files.some((name) => name.startsWith('scan-workspace.')), files.join(' '));
    renameSync(at('project'), at('away'));
    mkdirSync(at('project'));
    assert.equal((await lookAtFork(host(), here())).waiting, 0, 'the directory is away, and this is about the fork');
    await assert.rejects(applyFork(host(), here(), choices), { code: 'EBUSY' });
    rmdirSync(at('project'));
    renameSync(at('away'), at('project'));
    // A state that moves on while it is read is read again, and so often that it ends.
    let looks = 0;
    const restless = async () => {
      looks += 1;
      const meta = readForkMeta(place.directory) as ForkMeta;
      writeForkMeta(place.directory, { ...meta, nextCheckpoint: meta.nextCheckpoint + 1 }, { durable: false });
      if (looks % 2 === 0) throw new ErrnoError('ENOENT', { operation: 'test', reason: 'a layer went' });
      return looks;
    };
    assert.deepEqual([await lookIntoFork(host(), here(), 'test', restless), looks], [looksAtBusyFork, looksAtBusyFork]);
    const refusing = async () => {
      throw new ErrnoError('EACCES', { operation: 'test', reason: 'no' });
    };
    await assert.rejects(lookIntoFork(host(), here(), 'test', refusing), { code: 'EACCES' });
    member.leave();
  });

  it('goes on beside who has the fork, and waits for them where that is asked for', async () => {
    await work();
    await withOpen(async () => {
      const status = await lookAtFork(host(), here());
      assert.deepEqual([status.changes.length, status.running], [2, []]);
      await assert.rejects(applyFork(host(), here({ atOnce: true }), choices), { code: 'EBUSY' });
    });
    const use = async () => 'used';
    assert.equal(await withFork(host(), here(), 'test', use), 'used');
  });
});

it('a look at a fork whose store is removed meanwhile says so', async () => {
  write('project/own', 'mine');
  await command(put('own', 'new'));
  const { tree } = host();
  const removing = new Proxy(tree, {
    get: (target, name) => {
      if (name === 'diff') rmSync(at('store'), { recursive: true });
      const found = Reflect.get(target, name) as unknown;
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
  await assert.rejects(
    lookAtFork(host({ tree: removing }), here()),
    /^ErrnoError: ENOENT: .* it was removed while it was in use/,
  );
});
