/** The calls of a keeper's library beside each other: how many, whose they are, what they hold, and what stops and ends them. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../test/support/process.js';
import { isRoot } from '../../test/support/users.js';
import { nativeProgram } from '../base/native-program.js';

const { EISDIR } = constants.errno;

/** Makes the copy of a call when it has come, and says what it did, a line each. `look` is answered by what a program sees that it starts. */
const keeperScript = `
const fs = require('node:fs');
const k = {exports: {}};
process.dlopen(k, process.argv[1]);
const library = k.exports;
const say = (value) => fs.writeSync(1, JSON.stringify(value) + '\\n');
const links = () => fs.readdirSync('/proc/self/fd').flatMap((name) => {
  try { return [fs.readlinkSync('/proc/self/fd/' + name)]; } catch { return []; }
});
const bytes = Buffer.alloc(4096);
const place = fs.openSync(process.argv[2], fs.constants.O_RDONLY);
const onto = library.listen(place, 'occupied');
library.close();
const become = () => {
  const size = library.await(bytes);
  const [word] = bytes.toString('latin1', 5, size).split('\\0');
  library.become(bytes, size, size);
  const [, , group] = fs.readFileSync('/proc/self/stat', 'latin1').split(') ')[1].split(' ');
  process.stdout.write(JSON.stringify({ links: links(), group: Number(group) }) + '\\n');
  if (word === 'hang') for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  if (word === 'idle') return library.endWhenIdle(0);
  library.end(0);
};
const serve = () => {
  const copy = library.make();
  if (copy === 0) return become();
  const again = library.make();
  library.drop();
  say({ onto, same: copy === again, isGone: !fs.existsSync('/proc/' + copy), listening: library.listen(place, 'socket') });
  for (;;) {
    const size = library.next(bytes, 600000);
    if (size <= 0) { say({ next: size, running: library.running() }); continue; }
    const text = bytes.toString('latin1', 5, size);
    if (text.startsWith('look')) {
      const { stdout } = require('node:child_process').spawnSync('ls', ['-l', '/proc/self/fd']);
      say({ seen: [...stdout.toString().matchAll(/ (\\d+) -> (.*)/g)].filter(([, number]) => number > 2).map(([, , to]) => to) });
      library.refuse();
    } else {
      if (library.make() === 0) return become();
      library.give();
    }
  }
};
serve();
`;

/** Functions of a caller, in Python, which has these sockets; what the last line of a script prints is its result. */
const callerScript = `
import array, fcntl, json, os, socket, sys, time
place = sys.argv[1]
def call():
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(os.path.join(place, 'socket'))
    connection.settimeout(60)
    return connection
def hear(connection):
    return connection.recv(64).decode('latin1')[:1]
def ask(connection, word):
    request = os.memfd_create('request', os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(request, word.encode() + b'\\0')
    fcntl.fcntl(request, 1033, 2 | 4 | 8)
    read, write = os.pipe()
    null = os.open('/dev/null', os.O_RDWR)
    sent = array.array('i', [request, os.open('/', os.O_PATH), null, write, null, request])
    connection.sendmsg([b'A'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
    os.close(request)
    return read, write
def begin(word):
    connection = call()
    hear(connection)
    read, write = ask(connection, word)
    ready = connection.recv(64)
    connection.send(b'G')
    text = os.read(read, 65536).decode()
    return connection, int.from_bytes(ready[1:5], 'little'), json.loads(text), write
def say(value):
    print(json.dumps(value), flush=True)
`;

describe('calls of a keeper beside each other', () => {
  let place = '';
  let keeper: ChildProcess;
  const said: Record<string, unknown>[] = [];
  const callers: ChildProcess[] = [];

  before(async () => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-keeper-calls-')));
    writeFileSync(join(place, 'socket'), 'of one that was killed');
    const words = ['--single-threaded', '-e', keeperScript, nativeProgram('keeper.node'), place];
    mkdirSync(join(place, 'occupied'));
    keeper = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'], cwd: '/' });
    let text = '';
    keeper.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      said.push(...lines.map((line) => JSON.parse(line)));
    });
    await until(() => said.length > 0, 'it listens');
  });
  after(() => {
    for (const each of [keeper, ...callers]) each.kill('SIGKILL');
    rmSync(place, { recursive: true });
  });

  /** A caller that runs this; `lines` are what it said, and what it says is waited for. */
  function caller(script: string) {
    const child = spawn('python3', ['-c', callerScript + script, place], { stdio: ['pipe', 'pipe', 'inherit'] });
    let text = '';
    callers.push(child);
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    const line = async (index = 0): Promise<unknown> => {
      await until(() => text.split('\n').length > index + 1 || child.exitCode !== null, 'the caller says it');
      return JSON.parse(text.split('\n')[index] ?? '');
    };
    return { child, line };
  }
  const stateOf = (pid: number) => /\) (\w) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
  const isGone = (pid: number) => !existsSync(`/proc/${pid}`) || stateOf(pid) === 'Z';

  it('come by a socket that takes the place of an old one, and of nothing else; a copy is made once and ended', () => {
    assert.deepEqual(said[0], { onto: -EISDIR, same: true, isGone: true, listening: 0 });
  });

  it('are a hundred and twenty-eight at the most, and one more is refused and the next heard', async () => {
    // Those that ask nothing are let go after a second: where that comes first, it is tried again.
    const { line } = caller(`
for tries in range(30):
    begun = time.monotonic()
    callers = [call() for _ in range(128)]
    heard = [hear(each) for each in callers]
    more = [hear(call()) for _ in range(3)]
    if time.monotonic() - begun < 0.9: break
    callers = [each.close() for each in callers]
after = [hear(each) for each in callers]
say([heard.count('H'), more, after.count(''), time.monotonic() - begun >= 0.9, hear(call())])
`);
    assert.deepEqual(await line(), [128, ['', '', ''], 128, true, 'H']);
  });

  it('are let go where they say that they are ready, and begin nothing', async () => {
    const { line } = caller(`
connection = call()
hear(connection)
ask(connection, 'end')
say([hear(connection), hear(connection)])
`);
    assert.deepEqual(await line(), ['R', '']);
  });

  it('hold nothing of each other, are of no group but their own, and leave pipes as they were', async () => {
    const { line } = caller(`
hanging, process, first, _ = begin('hang')
results = []
for word in ['end', 'idle']:
    connection, other, second, write = begin(word)
    hear(connection)
    results.append([second['group'] == other, second['links'], fcntl.fcntl(write, fcntl.F_GETFL) & os.O_NONBLOCK])
looking = call()
hear(looking)
ask(looking, 'look')
hear(looking)
say([first['group'] == process, results])
`);
    const [ofHanging, results] = (await line()) as [boolean, [boolean, string[], number][]];
    assert.equal(ofHanging, true);
    for (const [isOwnGroup, links, flags] of results) {
      const held = links.filter((link) => /socket:|pidfd|memfd:request/.test(link)).map((link) => link.split(':')[0]);
      assert.deepEqual([isOwnGroup, held, flags], [true, ['socket'], 0]);
    }
    await until(() => said.some(({ seen }) => seen !== undefined), 'a program has looked');
    const seen = said.find((each) => each['seen'] !== undefined)?.['seen'] as string[];
    const ofKeeper = seen.filter((link) => /socket:|anon_inode:|memfd:|ctx-keeper/.test(link));
    assert.deepEqual([seen.length > 0, ofKeeper], [true, []]);
  });

  it('end by a signal as a program does, are stopped with their caller, and end with it', async () => {
    const signalled = caller(`
connection, process, _, _ = begin('hang')
os.kill(process, 15)
say(int.from_bytes(connection.recv(64)[1:5], 'little'))
`);
    assert.equal(await signalled.line(), constants.signals.SIGTERM);
    const { child, line } = caller(`
connection, process, _, _ = begin('hang')
say(process)
sys.stdin.read()
`);
    const process = Number(await line());
    for (const [signal, state] of [
      ['SIGSTOP', 'T'],
      ['SIGCONT', 'S'],
      ['SIGSTOP', 'T'],
    ] as const) {
      child.kill(signal);
      await until(() => stateOf(process) === state, `${signal}: its process is in ${state}`);
    }
    const heard = said.length;
    child.kill('SIGKILL');
    await until(() => isGone(process), 'its process has ended');
    await until(() => said.length > heard, 'the keeper knows that no caller is left');
    assert.equal(said.at(-1)?.['next'], 0);
  });

  it('are of one user and group alone', { skip: isRoot ? false : 'needs root, to be somebody else' }, async () => {
    chmodSync(place, 0o755);
    chmodSync(join(place, 'socket'), 0o777);
    const { line } = caller(`
heard = []
for user, group in [(0, 0), (65534, 0), (0, 65534), (65534, 65534)]:
    child = os.fork()
    if child == 0:
        os.setegid(group)
        os.seteuid(user)
        os._exit(1 if hear(call()) == 'H' else 0)
    heard.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
say(heard)
`);
    assert.deepEqual(await line(), [1, 0, 0, 0]);
  });

  it('end where the keeper is killed', async () => {
    const { line } = caller(`
connection, process, _, _ = begin('hang')
say(process)
sys.stdin.read()
`);
    const process = Number(await line());
    keeper.kill('SIGKILL');
    await until(() => isGone(process), 'its process has ended');
  });
});
