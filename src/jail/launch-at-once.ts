/** A jail that has this process's own streams, in a process that runs nothing else: see `base/starter` for why. */
import { closeSync } from 'node:fs';
import { hasCode } from '../base/errno.js';
import { hear, type ProgramStream, type StartedProgram, type Starter } from '../base/starter.js';
import { writeWhole } from '../base/write-whole.js';
import { JailReports } from './jail-reports.js';
import {
  isGrouped,
  type Launch,
  lifelineDescriptor,
  modeOf,
  passedOn,
  planFrame,
  type RunningJail,
  reportDescriptor,
  startError,
} from './launch-request.js';
import type { Outcome } from './report.js';

/** Whether it passes this process's streams on, and no socket comes back. */
export function canLaunchAtOnce({ streams, onServer }: Launch): boolean {
  return streams === 'inherit' && onServer === undefined;
}

function streamsOf(
  { input, lockDescriptor, channels = [] }: Launch,
  asking: number | undefined,
  terminal: number | undefined,
): readonly ProgramStream[] {
  const passed = (descriptor: number | undefined): ProgramStream => descriptor ?? 'nothing';
  const first = input === 'nothing' || typeof input === 'number' ? input : 0;
  const own: readonly ProgramStream[] = [first, 1, 2, 'told', 'heard'];
  return [...own, passed(asking), passed(lockDescriptor), 'nothing', passed(terminal), ...channels];
}

export function launchAtOnce(request: Launch, starter: Starter): RunningJail {
  // What the command sees as pid 1; the path would tell of the host.
  const words = Buffer.from(['ctx-jail', ...modeOf(request), ''].join('\0'));
  const passed = passedOn(request);
  let owner: StartedProgram;
  try {
    owner = starter.start(request.program, words, streamsOf(request, passed.asking, passed.terminal));
  } catch (cause) {
    throw startError(request, cause);
  } finally {
    passed.close();
  }
  let isTied = true;
  let isAsked = false;
  const letGo = () => {
    if (isTied) closeSync(owner.end(lifelineDescriptor));
    isTied = false;
  };
  const reports = new JailReports(request);
  const done = new Promise<Outcome>((resolve, reject) => {
    const follow = async () => {
      try {
        await hear(owner.end(reportDescriptor), (chunk) => {
          reports.take(chunk);
          if (!reports.areWhole || isGrouped(request)) return;
          request.beside?.lose();
          resolve(reports.outcome(null));
        });
      } finally {
        letGo();
        request.beside?.lose();
      }
      const { code, signal } = owner.wait();
      resolve(reports.outcome(signal ?? code, isAsked));
    };
    follow().catch(reject);
    // The program is starting meanwhile.
    try {
      writeWhole(owner.end(lifelineDescriptor), planFrame(request));
    } catch (error) {
      letGo();
      // A jail that ended early has said why; the broken pipe says nothing more.
      if (!hasCode(error, 'EPIPE')) reject(error);
    }
  });
  const kill = () => {
    isAsked = true;
    letGo();
  };
  return { signal: owner.signal, kill, pid: owner.pid, started: reports.started, done };
}
