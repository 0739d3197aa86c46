/** `ctx jail`: start, ask after and stop kept jails. Commands reach them by the native client, not through here. */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { buildOf } from '../../base/build.js';
import { ErrnoError, ExitCode, fromSystemError } from '../../base/errno.js';
import { closeInherited } from '../../base/inherited.js';
import { keeperStartMilliseconds, keptJailIdleMilliseconds } from '../../base/limits/commands.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import type { Host } from '../../sdk/host.js';
import { projectWord } from '../../sdk/operator/trust.js';
import { type KeptJailSpot, KeptJails } from '../../sdk/workspace/kept-jails.js';
import { grantsOf } from '../input/asked-grants.js';
import { optionsOf } from '../input/asked-options.js';
import { grantWords } from '../input/kept-jail-grants.js';
import { parseDuration } from '../input/parse-arguments.js';
import { painter, print, printError, printJson, terminal } from '../text/output.js';
import { progressLine } from '../text/progress.js';
import type { Arguments, Run, Verb } from '../verb.js';
import { ClientConnection, type Offered } from './client-connection.js';
import { VerbRelay } from './relayed-verb.js';

async function keepHere(
  call: Arguments,
  host: Host,
  { idleMilliseconds, ...offered }: Pick<Offered, 'relay' | 'verbs'> & { readonly idleMilliseconds: number },
): Promise<number> {
  closeInherited();
  const progress = progressLine(terminal('stderr'), 'ctx: first use here, importing this directory');
  const options = { ...optionsOf(call), wait: false, onProgress: progress.update };
  const build = buildOf(process.argv[1] ?? '');
  const directory = currentDirectory();
  const project = () => projectWord(host, directory);
  // Before the jail is made: where the file changes meanwhile, no call is for this jail.
  const grants = grantWords(call, process.env, project());
  await new KeptJails(host).keep(directory, options, {
    idleMilliseconds,
    serve: (socket, served) => new ClientConnection(socket, { ...served, ...offered, build, grants, project }),
    onReady: ({ origin, fork }) => {
      progress.clear();
      if (call.flag('json')) printJson({ version: 1, pid: process.pid, origin, fork });
      else print(`jail on fork ${fork} of ${visible(origin)}, kept by process ${process.pid}\n`);
    },
  });
  return ExitCode.ok;
}

/** By this name it knows that somebody waits for a sign that it has begun, and where. What comes then may take long: an import. */
const keeperName = 'ctx-kept-jail';
const begunDescriptor = 3;

function sayBegun(): void {
  if (process.argv0 !== keeperName) return;
  writeSync(begunDescriptor, '.');
  closeSync(begunDescriptor);
}

function keeperHangs(): ErrnoError {
  return new ErrnoError('EAGAIN', {
    operation: 'jail start',
    reason: `the process that keeps the jail did not start within ${keeperStartMilliseconds / 1000} seconds`,
    remedy: 'you may have too few processes and threads left: raise ulimit -u, or end other processes of yours',
  });
}

/**
 * The same call again, as a process that stays; its first words are its answer. It holds no stream of ours: whoever waits for
 * the end of our output would wait for the kept jail's. What it complains of goes to a file beside its socket.
 */
async function keepInBackground(
  spot: KeptJailSpot,
  directory: string,
  words: readonly string[],
  told: NodeJS.WritableStream,
): Promise<number> {
  mkdirSync(spot.directory, { recursive: true, mode: 0o700 });
  const complaints = openSync(spot.complaints, 'w', 0o600);
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...words, '--foreground'], {
    cwd: directory,
    detached: true,
    argv0: keeperName,
    stdio: ['ignore', 'pipe', complaints, 'pipe'],
  });
  closeSync(complaints);
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(fromSystemError(error, 'start the process that keeps the jail')));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(keeperHangs());
    }, keeperStartMilliseconds);
    const begun = child.stdio[begunDescriptor] as Readable | undefined;
    begun?.once('data', () => clearTimeout(timer));
    begun?.once('data', () => begun.destroy());
    child.stdout?.once('data', (chunk: Buffer) => {
      // What it has to say of its fork, such as what a power cut cost.
      printError(readFileSync(spot.complaints, 'utf8'));
      told.write(chunk);
      child.unref();
      child.stdout?.destroy();
      resolve(ExitCode.ok);
    });
    child.once('exit', (code) => {
      clearTimeout(timer);
      printError(readFileSync(spot.complaints, 'utf8'));
      resolve(code ?? ExitCode.internal);
    });
  });
}

/** What a command wants of the kept jail it runs in. */
export interface WantedJail {
  readonly directory: string;
  readonly fork: string | undefined;
  /** Options of `ctx jail start`. */
  readonly grants: readonly string[];
}

/** Nothing happens where one lives. */
export async function startKeptJail(host: Host, { directory, fork, grants }: WantedJail): Promise<number> {
  const jails = new KeptJails(host);
  if (await jails.isLive(directory, fork)) return ExitCode.ok;
  // stdout is the command's alone.
  return keepInBackground(jails.at(directory, fork), directory, ['jail', 'start', ...grants], process.stderr);
}

/** `verbs` are those that a client of the kept jail may ask for. */
export function start(verbs: readonly Verb[]): Run {
  return async (call, host, hookHost) => {
    if (call.flag('foreground')) sayBegun();
    const idle = call.value('idle');
    const idleMilliseconds = idle === undefined ? keptJailIdleMilliseconds : parseDuration(idle);
    // Before another process is started: a call that is refused leaves nothing behind.
    grantsOf(call);
    const here = await host();
    if (!call.flag('foreground')) {
      const directory = currentDirectory();
      const spot = new KeptJails(here).at(directory, call.value('fork'));
      return keepInBackground(spot, directory, process.argv.slice(2), process.stdout);
    }
    return keepHere(call, here, { relay: new VerbRelay(here, hookHost), idleMilliseconds, verbs });
  };
}

/** The native client found none that takes it: it runs this to say so. */
export const exec: Run = async (call, host) => {
  const jails = new KeptJails(await host());
  const directory = currentDirectory();
  const fork = call.value('fork');
  if (!(await jails.isLive(directory, fork))) throw jails.missing(directory, fork);
  throw new ErrnoError('ESTALE', {
    operation: 'jail exec',
    path: jails.at(directory, fork).origin,
    reason: 'another build of ctx, or another user, keeps the jail here',
    remedy: 'as that user: ctx jail stop, then ctx jail start',
  });
};

export const stop: Run = async (call, host) => {
  const { origin } = await new KeptJails(await host()).stop(currentDirectory(), call.value('fork'));
  if (call.flag('json')) printJson({ version: 1, stopped: origin });
  else print('stopped\n');
  return ExitCode.ok;
};

export const list: Run = async (call, host) => {
  const found = await new KeptJails(await host()).list();
  if (call.flag('json')) {
    printJson({ version: 1, jails: found });
    return ExitCode.ok;
  }
  const paint = painter(process.stdout);
  for (const { origin, fork, pid, started } of found) {
    print(`${paint('bold', visible(origin))}  fork ${fork}, process ${pid}, since ${started}\n`);
  }
  if (found.length === 0) print('no kept jails\n');
  return ExitCode.ok;
};
