/**
 * A program in a group of its own, which ends as a whole when this process is told to end: a signal for `npm test` alone, as a runner of
 * CI sends it, would leave the test files running.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

const ends = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const graceMilliseconds = 2_000;

function signalGroup(leader, name) {
  try {
    process.kill(-leader, name);
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

/** `input` is what it reads. `told` is the signal by which this process was told to end: it has not, so that it can tidy up first. */
export async function runInGroup([command, ...words], { input, ...options }) {
  let told = null;
  let late;
  let leader;
  const end = (name) => {
    told ??= name;
    signalGroup(leader, 'SIGTERM');
    late ??= setTimeout(signalGroup, graceMilliseconds, leader, 'SIGKILL');
  };
  // Before there is anything to end: it may have begun when `spawn` returns, and a signal is heard after that.
  for (const name of ends) process.on(name, end);
  try {
    const child = spawn(command, words, { ...options, stdio: ['pipe', 'inherit', 'inherit'], detached: true });
    leader = child.pid;
    child.stdin.on('error', () => undefined); // it ended without reading
    child.stdin.end(input);
    const [status] = await once(child, 'close');
    // Its first process may end before the others do.
    if (told !== null) signalGroup(leader, 'SIGKILL');
    return { status, told };
  } finally {
    clearTimeout(late);
    for (const name of ends) process.off(name, end);
  }
}
