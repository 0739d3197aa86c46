/**
 * Work inside a fork against the same work outside. Jobs last about a second or more, so that the ratio is of the work; what
 * every command costs beside it, look, jail and report, is measured with `true` and told apart.
 */
import { spawnSync } from 'node:child_process';
import { execute } from '../../src/proxy/execute.js';
import { placeOf } from '../../src/proxy/host.js';
import { onFork } from '../../src/proxy/run/open-fork-target.js';
import { isLiveTouched } from '../../src/vault/fork-trees.js';
import { lastCheckpoint, rollBackFork } from '../../src/vault/forks/checkpoint.js';
import { closeFork, openFork } from '../../src/vault/vault.js';
import { measure, print, type Report, type Subject } from '../measure.js';
import { run, type Stage, setStage, useOnce } from '../stage/stage.js';
import { commitAll, fillWithFiles } from './small-files.js';

interface Work {
  readonly name: string;
  /** Both in a directory like the project; `undo` puts it back, untimed, where there is no fork to do it. */
  readonly script: string;
  readonly undo: string;
  /** A program that not every host has: without it the row is left out, and said so. */
  readonly needs?: string;
}

/** As large as real ones: parsed, optimised, written. */
const source = `awk 'BEGIN { print "#include <stdio.h>\\n#include <stdlib.h>"; for (i = 0; i < 40; i++)
  print "int f" i "(int *v, int n) { int s = 0; for (int i = 0; i < n; i++) s += v[i] * " i " % (i + 1); return s; }" }'`;

const works = (scale: number): readonly Work[] => [
  { name: 'git clone', script: 'git clone -q --no-hardlinks . clone', undo: 'rm -rf clone' },
  {
    name: 'npm install of 20 local packages',
    needs: 'npm',
    script:
      'cd npm && npm install --offline --install-links --no-audit --no-fund --no-update-notifier --loglevel=error',
    undo: 'rm -rf npm/node_modules npm/package-lock.json',
  },
  {
    name: 'ripgrep, ten times',
    needs: 'rg',
    script: 'for i in $(seq 10); do rg -c nothing-of-the-kind . || true; done',
    undo: ':',
  },
  {
    name: 'grep -r, three times',
    script: 'for i in 1 2 3; do grep -r nothing-of-the-kind src || true; done',
    undo: ':',
  },
  {
    name: 'compile 20 files',
    needs: 'cc',
    script: `mkdir objects; ${source} > objects/c.c; for i in $(seq 20); do cc -O1 -c objects/c.c -o objects/$i.o; done`,
    undo: 'rm -rf objects',
  },
  { name: `rm -rf of ${scale} files`, script: 'rm -rf src', undo: 'git checkout -q -- src' },
  {
    name: 'honest: append to 2,000 files',
    script: 'for f in src/d[0-9] src/d1[0-9]; do for each in $f/*; do echo x >> $each; done; done',
    undo: 'git checkout -q -- src',
  },
  { name: `honest: chmod -R of ${scale} files`, script: 'chmod -R o-r src', undo: 'chmod -R o+r src' },
  {
    name: 'honest: one byte of 256 MiB',
    script: 'printf x | dd of=big bs=1 seek=1000 conv=notrunc status=none',
    undo: ':',
  },
];

/** Packages of 100 files each, and one that depends on all of them by path. */
const packages = `mkdir npm; cd npm; deps=; for p in $(seq 20); do mkdir -p p$p/lib; echo "{\\"name\\":\\"p$p\\",\\"version\\":\\"1.0.0\\"}" > p$p/package.json
  for f in $(seq 100); do echo "module.exports = $f" > p$p/lib/$f.js; done; deps="$deps,\\"p$p\\":\\"file:p$p\\""; done
  echo "{\\"name\\":\\"all\\",\\"version\\":\\"1.0.0\\",\\"dependencies\\":{\${deps#,}}}" > package.json`;

function inside({ host, project }: Stage, script: string): Promise<unknown> {
  const request = { argv: ['sh', '-c', script], cwd: project, environmentAdditions: [], weakened: [], wait: true };
  return execute(host, { ...request, streams: 'capture' }, onFork);
}

/** As if it had not run: every run copies up anew. */
async function forget({ host, project }: Stage): Promise<void> {
  const { origin, owner } = placeOf(host, project);
  const { store, tree } = host;
  const fork = await openFork({ store, tree, origin, owner, purpose: 'bench', wait: true });
  try {
    if (isLiveTouched(fork)) await rollBackFork(fork, (await lastCheckpoint(fork)).to);
  } finally {
    closeFork(fork);
  }
}

/** The same files, apart: work in the project itself would be edits that the next command has to take over. */
const likeProject = ({ directory }: Stage) => `${directory}/outside`;

function subjectsOf(stage: Stage, { script, undo }: Pick<Work, 'script' | 'undo'>): readonly Subject[] {
  const options = { cwd: likeProject(stage), env: stage.environment };
  return [
    {
      name: 'outside',
      run: () => run('sh', ['-c', script], options),
      after: () => run('sh', ['-c', undo], options),
    },
    { name: 'inside a fork', run: () => inside(stage, script), after: () => forget(stage) },
  ];
}

const medianOf = (report: Report, name: string) => report.results.find((each) => each.name === name)?.median ?? 0;

export async function workInside(scale: number): Promise<void> {
  const stage = setStage('vault-work');
  const { project, environment } = stage;
  try {
    fillWithFiles(`${project}/src`, scale, 100);
    await commitAll(project, environment);
    const setup = `echo 'npm/\nbig\nclone/\nobjects/' > .git/info/exclude; dd if=/dev/zero of=big bs=1M count=256 status=none; ${packages}`;
    await run('sh', ['-c', setup], { cwd: project, env: environment });
    await run('cp', ['-a', project, likeProject(stage)], { env: environment });
    await useOnce(stage);
    const common = { anchor: 'outside', warmUpRounds: 1, directory: project };
    const idle = { script: 'true', undo: 'true' };
    const fixed = await measure({
      ...common,
      title: `What a command costs beside its work, in a directory of ${scale} files`,
      rounds: 11,
      subjects: subjectsOf(stage, idle),
      notes: ['The whole of ctx exec without the start of Node: look, jail, command, report.'],
    });
    print(fixed);
    const beside = medianOf(fixed, 'inside a fork') - medianOf(fixed, 'outside');
    for (const work of works(scale)) {
      if (work.needs !== undefined && spawnSync('sh', ['-c', `command -v ${work.needs}`]).status !== 0) {
        console.log(`${work.name}: left out, there is no ${work.needs} here\n`);
        continue;
      }
      const report = await measure({ ...common, title: work.name, rounds: 5, subjects: subjectsOf(stage, work) });
      const [own, outside] = [medianOf(report, 'inside a fork') - beside, medianOf(report, 'outside')];
      print({ ...report, notes: [`Without what every command costs: ${(own / outside).toFixed(2)}x.`] });
    }
  } finally {
    stage.end();
  }
}
