/** A kept jail of a suite: started, and stopped whatever the test does. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { buildOf } from '../../src/base/build.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { parseJson, type Stage } from './stage.js';

export interface Started {
  readonly project: string;
  /** Of the jail alone. */
  readonly pid: number;
  /** The process that keeps it, and all others of the stage. */
  readonly keeper: number;
}

export interface KeptJailOptions {
  /** Fills the project. */
  readonly script?: string;
  /** Further words of `ctx jail start`. */
  readonly options?: readonly string[];
  readonly project?: string;
  /** Variables of whoever starts it. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A jail ends within a second, on a busy machine within some. */
const stopSeconds = 30;

/** One that does not end would be waited for by every test that follows, and by the end of the suite: it is killed. */
async function stop(stage: Stage, project: string, jail: number): Promise<void> {
  try {
    await stage.ctx(project, ['jail', 'stop'], { timeoutSeconds: stopSeconds });
  } catch (error) {
    if (jail > 0 && isAlive(jail)) process.kill(jail, 'SIGKILL');
    throw error;
  }
}

export async function inKeptJail(
  stage: Stage,
  use: (started: Started) => Promise<void>,
  { script = ':', options = [], project = stage.project(script), env = {} }: KeptJailOptions = {},
): Promise<void> {
  const { code, stdout, stderr } = await stage.ctx(project, ['jail', 'start', '--json', ...options], { env });
  assert.equal(code, 0, `${stderr}${stdout}`);
  const { pid, keeper } = parseJson(stdout) as Pick<Started, 'pid' | 'keeper'>;
  try {
    await use({ project, pid, keeper });
  } finally {
    await stop(stage, project, pid);
  }
}

/** The payload of a request as the native client makes it, with whatever follows the build. */
export function requestOf(
  { program }: Stage,
  directory: string,
  terminal: string,
  terminals: string,
  ...rest: readonly string[]
): Buffer {
  const build = buildOf(join(dirname(program), '../dist/cli/ctx.cjs'));
  return Buffer.from([directory, terminal, terminals, build, ...rest].map((word) => `${word}\0`).join(''));
}

export function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

export async function envelopeOf(stage: Stage, project: string, script: string): Promise<Envelope> {
  const { stdout, stderr } = await stage.ctx(project, ['jail', 'exec', '--json', '--', 'sh', '-c', script]);
  return parseJson(stdout, stderr) as Envelope;
}
