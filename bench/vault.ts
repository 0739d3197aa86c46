/** Forks, checkpoints and rollbacks of growing trees against copying them, and work inside a fork against the same work outside. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { execute } from '../src/proxy/execute.js';
import { placeOf } from '../src/proxy/host.js';
import { lastMoment, rollBack, saveCheckpoint } from '../src/vault/checkpoint.js';
import { createFork, deleteFork } from '../src/vault/forks.js';
import { workspaceRoot } from '../src/vault/layout.js';
import { closeFork, isLiveTouched, openFork, prepareRoot, vaultAccess } from '../src/vault/vault.js';
import { measure, print, type Subject } from './measure.js';
import { fileNames, run, type Stage, setStage, useOnce } from './stage/stage.js';

/** `ctx-bench vault 1000 10000` for other sizes. */
const given = process.argv.slice(2).filter((word) => /^\d+$/.test(word));
const sizes = given.length > 0 ? given.map(Number) : [1_000, 10_000, 100_000];

function fill(project: string, count: number): void {
  const made = new Set<string>();
  for (const name of fileNames(count)) {
    const directory = dirname(join(project, name));
    if (!made.has(directory)) mkdirSync(directory, { recursive: true });
    made.add(directory);
    writeFileSync(join(project, name), `${name}\n`.repeat(4));
  }
}

const git = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'gc.auto=0', '-c', 'init.defaultBranch=main'];

async function ofSize(count: number): Promise<void> {
  const stage = setStage('vault');
  const { project, directory, host, environment } = stage;
  try {
    fill(project, count);
    const options = { cwd: project, env: environment };
    await run('git', [...git, 'init', '-q'], options);
    await run('git', [...git, 'add', '.'], options);
    await run('git', [...git, 'commit', '-qm', 'all'], options);
    await useOnce(stage);
    const { origin, owner } = placeOf(host, project);
    const request = { store: host.store, tree: host.tree, origin, owner, purpose: 'bench', wait: true };
    const access = vaultAccess(request);
    const copied = join(directory, 'copied');
    const worktree = join(directory, 'worktree');
    let forks = 0;
    // A fork that stays open, as a session's does.
    await createFork(access, 'open', { fork: 'main' });
    let fork = await openFork({ ...request, fork: 'open' });
    const start = saveCheckpoint(fork, { automatic: false, reason: 'bench' });
    fork = start.fork;
    const touch = () => {
      prepareRoot(fork, workspaceRoot);
      writeFileSync(join(fork.paths.tree(fork.meta.live, workspaceRoot), 'touched'), 'x');
    };
    print(
      await measure({
        title: `A second copy of ${count} files to work on`,
        anchor: 'cp -a',
        rounds: 5,
        warmUpRounds: 1,
        directory,
        subjects: [
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
          {
            name: 'fork, with its two locks',
            run: () => createFork(access, `f${forks}`, { fork: 'main' }),
            after: () => deleteFork(access, `f${forks++}`),
          },
          {
            name: 'checkpoint',
            before: touch,
            run: () => {
              fork = saveCheckpoint(fork, { automatic: true, reason: 'bench' }).fork;
            },
          },
          {
            name: 'rollback',
            before: touch,
            run: async () => {
              fork = await rollBack(fork, start.checkpoint);
            },
          },
        ],
        notes: ['Fork, checkpoint and rollback are calls of the library; a command line adds the start of Node.'],
      }),
    );
    closeFork(fork);
    if (count === sizes[0]) await thousandForks(access, directory);
  } finally {
    stage.end();
  }
}

async function thousandForks(access: ReturnType<typeof vaultAccess>, directory: string): Promise<void> {
  const begun = performance.now();
  for (let number = 0; number < 1000; number++) await createFork(access, `t${number}`, 'trunk');
  const each = (performance.now() - begun) / 1000;
  console.log(`1,000 forks of one vault in ${directory}: ${each.toFixed(2)} ms each, its lock included\n`);
}

function inside(stage: Stage, script: string): Promise<unknown> {
  return execute(stage.host, {
    argv: ['sh', '-c', script],
    cwd: stage.project,
    environmentAdditions: [],
    weakened: [],
    streams: 'capture',
    wait: true,
  });
}

interface Work {
  readonly name: string;
  /** Both in the project; `undo` puts it back, untimed. */
  readonly script: string;
  readonly undo: string;
  /** A program that not every host has: without it the row is left out, and said so. */
  readonly needs?: string;
}

const program = 'int main(void){return 0;}';
const works: readonly Work[] = [
  { name: 'git clone of the project', script: 'git clone -q . clone', undo: 'rm -rf clone' },
  { name: 'ripgrep', needs: 'rg', script: 'rg -c nothing-of-the-kind . || true', undo: ':' },
  {
    name: 'npm install of 20 local packages',
    needs: 'npm',
    script:
      'cd npm && npm install --offline --install-links --no-audit --no-fund --no-update-notifier --loglevel=error',
    undo: 'rm -rf npm/node_modules npm/package-lock.json',
  },
  { name: 'grep -r', script: 'grep -r nothing-of-the-kind . || true', undo: ':' },
  {
    name: 'compile 20 files',
    script: `for i in $(seq 20); do echo '${program}' > c$i.c; cc -c c$i.c; done`,
    undo: 'rm -f c*.[co]',
  },
  { name: 'rm -rf of 2,000 files', script: 'rm -rf d', undo: 'cp -a keep d' },
  {
    name: 'honest: append to 2,000 files',
    script: 'for f in $(find d -type f); do echo x >> $f; done',
    undo: 'rm -rf d; cp -a keep d',
  },
  { name: 'honest: chmod -R of 2,000 files', script: 'chmod -R g-w,o-r d', undo: 'rm -rf d; cp -a keep d' },
  {
    name: 'honest: one byte of 256 MiB',
    script: 'printf x | dd of=big bs=1 seek=1000 conv=notrunc status=none',
    undo: ':',
  },
];

/** 20 packages of 50 files each, and one that depends on all of them by path. */
const packages = `mkdir npm; cd npm; deps=; for p in $(seq 20); do mkdir -p p$p/lib; echo "{\\"name\\":\\"p$p\\",\\"version\\":\\"1.0.0\\"}" > p$p/package.json
  for f in $(seq 50); do echo "module.exports = $f" > p$p/lib/$f.js; done; deps="$deps,\\"p$p\\":\\"file:p$p\\""; done
  echo "{\\"name\\":\\"all\\",\\"version\\":\\"1.0.0\\",\\"dependencies\\":{\${deps#,}}}" > package.json`;

async function workInside(): Promise<void> {
  const stage = setStage('vault-work');
  const { project, environment, host } = stage;
  try {
    fill(project, 2_000);
    const options = { cwd: project, env: environment };
    const setup = `git init -q; git add .; git ${git.join(' ')} commit -qm all; mkdir d keep; for i in $(seq 2000); do echo $i > d/f$i; done; rmdir keep; cp -a d keep; truncate -s 256M big; dd if=/dev/zero of=big bs=1M count=256 status=none`;
    await run('sh', ['-c', setup], options);
    await run('sh', ['-c', packages], options);
    await useOnce(stage);
    for (const { name, script, undo, needs } of works) {
      if (needs !== undefined && spawnSync('sh', ['-c', `command -v ${needs}`]).status !== 0) {
        console.log(`${name}: left out, there is no ${needs} here\n`);
        continue;
      }
      const subjects: Subject[] = [
        {
          name: 'outside',
          run: () => run('sh', ['-c', script], options),
          after: () => run('sh', ['-c', undo], options),
        },
        {
          name: 'inside a fork',
          run: () => inside(stage, script),
          // As if it had not run: every run copies up anew.
          after: async () => {
            const { origin, owner } = placeOf(host, project);
            const fork = await openFork({
              store: host.store,
              tree: host.tree,
              origin,
              owner,
              purpose: 'bench',
              wait: true,
            });
            try {
              if (isLiveTouched(fork)) await rollBack(fork, lastMoment(fork));
            } finally {
              closeFork(fork);
            }
          },
        },
      ];
      const notes = ['Inside: the whole of ctx exec without the start of Node: look, jail, command, report.'];
      print(
        await measure({
          title: name,
          anchor: 'outside',
          rounds: 5,
          warmUpRounds: 1,
          directory: project,
          subjects,
          notes,
        }),
      );
    }
  } finally {
    rmSync(join(project, 'big'), { force: true });
    stage.end();
  }
}

for (const size of sizes) await ofSize(size);
await workInside();
