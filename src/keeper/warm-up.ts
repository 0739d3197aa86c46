/**
 * Calls that a keeper runs before it waits: V8 compiles what is used, and a copy has it compiled. They run in a store and a project of their
 * own, print nowhere, and leave nothing behind: neither listeners nor descriptors nor processes, which would be in every copy.
 */
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monotonic } from '../base/clock.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import { keeperLifeMilliseconds, keeperTrialMilliseconds } from '../base/limits/commands.js';

export interface Released {
  release?(): void;
}

/** Runs a call in this process, and says which hosts it made for it. */
export type RunCall = (given: readonly string[], onHost: (host: Released) => void) => Promise<number>;

const streams = ['stdout', 'stderr'] as const;
const lookMilliseconds = 20;

/** What a listing of this process holds is its own descriptor, too: it has gone when its link is read. */
function openDescriptors(): ReadonlySet<string> {
  const found = new Set<string>();
  for (const name of readdirSync('/proc/self/fd')) {
    try {
      found.add(`${name} ${readlinkSync(`/proc/self/fd/${name}`)}`);
    } catch (error) {
      // The listing's own.
      if (!hasCode(error, 'ENOENT')) throw error;
    }
  }
  return found;
}

function hasChildren(): boolean {
  return readFileSync('/proc/thread-self/children', 'latin1') !== '';
}

/** Streams are made when they are first named, for what they are then; a copy has others. */
function withoutStreams(): () => void {
  const kept = streams.map((name) => [name, Object.getOwnPropertyDescriptor(process, name)] as const);
  for (const name of streams) {
    const fd = name === 'stdout' ? 1 : 2;
    Object.defineProperty(process, name, { configurable: true, value: { fd, isTTY: false, write: () => true } });
  }
  return () => {
    for (const [name, property] of kept) Object.defineProperty(process, name, property ?? {});
  };
}

function listenersNow(): ReadonlyMap<string | symbol, readonly unknown[]> {
  return new Map(process.eventNames().map((name) => [name, process.rawListeners(name as 'exit')]));
}

function removeListenersSince(before: ReadonlyMap<string | symbol, readonly unknown[]>): void {
  for (const name of process.eventNames()) {
    for (const listener of process.rawListeners(name as 'exit')) {
      if (before.get(name)?.includes(listener) !== true) process.removeListener(name, listener as () => void);
    }
  }
}

async function untilQuiet(before: ReadonlySet<string>): Promise<void> {
  const end = monotonic() + keeperTrialMilliseconds;
  const left = () => [...openDescriptors()].filter((each) => !before.has(each));
  while (left().length > 0 || hasChildren() || process.getActiveResourcesInfo().length > 0) {
    if (monotonic() > end) {
      throw new ErrnoError('EBUSY', {
        operation: 'start a keeper',
        reason: `its first calls left something open: ${[...left(), ...process.getActiveResourcesInfo()].join(', ')}`,
      });
    }
    await new Promise((resolve) => setTimeout(resolve, lookMilliseconds));
  }
}

/** What Node opens with the first program that it starts stays; and of this streams that are pipes are made. */
async function useOnce(): Promise<void> {
  await Promise.all([import('node:net'), import('node:tty'), import('node:stream')]);
  const { spawn } = await import('node:child_process');
  await new Promise((resolve, reject) => {
    spawn('/proc/self/exe', ['--version'], { stdio: ['ignore', 'pipe', 'ignore'] })
      .once('error', reject)
      .once('close', resolve)
      .stdout.resume();
  });
}

/** What was left by one that was killed in its first calls, which take seconds: nothing that is as old as a keeper becomes is in use. */
function removeLeft(directory: string): void {
  // A directory that may not be listed, or what another keeper removes, is no reason to have no keeper.
  for (const name of attempt(() => readdirSync(directory)) ?? []) {
    if (/^ctx-keeper-\w{6}$/.test(name)) attempt(() => removeOld(join(directory, name)));
  }
}

function removeOld(left: string): void {
  const { uid, mtimeMs } = lstatSync(left);
  if (uid !== process.geteuid?.() || Date.now() - mtimeMs <= keeperLifeMilliseconds) return;
  rmSync(left, { recursive: true, force: true });
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

/**
 * Each call is what runs it, then its words. One that fails is as good: a host that forbids namespaces has its other verbs.
 * `rehearse` comes last, where further calls can be run.
 */
export async function warmUp(
  calls: readonly (readonly [RunCall, ...(readonly string[])])[],
  rehearse: () => Promise<void>,
): Promise<void> {
  const mask = process.umask(0o077);
  removeLeft(tmpdir());
  // Not in the store, which somebody may be about to remove.
  const scratch = mkdtempSync(join(tmpdir(), 'ctx-keeper-'));
  const clean = () => rmSync(scratch, { recursive: true, force: true });
  const stop = () => {
    clean();
    process.exit(0);
  };
  process.on('SIGTERM', stop);
  const project = join(scratch, 'project');
  mkdirSync(project);
  // Node itself names stderr where a socket is closed.
  const restoreStreams = withoutStreams();
  await useOnce();
  const places = {
    HOME: scratch,
    CTX_DATA: join(scratch, 'store'),
    CTX_ROOT: join(scratch, 'ctx'),
    XDG_CONFIG_HOME: scratch,
  };
  Object.assign(process.env, places);
  process.chdir(project);
  const before = openDescriptors();
  const listeners = listenersNow();
  try {
    for (const [run, ...given] of calls) {
      const hosts: Released[] = [];
      await run(given, (host) => hosts.push(host));
      for (const host of hosts) host.release?.();
      removeListenersSince(listeners);
    }
    restoreStreams();
    await untilQuiet(before);
    await rehearse();
  } finally {
    restoreStreams();
    process.chdir('/');
    clean();
    process.umask(mask);
    process.removeListener('SIGTERM', stop);
  }
}
