/** A control group that holds those in it to so much memory: what one of them takes too much ends it, whichever process it is. */
import { chownSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { groupPlaces } from '../../src/jail/cgroup.js';
import type { TestUser } from './users.js';

export interface MemoryGroup {
  /** A process that writes its own number there is in it. */
  readonly members: string;
  /** How many were ended for want of memory. */
  killed(): number;
  remove(): Promise<void>;
}

const files = {
  1: { limit: 'memory.limit_in_bytes', events: 'memory.oom_control' },
  2: { limit: 'memory.max', events: 'memory.events' },
} as const;

/** Undefined where this host gives us none. */
export function memoryGroup(bytes: number, user: TestUser): MemoryGroup | undefined {
  const found = groupPlaces(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'));
  const place = found?.places.get('memory');
  if (found === undefined || place === undefined) return undefined;
  const { limit, events } = files[found.version];
  const group = join(place, `ctx-test-${process.pid}-${process.hrtime.bigint()}`);
  const members = join(group, 'cgroup.procs');
  try {
    mkdirSync(group);
    writeFileSync(join(group, limit), String(bytes));
    chownSync(members, user.uid, user.gid);
  } catch {
    if (existsSync(group)) rmdirSync(group);
    return undefined;
  }
  return {
    members,
    killed: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(group, events), 'utf8'))?.[1] ?? 0),
    async remove() {
      for (let attempt = 0; ; attempt += 1) {
        try {
          rmdirSync(group);
          return;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
          if (attempt > 100) throw error; // what frees the store in the background is the last in it
          await sleep(100);
        }
      }
    },
  };
}
