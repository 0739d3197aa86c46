/** Programs that run the command they are given. Seen through: what counts is the command. */
import { each, type Programs } from '../program.js';

/** A process of the jail is the command's own to trace. The first is the jail's, or the host's if there were no jail. */
const firstProcess = { '^0*1(,|$)': 'h' } as const;

export const wrapperPrograms: Programs = {
  ...each('nohup setsid chronic unbuffer rlwrap catchsegv eatmydata fakeroot xvfb-run dbus-run-session caffeinate', {
    is: 'r',
    runs: 0,
    values: '-l -s -b -n -e -f -a -p',
  }),
  nice: { is: 'r', runs: 0, values: '-n --adjustment' },
  ionice: { is: 'r', runs: 0, values: '-c -n -p --class --classdata' },
  chrt: { is: 'r', runs: 1, values: '-T -P -D -p' },
  taskset: { is: 'r', runs: 1, values: '-p' },
  timeout: { is: 'r', runs: 1, values: '-k -s --kill-after --signal' },
  stdbuf: { is: 'r', runs: 0, values: '-i -o -e --input --output --error' },
  time: { is: 'r', runs: 0, with: { '-o --output': 'm' }, values: '-f -o --format --output' },
  flock: { is: 'r', runs: 1, text: '-c --command', values: '-w -E --timeout' },
  prlimit: { is: 'r', runs: 0, values: '-p --pid' },
  setpriv: { is: 'r', runs: 0, values: '--reuid --regid --groups --inh-caps --bounding-set' },
  script: { is: 'm', text: '-c --command', bare: 'mi', values: '-c -I -O -B -T -E' },
  ...each('strace ltrace', {
    is: 'm',
    runs: 0,
    valued: { '-p --attach': firstProcess },
    values: '-e -o -p -s -u -a -S -P -E -I -O -X -l -n',
    why: 'traces other processes',
  }),
  valgrind: { is: 'm', runs: 0 },
  perf: {
    is: 'm',
    subcommands: {
      ...each('stat record trace', {
        is: 'm',
        runs: 0,
        with: { '-a --all-cpus': 'h' },
        valued: { '-p --pid -t --tid': firstProcess },
        values: '-e -o -F -c -p -t -C -G -r -I',
      }),
    },
    otherwise: { is: 'm' },
  },
  ...each('gdb lldb', {
    is: 'mi',
    runsAfter: '--args --',
    valued: { '-p --pid --attach-pid -pid': firstProcess },
    only: { '-batch --batch': 'm' },
    values: '-x -ex -p -pid -c --pid --command --eval-command',
    why: 'can attach to other processes',
  }),
  hyperfine: { is: 'm', runsText: true, values: '-w -r -m -M -p -c -s -n -L -P -u' },
  watch: { is: 'i', runsText: true, values: '-n -q' },
  'start-stop-daemon': { is: 'm', text: '-x --exec', values: '-x -a -p -u -n -d' },
  nodemon: { is: 'm', text: '-x --exec', values: '-x -w -e -i' },
  entr: { is: 'm', runs: 0 },
  ...each('dotenv dotenvx', { is: 'm', runs: 0, values: '-e -f -v' }),
  ...each('cross-env env-cmd', { is: 'r', runs: 0, assignments: true }),
  ...each('command', { is: 'r', runs: 0, only: { '-v -V': 'r' } }),
  ...each('builtin busybox toybox exec nocorrect noglob', { is: 'r', runs: 0, values: '-a' }),
};
