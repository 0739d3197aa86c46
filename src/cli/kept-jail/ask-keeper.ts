/** `ctx jail start` asks the process that keeps all kept jails of the user, and starts it where there is none. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildOf } from '../../base/build.js';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import {
  keeperAgainMilliseconds,
  keeperPatienceMilliseconds,
  keeperStartMilliseconds,
} from '../../base/limits/commands.js';
import type { Host } from '../../sdk/host.js';
import { encodeFrame, encodeRequest, FrameReader, frameBytes, type WireFrame, wireKind } from '../../sdk/jail-wire.js';
import { type KeeperSpot, keeperEnvironment, keeperSpot, withSocketPath } from '../../sdk/workspace/shared-keeper.js';
import { printError } from '../text/output.js';
import { sharedKeeperName } from './keeper-name.js';

export interface StartAsked {
  readonly directory: string;
  /** What followed `ctx`. */
  readonly words: readonly string[];
  /** Where its answer goes. */
  readonly told: Pick<NodeJS.WritableStream, 'write'>;
}

/** The exit code; or it was not taken, and nothing has happened. */
type Answer = number | 'refused' | 'none';

function keeperEnded(): ErrnoError {
  return new ErrnoError('EIO', {
    operation: 'jail start',
    reason: 'the process that keeps the jails ended while it started this one',
    remedy: 'try again; ctx ps lists what is running',
  });
}

/** Rejects where it cannot be started, or has not begun in time; to be cleared when it has. */
export function startTimer(child: ChildProcess, reject: (error: ErrnoError) => void): NodeJS.Timeout {
  child.once('error', (error) => reject(fromSystemError(error, 'start the process that keeps the jail')));
  const hangs = {
    operation: 'jail start',
    reason: `the process that keeps the jail did not start within ${keeperStartMilliseconds / 1000} seconds`,
    remedy: 'you may have too few processes and threads left: raise ulimit -u, or end other processes of yours',
  };
  return setTimeout(() => {
    child.kill('SIGKILL');
    reject(new ErrnoError('EAGAIN', hangs));
  }, keeperStartMilliseconds);
}

function connected(spot: KeeperSpot): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    withSocketPath(spot, (path) => {
      const socket = connect(path);
      socket.once('connect', () => resolve(socket));
      socket.once('error', () => resolve(undefined));
    });
  });
}

async function ask(spot: KeeperSpot, payload: Buffer, told: StartAsked['told']): Promise<Answer> {
  const socket = await connected(spot);
  if (socket === undefined) return 'none';
  return new Promise((resolve, reject) => {
    const frames = new FrameReader();
    let isTaken = false;
    const take = ({ kind, payload: bytes }: WireFrame) => {
      if (kind === wireKind.more) isTaken = true;
      else if (kind === wireKind.refused) resolve('refused');
      else if (kind === wireKind.output) told.write(bytes);
      else if (kind === wireKind.error) printError(bytes.toString());
      else if (kind === wireKind.exit) resolve(bytes[0] ?? 0);
    };
    socket.on('data', (chunk: Buffer) => {
      for (const frame of frames.push(chunk)) take(frame);
    });
    // Nothing happens any more where it was answered.
    socket.once('close', () => (isTaken ? reject(keeperEnded()) : resolve('none')));
    socket.write(encodeFrame(wireKind.request, payload));
  });
}

/** Resolves when it can be asked, or has ended: another one was quicker. False where it is not for such as this process. */
function startKeeper(spot: KeeperSpot): Promise<boolean> {
  const log = openSync(spot.complaints, 'a', 0o600);
  const words = [process.argv[1] ?? '', 'jail', 'start', '--foreground'];
  const child = spawn(process.execPath, [...process.execArgv, ...words], {
    cwd: '/',
    detached: true,
    argv0: sharedKeeperName,
    env: keeperEnvironment(process.env),
    stdio: ['ignore', 'ignore', log, 'pipe'],
  });
  closeSync(log);
  return new Promise((resolve, reject) => {
    const timer = startTimer(child, reject);
    const begun = child.stdio[3] as Readable;
    const end = (isRight: boolean) => {
      clearTimeout(timer);
      begun.destroy();
      child.unref();
      resolve(isRight);
    };
    begun.once('data', (key: Buffer) => end(key.toString() === spot.key));
    child.once('exit', () => end(true));
  });
}

/** The exit code; undefined where it has to be kept by a process of its own. */
export async function askKeeper(host: Host, { directory, words, told }: StartAsked): Promise<number | undefined> {
  const build = buildOf(process.argv[1] ?? '');
  const payload = encodeRequest({ directory, build, words, environment: process.env });
  if (payload.length >= frameBytes) return undefined;
  const spot = keeperSpot(host, build);
  for (const end = performance.now() + keeperPatienceMilliseconds; performance.now() < end; ) {
    const answer = await ask(spot, payload, told);
    if (typeof answer === 'number') return answer;
    if (answer === 'refused' || !(await startKeeper(spot))) return undefined;
    await sleep(keeperAgainMilliseconds);
  }
  return undefined;
}
