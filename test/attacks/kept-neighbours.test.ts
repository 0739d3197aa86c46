/** Kept jails of one user in one process, with different authority: nothing that one was granted reaches another through it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { buildOf } from '../../src/base/build.js';
import { encodeFrame, encodeRequest } from '../../src/kept-jail/jail-wire.js';
import { envelopeOf, inKeptJail } from '../support/kept-jail.js';
import { useStage } from '../support/stage.js';
import { forEachUser, spawnIdentity } from '../support/users.js';

/** What the process says first to who sends it these bytes: M, taken; N, refused. */
const asking = `
  const [socket, bytes] = process.argv.slice(-2);
  const client = require('net').connect(socket, () => client.write(Buffer.from(bytes, 'base64')));
  client.once('data', (chunk) => { console.log(chunk.toString('latin1', 4, 5)); process.exit(); });
  client.once('close', () => process.exit(3));`;

forEachUser(
  (user) => {
    const stage = useStage(user);

    test('files, variables, secrets, hosts and descriptors of one are not those of its neighbour', async () => {
      const outside = stage.makeDirectory('granted');
      writeFileSync(join(outside, 'secret'), 'for one alone\n');
      const granted = [
        ...['--read', outside, '--env', 'OWN=of-one', '--net', 'example.org:443'],
        ...['--secret', 'example.org Authorization: Bearer $TOKEN'],
      ];
      const env = { TOKEN: 'token-of-one' };
      const one = stage.project();
      const other = stage.project();
      await inKeptJail(
        stage,
        ({ keeper, pid }) =>
          inKeptJail(
            stage,
            async (neighbour) => {
              assert.equal(neighbour.keeper, keeper, 'one process keeps both');
              assert.doesNotMatch(readFileSync(`/proc/${keeper}/environ`, 'utf8'), /TOKEN|token-of-one/);
              // Something of the first runs all the while, with all that it has.
              await stage.ctx(one, ['jail', 'exec', '--', 'sh', '-c', 'echo private > ~/own; sleep 600 &']);
              const seen = await stage.ctx(one, ['jail', 'exec', '--', 'sh', '-c', `cat ${outside}/secret; echo $OWN`]);
              assert.equal(seen.stdout, 'for one alone\nof-one\n', seen.stderr);
              const script = [
                `cat ${outside}/secret`,
                'echo OWN=$OWN; env | grep -c -e of-one -e token-of-one -e PROXY',
                'cat ~/own',
                `ls /proc/self/fd | tr '\\n' ' '; ls -l /proc/[0-9]*/fd 2>/dev/null | grep -c -e ${stage.store} -e ${one}`,
                `grep -c -e ${one} -e ${outside} /proc/self/mountinfo; ls /proc | grep -cx -e ${pid} -e ${keeper}`,
                'cat /proc/net/unix /proc/net/tcp | grep -c -e ctx -e 0100007F',
              ];
              const { stdout } = await envelopeOf(stage, other, script.map((each) => `{ ${each}; } 2>&1`).join('; '));
              const text = stdout?.text ?? '';
              assert.doesNotMatch(text, /for one alone|of-one|token|private|store/);
              assert.match(
                text,
                /No such file or directory\nOWN=\n0\n.*No such file or directory\n0 1 2 3 0\n0\n0\n0\n$/s,
              );
              // Nor is a command of the one taken by the other, by its directory or by its grants.
              const apart = await stage.ctx(other, ['exec', ...granted, '--', 'readlink', '/proc/self/ns/pid'], {
                env,
              });
              const kept = await stage.ctx(other, ['jail', 'exec', '--', 'readlink', '/proc/self/ns/pid']);
              assert.notEqual(apart.stdout, kept.stdout, apart.stderr);
              assert.equal((await stage.ctx(other, ['why', 'read', join(outside, 'secret')])).code, 13);
            },
            { project: other },
          ),
        { project: one, options: granted, env },
      );
    });

    test('who is not as it is in what a process hands on is not served, whatever socket it knows', () =>
      inKeptJail(stage, async () => {
        const shared = join(stage.store, 'jail', 'shared');
        const name = readdirSync(shared).find((each) => each.endsWith('.socket')) ?? '';
        const build = buildOf(join(stage.program, '../../dist/cli/ctx.cjs'));
        const words = ['jail', 'start', '--fork', 'missing'];
        const ask = (before: string, of = build, via: readonly string[] = []) => {
          const request = encodeRequest({
            directory: stage.project(),
            build: of,
            words,
            environment: stage.environment,
          });
          const bytes = encodeFrame('R', request).toString('base64');
          const script = `umask 022; ${before}; exec ${process.execPath} -e "$0" "$@"`;
          const given = [asking, join(shared, name), bytes];
          const options = {
            encoding: 'utf8',
            cwd: stage.directory,
            env: stage.environment,
            ...spawnIdentity(user),
          } as const;
          const [program = '', ...rest] = [...via, 'sh', '-c', script, ...given];
          return spawnSync(program, rest, options).stdout;
        };
        assert.equal(ask(':'), 'M\n', 'one that is the same is taken');
        for (const other of ['umask 077', 'ulimit -n 512', 'exec 2>/dev/null; ulimit -c 0; renice 5 $$ > /dev/null']) {
          assert.equal(ask(other), 'N\n', other);
        }
        assert.equal(ask(':', 'another build'), 'N\n');
        // A box of somebody else's, from which this would have been the way out.
        assert.equal(ask(':', build, ['unshare', '--user', '--map-current-user', '--mount']), 'N\n');
      }));
  },
  { concurrency: 1 },
);
