/**
 * Where a benchmark plays: a store, a home and a project of its own, on a filesystem that can be named. A root ext4 without
 * a journal would flatter us, so it is memory, unless CTX_BENCH_DIRECTORY names something better or CTX_BENCH_FILESYSTEM=ext4
 * asks for an image of one with a journal.
 */
import { type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { composeHost } from '../../src/compose.js';
import { launch } from '../../src/jail/launch.js';
import type { Plan } from '../../src/jail/operation.js';
import { execute } from '../../src/proxy/execute.js';
import { resolveAuthority } from '../../src/proxy/grants/authority-of.js';
import { type EnforcedView, enforcedPlan } from '../../src/proxy/grants/enforced-plan.js';
import { type Host, placeOf } from '../../src/proxy/host.js';
import { mountsOf } from '../../src/proxy/run/fork-mounts.js';
import { onFork } from '../../src/proxy/run/open-fork-target.js';
import { viewOf } from '../../src/proxy/run/view.js';
import { closeFork, openFork } from '../../src/vault/vault.js';
import { coldStartEnvironment } from '../measure.js';
import { loopImage } from './loop-image.js';

export const ctxProgram = fileURLToPath(new URL('../../../../bin/ctx', import.meta.url));

export interface Stage {
  readonly directory: string;
  readonly project: string;
  readonly host: Host;
  /** For every process of the benchmark: without what slows Node's start, with this store and this home. */
  readonly environment: NodeJS.ProcessEnv;
  end(): void;
}

function place(): string {
  const named = process.env['CTX_BENCH_DIRECTORY'];
  return realpathSync(named ?? (existsSync('/dev/shm') ? '/dev/shm' : tmpdir()));
}

export function setStage(name: string): Stage {
  const outer = mkdtempSync(join(place(), `ctx-bench-${name}-`));
  const image = process.env['CTX_BENCH_FILESYSTEM'] === 'ext4' ? loopImage('ext4', join(outer, 'ext4')) : undefined;
  if (typeof image === 'string') throw new Error(`CTX_BENCH_FILESYSTEM=ext4: ${image}`);
  const directory = image?.directory ?? outer;
  const [store, home, project] = ['store', 'home', 'project'].map((each) => join(directory, each)) as [
    string,
    string,
    string,
  ];
  for (const each of [store, home, project]) mkdirSync(each);
  // The host is composed from the environment, as for a person.
  process.env['CTX_DATA'] = store;
  // What is measured with a keeper says so.
  process.env['CTX_KEEPER'] = 'off';
  process.env['HOME'] = home;
  process.env['PATH'] = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  return {
    directory,
    project,
    host: composeHost(),
    environment: coldStartEnvironment(),
    end() {
      image?.end();
      rmSync(outer, { recursive: true, force: true });
    },
  };
}

/** Waits for a program's end and fails where it fails; spawned as the jail is, so that the two compare. */
export function run(command: string, args: readonly string[], options: SpawnOptions = {}): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'], ...options });
    child.on('error', reject);
    child.on('close', (code, signal) =>
      code === 0 ? resolve() : reject(new Error(`${command} ${args.join(' ')} ended with ${code ?? signal}`)),
    );
  });
}

/** Imports the project, and refreshes its git index, as the first command does. */
export async function useOnce(stage: Stage): Promise<void> {
  const request = {
    argv: ['true'],
    cwd: stage.project,
    environmentAdditions: [],
    streams: 'capture',
    wait: true,
    weakened: [],
  } as const;
  await execute(stage.host, request, onFork);
}

/** What the jail of `ctx exec -- ARGV` would show in the project now. */
export async function viewFor(stage: Stage, argv: readonly string[]): Promise<EnforcedView> {
  const { host, project } = stage;
  const where = placeOf(host, project);
  const fork = await openFork({ ...host, origin: where.origin, owner: where.owner, purpose: 'bench' });
  try {
    const resolved = await resolveAuthority(host, { place: where });
    const mounts = mountsOf(fork);
    return viewOf({ host, place: where, resolved, mounts, argv, environmentAdditions: [], weakened: [] });
  } finally {
    closeFork(fork);
  }
}

/** The very plan that `ctx exec -- ARGV` would use in the project now. */
export async function planFor(stage: Stage, argv: readonly string[]): Promise<Plan> {
  return enforcedPlan(await viewFor(stage, argv));
}

/** The jail program alone: no Node start, no scan, no diff. */
export async function inJail(stage: Stage, plan: Plan): Promise<void> {
  const { exitCode } = await launch({
    program: stage.host.jailProgram,
    plan,
    streams: 'capture',
    onOutput: (stream, chunk) => {
      if (stream === 'stderr') process.stderr.write(chunk);
    },
  }).done;
  if (exitCode !== 0) throw new Error(`the command in the jail ended with ${exitCode}`);
}

/** A tree of small files: `count` of them, a hundred a directory. */
export function fileNames(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `d${Math.floor(index / 100)}/f${index}.txt`);
}
