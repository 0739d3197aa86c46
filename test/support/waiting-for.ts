/** What a process and those it started wait for, as the kernel tells it: for a test that has to end one. */
import { readdirSync, readFileSync } from 'node:fs';

function told(path: string): string {
  try {
    return readFileSync(path, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return ''; // ended meanwhile, or not ours to see
  }
}

function threadsOf(process: number): readonly string[] {
  try {
    return readdirSync(`/proc/${process}/task`).map((thread) => `/proc/${process}/task/${thread}`);
  } catch {
    return [];
  }
}

/** The innermost calls of the kernel; where they cannot be read, the name of the last one. */
function placeOf(thread: string): string {
  const calls = told(`${thread}/stack`).split('\n').slice(0, 6);
  const names = calls.map((call) => call.replace(/^\[<0>\] /, '').replace(/\+.*$/, '')).filter((name) => name !== '');
  return names.length > 0 ? names.join(' < ') : told(`${thread}/wchan`);
}

/** A line for each process, and one for each place in the kernel at which threads of it are. */
export function waitingFor(process: number): readonly string[] {
  const threads = threadsOf(process);
  const places = new Map<string, number>();
  for (const thread of threads) {
    const state = /^State:\s+(\S)/m.exec(told(`${thread}/status`))?.[1] ?? '?';
    const place = `${state} ${placeOf(thread)}`;
    places.set(place, (places.get(place) ?? 0) + 1);
  }
  const own = [...places].map(([place, count]) => `    ${count}x ${place}`);
  const children = threads.flatMap((thread) => told(`${thread}/children`).split(' ').filter(Boolean).map(Number));
  const words = told(`/proc/${process}/cmdline`).slice(0, 200);
  return [`  ${process} ${words}`, ...own, ...children.flatMap(waitingFor)];
}
