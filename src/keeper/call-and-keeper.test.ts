/** `native/call` against a keeper that says whatever it likes: when a call returns, and with what. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, it } from 'node:test';
import { nativeProgram } from '../base/native-program.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-call-and-keeper-')));
after(() => rmSync(base, { recursive: true }));
const store = join(base, 'store');
const program = join(base, 'program', 'ctx.cjs');
for (const directory of [store, dirname(program), join(base, 'native'), join(base, 'bin')])
  mkdirSync(directory, { recursive: true, mode: 0o700 });
writeFileSync(program, '');
/** In the place of Node's: it says that it was started. */
writeFileSync(join(base, 'bin', 'node'), '#!/bin/sh\nprintf node\nexit 9\n', { mode: 0o755 });

/** As native/call names the place of a keeper: by the program's directory and the times of its build. */
function keeperKey(): string {
  const times = ['program', 'native'].map((name) => statSync(join(base, name), { bigint: true }).mtimeNs);
  const bytes = Buffer.from([dirname(program), ...times].join(' '));
  return bytes
    .reduce((value, byte) => BigInt.asUintN(64, (value ^ BigInt(byte)) * 0x100000001b3n), 0xcbf29ce484222325n)
    .toString(16)
    .padStart(16, '0');
}

const place = join(store, 'keeper', keeperKey());
mkdirSync(place, { recursive: true, mode: 0o700 });

/** Does these steps once the call has said that its process may begin. */
const keeperScript = `
import array, json, os, socket, struct, sys, time
steps = json.loads(sys.argv[1])
os.dup2(os.memfd_create('0' * 32), 4)
listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if os.path.exists('socket'): os.unlink('socket')
listener.bind('socket')
listener.listen(1)
print('listens', flush=True)
connection, _ = listener.accept()
connection.send(b'H')
_, control, _, _ = connection.recvmsg(64, socket.CMSG_SPACE(6 * 4))
descriptors = array.array('i', control[0][2])
node = os.pread(descriptors[0], 4096, 0).split(bytes(1))[1].decode()
for sent in descriptors: os.close(sent)
waits, lets = os.pipe()
process = os.fork()
if process == 0:
    connection.close()
    os.close(lets)
    os.read(waits, 1)
    os._exit(0)
connection.send(b'R' + struct.pack('i', process))
if connection.recv(1) != b'G': sys.exit(0)
caller = struct.unpack('iII', connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
def waits_still():
    try:
        return open('/proc/%d/stat' % caller).read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False
def say(packet):
    try:
        connection.send(packet)
    except BrokenPipeError:
        pass  # it has heard enough, and has returned
seen = []
for name, *rest in steps:
    if name in ('E', 'D'): say(name.encode() + bytes(rest))
    elif name == 'S': say(b'S' + struct.pack('i', rest[0]))
    elif name == 'closes': connection.close()
    elif name == 'pauses': time.sleep(0.3)
    elif name == 'waits': seen.append(waits_still())
    elif name == 'ends':
        os.write(lets, b'.')
        os.waitpid(process, 0)
    elif name == 'returned':
        end = time.time() + 30
        while waits_still() and time.time() < end: time.sleep(0.01)
        seen.append(waits_still())
print(json.dumps({'waited': seen, 'node': node}), flush=True)
os.close(lets)
`;

type Step = readonly [string, ...number[]];

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
  /** For each step that asked, whether the call had not returned yet. */
  readonly waited: readonly boolean[];
  /** Device and inode of the Node that it would have started. */
  readonly node: string;
}

/** Undefined where the keeper was too slow, on a busy machine: the call has started another Node then. */
async function asked(steps: readonly Step[], cwd: string, before: string): Promise<Ended | undefined> {
  const keeper = spawn('python3', ['-c', keeperScript, JSON.stringify(steps)], {
    cwd: place,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  keeper.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await once(keeper.stdout, 'data');
  const child = spawn(nativeProgram('call'), ['--keeper', program, 'status'], {
    cwd,
    env: { CTX_DATA: store, PATH: `${before}${join(base, 'bin')}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = ['', ''];
  for (const [index, stream] of [child.stdout, child.stderr].entries())
    stream.setEncoding('utf8').on('data', (text: string) => {
      texts[index] += text;
    });
  const keeperEnded = once(keeper, 'close');
  const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  const [stdout = '', stderr = ''] = texts;
  if (stdout === 'node') keeper.kill('SIGKILL');
  await keeperEnded;
  if (stdout === 'node') return undefined;
  return { code, signal, stderr, ...JSON.parse(said.trimEnd().split('\n').at(-1) ?? '') };
}

async function call(steps: readonly Step[], cwd = base, before = ''): Promise<Ended> {
  for (let tries = 0; tries < 20; tries++) {
    const ended = await asked(steps, cwd, before);
    if (ended !== undefined) return ended;
  }
  return assert.fail('the call started another Node each time');
}

const { SIGTERM, SIGKILL } = constants.signals;

it('a call that ends waits for the process that ran it: what that held is free then', async () => {
  for (const [what, steps] of Object.entries<readonly Step[]>({
    'an exit code': [['E', 5], ['pauses'], ['waits'], ['ends']],
    'an exit code, and the keeper is gone': [['E', 5], ['closes'], ['pauses'], ['waits'], ['ends']],
    'an exit code after the end': [['pauses'], ['waits'], ['ends'], ['E', 5]],
    'nothing yet': [['pauses'], ['waits'], ['E', 5], ['pauses'], ['waits'], ['ends']],
  })) {
    const { code, waited, stderr } = await call(steps);
    assert.deepEqual([code, stderr], [5, ''], what);
    assert.ok(waited.length > 0 && waited.every(Boolean), `${what}: ${waited}`);
  }
});

it('a call whose process has given everything back does not wait for it', async () => {
  const { code, waited } = await call([['D', 6], ['returned'], ['ends']]);
  assert.deepEqual([code, waited], [6, [false]]);
});

it('a call ends as its process did, and says so where no one knows how that was', async () => {
  for (const [steps, code, signal, said] of [
    [[['ends'], ['S', 7 << 8]], 7, null, /^$/],
    [[['E', 8], ['ends'], ['S', 8 << 8]], 8, null, /^$/],
    [[['ends'], ['S', SIGTERM]], null, 'SIGTERM', /^$/],
    [[['ends'], ['S', SIGKILL]], null, 'SIGKILL', /^$/],
    [[['closes'], ['ends']], 70, null, /^ctx: the keeper ended/],
    [[['ends'], ['closes']], 70, null, /^ctx: the keeper ended/],
    [[['ends'], ['returned']], 70, null, /^ctx: the keeper ended/],
  ] as const satisfies readonly (readonly [readonly Step[], number | null, string | null, RegExp])[]) {
    const ended = await call(steps);
    assert.deepEqual([ended.code, ended.signal], [code, signal], JSON.stringify(steps));
    assert.match(ended.stderr, said);
  }
});

it('a call says which Node is the first on PATH, where a place without a name is its own directory', async () => {
  const other = join(base, 'other');
  mkdirSync(other);
  writeFileSync(join(other, 'node'), '#!/bin/sh\nprintf node\nexit 9\n', { mode: 0o755 });
  const identityOf = (directory: string) => {
    const { dev, ino } = statSync(join(directory, 'node'), { bigint: true });
    return `${dev}:${ino}`;
  };
  for (const [before, expected] of [
    ['', join(base, 'bin')],
    [':', other],
    ['.:', other],
    ['/nowhere::', other],
  ] as const) {
    assert.equal((await call([['D', 0], ['ends']], other, before)).node, identityOf(expected), before);
  }
});

it('an alarm that the caller has set before goes on in Node', async () => {
  const slow = join(base, 'slow');
  mkdirSync(slow);
  writeFileSync(join(slow, 'node'), '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  const alarmed = 'import os, signal, sys; signal.alarm(1); os.execv(sys.argv[1], sys.argv[1:])';
  for (const words of [
    ['--node', program, 'status'],
    ['--node', program, 'hook', 'json'],
    [program, 'status'],
  ]) {
    const env = { CTX_DATA: store, PATH: `${slow}:${process.env['PATH']}` };
    const child = spawn('python3', ['-c', alarmed, nativeProgram('call'), ...words], {
      cwd: base,
      env,
      stdio: 'ignore',
    });
    const [code, signal] = await once(child, 'close');
    assert.deepEqual([code, signal], [null, 'SIGALRM'], words.join(' '));
  }
});
