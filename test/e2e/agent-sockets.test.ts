/** JSON lines on an agent's own socket, and what an agent's files say of what runs. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { agentWith, exec, ok, withoutViews } from '../support/agents.js';
import { keeperOff } from '../support/keeper.js';
import { until } from '../support/process.js';
import { recordsOf } from '../support/record.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

/** Sends each line as it is, waits for as many results, and prints what came. */
const client = `
const [, , path, count, ...lines] = process.argv;
const socket = require('node:net').connect(path, () => { for (const line of lines) socket.write(line + '\\n'); });
let text = '';
let results = 0;
socket.on('data', (chunk) => {
  text += chunk;
  const whole = text.split('\\n');
  text = whole.pop();
  for (const line of whole) {
    console.log(line);
    if (JSON.parse(line).type === 'result' && ++results === Number(count)) socket.end();
  }
});
socket.on('error', (error) => console.log(JSON.stringify({ error: error.code })));
`;

interface Line {
  readonly id?: string | null;
  readonly type?: string;
  readonly ok?: boolean;
  readonly error?: string;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly text?: string;
  readonly status?: string;
}

const word = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** What came on the socket of an agent, for lines or objects that are sent. */
async function lines(
  stage: Stage,
  cwd: string,
  agent: string,
  socket: string,
  ...sent: readonly unknown[]
): Promise<readonly Line[]> {
  const words = sent.map((each) => word(typeof each === 'string' ? each : JSON.stringify(each)));
  const script = `node client.js ${socket} ${sent.length} ${words.join(' ')}`;
  const { stdout } = await exec(stage, cwd, agent, script);
  return (stdout?.text ?? '')
    .split('\n')
    .filter((each) => each !== '')
    .map((each) => JSON.parse(each) as Line);
}

forUsersInTurn((user, turn) => {
  describe('sockets and logs of an agent', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);
    const project = () => stage.project(`cat > client.js <<'END'\n${client}\nEND\necho text > file`);

    turn.test(
      'lines are answered as calls of objects are, an id is one request, and a call can be cancelled',
      async () => {
        const cwd = project();
        await agentWith(stage, cwd, 'liner', 'tool:fs.read execute', 'tool:shell.exec execute');
        const call = (id: string, tool: string, input: unknown) => ({ id, op: 'call', tool, input });
        const came = await lines(
          ...([stage, cwd, 'liner', '/ctx/agent/liner.sock'] as const),
          { id: 'ping', op: 'ping', unknown: 'member' },
          { id: 'status', op: 'status' },
          call('read', 'fs.read', { path: 'file' }),
          call('read', 'fs.read', { path: 'file' }),
          call('read', 'fs.read', { path: 'other' }),
          call('out', 'fs.read', { path: '/etc/passwd' }),
          call('shell', 'shell.exec', { cmd: 'echo said; exit 3' }),
          call('denied', 'fs.write', { path: 'x', content: '' }),
          call('none', 'no.such.tool', {}),
          call('bad', '../escape', {}),
          call('long', 'shell.exec', { cmd: 'sleep 60' }),
          { id: 'cancel', op: 'cancel', call: 'long' },
          { id: 'again', op: 'cancel', call: 'nothing' },
          { id: 'send', op: 'send' },
          { id: 'zap', op: 'zap' },
          { op: 'ping' },
          'not json',
          '[]',
        );
        const result = (id: string | null) => came.filter((each) => each.type === 'result' && each.id === id);
        assert.deepEqual(result('ping'), [{ id: 'ping', type: 'result', ok: true }]);
        assert.equal(result('status')[0]?.status, 'busy');
        assert.deepEqual(
          result('read')
            .map(({ ok: done, error }) => done || error)
            .sort(),
          ['EINVAL', true, true],
        );
        assert.deepEqual(
          came.filter(({ id, type }) => id === 'read' && type === 'output').map(({ text }) => text),
          ['text\n'],
        );
        assert.deepEqual([result('out')[0]?.exitCode, result('out')[0]?.error], [13, 'EACCES']);
        assert.ok(came.some(({ id, text }) => id === 'shell' && text === 'said\n'));
        assert.deepEqual([result('shell')[0]?.ok, result('shell')[0]?.exitCode], [false, 1]);
        assert.match(result('denied')[0]?.reason ?? '', /an operator would add: allow liner_t tool:fs\.write execute/);
        const errors = ['none', 'bad', 'long', 'again', 'send', 'zap'].map((id) => result(id)[0]?.error);
        assert.deepEqual(errors, ['ENOENT', 'EINVAL', 'ECANCELED', 'ENOENT', 'ENOTSUP', 'EINVAL']);
        assert.deepEqual(
          result(null).map(({ error }) => error),
          ['EINVAL', 'EINVAL', 'EINVAL'],
        );
        const records = recordsOf(stage.store).filter(({ type, agent }) => type === 'tool.call' && agent === 'liner');
        assert.ok(records.some(({ object, status }) => object === 'tool/fs.write' && status === 'denied'));
        const reads = records.filter(({ object, status }) => object === 'tool/fs.read' && status === 'ok');
        assert.equal(reads.length, 1, 'what is asked for again is not done again');
      },
    );

    turn.test('a line that is too long, and a caller that goes, end what is theirs', async () => {
      const cwd = project();
      await agentWith(stage, cwd, 'flooder', 'tool:shell.exec execute');
      const script = `head -c 1100000 /dev/zero | tr '\\0' x > long
        node -e 'const s = require("net").connect("/ctx/agent/flooder.sock", () => s.write(require("fs").readFileSync("long"))); s.on("data", (d) => process.stdout.write(d)); s.on("error", () => {}); s.on("close", () => console.log("closed"))'
        node -e 'const s = require("net").connect("/ctx/agent/flooder.sock", () => { s.write(JSON.stringify({ id: "1", op: "call", tool: "shell.exec", input: { cmd: "sleep 61.7; touch late" } }) + "\\n"); setTimeout(() => process.exit(), 700) })'
        sleep 2; ls late 2>&1`;
      const said = (await exec(stage, cwd, 'flooder', script)).stdout?.text ?? '';
      assert.match(said, /"error":"EINVAL".*1 MiB.*\nclosed\n/);
      assert.match(said, /cannot access 'late'/);
      stage.shell(cwd, `! pgrep -u ${user.uid} -f 'sleep 61[.]7'`);
    });

    turn.test('where ctx is killed, its jail takes the sockets of the view away', async () => {
      const cwd = project();
      await agentWith(stage, cwd, 'killed', 'tool:fs.read execute');
      const left = () => (existsSync(join(stage.store, 'view')) ? readdirSync(join(stage.store, 'view')) : []);
      const running = stage.startCtx(cwd, ['exec', '--agent', 'killed', '--', 'sh', '-c', 'ls /run/ctx; sleep 62.3'], {
        env: keeperOff,
      });
      await running.printed('view.sock');
      assert.equal(left().length, 1);
      process.kill(running.pid, 'SIGKILL');
      await running.finished;
      await until(() => left().length === 0, 'nothing is left of the view');
      stage.shell(cwd, `! pgrep -u ${user.uid} -f 'sleep 62[.]3'`);
    });

    turn.test('the socket of an agent is in its own view alone, and its tools’ logs show its own calls', async () => {
      const cwd = project();
      const [greet] = [join(stage.project(`printf '#!/bin/sh\\necho hello\\n' > greet; chmod +x greet`), 'greet')];
      await ok(stage, cwd, ['tool', 'new', 'greet', '--exec', greet]);
      for (const name of ['one', 'two']) {
        await agentWith(
          stage,
          cwd,
          name,
          'tool:greet execute',
          'tool:fork.diff execute',
          'agent:one read',
          'agent:two read',
        );
      }
      await exec(stage, cwd, 'two', "/ctx/tool/greet '{}'");
      const script = `ls /ctx/agent; cat /ctx/agent/two.d/status; /ctx/tool/greet '{}' > /dev/null; /ctx/tool/fork.diff '{}'
        cat /ctx/agent/one.d/status /ctx/tool/greet.d/log /ctx/tool/fork.diff.d/log; ls /run/ctx`;
      const said = (await exec(stage, cwd, 'one', script)).stdout?.text ?? '';
      assert.match(said, /^one\none\.d\none\.sock\ntwo\ntwo\.d\ndead\nbusy\n/);
      const events = said
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      assert.deepEqual(
        events.map(({ agent, object, type, status }) => [agent, object, type, status]),
        ['greet', 'fork.diff'].flatMap((name) =>
          ['begin', 'ok'].map((status) => ['one', `tool/${name}`, 'tool.call', status]),
        ),
      );
      assert.match(String(events[0]?.['ts']), /^\d{4}-\d\d-\d\dT/);
      assert.match(said, /agent\.sock\nview\.sock\n$/);
      // A process that keeps the tools sees every call, and a process that was killed is dead.
      assert.match(
        readFileSync(join(stage.store, 'ctx/tool/greet.d/log'), 'utf8'),
        /"agent":"two"[^\n]*\n.*"agent":"one"/s,
      );
      stage.shell(stage.store, 'echo busy > ctx/agent/two.d/status; echo 4194303 > ctx/agent/two.d/pid');
      assert.match(await ok(stage, cwd, ['agent', 'ls']), /two +system +dead/);
    });
  });
});
