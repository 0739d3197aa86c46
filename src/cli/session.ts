/** `ctx session`: start, ask after and stop sessions. Commands reach them by the native client, not through here. */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { readJsonFile } from '../base/atomic-file.js';
import { ErrnoError, ExitCode, hasCode } from '../base/errno.js';
import { sessionIdleMilliseconds } from '../base/limits.js';
import { visible } from '../base/visible-text.js';
import { type Host, placeOf } from '../proxy/host.js';
import { Session } from '../proxy/session.js';
import { placeIn, type SessionPlace, sessionPlace } from '../proxy/session-place.js';
import { encodeFrame, wireKind } from '../proxy/session-wire.js';
import { mainFork, storePaths, vaultId, vaultPaths } from '../vault/layout.js';
import { readVaultMeta } from '../vault/vault-meta.js';
import { grantsOf } from './asked-grants.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import { parseDuration } from './parse-arguments.js';
import { progressLine } from './progress.js';
import { VerbRelay } from './relayed-verb.js';
import { grantWords } from './session-grants.js';
import {
  isLive,
  type Keeping,
  keepSession,
  refuseSecond,
  type SessionFacts,
  withSocketPath,
} from './session-keeper.js';
import type { Arguments, Run, Verb } from './verb.js';

interface Here {
  readonly place: SessionPlace;
  readonly origin: string;
}

/** Of the fork that is named, or of the one in use. */
function placeHere(host: Host, call: Arguments): Here {
  const { origin } = placeOf(host, currentDirectory());
  const current = readVaultMeta(vaultPaths(host.store.directory, vaultId(origin)).meta)?.current;
  return { place: sessionPlace(host.store.directory, origin, call.value('fork') ?? current ?? mainFork), origin };
}

function noSession(origin: string): ErrnoError {
  return new ErrnoError('ENOENT', {
    operation: 'session',
    path: origin,
    reason: 'no session lives here',
    remedy: 'ctx session start begins one',
  });
}

async function keepHere(
  call: Arguments,
  host: Host,
  asked: Pick<Keeping, 'relay' | 'idleMilliseconds' | 'verbs'>,
): Promise<number> {
  const { place, origin } = placeHere(host, call);
  await refuseSecond(place, origin);
  const progress = progressLine(process.stderr, 'ctx: first use here, importing this directory');
  const session = await Session.start(host, {
    ...grantsOf(call),
    cwd: currentDirectory(),
    fork: call.value('fork'),
    environmentAdditions: call.values('env'),
    wait: false,
    onProgress: progress.update,
  });
  progress.clear();
  await keepSession({
    session,
    place,
    ...asked,
    peerLibrary: join(dirname(host.jailProgram), 'peer.node'),
    grants: grantWords(call),
    now: host.now(),
    onReady: () => announce(call, session),
  });
  return ExitCode.ok;
}

function announce(call: Arguments, { origin, fork }: Session): void {
  if (call.flag('json')) printJson({ version: 1, pid: process.pid, origin, fork });
  else process.stdout.write(`session on fork ${fork} of ${visible(origin)}, kept by process ${process.pid}\n`);
}

/**
 * The same call again, as a process that stays; its first words are its answer. It holds no stream of ours: whoever waits for
 * the end of our output would wait for the session's. What it complains of goes to a file beside its socket.
 */
async function keepInBackground(
  { place }: Pick<Here, 'place'>,
  words: readonly string[],
  told: NodeJS.WritableStream,
): Promise<number> {
  mkdirSync(place.directory, { recursive: true, mode: 0o700 });
  const complaints = openSync(place.complaints, 'w', 0o600);
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', ...words, '--foreground'], {
    detached: true,
    stdio: ['ignore', 'pipe', complaints],
  });
  closeSync(complaints);
  return new Promise((resolve) => {
    child.stdout?.once('data', (chunk: Buffer) => {
      told.write(chunk);
      child.unref();
      child.stdout?.destroy();
      resolve(ExitCode.ok);
    });
    child.once('exit', (code) => {
      process.stderr.write(readFileSync(place.complaints));
      resolve(code ?? ExitCode.internal);
    });
  });
}

/** For a command that wants one: nothing happens where one lives. `grants` are the options of `ctx session start`. */
export async function startSession(host: Host, call: Arguments, grants: readonly string[]): Promise<number> {
  const here = placeHere(host, call);
  if (await isLive(here.place)) return ExitCode.ok;
  // stdout is the command's alone.
  return keepInBackground(here, ['session', 'start', ...grants], process.stderr);
}

/** `verbs` are those that a client of the session may ask for. */
export function start(verbs: readonly Verb[]): Run {
  return async (call, host, hookHost) => {
    const idle = call.value('idle');
    const idleMilliseconds = idle === undefined ? sessionIdleMilliseconds : parseDuration(idle);
    // Before another process is started: a call that is refused leaves nothing behind.
    grantsOf(call);
    const here = await host();
    if (!call.flag('foreground')) return keepInBackground(placeHere(here, call), process.argv.slice(2), process.stdout);
    return keepHere(call, here, { relay: new VerbRelay(here, hookHost), idleMilliseconds, verbs });
  };
}

export const exec: Run = async (call, host) => {
  throw noSession(placeHere(await host(), call).origin);
};

export const stop: Run = async (call, host) => {
  const { place, origin } = placeHere(await host(), call);
  if (!(await isLive(place))) throw noSession(origin);
  const words = ['/', '', '', '2', 'session', 'stop'].map((word) => `${word}\0`).join('');
  await new Promise<void>((resolve, reject) => {
    withSocketPath(place, (path) => {
      const socket = connect(path);
      socket.once('error', reject);
      // Closed when the last thing inside has ended.
      socket.once('close', () => resolve());
      socket.resume();
      socket.write(encodeFrame(wireKind.request, Buffer.from(words)));
    });
  });
  if (call.flag('json')) printJson({ version: 1, stopped: origin });
  else process.stdout.write('stopped\n');
  return ExitCode.ok;
};

function directoriesIn(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

export const list: Run = async (call, host) => {
  const { sessions } = storePaths((await host()).store.directory);
  const found: SessionFacts[] = [];
  for (const key of directoriesIn(sessions)) {
    for (const name of directoriesIn(join(sessions, key)).filter((each) => each.endsWith('.json'))) {
      const place = placeIn(join(sessions, key), name.slice(0, -'.json'.length));
      const known = readJsonFile(place.facts) as SessionFacts | undefined;
      if (known !== undefined && (await isLive(place))) found.push(known);
    }
  }
  if (call.flag('json')) {
    printJson({ version: 1, sessions: found });
    return ExitCode.ok;
  }
  const paint = painter(process.stdout);
  for (const { origin, fork, pid, started } of found) {
    process.stdout.write(`${paint('bold', visible(origin))}  fork ${fork}, process ${pid}, since ${started}\n`);
  }
  if (found.length === 0) process.stdout.write('no session lives\n');
  return ExitCode.ok;
};
