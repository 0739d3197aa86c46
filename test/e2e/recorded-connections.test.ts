/** Connections are in the record when they happen: of a command that is killed, and of a kept jail between its commands. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Listening, listenRaw } from '../../src/network/proxy-fixture.js';
import { recordsOf } from '../support/record.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

forEitherUser((user) => {
  const stage = useWarmStage(user);
  let silent: Listening;
  before(async () => {
    silent = await listenRaw((socket) => void socket.resume());
  });
  after(() => silent.close());

  /** Of commands, or of kept jails. */
  const connects = (of: 'command' | 'kept jail') =>
    (existsSync(join(stage.store, 'record')) ? recordsOf(stage.store) : [])
      .filter(({ type }) => type === 'connect')
      .map(({ status, facts }) => ({ status, ...(facts as { host: string; run: string | null; keptJail?: string }) }))
      .filter(({ run }) => (run === null) === (of === 'kept jail'));
  const until = async (of: 'command' | 'kept jail', count: number) => {
    for (let tries = 0; tries < 1_000 && connects(of).length < count; tries++) await sleep(20);
    return connects(of).map(({ status, host }) => `${status} ${host}`);
  };
  const both = ['begin 127.0.0.1', 'denied refused.example'];
  /** Holds a tunnel open, and asks for a host that is not granted. */
  const connecting = () =>
    `const { hostname: host, port } = new URL(process.env.http_proxy);
     const net = require('net');
     for (const to of ['127.0.0.1:${silent.port}', 'refused.example:443'])
       net.connect(port, host, function () { this.write('CONNECT ' + to + ' HTTP/1.1\\r\\n\\r\\n'); }).on('error', () => {});
     setTimeout(() => {}, 60000);`;

  test('kill -9 of ctx loses no connection that was made', async () => {
    const project = stage.project();
    const grant = ['--net-private', `127.0.0.1:${silent.port}`];
    const running = stage.startCtx(project, ['exec', ...grant, '--', 'node', '-e', connecting()]);
    assert.deepEqual((await until('command', 2)).sort(), both);
    running.child.kill('SIGKILL');
    await running.finished;
    assert.deepEqual((await until('command', 2)).sort(), both);
    const verified = await stage.ctx(project, ['audit', 'verify']);
    assert.equal(verified.code, 0, verified.stdout);
  });

  test('what a kept jail connects to between two commands is in the record as its own', async () => {
    const project = stage.project();
    const grant = ['--net-private', `127.0.0.1:${silent.port}`];
    assert.equal((await stage.ctx(project, ['jail', 'start', ...grant])).code, 0);
    try {
      const script = `(sleep 0.5; node -e "${connecting().replaceAll('\n', ' ')}") >/dev/null 2>&1 &`;
      assert.equal((await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', script])).code, 0);
      assert.deepEqual((await until('kept jail', 2)).sort(), both);
      assert.ok(connects('kept jail').every(({ keptJail }) => typeof keptJail === 'string'));
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
  });
});
