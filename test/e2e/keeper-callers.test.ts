/** Callers of a keeper: what their terminal, their control group, their directory and their end are to calls that it runs. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, it } from 'node:test';
import {
  callsHaveEnded,
  callsOf,
  callsRunBy,
  endKeeper,
  isAlive,
  keepCompany,
  keeperOf,
  keeperOff,
  keeperOn,
  leaveKeeper,
  startKeeper,
} from '../support/keeper.js';
import { until } from '../support/process.js';
import { useStage } from '../support/stage.js';
import { forUsersInTurn, isRoot } from '../support/users.js';

/**
 * A session with a terminal, in which a call is in the foreground with no stream of it; `key` is typed when it has said that it is ready.
 * Prints how it ended, whether it was stopped before, and what it said.
 */
const typed = `
import os, pty, signal, sys, time
key, said, words = sys.argv[1].encode(), sys.argv[2], sys.argv[3:]
def wait_for(text):
    for _ in range(600):
        if os.path.exists(said) and text in open(said).read(): return
        time.sleep(0.05)
    print('never said', text)
    sys.exit(1)
session, terminal = pty.fork()
if session == 0:
    call = os.fork()
    if call == 0:
        os.setpgid(0, 0)
        os.dup2(os.open('/dev/null', os.O_RDONLY), 0)
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
        os.dup2(1, 2)
        os.execv(words[0], words)
    try: os.setpgid(call, call)
    except PermissionError: pass
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.tcsetpgrp(0, call)
    _, status = os.waitpid(call, os.WUNTRACED)
    stopped = os.WIFSTOPPED(status)
    if stopped:
        time.sleep(0.3)
        os.killpg(call, signal.SIGCONT)
        _, status = os.waitpid(call, 0)
    open(said, 'a').write('stopped %s, status %d\\n' % (stopped, status))
    os._exit(0)
wait_for('ready')
os.write(terminal, key)
os.waitpid(session, 0)
print(open(said).read(), end='')
`;

/** Asks the keeper as native/call does, with a request that has these seals, cut or not, and goes away before anything is run. */
const askingKeeper = `
import fcntl, os, socket, sys
path, program, node, seals, cut, process, after = sys.argv[1:]
about = os.stat(node)
word = os.readlink(f'/proc/{process}/fd/4').removeprefix('/memfd:').removesuffix(' (deleted)')
# Of the caller that left it: this one has the same.
traits = open(f'/proc/{process}/cmdline').read().split('\\0')[-2]
request = ['1', f'{about.st_dev}:{about.st_ino}', f'{traits} {word}', '2', program, 'status']
request += [f'{name}={value}' for name, value in os.environ.items()]
file = os.memfd_create('request', os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
os.write(file, b''.join(os.fsencode(text) + b'\\0' for text in request)[:-1 if cut else None])
for seal in seals.split():
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, getattr(fcntl, 'F_SEAL_' + seal))
keeper = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
keeper.settimeout(20)
keeper.connect(path)
assert keeper.recv(16) == b'H'
socket.send_fds(keeper, [b'A'], [file, os.open('.', os.O_PATH), 0, 1, 2, file])
answer = keeper.recv(16)
# What comes where it never says that it is ready, too.
print(answer[:1].decode(), keeper.recv(16) if after and answer[:1] == b'R' else '')
`;

/**
 * Becomes the program that is named behind it, as `wall` says: in a Landlock domain that forbids to make block devices, with a filter of system
 * calls that lets every one through, or as it is. By code 77 where this kernel has no such wall.
 */
const walled = `
import ctypes, os, struct, sys
wall, words = sys.argv[1], sys.argv[2:]
os.environ.pop('LC_CTYPE', None) # of this Python's own
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
if wall == 'Landlock':
    rules = ctypes.create_string_buffer(struct.pack('Q', 1 << 11))
    domain = libc.syscall(444, rules, 8, 0)
    if domain < 0 or libc.syscall(446, domain, 0) != 0: sys.exit(77)
if wall == 'filter':
    allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7fff0000))
    program = ctypes.create_string_buffer(struct.pack('HP', 1, ctypes.addressof(allow)))
    if libc.prctl(22, 2, program, 0, 0) != 0: sys.exit(77)
os.execv(words[0], words)
`;

/** One after the other: calls of one test would be counted by another. */
const countedCalls = { concurrency: 1 };

forUsersInTurn((user, turn) => {
  const stage = useStageWithCompany();
  const noNamespaceOfRoot =
    user.uid === 0 || !isRoot ? 'needs a user other than root, and root to put it into a namespace' : false;
  let pid = 0;
  before(async () => {
    pid = await startKeeper(stage, stage.project());
  });
  after(() => endKeeper(stage.store));

  function useStageWithCompany() {
    const company = keepCompany(user);
    after(() => company.end());
    return useStage(user);
  }

  for (const [name, key, script] of [
    ['Ctrl-C', '\u0003', 'echo ready; sleep 63; echo late'],
    ['Ctrl-C, where the command goes on', '\u0003', 'trap "echo trapped; exit 9" INT; echo ready; sleep 63 & wait'],
    ['Ctrl-\\', '\u001c', 'echo ready; sleep 63; echo late'],
    ['Ctrl-Z', '\u001a', 'echo ready; sleep 1; echo done'],
  ] as const) {
    turn.test(`ends alike by ${name} at a terminal that is none of its streams`, async () => {
      const ends: string[] = [];
      for (const env of [keeperOff, keeperOn]) {
        const directory = stage.project();
        const said = join(stage.makeDirectory('said'), `${ends.length}-${name.replaceAll(/\W/g, '')}`);
        const words = ['python3', '-c', typed, key, said, stage.program, 'exec', '--', 'sh', '-c', script];
        const { stdout, stderr } = await stage.start(directory, words, { env }).finished;
        ends.push(stdout + stderr);
      }
      assert.equal(ends[1], ends[0]);
      assert.match(ends[0] ?? '', /^ready\n.*status \d+\n$/s);
    });
  }

  turn.test(
    'takes no request that could still be changed, whichever change it is, and none that does not end',
    async () => {
      const [key = ''] = readdirSync(join(stage.store, 'keeper'));
      const given = [join(stage.store, 'keeper', key, 'socket'), join(dirname(stage.program), '../dist/cli/ctx.cjs')];
      const answers = async (seals: string, cut = '', after = '') => {
        const words = ['python3', '-c', askingKeeper, ...given, process.execPath, seals, cut, `${pid}`, after];
        const { stdout, stderr } = await stage.start(stage.directory, words, { env: keeperOn }).finished;
        assert.match(stdout, /^[CR] .*\n$/, stderr);
        return stdout.trim();
      };
      // On a busy machine it may have no copy at hand.
      let whole = '';
      for (let tries = 0; tries < 20 && whole !== 'R'; tries++) whole = await answers('WRITE GROW SHRINK');
      assert.equal(whole, 'R');
      for (const seals of ['', 'GROW SHRINK', 'WRITE SHRINK', 'WRITE GROW'])
        assert.equal(await answers(seals), 'C', seals);
      assert.equal(await answers('WRITE GROW SHRINK', 'cut'), 'C');
      // Waited for in vain it is not said to have ended well.
      let last = 'C';
      for (let tries = 0; tries < 20 && last === 'C'; tries++) last = await answers('WRITE GROW SHRINK', '', 'after');
      assert.equal(last, "R b''");
    },
  );

  turn.test('is stopped by a signal that its caller cannot pass on, and goes on with it', async () => {
    await callsHaveEnded(pid);
    const words = ['exec', '--', 'sh', '-c', 'echo ready; sleep 3; exit 5'];
    const running = stage.startCtx(stage.project(), words, { env: keeperOn });
    await running.printed('ready');
    const [call = 0] = callsOf(pid);
    const state = () => /\) (\w) /.exec(readFileSync(`/proc/${call}/stat`, 'utf8'))?.[1];
    running.child.kill('SIGSTOP');
    await until(() => state() === 'T', 'its process is stopped');
    running.child.kill('SIGCONT');
    assert.equal((await running.finished).code, 5);
  });

  turn.test('is in no one’s way when its caller has its answer: no directory, no descriptor', async () => {
    const directory = stage.project('echo one > file');
    for (const words of [['status'], ['exec', '--', 'true'], ['diff']]) {
      await stage.ctx(directory, words, { env: keeperOn });
      for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
        assert.doesNotMatch(linkOf(`/proc/${name}/cwd`), new RegExp(`^${directory}`), `${words.join(' ')}: ${name}`);
      }
    }
  });

  turn.test('leaves its caller’s pipes as they were: what others write there next waits for room', async () => {
    const flags =
      'import fcntl, os; print("flags", *[fcntl.fcntl(n, fcntl.F_GETFL) & os.O_NONBLOCK for n in range(3)])';
    const directory = stage.project('echo one > file');
    for (const words of ['status', 'exec -- cat', 'exec --json -- true', 'diff', 'no-such-verb']) {
      const script = `sleep 0 | { ${stage.program} ${words}; python3 -c '${flags}'; } 2>&1 | cat`;
      const { stdout } = await stage.start(directory, ['sh', '-c', script], { env: keeperOn }).finished;
      assert.match(stdout, /^flags 0 0 0$/m, words);
    }
  });

  it('runs nothing for a caller in another control group, whose limits are its own', async (context) => {
    const groups = ['/sys/fs/cgroup/pids', '/sys/fs/cgroup'].find((path) => existsSync(join(path, 'cgroup.procs')));
    const group = join(groups ?? '/nowhere', `ctx-test-${process.pid}-${user.uid}`);
    const enter = `mkdir ${group} && echo 400 > ${group}/pids.max && echo $$ > ${group}/cgroup.procs || exit 77`;
    const script = `${enter}; exec ${stage.program} exec -- echo done`;
    await callsHaveEnded(pid);
    const ran = callsRunBy(pid);
    const { code, stdout, stderr } = await stage.start(stage.project(), ['sh', '-c', script], { env: keeperOn })
      .finished;
    // What the call leaves behind, to free the disk, ends a little later.
    if (existsSync(group)) await until(() => isRemoved(group), 'its group is empty');
    if (code === 77) {
      context.skip('this user may make no control group');
      return;
    }
    assert.equal(stdout, 'done\n', stderr);
    assert.equal(callsRunBy(pid), ran);
  });

  turn.test('asks nothing of it where a file of memory may not be as long as what is asked', async () => {
    const env = { ...keeperOn, LONG: 'x'.repeat(8000) };
    const script = `ulimit -f 8; exec ${stage.program} status`;
    const { code, stderr } = await stage.start(stage.project(), ['sh', '-c', script], { env }).finished;
    assert.equal(code, 1);
    assert.match(stderr, /no command has run here yet/);
  });

  const behind = (wall: string, store: string, words: readonly string[], directory = stage.project()) =>
    stage.start(directory, ['python3', '-c', walled, wall, stage.program, ...words], {
      env: { ...keeperOn, CTX_DATA: store },
    });

  turn.test('runs nothing for a caller in a Landlock domain of its own', async (context) => {
    const store = `${stage.directory}/walled`;
    const directory = stage.project();
    const other = await leaveKeeper(
      store,
      () => behind('none', store, ['exec', '--', 'touch', 'made'], directory).finished,
    );
    try {
      // It has everything else of such a caller; on a busy machine that does not wait for it.
      const before = callsRunBy(other);
      for (let tries = 0; tries < 10 && callsRunBy(other) === before; tries++) {
        assert.match((await behind('none', store, ['status'], directory).finished).stdout, /1 change/);
        await callsHaveEnded(other);
      }
      const ran = callsRunBy(other);
      assert.ok(ran > before, 'it runs one of a caller as itself');
      const { code, stdout, stderr } = await behind('Landlock', store, ['status'], directory).finished;
      if (code === 77) {
        context.skip('this kernel has no Landlock');
        return;
      }
      assert.match(stdout, /1 change/, stderr);
      await callsHaveEnded(other);
      assert.equal(callsRunBy(other), ran);
    } finally {
      await endKeeper(store);
    }
  });

  turn.test(
    'is not left by a caller with a filter of system calls, with a limit of time, or that was stopped',
    async () => {
      const [filtered = '', limited = '', stopped, later] = ['filtered', 'limited', 'stopped', 'later'].map(
        (name) => `${stage.directory}/${name}`,
      );
      const directory = stage.project();
      await behind('filter', filtered, ['status'], directory).finished;
      const inTime = ['sh', '-c', `ulimit -t 9000; exec ${stage.program} status`];
      await stage.start(directory, inTime, { env: { ...keeperOn, CTX_DATA: limited } }).finished;
      const env = { ...keeperOn, CTX_DATA: stopped ?? '' };
      const running = stage.startCtx(directory, ['exec', '--', 'sh', '-c', 'echo ready; exec sleep 67'], { env });
      await running.printed('ready');
      await stage.ctx(directory, ['stop', '--all'], { env });
      assert.notEqual((await running.finished).code, 0);
      // One that is called after both is there by then.
      const last = await startKeeper(stage, directory, later);
      assert.ok(isAlive(last));
      await endKeeper(later ?? '');
      assert.equal(keeperOf(stopped ?? ''), undefined);
      for (const store of [filtered, limited]) assert.equal(existsSync(join(store, 'keeper')), false, store);
    },
  );

  it('ends when its user has no other process in its namespaces', { skip: noNamespaceOfRoot }, async () => {
    const store = `${stage.directory}/alone`;
    // Made by root, whose processes this user cannot look at: nothing says that the namespace is another one.
    const become = `setpriv --reuid=${user.uid} --regid=${user.gid} --clear-groups`;
    // Called again where it took seconds, which leaves none.
    const call = `[ $((i % 300)) != 0 ] || ${stage.program} status`;
    const inner = `for i in $(seq 0 1200); do ${call}; [ ! -S ${store}/keeper/*/socket ] || break; sleep 0.1; done`;
    const words = ['unshare', '-m', 'sh', '-c', `${become} sh -c '${inner}'; :`];
    const options = { uid: 0, gid: 0, env: { ...keeperOn, CTX_DATA: store } };
    await stage.start(stage.project(), words, options).finished;
    const [key = ''] = readdirSync(join(store, 'keeper'));
    const { pid: alone } = JSON.parse(readFileSync(join(store, 'keeper', key, 'lock'), 'utf8')) as { pid: number };
    await until(() => !isAlive(alone), 'the keeper has ended');
  });
}, countedCalls);

function isRemoved(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch {
    return false; // a process is in it
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return ''; // it has ended, or is not to be seen
  }
}
