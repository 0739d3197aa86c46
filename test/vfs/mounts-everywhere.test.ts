/** `--mount` beyond `ctx exec`: kept jails, `ctx run`, the directory itself, programs; and remotes that say nothing any more. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { describe } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { noneIsLeft, reasonToSkip, serversOf } from '../support/fuse-in-jail.js';
import { checkout } from '../support/program.js';
import { parseJson, useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const listing = `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:"><d:response><d:href>/dav/</d:href><d:propstat><d:prop>
<d:resourcetype><d:collection/></d:resourcetype></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>`;

forUsersInTurn((user, turn) => {
  const skip = reasonToSkip(user);
  describe('a mount', skip === undefined ? { concurrency: 4 } : { skip }, () => {
    const stage = useStage(user);
    const succeeds = async (cwd: string, words: readonly string[]) => {
      const { code, stdout, stderr } = await stage.ctx(cwd, words);
      assert.equal(code, 0, `${words.join(' ')}\n${stdout}${stderr}`);
      return stdout;
    };

    turn.test(
      'is in a kept jail from its first command to its end, for all of them; the next jail has what lasts',
      async () => {
        const cwd = stage.project();
        const mounts = ['--mount', 'memory:=/mnt/kept:rw', '--mount', 'chunked:notes=/mnt/notes:rw'];
        await succeeds(cwd, ['jail', 'start', ...mounts]);
        try {
          await succeeds(cwd, ['jail', 'exec', '--', 'sh', '-c', 'echo one > /mnt/kept/f; echo two > /mnt/notes/g']);
          // By the same words it is the same jail.
          const words = ['exec', '--json', ...mounts, '--', 'sh', '-c', 'cat /mnt/kept/f /mnt/notes/g; echo x > own'];
          const report = parseJson(await succeeds(cwd, words)) as Envelope;
          assert.equal(report.stdout?.text, 'one\ntwo\n');
          assert.notEqual(report.keptJail, null);
          assert.ok(
            report.warnings.includes('what it wrote to /mnt/kept (memory:) will be lost when the kept jail ends'),
          );
          assert.deepEqual(
            report.changes.map(({ path }) => path),
            ['own'],
          );
          // Between commands the fork is free, whatever is mounted beside it.
          await stage.json(cwd, ['rollback']);
          const beside = ['1', '2', '3'].map((n) =>
            succeeds(cwd, [
              'jail',
              'exec',
              '--',
              'sh',
              '-c',
              `for i in 1 2 3 4 5; do echo ${n} >> /mnt/kept/${n}; done`,
            ]),
          );
          await Promise.all(beside);
          assert.equal(await succeeds(cwd, ['jail', 'exec', '--', 'sh', '-c', 'cat /mnt/kept/[123] | wc -l']), '15\n');
          const other = await stage.ctx(cwd, ['jail', 'exec', '--readonly', '--', 'cat', '/mnt/notes/g']);
          assert.equal(other.stdout, 'two\n', other.stderr);
        } finally {
          await succeeds(cwd, ['jail', 'stop']);
        }
        await noneIsLeft('/mnt/kept');
        const keep = ['exec', '--keep', '--mount', 'chunked:notes=/mnt/notes', '--', 'cat', '/mnt/notes/g'];
        try {
          assert.equal(await succeeds(cwd, keep), 'two\n');
          assert.equal(await succeeds(cwd, keep), 'two\n');
        } finally {
          await succeeds(cwd, ['jail', 'stop']);
        }
      },
    );

    turn.test('that cannot be had leaves no kept jail, and a server that dies leaves errors', async () => {
      const cwd = stage.project();
      for (const mount of ['tape:=/mnt/x', 'memory:=/etc', 'chunked:none=/mnt/x', 'memory:'])
        assert.notEqual((await stage.ctx(cwd, ['jail', 'start', '--mount', mount])).code, 0, mount);
      assert.ok(!(await stage.ctx(cwd, ['jail', 'list'])).stdout.includes(`${cwd} `));
      await succeeds(cwd, ['jail', 'start', '--mount', 'memory:=/mnt/dies:rw']);
      try {
        const [server] = serversOf('/mnt/dies');
        assert.ok(server !== undefined);
        process.kill(server, 'SIGKILL');
        const { code, stdout } = await stage.ctx(cwd, ['jail', 'exec', '--json', '--', 'ls', '/mnt/dies']);
        assert.notEqual(code, 0);
        const said = (parseJson(stdout) as Envelope).warnings.join('\n');
        assert.match(said, /the server of \/mnt\/dies .*ended with SIGKILL/);
      } finally {
        await succeeds(cwd, ['jail', 'stop']);
      }
      assert.equal((await stage.ctx(cwd, ['mcp', '--mount', 'tape:=/mnt/x'], { input: '' })).code, 2);
    });

    turn.test('is in ctx run, on the directory itself, and in what a program runs', async () => {
      const cwd = stage.project('echo here > a; chmod 777 .');
      const mount = ['--mount', 'chunked:notes=/mnt/notes:rw'];
      await succeeds(cwd, ['run', ...mount, 'sh', '-c', 'echo run > /mnt/notes/run']);
      const live = [
        'exec',
        '--live',
        '--json',
        ...mount,
        '--',
        'sh',
        '-c',
        'cat /mnt/notes/run a; echo live > /mnt/notes/live',
      ];
      const { stdout, warnings, mounts } = parseJson(await succeeds(cwd, live)) as Envelope;
      assert.equal(stdout?.text, 'run\nhere\n');
      assert.deepEqual(
        mounts?.map(({ target, changes, undoable }) => [target, changes, undoable]),
        [['/mnt/notes', [{ kind: 'added', path: 'live' }], false]],
      );
      assert.match(warnings.join('\n'), /\/mnt\/notes \(chunked:notes\)/);
      // Where the checkout is closed to the user, the stage has a copy of the CLI alone.
      if (dirname(dirname(stage.program)) !== checkout) return;
      const sdk = pathToFileURL(join(checkout, 'dist/js/src/index.js')).href;
      const program = `import { open } from ${JSON.stringify(sdk)};
        const workspace = await open({ directory: process.cwd(), mounts: ['chunked:notes=/mnt/notes'] });
        const { stdout } = await workspace.exec(['cat', '/mnt/notes/live']);
        const jail = await workspace.keepJail();
        const again = await jail.exec(['cat', '/mnt/notes/run']);
        await jail.end();
        await workspace.close();
        const other = await open({ directory: process.cwd(), mounts: ['tape:=/x'] });
        const bad = await other.exec(['true']).catch((error) => error.code);
        await other.close();
        process.stdout.write(stdout.text + again.stdout.text + bad);`;
      const ran = await stage.start(cwd, [process.execPath, '--input-type=module', '-e', program]).finished;
      assert.equal(ran.stdout, 'live\nrun\nEINVAL', ran.stderr);
    });

    turn.test('of a remote that says nothing any more keeps nobody from being killed', async () => {
      const cwd = stage.project();
      // That it is there, and nothing else.
      const server = createServer(({ url, headers }, response) => {
        if (url === '/dav/' && headers['depth'] === '0') response.writeHead(207).end(listing);
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      const mount = `webdav:http://127.0.0.1:${port}/dav=/mnt/stalled`;
      try {
        const began = Date.now();
        const script = 'cat /mnt/stalled/f & sleep 0.5; kill -9 $!; wait $! || echo ended';
        assert.equal(await succeeds(cwd, ['exec', '--mount', mount, '--', 'sh', '-c', script]), 'ended\n');
        const timed = await stage.ctx(cwd, ['exec', '--timeout', '1s', '--mount', mount, '--', 'ls', '/mnt/stalled']);
        assert.notEqual(timed.code, 0);
        assert.ok(Date.now() - began < 20_000, `${Date.now() - began} ms`);
        await noneIsLeft('/mnt/stalled');
      } finally {
        server.closeAllConnections();
        server.close();
      }
    });
  });
});
