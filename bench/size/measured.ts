/** One program: how long, how much processor time, and the most memory that one process of it had. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

export interface Measured {
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly megabytes: number;
  readonly code: number | null;
  /** Of one that failed, or was ended at its limit. */
  readonly said?: string | undefined;
}

/** As timeout(1) ends. */
const overTime = 124;

/**
 * A program of ctx that it does not wait for ends with it: it becomes a child of this one, and is counted. One that takes longer than
 * its limit is ended with all its processes.
 */
const measure = `import ctypes, os, resource, signal, subprocess, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
process = subprocess.Popen(sys.argv[3:], stdout=subprocess.DEVNULL, start_new_session=True)
try:
    code = process.wait(float(sys.argv[2]))
except subprocess.TimeoutExpired:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    code = ${overTime}
for attempt in range(20):
    time.sleep(0.005)
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        break
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(f"{used.ru_maxrss} {used.ru_utime + used.ru_stime}")
sys.exit(code)`;

/** The first line, without the names of a deep tree. */
const firstLine = (text: string) => (text.split('\n')[0] ?? '').replaceAll(/(.)\1{20,}[^ ]*/g, '$1...').slice(0, 80);

export function measured(place: string, cwd: string, limit: number, argv: readonly string[]): Measured {
  const note = join(place, 'peak');
  const env = { ...process.env, CTX_DATA: join(place, 'store') };
  const start = performance.now();
  const { status, stderr } = spawnSync('python3', ['-c', measure, note, String(limit), ...argv], {
    cwd,
    env,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  const seconds = (performance.now() - start) / 1000;
  const [kilobytes = Number.NaN, processorSeconds = Number.NaN] = readFileSync(note, 'utf8').split(' ').map(Number);
  const said =
    status === 0 ? undefined : status === overTime ? `not done after ${limit} s` : firstLine(stderr ?? 'nothing');
  return { seconds, processorSeconds, megabytes: kilobytes / 1024, code: status, said };
}
