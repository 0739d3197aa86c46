/**
 * Starts the jail program with a plan and stays with it: its reports, its signals, its end. This process is the jail's
 * owner; when it dies, in whatever way, the lifeline closes and everything inside is killed.
 */

import type { ChildProcess } from 'node:child_process';
import type { Server } from 'node:net';
import type { Duplex, Readable } from 'node:stream';
import { startProgram } from '../base/child-process.js';
import type { ErrnoError } from '../base/errno.js';
import { JailReports } from './jail-reports.js';
import {
  isGrouped,
  type Launch,
  lifelineDescriptor,
  modeOf,
  notStarted,
  passedOn,
  planFrame,
  type RunningJail,
  reportDescriptor,
  startError,
} from './launch-request.js';
import { noDescriptorLeft, onLostHandle } from './lost-handle.js';
import type { Outcome } from './report.js';
import { OutputPatience, takeOutput } from './taken-output.js';

export type { Launch, RunningJail };

/** By Node's own way to start programs. */
export function launch(request: Launch): RunningJail {
  const stream = request.streams === 'inherit' ? 'inherit' : 'pipe';
  let lost: ErrnoError | undefined;
  const passed = passedOn(request);
  let child: ChildProcess;
  try {
    child = startProgram(request.program, modeOf(request), {
      // What the command sees as pid 1; the path would tell of the host.
      argv0: 'ctx-jail',
      stdio: [
        request.input === 'nothing' ? 'ignore' : (request.input ?? 'inherit'),
        stream,
        stream,
        'pipe',
        'pipe',
        passed.asking ?? 'ignore',
        request.lockDescriptor ?? 'ignore',
        request.onServer === undefined ? 'ignore' : 'ipc',
        passed.terminal ?? 'ignore',
        ...(request.channels ?? []),
      ],
      env: {},
    });
  } catch (cause) {
    throw startError(request, cause);
  } finally {
    passed.close();
  }
  if (request.onServer !== undefined) {
    const { onServer } = request;
    child.on('message', (_text, server) => onServer(server as Server));
    onLostHandle(child, () => {
      lost = noDescriptorLeft('the command has no network');
      kill();
    });
  }
  const reports = new JailReports(request);
  const patience = new OutputPatience();
  let isAsked = false;
  const done = new Promise<Outcome>((resolve, reject) => {
    child.once('error', (error) => reject(notStarted(request, error)));
    if (child.pid === undefined) return;
    const settle = () => {
      patience.end();
      request.beside?.lose();
      try {
        if (lost !== undefined) throw lost;
        resolve(reports.outcome(child.signalCode ?? child.exitCode, isAsked));
      } catch (error) {
        reject(error);
      }
    };
    const taking = (['stdout', 'stderr'] as const).map((name) => {
      const output = child[name];
      return output === null ? undefined : takeOutput(output, (chunk) => request.onOutput?.(name, chunk));
    });
    const taken = patience.wait(Promise.all(taking));
    let areTaken = request.streams === 'inherit';
    const grouped = isGrouped(request);
    const settleEarly = () => {
      if (!grouped && areTaken && reports.areWhole) settle();
    };
    void taken.then(() => {
      areTaken = true;
      settleEarly();
    });
    (child.stdio[reportDescriptor] as Readable).on('data', (chunk: Buffer) => {
      reports.take(chunk);
      settleEarly();
    });
    const lifeline = child.stdio[lifelineDescriptor] as Duplex;
    // A jail that ended early has said why; the broken pipe says nothing more.
    lifeline.on('error', () => undefined);
    // The program is starting meanwhile.
    try {
      lifeline.write(planFrame(request));
    } catch (error) {
      lifeline.destroy();
      throw error;
    }
    child.once('close', () => void taken.then(settle));
  });
  const kill = () => {
    isAsked = true;
    patience.killed();
    (child.stdio as readonly unknown[] as readonly (Duplex | undefined)[] | undefined)?.[lifelineDescriptor]?.destroy();
  };
  return {
    signal: (signal) => {
      // By that the program would end without a word, and not the command.
      if (signal === 'SIGKILL') return kill();
      isAsked = true;
      child.kill(signal);
    },
    kill,
    pid: child.pid,
    started: reports.started,
    done,
  };
}
