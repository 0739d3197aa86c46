/**
 * Two commands on one fork with different authority: they share its files, and nothing else. Each attack is tried by one that
 * joined against one that was there, and has to work between two processes without jails.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/process.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

/**
 * What the victim does: it leaves its number, a lock in memory, an abstract socket and a file that only it may read. `name` is nobody
 * else's: outside of jails, tests of another user and of another run are beside it.
 */
const victim = (secret: string, name: string) => `
  const fs = require('fs'), net = require('net');
  fs.writeFileSync('/dev/shm/${name}', 'won memory');
  globalThis.held = fs.openSync('${secret}');
  net.createServer((socket) => socket.end('won socket')).listen('\\0${name}', () => {
    const server = net.createServer((socket) => socket.end('won tcp')).listen(0, '127.0.0.1', () => {
      fs.writeFileSync('port', String(server.address().port));
      fs.writeFileSync('pid', String(process.pid));
    });
  });
  setInterval(() => fs.existsSync('stop') && process.exit(), 20);`;

/** Prints what it could do to a process of this number, and what it could see of another's. */
const attacker = (secret: string, name: string) => `
  const fs = require('fs'), net = require('net');
  const tell = (what, act) => { try { if (act() !== false) console.log('won ' + what); } catch { /* refused, as it is to be */ } };
  const pids = fs.readdirSync('/proc').filter((name) => /^\\d+$/.test(name) && name !== String(process.pid));
  const victims = pids.filter((pid) => { try { return fs.readFileSync('/proc/' + pid + '/cmdline', 'utf8').includes('victim.cjs'); } catch { return false; } });
  for (const pid of victims) {
    tell('signal', () => process.kill(Number(pid), 0));
    tell('environ', () => fs.readFileSync('/proc/' + pid + '/environ'));
    tell('descriptor', () => fs.readdirSync('/proc/' + pid + '/fd').some((fd) => { try { const at = '/proc/' + pid + '/fd/' + fd; return fs.statSync(at).isFile() && fs.readFileSync(at, 'utf8').includes('of the other'); } catch { return false; } }));
    tell('root', () => fs.readFileSync('/proc/' + pid + '/root${secret}'));
  }
  tell('secret', () => fs.readFileSync('${secret}'));
  tell('memory', () => fs.readFileSync('/dev/shm/${name}'));
  for (const at of ['\\0${name}', { port: Number(fs.readFileSync('port', 'utf8')), host: '127.0.0.1' }])
    net.connect(at).on('data', (text) => console.log(String(text))).on('error', () => {});`;

const hasPython = spawnSync('python3', ['-c', 'import ctypes']).status === 0;

/** Takes a stream of another command, and writes to it as long as somebody reads. */
const taker = `
import os, socket
server = socket.socket(socket.AF_UNIX)
server.bind("place")
server.listen()
print("ready", flush=True)
connection, _ = server.accept()
stream = socket.recv_fds(connection, 1, 1)[1][0]
connection.send(b"x")
try:
    while True: os.write(stream, b"more\\n")
except BrokenPipeError: pass`;

const giver = `
import socket
connection = socket.socket(socket.AF_UNIX)
connection.connect("place")
socket.send_fds(connection, [b"x"], [1])
connection.recv(1)`;

/** What has a number that another may guess: processes, System V memory and semaphores, the port of a proxy. */
const numbered = (key: number) => ({
  victim: `
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
memory, semaphore = libc.shmget(${key}, 4096, 0o1666), libc.semget(${key}, 1, 0o1666)
with open("facts.new", "w") as file: file.write(str(os.getpid()) + " " + os.environ.get("HTTP_PROXY", os.environ.get("http_proxy", "http://none")) + "\\n")
os.rename("facts.new", "facts")
while not os.path.exists("stop"): time.sleep(0.02)
libc.shmctl(memory, 0, None); libc.semctl(semaphore, 0, 0)`,
  attacker: `
import ctypes, os, re, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def reaches(act, pid):
    try: return act(pid) >= 0
    except OSError: return False
def is_other(pid):
    try:
        with open("/proc/%d/cmdline" % pid) as file: return "victim.py" in file.read()
    except OSError: return True
# Outside only the victim; in a jail every number that is not of its own processes and threads.
own = {int(task) for name in os.listdir("/proc") if name.isdigit() for task in os.listdir("/proc/%s/task" % name)} if sys.argv[1] == "inside" else set()
numbers = [int(open("facts").read().split()[0])] if sys.argv[1] == "outside" else range(1, 70000)
acts = {"signal": lambda pid: os.kill(pid, 0) or 0, "handle": os.pidfd_open}
# Seizing stops nobody, and ends with us.
if sys.argv[1] == "inside": acts["trace"] = lambda pid: libc.ptrace(0x4206, pid, 0, 0)
for what, act in acts.items():
    if any(reaches(act, pid) and is_other(pid) for pid in numbers if pid not in own): print("won " + what)
if libc.shmget(${key}, 0, 0) >= 0: print("won shared memory")
if libc.semget(${key}, 0, 0) >= 0: print("won semaphore")
place = re.search(r"http://(?:[^@]*@)?([^:/]+):(\\d+)", open("facts").read())
if place:
    try: socket.create_connection((place[1], int(place[2])), 2); print("won proxy")
    except OSError: pass`,
});

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('signals, memory, descriptors, sockets, network and mounts of the other are out of reach', async () => {
    const project = stage.project();
    const shown = stage.makeDirectory('shown');
    const secret = join(shown, 'secret');
    writeFileSync(secret, 'of the other\n');
    chmodSync(secret, 0o644);
    const own = `ctx-side-by-side-${process.pid}-${user.uid}`;
    for (const [name, text] of [
      ['victim', victim(secret, own)],
      ['attacker', attacker(secret, own)],
    ] as const) {
      writeFileSync(join(project, `${name}.cjs`), `// ctx-side-by-side\n${text}`);
    }
    const node = (name: string) => [process.execPath, `${name}.cjs`, 'ctx-side-by-side'];
    // Without jails all of it works.
    const outside = stage.start(project, node('victim'));
    await until(() => stage.shell(project, 'ls').includes('pid'), 'the victim is there');
    const { stdout } = await stage.start(project, node('attacker')).finished;
    stage.shell(project, 'touch stop');
    await outside.finished;
    stage.shell(project, `rm -f stop pid port /dev/shm/${own}`);
    const won = new Set(stdout.split('\n').filter(Boolean));
    for (const what of ['signal', 'environ', 'descriptor', 'root', 'secret', 'memory', 'socket', 'tcp'])
      assert.ok(won.has(`won ${what}`), `${what} has to work without a jail: ${stdout}`);

    const first = stage.startCtx(project, ['exec', '--read', shown, '--timeout', '90s', '--', ...node('victim')]);
    const wait = 'until test -e pid; do sleep 0.02; done';
    const run = (script: string) => stage.ctx(project, ['exec', '--json', '--', 'sh', '-c', script]);
    const attacked = await run(`${wait}; ${node('attacker').join(' ')}; touch stop`);
    const { exitCode, beside, stdout: text } = JSON.parse(attacked.stdout);
    assert.deepEqual([exitCode, beside.length, text.text], [0, 1, ''], attacked.stdout);
    assert.equal((await first.finished).code, 0);
  });

  test('pipes and links that one leaves in the tree hold nobody up who looks at it or joins', async () => {
    const project = stage.project();
    const bait = `mkfifo a .git; ln -s /dev/zero zero; ln -s fifo b; mkdir d; mkfifo d/x; touch ready
      until test -e stop; do sleep 0.02; done`;
    const first = stage.startCtx(project, ['exec', '--timeout', '90s', '--', 'sh', '-c', bait]);
    const joined = await stage.ctx(project, [
      'exec',
      '--',
      'sh',
      '-c',
      'until test -e ready; do sleep 0.02; done; echo in',
    ]);
    assert.equal(joined.stdout, 'in\n');
    for (const words of [['status'], ['diff'], ['fork', 'create', 'copy']]) {
      const { code, stderr } = await stage.ctx(project, words, { timeoutSeconds: 60 });
      assert.equal(code, 0, stderr);
    }
    await stage.ctx(project, ['exec', '--', 'touch', 'stop']);
    assert.equal((await first.finished).code, 0);
    for (const words of [['checkpoint', 'save', 'x'], ['apply', '--dry-run'], ['flatten'], ['rollback'], ['drop']]) {
      const { signal, stderr } = await stage.ctx(project, words, { timeoutSeconds: 60 });
      assert.equal(signal, null, `ctx ${words.join(' ')} hangs: ${stderr}`);
    }
    assert.equal(await stage.inside(project, 'ls'), '');
  });

  test('a stream that one gives to another keeps it from no end', {
    skip: hasPython ? false : 'no python3',
  }, async () => {
    const project = stage.project();
    const first = stage.startCtx(project, ['exec', '--', 'python3', '-c', taker]);
    await first.printed('ready');
    const given = await stage.ctx(project, ['exec', '--', 'python3', '-c', giver], { timeoutSeconds: 30 });
    assert.deepEqual([given.code, given.stdout.slice(0, 4)], [0, 'more']);
    assert.equal((await first.finished).code, 0);
  });

  test('every process number, every key of shared memory and the proxy of the other lead nowhere', {
    skip: hasPython ? false : 'no python3',
  }, async () => {
    const project = stage.project();
    const programs = numbered(0x63000000 + process.pid * 2 + (user.uid === 0 ? 0 : 1));
    writeFileSync(join(project, 'victim.py'), programs.victim);
    writeFileSync(join(project, 'attacker.py'), programs.attacker);
    const outside = stage.start(project, ['python3', 'victim.py']);
    await until(() => stage.shell(project, 'ls').includes('facts'), 'the victim is there');
    const { stdout } = await stage.start(project, ['python3', 'attacker.py', 'outside']).finished;
    stage.shell(project, 'touch stop');
    await outside.finished;
    stage.shell(project, 'rm -f stop facts');
    for (const what of ['signal', 'handle', 'shared memory', 'semaphore'])
      assert.ok(stdout.includes(`won ${what}\n`), `${what} has to work without a jail: ${stdout}`);

    // It has a network, and the other has none.
    const words = ['exec', '--net', 'any', '--timeout', '90s', '--', 'python3', 'victim.py'];
    const first = stage.startCtx(project, words);
    const script = 'until test -e facts; do sleep 0.02; done; cat facts; python3 attacker.py inside; touch stop';
    const attacked = JSON.parse((await stage.ctx(project, ['exec', '--json', '--', 'sh', '-c', script])).stdout);
    assert.deepEqual([attacked.exitCode, attacked.beside.length], [0, 1], JSON.stringify(attacked));
    assert.match(attacked.stdout.text, /^\d+ http:\/\/[^ ]+\n$/, 'the proxy is known, and nothing else came of it');
    assert.equal((await first.finished).code, 0);
  });
});
