/** `shell.exec`: a command of the caller's own, in the jail that the caller is in, however that was made. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { agentWith, exec, executes, ok, withoutViews } from '../support/agents.js';
import { recordsOf } from '../support/record.js';
import { type Stage, useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const shell = (cmd: string) => `/ctx/tool/shell.exec '${JSON.stringify({ cmd }).replaceAll("'", "'\\''")}'`;

/** What it finds of its caller's: a tree in memory, a process, a port of the jail's own network, files of the fork and of /tmp. */
const beside = `mkdir -p /mem/d; echo tree > /mem/d/f; echo fork > new; echo shared > /tmp/t; sleep 1000 & echo $! > pid
python3 -c 'import socket
s = socket.create_server(("127.0.0.1", 4321)); c, _ = s.accept(); c.sendall(b"port")' &
while ! ls /proc/net/tcp > /dev/null || ! grep -q :10E1 /proc/net/tcp; do sleep 0.05; done
${shell('cat /mem/d/f new /tmp/t; python3 -c \'import socket; print(socket.create_connection(("127.0.0.1", 4321)).recv(9).decode())\'; kill $(cat pid) && echo killed; echo by-tool > made; readlink /proc/self/fd/0')}
cat made; wait; ${shell('exit 3')} 2> /dev/null; echo $?; ${shell('kill -9 $$')} 2>&1; echo $?`;

const found = 'tree\nfork\nshared\nport\nkilled\n/dev/null\nby-tool\n1\nctx: shell.exec: ended by SIGKILL\n1\n';

async function withTree(stage: Stage, project: string, name: string, ...rules: readonly string[]): Promise<void> {
  await agentWith(stage, project, name, ...executes('shell.exec', 'fs.read'), ...rules);
  await ok(stage, project, ['agent', 'set', name, 'mount', 'memory:\t/mem\trw\t-']);
}

forEitherUser((user) => {
  describe('shell.exec', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useStage(user);

    test('it runs beside its caller in the same jail, in a jail for one command and in a kept one', async () => {
      const project = stage.project('echo one > file');
      await withTree(stage, project, 'coder');
      const { stdout, stderr, changes } = await exec(stage, project, 'coder', beside);
      assert.equal(stdout?.text, found, stderr?.text);
      // What it wrote is its caller's to answer for, and it has no checkpoint of its own.
      assert.deepEqual(changes.map(({ path }) => path).sort(), ['made', 'new', 'pid']);
      assert.equal((await ok(stage, project, ['checkpoint', 'list'])).trim().split('\n').length, 1);
      const execs = recordsOf(stage.store).filter(({ type, agent }) => type === 'exec' && agent === 'coder');
      const [caller, first] = execs.filter(({ status }) => status === 'begin').map(({ facts }) => facts ?? {});
      assert.equal(first?.caller, caller?.run);
      assert.ok(execs.some(({ status, facts }) => status !== 'begin' && facts?.run === first?.run));
      await ok(stage, project, ['jail', 'start', '--agent', 'coder']);
      try {
        const kept = await exec(stage, project, 'coder', beside);
        assert.notEqual(kept.keptJail, null);
        assert.equal(kept.stdout?.text, found, kept.stderr?.text);
      } finally {
        await ok(stage, project, ['jail', 'stop']);
      }
    });

    test('it reads nothing of its caller, runs many at once, and ends with its caller', async () => {
      const project = stage.project('echo one > file');
      await withTree(stage, project, 'many', 'network:default connect');
      await ok(stage, project, ['agent', 'set', 'many', 'network', 'example.org:443']);
      const script = `${shell('cat; env | grep -c secret; ls /proc/self/fd | wc -l')}; cat
        for n in 1 2 3 4 5 6 7 8; do ${shell('sleep 0.2; echo many').replace('many', "many'$n'")} & done | sort; wait
        ${shell('sleep 1000 & setsid sleep 1001 > /dev/null 2>&1 & echo left')}; (${shell('sleep 1002')} & )`;
      const ended = await stage.ctx(
        project,
        ['exec', '--agent', 'many', '--env', 'S=secret', '--', 'sh', '-c', script],
        {
          input: 'typed\n',
        },
      );
      const many = [1, 2, 3, 4, 5, 6, 7, 8].map((each) => `many${each}\n`).join('');
      assert.equal(ended.stdout, `1\n4\ntyped\n${many}left\n`, ended.stderr);
      assert.equal(ended.code, 0, ended.stderr);
    });

    test('a tool of files that is called by a line works in that jail, too', async () => {
      const project = stage.project('echo one > file');
      await withTree(stage, project, 'lines');
      const { stdout, stderr } = await exec(
        stage,
        project,
        'lines',
        `echo changed > file; python3 -c 'import socket, json
s = socket.socket(socket.AF_UNIX); s.connect("/ctx/agent/lines.sock"); f = s.makefile("rw")
f.write(json.dumps({"id": "1", "op": "call", "tool": "fs.read", "input": {"path": "file"}}) + "\\n"); f.flush()
print(json.loads(f.readline())["text"], json.loads(f.readline())["ok"])'`,
      );
      assert.equal(stdout?.text, 'changed\n True\n', stderr?.text);
    });
  });
});
