/** `ctx jail`: start, ask after and stop kept jails. Commands reach them by the native client, not through here. */
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { buildOf } from '../../base/build.js';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { closeInherited } from '../../base/inherited.js';
import { makeDirectory } from '../../base/make-directory.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import type { Host } from '../../sdk/host.js';
import { type KeptJailSpot, KeptJails } from '../../sdk/workspace/kept-jails.js';
import { areLocal, keeperSpot } from '../../sdk/workspace/shared-keeper.js';
import { grantsOf } from '../input/asked-grants.js';
import { painter, print, printError, printJson, terminal } from '../text/output.js';
import { progressLine } from '../text/progress.js';
import type { Arguments, HostOf, Run, Verb } from '../verb.js';
import { askKeeper, type StartAsked, startTimer } from './ask-keeper.js';
import type { Offered } from './client-connection.js';
import { idleOf, keep } from './keep.js';
import { begunDescriptor, keeperName, sayBegun, sharedKeeperName } from './keeper-name.js';
import { RelayedHooks, VerbRelay } from './relayed-verb.js';
import type { SharedKeeping } from './shared-keeper.js';

/** In this process, and no other one with it. */
async function keepHere(call: Arguments, host: Host, offered: Pick<Offered, 'relay' | 'verbs'>): Promise<number> {
  closeInherited();
  const progress = progressLine(terminal('stderr'), 'ctx: first use here, importing this directory');
  await keep(call, {
    ...offered,
    host,
    environment: process.env,
    directory: currentDirectory(),
    stdout: { write: print },
    onProgress: progress.update,
    onReady: () => progress.clear(),
  });
  return ExitCode.ok;
}

/** All that are asked for, of a user: `ask-keeper` started it. */
async function keepShared(hostOf: HostOf, offered: Omit<SharedKeeping, 'host' | 'hostOf'>): Promise<number> {
  const { SharedKeeper } = await import('./shared-keeper.js');
  const host = await hostOf();
  const spot = keeperSpot(host, buildOf(process.argv[1] ?? ''));
  return new SharedKeeper({ ...offered, host, hostOf }, spot).run(() => {
    sayBegun(spot.key);
    closeInherited();
  });
}

/**
 * The same call again, as a process that stays and keeps this one alone; its first words are its answer. It holds no stream
 * of ours: a program that waits for the end of our output would wait for the kept jail's. What it complains of goes to a
 * file beside its socket.
 */
async function keepApart(spot: KeptJailSpot, { directory, words, told }: StartAsked): Promise<number> {
  makeDirectory(spot.directory);
  const complaints = openSync(spot.complaints, 'w', 0o600);
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...words, '--foreground'], {
    cwd: directory,
    detached: true,
    argv0: keeperName,
    stdio: ['ignore', 'pipe', complaints, 'pipe'],
  });
  closeSync(complaints);
  return new Promise((resolve, reject) => {
    const timer = startTimer(child, reject);
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

interface Granted extends StartAsked {
  /** Directories that it is granted, as they were written. */
  readonly paths: readonly string[];
}

/** Whatever is on a file system that may not answer has a process of its own: others would wait with it. */
async function keepInBackground(host: Host, spot: KeptJailSpot, asked: Granted): Promise<number> {
  const paths = [spot.origin, asked.directory, host.store.directory, host.home, ...asked.paths];
  const code = areLocal(paths) ? await askKeeper(host, asked) : undefined;
  return code ?? keepApart(spot, asked);
}

/** What a command wants of the kept jail it runs in. */
export interface WantedJail {
  readonly directory: string;
  readonly fork: string | undefined;
  /** Options of `ctx jail start`. */
  readonly grants: readonly string[];
  /** Directories that these grant. */
  readonly paths: readonly string[];
}

/** Directories that it is granted. */
export const pathsOf = (call: Arguments) => ['read', 'write', 'write-live'].flatMap((name) => call.values(name));

/** Nothing happens where one lives. Of several that want one at the same time the first starts it, and the others wait for it. */
export async function startKeptJail(host: Host, { directory, fork, grants, paths }: WantedJail): Promise<number> {
  const jails = new KeptJails(host);
  if (await jails.isLive(directory, fork)) return ExitCode.ok;
  const spot = jails.at(directory, fork);
  makeDirectory(spot.directory);
  const turn = openSync(spot.complaints, 'a', 0o600);
  try {
    await host.tree.lock({ descriptor: turn, wait: true });
    if (await jails.isLive(directory, fork)) return ExitCode.ok;
    // stdout is the command's alone.
    const asked = { directory, words: ['jail', 'start', ...grants], told: process.stderr, paths };
    return await keepInBackground(host, spot, asked);
  } finally {
    closeSync(turn);
  }
}

/** `verbs` are those that a client of the kept jail may ask for. */
export function start(startVerb: Verb, verbs: readonly Verb[]): Run {
  return async (call, hostOf, hookHost) => {
    const hooks = new RelayedHooks(hookHost);
    if (call.flag('foreground') && process.argv0 === sharedKeeperName) {
      return keepShared(hostOf, { hooks, startVerb, verbs });
    }
    if (call.flag('foreground')) sayBegun();
    // Before another process is started: a call that is refused leaves nothing behind.
    idleOf(call);
    grantsOf(call);
    const host = await hostOf();
    if (call.flag('foreground')) return keepHere(call, host, { relay: new VerbRelay(host, hooks), verbs });
    const directory = currentDirectory();
    const spot = new KeptJails(host).at(directory, call.value('fork'));
    const asked = { directory, words: process.argv.slice(2), told: process.stdout, paths: pathsOf(call) };
    return keepInBackground(host, spot, asked);
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
