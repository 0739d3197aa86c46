/**
 * A terminal of the jail's own in the place of the person's, by the jail program alone: what is typed and shown goes through, sizes and
 * modes are as there, and what is inside has nothing of the other one.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { AskedJail } from '../support/asked-jail.js';
import { bareJail, type PlanOptions } from '../support/bare-jail.js';

const jail = bareJail();
const options: PlanOptions = { weakened: ['landlock', 'seccomp'] };

/** A person at a terminal of 33 lines and 77 columns whose key to erase is ^X; prints, as JSON, what happened there. */
const person = `
import fcntl, json, os, pty, select, struct, sys, termios, time
errors, steps, program = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
master, slave = pty.openpty()
def size(rows, columns): fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
size(33, 77)
modes = termios.tcgetattr(slave)
modes[6][termios.VERASE] = b'\\x18'
termios.tcsetattr(slave, termios.TCSANOW, modes)
before, typed = termios.tcgetattr(slave), []
job = os.fork()
if job == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    os.dup2(slave, 0); os.dup2(slave, 1)
    if errors == 'there': os.dup2(slave, 2)
    os.execv(program[0], program)
for each in (3, 4): os.close(each)
shown, end = b'', time.monotonic() + 60
def look(seconds):
    global shown
    while select.select([master], [], [], seconds)[0]: shown, seconds = shown + os.read(master, 65536), 0
for what, *rest in steps:
    if what == 'types': os.write(master, rest[0].encode())
    if what == 'size': size(*rest)
    if what == 'signal': os.kill(job, rest[0])
    if what == 'raw': typed.append(bool(termios.tcgetattr(slave)[3] & termios.ICANON))
    while what == 'shows' and rest[0].encode() not in shown and time.monotonic() < end: look(0.05)
    if what == 'shows' and rest[0].encode() not in shown: os.kill(job, 9)
while os.waitpid(job, os.WNOHANG)[0] == 0: look(0.02)
look(0)
print(json.dumps({'shown': shown.decode(), 'restored': termios.tcgetattr(slave) == before, 'canonical': typed, 'person': str(os.fstat(slave).st_dev)}))`;

/** A call that carries its terminal: it types a line when \`told\` is shown, and prints what the jail said to it. */
const carrier = `
import array, fcntl, json, os, pty, select, socket, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
master, slave, carried = (fcntl.fcntl(each, fcntl.F_DUPFD, 20) for each in (*pty.openpty(), theirs.fileno()))
if os.fork() == 0:
    for place, end in ((0, slave), (1, slave), (2, slave), (8, carried)): os.dup2(end, place)
    os.closerange(9, 64)
    os.execv(sys.argv[1], sys.argv[1:])
for each in (3, 4, 5, carried): os.close(each)
theirs.close()
said, shown, watched = [], b'', [ours]
while ours in watched:
    for each in select.select(watched, [], [])[0]:
        if each is ours:
            packet, more, *_ = ours.recvmsg(8, 64)
            if packet[:1] in (b'', b'E'): watched.remove(ours)
            if not packet: continue
            said.append(packet[:1].decode())
            if said[-1] == 'T': watched.append(array.array('i', more[0][2])[0])
            if said[-1] != 'U': ours.send(packet[:1])
        else:
            try: some = os.read(each, 4096)
            except OSError: some = b''
            if not some: watched.remove(each)
            if b'told' not in shown and b'told' in shown + some: os.write(each, b'line\\r')
            shown += some
print(json.dumps(said))
os.wait()`;

interface Seen {
  readonly shown: string;
  readonly restored: boolean;
  readonly canonical: readonly boolean[];
  readonly person: string;
}

type Step = readonly [string, ...(string | number)[]];

async function atTerminal(script: string, steps: readonly Step[], errors: 'there' | 'elsewhere' = 'there') {
  const [said, other] = [join(jail.base, 'said'), join(jail.base, 'errors')];
  for (const path of [said, other]) {
    rmSync(path, { force: true });
    writeFileSync(path, '');
  }
  const streams = [openSync('/dev/null', 'r'), openSync(said, 'w'), openSync(other, 'w')] as const;
  const wrapper = ['/usr/bin/python3', '-c', person, errors, JSON.stringify(steps)];
  const asked = new AskedJail(jail, jail.plan(['sh', '-c', script], options), { wrapper, streams });
  await asked.closed;
  for (const each of streams) closeSync(each);
  const text = readFileSync(said, 'utf8');
  assert.notEqual(text, '', readFileSync(other, 'utf8'));
  const status = Number(/ exited (\d+) /.exec(asked.said.at(-1) ?? '')?.[1]);
  return { ...(JSON.parse(text) as Seen), status, errors: readFileSync(other, 'utf8') };
}

const loop = 'while :; do read line || continue; [ "$line" = end ] && exit 6; echo "got $line"; done';

describe('a command at the person’s terminal', () => {
  it('has one of its own, with its size and modes, in front of it', async () => {
    const script = `stty size; stty -a | grep -ow "erase = [^;]*"; [ "$(ps -o tpgid= -p $$ | tr -d " ")" = $$ ] && echo front
for each in 0 1 2; do stat -Lc "%t:%T" /proc/$$/fd/$each; done | sort -u | wc -l; test -c /dev/tty && : < /dev/tty && echo tty
echo of $(python3 -c 'import os; print(os.fstat(0).st_dev)'); echo ready; read line; exit 5`;
    const {
      shown,
      restored,
      canonical,
      person: theirs,
      status,
    } = await atTerminal(script, [['shows', 'ready'], ['raw'], ['types', 'x\r']]);
    assert.deepEqual(shown.split('\r\n').slice(0, 5), ['33 77', 'erase = ^X', 'front', '1', 'tty'], shown);
    assert.deepEqual([restored, canonical, status], [true, [false], 5 << 8]);
    const own = /of (\d+)/.exec(shown)?.[1];
    assert.ok(own !== undefined && own !== theirs, 'it is of another filesystem');
  });

  it('gets what is typed, keys that signal, and new sizes', async () => {
    const { SIGWINCH } = constants.signals;
    const script = `trap 'echo resized $(stty size)' WINCH; trap 'echo interrupted' INT; trap 'echo quit' QUIT; echo ready; ${loop}`;
    const { shown, restored, status } = await atTerminal(script, [
      ['shows', 'ready'],
      ['types', 'some words\r'],
      ['shows', 'got some words'],
      ['types', 'wrong\x18\x18\x18\x18\x18right\r'],
      ['shows', 'got right'],
      ['types', '\x03'],
      ['shows', 'interrupted'],
      ['types', '\x1c'],
      ['shows', 'quit'],
      ['size', 44, 88],
      ['signal', SIGWINCH],
      ['shows', 'resized 44 88'],
      ['types', 'end\r'],
    ]);
    assert.match(shown, /some words\r\ngot some words/, 'it is echoed once, inside');
    assert.deepEqual([restored, status], [true, 6 << 8]);
  });

  it('has its errors there, or where they were sent', async () => {
    const script = 'test -t 2 && echo yes || echo no; echo error >&2; exit 0';
    const there = await atTerminal(script, []);
    assert.deepEqual([there.shown, there.errors], ['yes\r\nerror\r\n', '']);
    const elsewhere = await atTerminal(script, [], 'elsewhere');
    assert.deepEqual([elsewhere.shown, elsewhere.errors], ['no\r\n', 'error\n']);
  });

  it('has all of its last output shown, and the modes given back, however it ends', async () => {
    const many = await atTerminal('seq 20000; exit 1', []);
    assert.deepEqual([many.shown.split('\r\n').length, many.restored, many.status], [20_001, true, 1 << 8]);
    for (const [script, steps, status] of [
      ['kill -KILL $$', [], 9],
      [
        'echo ready; sleep 600',
        [
          ['shows', 'ready'],
          ['signal', constants.signals.SIGTERM],
        ],
        15,
      ],
      [
        'echo ready; sleep 600',
        [
          ['shows', 'ready'],
          ['types', '\x03'],
        ],
        2,
      ],
      ['stty raw -echo; exit 3', [], 3 << 8],
    ] as const) {
      const ended = await atTerminal(script, steps);
      assert.deepEqual([ended.status, ended.restored], [status, true], script);
    }
  });

  it('that cannot be started leaves the terminal as it was', async () => {
    const plan = jail.plan(['/nothing/here'], options);
    const said = join(jail.base, 'said');
    const streams = [openSync('/dev/null', 'r'), openSync(said, 'w'), openSync('/dev/null', 'w')] as const;
    const wrapper = ['/usr/bin/python3', '-c', person, 'there', '[]'];
    const asked = new AskedJail(jail, plan, { wrapper, streams });
    await asked.closed;
    for (const each of streams) closeSync(each);
    assert.match(asked.said.join('\n'), /^0 failed \d+ command 2 \/nothing\/here$/);
    const { restored, shown } = JSON.parse(readFileSync(said, 'utf8')) as Seen;
    assert.deepEqual([restored, shown], [true, '']);
  });

  it('keeps the one that a call carries where a command beside it cannot be started', async () => {
    const said = join(jail.base, 'said');
    const streams = [openSync('/dev/null', 'r'), openSync(said, 'w'), openSync('/dev/null', 'w')] as const;
    const script = 'trap "echo told" USR1; echo ready; until read line; do :; done; exit 5';
    const wrapper = ['/usr/bin/python3', '-c', carrier];
    const asked = new AskedJail(jail, jail.plan(['sh', '-c', script], options), { mode: 'beside', wrapper, streams });
    await asked.reported(/^0 started$/);
    asked.ask(1, request.command, planBytes(jail.keptPlans(['/nothing/here'], options).command));
    await asked.reported(/^1 failed /);
    // Answered when the one that failed has been waited for.
    const usr1 = Buffer.alloc(4);
    usr1.writeUInt32LE(constants.signals.SIGUSR1);
    asked.ask(0, request.signal, usr1);
    await asked.reported(/^0 exited 1280 /);
    await asked.end();
    for (const each of streams) closeSync(each);
    assert.deepEqual(JSON.parse(readFileSync(said, 'utf8')), ['T', 'U', 'E']);
  });
});
