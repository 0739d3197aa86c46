/** Where a part that mediates is missing, broken or silent, the command does not run: never without the part. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'node:test';
import { listen } from '../../src/network/proxy-fixture.js';
import { startCareless } from '../support/careless-proxy.js';
import { copyOfProduct } from '../support/program.js';
import { useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

/** What is in place of a native program. */
const broken: Readonly<Record<string, string | undefined>> = {
  'is missing': undefined,
  'ends at once and says nothing': '#!/bin/sh\nexit 0\n',
  'ends with an odd code': '#!/bin/sh\nexit 77\n',
  'kills itself': '#!/bin/sh\nkill -9 $$\n',
  'says that all is well and runs nothing': '#!/bin/sh\nprintf "started\\0" >&4; exit 0\n',
  'says things that nobody knows': '#!/bin/sh\nprintf "hurrah\\0exited\\0" >&4; exit 0\n',
  'is no program': 'not a program\n',
};

/** A runner as sandboxes have had them: where the jail cannot be had, better run the command than not. */
const careless = (jail: string, script: string) => `if '${jail}' </dev/null 4>/dev/null; then :; else ${script}; fi`;

forUsersInTurn((user, turn) => {
  const stage = useStage(user);

  test('with its parts whole the copy works', async () => {
    const copy = copyOfProduct(join(stage.directory, 'whole'));
    const { stdout, stderr } = await stage.start(stage.project(), [
      join(copy, 'bin', 'ctx'),
      'exec',
      '--',
      'echo',
      'ran',
    ]).finished;
    assert.equal(stdout, 'ran\n', stderr);
  });

  turn.test(
    'a command does not run, and is not said to have, where the jail program is broken in any way',
    async () => {
      const copy = copyOfProduct(join(stage.directory, 'broken'));
      const jail = join(copy, 'dist', 'native', 'jail');
      const project = stage.project();
      await stage.inside(project, 'true');
      for (const [how, text] of Object.entries(broken)) {
        rmSync(jail, { force: true });
        if (text !== undefined) writeFileSync(jail, text);
        if (text !== undefined) chmodSync(jail, 0o755);
        const marker = join(project, 'ran');
        const script = `echo ran; touch ${marker}`;
        const trusting = await stage.start(project, ['sh', '-c', careless(jail, script)]).finished;
        assert.ok(existsSync(marker) || trusting.code === 0, `a careless runner runs it, or says it did: ${how}`);
        rmSync(marker, { force: true });
        const words = ['exec', '--wait', '--', 'sh', '-c', script];
        const { code, stdout } = await stage.start(project, [join(copy, 'bin', 'ctx'), ...words]).finished;
        assert.ok(code !== 0 && code !== null, `a jail program that ${how}: ${code}`);
        assert.equal(stdout, '', how);
        assert.ok(!existsSync(marker), how);
      }
    },
  );

  turn.test('no list, an empty one and one that cannot be read grant nothing, not everything', async () => {
    const project = stage.project();
    const secret = join(stage.home, 'secret');
    stage.shell(stage.home, 'echo secret > secret');
    const server = await listen(createServer((_request, response) => response.end('secret\n')));
    // A proxy that has been given nothing to compare with: every name begins with it.
    const careless = await startCareless({
      judge: 'how it begins',
      reading: 'as it is',
      granted: '',
      resolve: () => undefined,
    });
    try {
      const fetched = `node -e 'const [host, port] = (process.env.http_proxy ?? "127.0.0.1:${server.port}").replace("http://", "").split(/[:\\/]/);
        require("http").get({ host, port, path: "http://127.0.0.1:${server.port}/" }, (answer) => answer.pipe(process.stdout)).on("error", () => {})'`;
      const look = `cat ${secret} 2>/dev/null; ${fetched}; true`;
      const outside = await stage.start(project, ['sh', '-c', look], {
        env: { http_proxy: `http://127.0.0.1:${careless.port}` },
      }).finished;
      assert.equal(outside.stdout, 'secret\nsecret\n', outside.stderr);
      assert.equal((await stage.ctx(project, ['agent', 'new', 'empty'])).code, 0);
      for (const file of ['network', 'policy', 'mount'] as const) {
        const { code, stderr } = await stage.ctx(project, ['agent', 'set', 'empty', file, '']);
        assert.equal(code, 0, stderr);
        const inside = await stage.ctx(project, ['exec', '--wait', '--agent', 'empty', '--', 'sh', '-c', look]);
        assert.deepEqual([inside.code, inside.stdout], [0, ''], `${file}: ${inside.stderr}`);
      }
    } finally {
      await Promise.all([server.close(), careless.close()]);
    }
    for (const words of [
      ['--net', ''],
      ['--net-private', ''],
      ['--weaken', ''],
      ['--weaken', 'everything'],
      ['--agent', ''],
      ['--agent', 'nobody'],
      ['--read', ''],
    ]) {
      const { code, stdout } = await stage.ctx(project, ['exec', ...words, '--', 'echo', 'ran']);
      assert.ok(code !== 0, words.join(' '));
      assert.equal(stdout, '', words.join(' '));
    }
  });
});
