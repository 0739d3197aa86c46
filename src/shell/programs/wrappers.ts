/** Programs that run the command they are given. Seen through: what counts is the command. */
import { each, type Programs } from '../program.js';

/** A process of the jail is the command's own to trace. The first is the jail's, or the host's if there were no jail. */
const firstProcess = { '^0*1(,|$)': 'h' } as const;

export const wrapperPrograms: Programs = {
  /** A letter that is taken to have a value hides the command behind it: `setsid -f rm` has none. */
  ...each('nohup setsid chronic unbuffer catchsegv eatmydata', { is: 'r', runs: 0 }),
  'dbus-run-session': {
    is: 'r',
    runs: 0,
    with: { '--config-file --dbus-daemon': 'm' },
    values: '--config-file --dbus-daemon',
  },
  caffeinate: { is: 'r', runs: 0, values: '-t -w' },
  'xvfb-run': {
    is: 'r',
    runs: 0,
    with: { '-e --error-file -f --auth-file': 'm' },
    values: '-e -f -n -p -s -w --error-file --auth-file --server-num --xauth-protocol --server-args --wait',
  },
  fakeroot: {
    is: 'r',
    runs: 0,
    with: { '-s --save': 'm', '-l --lib -f --faked': 'm' },
    values: '-l -f -s -i -b --lib --faked --save --load --fd-base',
  },
  rlwrap: {
    is: 'r',
    runs: 0,
    with: { '-H --history-filename -l --logfile -z --filter': 'm' },
    values: '-b -C -D -f -g -H -l -M -O -P -q -s -S -t -w -z --history-filename --logfile --filter --file',
  },
  nice: { is: 'r', runs: 0, values: '-n --adjustment' },
  ionice: { is: 'r', runs: 0, values: '-c -n -p --class --classdata' },
  /** The first operand of `setarch` may be one of these, or the command. */
  ...each(
    'setarch linux32 linux64 i386 i486 i586 i686 athlon x86_64 uname26 arm armv7l armv8l aarch64 ppc ppc32 ppc64 ppc64le ' +
      's390 s390x mips mips32 mips64 sparc sparc32 sparc64 ia64 alpha parisc riscv32 riscv64 loongarch64',
    { is: 'r', runs: 0 },
  ),
  chrt: { is: 'r', runs: 1, values: '-T -P -D -p' },
  ...each('choom uclampset', { is: 'r', runs: 0, values: '-n -p -m -M --adjust --pid' }),
  numactl: {
    is: 'r',
    runs: 0,
    values: '-i -w -m -p -P -N -C --interleave --membind --preferred --cpunodebind --physcpubind',
  },
  ifne: { is: 'r', runs: 0 },
  'ssh-agent': { is: 'm', runs: 0, values: '-a -E -O -P -t' },
  ...each('ccache distcc sccache', { is: 'm', runs: 0 }),
  bear: { is: 'm', runsAfter: '--' },
  ...each('op doppler infisical', {
    is: 'm',
    subcommands: { run: { is: 'm', runs: 0, values: '--env --env-file --path --project --config -p -c' } },
    otherwise: { is: 'm' },
  }),
  direnv: { is: 'm', subcommands: { exec: { is: 'm', runs: 1 } }, otherwise: { is: 'm' } },
  'dumb-init': { is: 'r', runs: 0, values: '-r --rewrite' },
  tini: { is: 'r', runs: 0, values: '-p -e' },
  sshpass: { is: 'r', runs: 0, values: '-f -d -p -e -P' },
  faketime: { is: 'r', runs: 1 },
  taskset: { is: 'r', runs: 1, values: '-p' },
  timeout: { is: 'r', runs: 1, values: '-k -s --kill-after --signal' },
  stdbuf: { is: 'r', runs: 0, values: '-i -o -e --input --output --error' },
  time: { is: 'r', runs: 0, with: { '-o --output': 'm' }, values: '-f -o --format --output' },
  flock: { is: 'r', runs: 1, text: '-c --command', values: '-w -E --wait --timeout --conflict-exit-code' },
  prlimit: { is: 'r', runs: 0, values: '-p --pid -o --output' },
  setpriv: {
    is: 'r',
    runs: 0,
    values: `--reuid --regid --ruid --euid --rgid --egid --groups --inh-caps --ambient-caps --bounding-set --securebits \
--pdeathsig --ptracer --selinux-label --apparmor-profile --landlock-access --landlock-rule --seccomp-filter`,
  },
  script: { is: 'm', text: '-c --command', bare: 'mi', values: '-c -I -O -B -T -E' },
  strace: {
    is: 'm',
    runs: 0,
    valued: { '-p --attach': firstProcess },
    values: `-e -o -p -s -u -a -S -P -E -I -O -X -U -b --attach --output --trace --user --env --string-limit --columns \
--trace-path --interruptible --summary-sort-by --summary-columns --summary-syscall-overhead --const-print-style`,
    why: 'traces other processes',
  },
  ltrace: {
    is: 'm',
    runs: 0,
    valued: { '-p': firstProcess },
    values: '-e -o -p -s -u -a -l -n -x -A -D -F -w --output --library --indent --align --config --where',
    why: 'traces other processes',
  },
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
  hyperfine: {
    is: 'm',
    runsText: true,
    text: '-p --prepare -c --cleanup -s --setup -C --conclude',
    values: '-w -r -m -M -n -L -P -u -S -D --warmup --runs --min-runs --max-runs --shell --command-name',
  },
  watch: { is: 'i', runsText: true, values: '-n -q -s --interval --equexit --shotsdir' },
  'start-stop-daemon': { is: 'm', text: '-x --exec', values: '-x -a -p -u -n -d' },
  nodemon: { is: 'm', text: '-x --exec', values: '-x -w -e -i' },
  entr: { is: 'm', runs: 0, text: '-s' },
  ...each('dotenv dotenvx', { is: 'm', runs: 0, values: '-e -f -v' }),
  ...each('cross-env cross-env-shell', { is: 'r', runs: 0, assignments: true }),
  'env-cmd': { is: 'r', runs: 0, values: '-e -f -r --environments --file --rc-file' },
  ...each('command', { is: 'r', runs: 0, only: { '-v -V': 'r' } }),
  ...each('builtin busybox toybox nocorrect noglob', { is: 'r', runs: 0, with: { '--install': 'm' } }),
  exec: { is: 'r', runs: 0, values: '-a' },
};
