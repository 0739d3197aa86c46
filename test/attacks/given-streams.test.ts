/**
 * The streams that a command is given: which of them are the person's own, which are pipes of the jail's, and what a command that is
 * another user may do with a pipe of the person's.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { bareJail, bareUser } from '../support/bare-jail.js';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const jail = bareJail();

describe('a stream of the person’s', () => {
  const fifo = join(jail.base, 'fifo');
  const file = join(jail.base, 'file');
  assert.equal(spawnSync('mkfifo', [fifo]).status, 0);
  writeFileSync(file, '');
  for (const path of [fifo, file]) if (bareUser.uid !== undefined) chownSync(path, bareUser.uid, bareUser.gid);

  /** Which file each stream of the shell is; not of a subshell, whose stdout is the list. */
  const identities = 'for each in 0 1 2; do stat -Lc "%d:%i %F" /proc/$$/fd/$each; done';

  /** What its streams are inside: the same as outside, or which kind. The program is in the place of RUN. */
  async function streams(redirected: string, script = ':') {
    const outside = `list=$(${identities}); echo "$list" > ${jail.base}/home/outside; exec "$@"`;
    const inside = `list=$(${identities}); echo "$list" > /home/user/inside; ${script}`;
    const plan = jail.plan(['sh', '-c', inside], { weakened: [] });
    const ended = await jail.run(plan, ['sh', '-c', redirected.replace('RUN', 'sh -c "$0" sh "$@"'), outside]);
    assert.equal(ended, 0, redirected);
    const [before = [], after = []] = ['outside', 'inside'].map((name) =>
      readFileSync(join(jail.base, 'home', name), 'utf8')
        .trim()
        .split('\n'),
    );
    return after.map((is, stream) => (is === before[stream] ? 'same' : is.replace(/^\S+ /, '')));
  }

  const same = ['same', 'same', 'same'];
  const copied = ['fifo', 'fifo', 'fifo'];
  const kinds: readonly (readonly [string, string, readonly string[]])[] = [
    ['an anonymous pipe', ': | RUN 2>&1 | cat', same],
    ['/dev/null', 'RUN </dev/null >/dev/null 2>/dev/null', same],
    ['another device', 'RUN </dev/zero >/dev/zero 2>/dev/full', copied],
    ['a named pipe', `RUN <>${fifo} >${fifo} 2>${fifo}`, copied],
    ['a file', `RUN <${file} >${file} 2>>${file}`, copied],
    ['a directory', `RUN <${jail.base} >/dev/null 2>${file}`, ['fifo', 'same', 'fifo']],
  ];
  for (const [kind, redirected, expected] of kinds) {
    it(`${kind}: ${expected.includes('same') ? 'passed on' : 'copied'}`, async () => {
      assert.deepEqual(await streams(redirected), expected);
    });
  }

  it('has the mode it had, where it has a name', async () => {
    const attack = 'for each in 0 1 2; do chmod 0666 /proc/self/fd/$each; done';
    for (const path of [fifo, file]) {
      const redirected = `RUN <>${path} >>${path} 2>>${path}`;
      const modeAfter = async (run: () => unknown) => {
        chmodSync(path, 0o600);
        await run();
        return statSync(path).mode & 0o777;
      };
      const without = () => spawnSync('sh', ['-c', redirected.replace('RUN', `{ ${attack}; }`)], bareUser);
      assert.equal(await modeAfter(without), 0o666, 'the attack works without a jail');
      assert.equal(await modeAfter(() => streams(redirected, attack)), 0o600);
    }
  });
});

/** Pipes, or one terminal, as the streams of a program; then the modes and the owners that they had, and have, as numbers. */
const given = `
import json, os, pty, subprocess, sys
kind, program = sys.argv[1], sys.argv[2:]
def look(): return [[os.fstat(end).st_mode & 0o777, os.fstat(end).st_uid] for end in ends]
if kind == "pipes":
    pipes = [os.pipe() for _ in range(3)]
    ends = [pipes[0][0], pipes[1][1], pipes[2][1]]
    os.write(pipes[1][1], b"of a neighbour")
    before = look()
    code = subprocess.run(program, stdin=ends[0], stdout=ends[1], stderr=ends[2]).returncode
    said = os.read(pipes[2][0], 4096).decode()
else:
    master, slave = pty.openpty()
    ends = [slave]
    before = look()
    running = subprocess.Popen(program, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
    said = ""
    while "done" not in said: said += os.read(master, 4096).decode()
    code = running.wait()
print(json.dumps([code, before, look(), said]))`;

forEachUser((user) => {
  const stage = useStage(user);
  const give = async (kind: 'pipes' | 'terminal', script: string) => {
    const argv = ['python3', '-c', given, kind, stage.program, 'exec', '--report', 'never', '--', 'sh', '-c', script];
    const { code, stdout, stderr } = await stage.start(stage.project(), argv).finished;
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as [number, number[][], number[][], string];
  };

  test('a pipe of the person’s stays theirs, and is opened to another user in its one direction alone', async () => {
    const tries = [
      'echo out > /dev/stdout && echo wrote >&2',
      'timeout 5 head -c 14 < /dev/stdout >&2',
      'echo injected > /dev/stdin && echo injected >&2',
    ];
    const [code, before, after, said] = await give(
      'pipes',
      `${tries.map((each) => `{ ${each}; }`).join(' ; ')} ; exit 0`,
    );
    assert.equal(code, 0);
    assert.deepEqual(
      before,
      [0o600, 0o600, 0o600].map((mode) => [mode, user.uid]),
    );
    // Root's command is another user; anybody else's is its own, and has what the kernel gives to that.
    const modes = user.uid === 0 ? [0o604, 0o602, 0o602] : [0o600, 0o600, 0o600];
    assert.deepEqual(
      after,
      modes.map((mode) => [mode, user.uid]),
    );
    assert.match(said, /wrote/);
    if (user.uid === 0) assert.doesNotMatch(said, /of a neighbour|^injected/m);
    else assert.match(said, /of a neighbour/, 'an owner of the pipe reads what others wrote');
  });

  test('a terminal of the person’s has the mode and the owner that it had', async () => {
    const [code, before, after, said] = await give('terminal', 'test -t 0 && test -t 1 && echo done');
    assert.equal(code, 0, said);
    assert.deepEqual(after, before);
  });
});
