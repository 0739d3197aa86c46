/**
 * A second copy of a tree to work on: by copying, by git, by a snapshot of the filesystem, by a fork; and a state to go
 * back to.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { placeOf } from '../../src/proxy/host.js';
import { prepareRoot } from '../../src/vault/fork-trees.js';
import { rollBackFork, saveCheckpoint } from '../../src/vault/forks/checkpoint.js';
import { createFork, deleteFork } from '../../src/vault/forks/forks.js';
import { workspaceRoot } from '../../src/vault/store/layout.js';
import { closeFork, openFork, type VaultAccess, vaultAccess } from '../../src/vault/vault.js';
import { measure, print, type Subject } from '../measure.js';
import { loopImage } from '../stage/loop-image.js';
import { run, type Stage, setStage, useOnce } from '../stage/stage.js';
import { commitAll, fillWithFiles } from './small-files.js';

/** The in-process rows take part of a millisecond: measured when their code is as warm as a kept jail's. */
const warmUpRuns = 200;

interface Copies {
  readonly subjects: readonly Subject[];
  readonly note: string;
  end(): void;
}

/** A snapshot of the same tree, where this host can make a btrfs. */
async function btrfsCopies({ project, directory }: Stage): Promise<Copies> {
  const image = loopImage('btrfs', join(directory, 'btrfs'));
  if (typeof image === 'string') return { subjects: [], note: `No btrfs snapshot: ${image}.`, end: () => undefined };
  const [tree, snapshot] = [join(image.directory, 'tree'), join(image.directory, 'snapshot')];
  await run('btrfs', ['-q', 'subvolume', 'create', tree]);
  await run('cp', ['-a', `${project}/.`, tree]);
  const subject: Subject = {
    name: 'btrfs subvolume snapshot',
    run: () => run('btrfs', ['-q', 'subvolume', 'snapshot', tree, snapshot]),
    after: () => run('btrfs', ['-q', 'subvolume', 'delete', snapshot]),
  };
  return { subjects: [subject], note: 'The btrfs is an image of its own, in a file.', end: () => image.end() };
}

/** Calls of the library: a fork of one that no one uses, and moments of one that stays open, as a kept jail's does. */
async function forkCopies(stage: Stage): Promise<Copies & { readonly access: VaultAccess }> {
  const { host, project } = stage;
  const { origin, owner } = placeOf(host, project);
  const request = { store: host.store, tree: host.tree, origin, owner, purpose: 'bench', wait: true };
  const access = vaultAccess(request);
  let forks = 0;
  await createFork(access, 'open', { fork: 'main' });
  const opened = await openFork({ ...request, fork: 'open' });
  const start = saveCheckpoint(opened, { automatic: false, reason: 'bench' });
  let { fork } = start;
  const touch = () => {
    prepareRoot(fork, workspaceRoot);
    writeFileSync(join(fork.paths.tree(fork.meta.live, workspaceRoot), 'touched'), 'x');
  };
  const subjects: readonly Subject[] = [
    {
      name: 'fork, with its two locks',
      warmUpRuns,
      run: () => createFork(access, `f${forks}`, { fork: 'main' }),
      after: () => deleteFork(access, `f${forks++}`),
    },
    {
      name: 'checkpoint',
      warmUpRuns,
      before: touch,
      run: () => {
        fork = saveCheckpoint(fork, { automatic: true, reason: 'bench' }).fork;
      },
    },
    {
      name: 'rollback',
      warmUpRuns,
      before: touch,
      run: async () => {
        fork = await rollBackFork(fork, start.checkpoint);
      },
    },
  ];
  const note = 'Fork, checkpoint and rollback are calls of the library; a command line adds the start of Node.';
  return { access, subjects, note, end: () => closeFork(fork) };
}

async function thousandForks(access: VaultAccess, directory: string): Promise<void> {
  const begun = performance.now();
  for (let number = 0; number < 1000; number++) await createFork(access, `t${number}`, 'trunk');
  const each = (performance.now() - begun) / 1000;
  console.log(`1,000 forks of one vault in ${directory}: ${each.toFixed(2)} ms each, its lock included\n`);
}

export async function secondCopies(count: number, { withThousand }: { readonly withThousand: boolean }): Promise<void> {
  const stage = setStage('vault');
  try {
    const { project, directory, host, environment } = stage;
    fillWithFiles(project, count, 4);
    await commitAll(project, environment);
    await useOnce(stage);
    const options = { cwd: project, env: environment };
    const [copied, worktree] = [join(directory, 'copied'), join(directory, 'worktree')];
    const plain: readonly Subject[] = [
      {
        name: 'cp -a',
        run: () => run('cp', ['-a', project, copied], options),
        after: () => host.tree.remove(copied),
      },
      {
        name: 'git worktree add',
        run: () => run('git', ['worktree', 'add', '-q', '--detach', worktree], options),
        after: () => run('git', ['worktree', 'remove', '--force', worktree], options),
      },
    ];
    const btrfs = await btrfsCopies(stage);
    const forks = await forkCopies(stage);
    try {
      print(
        await measure({
          title: `A second copy of ${count} files to work on`,
          anchor: 'cp -a',
          rounds: 7,
          warmUpRounds: 1,
          directory,
          subjects: [...plain, ...btrfs.subjects, ...forks.subjects],
          notes: [forks.note, btrfs.note],
        }),
      );
      if (withThousand) await thousandForks(forks.access, directory);
    } finally {
      forks.end();
      btrfs.end();
    }
  } finally {
    stage.end();
  }
}
