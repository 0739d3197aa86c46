/**
 * The only way a command runs: request -> fork -> jail -> run -> report, each step in the record before its effect.
 *
 * The fork stays locked from before the command until its report is made, so that the report is exact. Whatever happens
 * the lock is released and nothing stays mounted: the jail holds both, and ends with this process.
 */
import type { Json } from '../base/canonical-json.js';
import { ErrnoError } from '../base/errno.js';
import { capturedOutputBytes, terminationGraceMilliseconds } from '../base/limits.js';
import { launch, type Outcome, type RunningJail } from '../jail/launch.js';
import { jailPlan, type Layer } from '../jail/plan.js';
import { refusalReason, systemCallName } from '../jail/seccomp.js';
import { changesBetween, forkChanges, rememberChanges, rememberedChanges } from '../vault/fork.js';
import { forkName } from '../vault/layout.js';
import { syncOrigin } from '../vault/sync.js';
import type { Problem, Progress } from '../vault/tree.js';
import { closeVault, openVault } from '../vault/vault.js';
import { CapturedOutput } from './captured-output.js';
import type { Envelope, Refusal } from './envelope.js';
import { refreshGitIndex } from './git-index.js';
import { type Host, placeOf } from './host.js';
import { jailView } from './view.js';

export interface ExecRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly environmentAdditions: readonly string[];
  /** Layers of the jail to do without, named by the operator; in the record and in the report. */
  readonly weakened: readonly Layer[];
  readonly timeoutMilliseconds?: number | undefined;
  readonly streams: 'inherit' | 'capture';
  readonly wait: boolean;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The workspace is ready; whatever is drawn of its making can go. */
  readonly onReady?: (() => void) | undefined;
  /** The command is starting: its signals can be passed on from here. */
  readonly onStarted?: ((jail: RunningJail) => void) | undefined;
  /** Cancels what comes before the command. */
  readonly signal?: AbortSignal | undefined;
}

function describe({ path, code, reason }: Problem): string {
  return `not in the fork: ${path} (${code}: ${reason})`;
}

async function withTimeout(jail: RunningJail, milliseconds: number | undefined): Promise<[Outcome, boolean]> {
  if (milliseconds === undefined) return [await jail.done, false];
  let timedOut = false;
  let killer: NodeJS.Timeout | undefined;
  const timer = setTimeout(() => {
    timedOut = true;
    jail.signal('SIGTERM');
    killer = setTimeout(() => jail.kill(), terminationGraceMilliseconds);
  }, milliseconds);
  try {
    return [await jail.done, timedOut];
  } finally {
    clearTimeout(timer);
    clearTimeout(killer);
  }
}

export async function execute(host: Host, request: ExecRequest): Promise<Envelope> {
  if (request.argv.length === 0 || request.argv[0] === '') {
    throw new ErrnoError('EINVAL', {
      operation: 'exec',
      reason: 'expected a command',
      remedy: 'for example: ctx exec -- npm test',
    });
  }
  const place = placeOf(host, request.cwd);
  const opened = await openVault({
    store: host.store,
    tree: host.tree,
    origin: place.origin,
    owner: place.owner,
    wait: request.wait,
    look: true,
    purpose: request.argv.join(' '),
    onProgress: request.onProgress,
    signal: request.signal,
  });
  try {
    const object = `fork/${opened.id}/${forkName}`;
    const synced = await syncOrigin(opened);
    const vault = await refreshGitIndex(host, place, synced, request.weakened);
    const before = rememberedChanges(vault);
    const view = jailView({
      host,
      place,
      vault,
      fork: vault.paths.fork,
      argv: request.argv,
      environmentAdditions: request.environmentAdditions,
      weakened: request.weakened,
    });
    const startedAt = host.now();
    const facts = {
      argv: request.argv,
      directory: place.directory,
      origin: place.origin,
      weakened: request.weakened,
    } satisfies Record<string, Json>;
    host.recorder.append({ type: 'exec', object, status: 'begin', facts });
    request.onReady?.();

    const streams = {
      stdout: new CapturedOutput(capturedOutputBytes),
      stderr: new CapturedOutput(capturedOutputBytes),
    };
    const start = process.hrtime.bigint();
    const jail = launch({
      program: host.jailProgram,
      plan: jailPlan(view),
      streams: request.streams,
      onOutput: (stream, chunk) => streams[stream].add(chunk),
      lockDescriptor: vault.lockDescriptor,
    });
    request.onStarted?.(jail);
    const [outcome, timedOut] = await withTimeout(jail, request.timeoutMilliseconds).catch((error: unknown) => {
      const code = error instanceof ErrnoError ? error.code : 'EIO';
      host.recorder.append({ type: 'exec', object, status: 'failed', facts: { ...facts, error: code } });
      throw error;
    });
    const durationMilliseconds = Number(process.hrtime.bigint() - start) / 1e6;

    const after = await forkChanges(vault);
    const changes = changesBetween(before, after);
    rememberChanges(vault, after);
    const { exitCode, signal, refusedCalls, ...resources } = outcome;
    const refusals = refusedCalls.map(({ number, count }): Refusal => {
      const call = systemCallName(host.architecture, number);
      return { call, count, why: refusalReason(call) };
    });
    host.recorder.append({
      type: 'exec',
      object,
      status: exitCode === 0 ? 'ok' : 'failed',
      facts: { ...facts, exitCode, signal, timedOut, changes: changes.map(({ kind, path }) => `${kind} ${path}`) },
    });
    const captured = request.streams === 'capture';
    return {
      version: 1,
      argv: request.argv,
      directory: place.directory,
      workspace: { origin: place.origin, vault: vault.id, fork: forkName },
      exitCode,
      signal,
      timedOut,
      stdout: captured ? streams.stdout.finish() : null,
      stderr: captured ? streams.stderr.finish() : null,
      startedAt: startedAt.toISOString(),
      durationMilliseconds,
      resources,
      refusals,
      weakened: request.weakened,
      changes,
      pending: after.length,
      entered: synced.entered,
      clashes: synced.clashes,
      warnings: [...opened.problems, ...synced.problems].map(describe),
    };
  } finally {
    closeVault(opened);
  }
}
