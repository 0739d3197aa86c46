/** The command that prints a secret: what it said, how it ended, and that it is gone with whoever asked for it. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { until } from '../../../test/support/process.js';
import { commandOutput } from './secret-command.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-secret-command-'));
after(() => rmSync(directory, { recursive: true }));
const host = { environment: { PATH: '/usr/bin:/bin' }, home: directory };
const run = (command: string) => commandOutput(command, host, 10_000);

describe('a command that prints a secret', () => {
  it('says what it printed and how it ended, and has no descriptor of ours', async () => {
    assert.deepEqual(await run('echo value; echo why >&2'), { ended: 'exit code 0', stdout: 'value', stderr: 'why\n' });
    assert.equal((await run('exit 7')).ended, 'exit code 7');
    assert.equal((await run('kill -TERM $$')).ended, 'SIGTERM');
    assert.equal((await run('nosuchprogram')).ended, 'exit code 127');
    assert.equal((await run('test -e /proc/$$/fd/3 && echo ours')).stdout, '');
  });

  it('leaves running what it has put into the background, where it ends by itself', async () => {
    assert.equal((await run('sleep 30 > /dev/null 2>&1 & echo $! > stays')).ended, 'exit code 0');
    process.kill(Number(readFileSync(join(directory, 'stays'), 'utf8')), 'SIGKILL');
  });

  it('ends with all it has started, where this process is killed', async () => {
    const module = pathToFileURL(new URL('./secret-command.js', import.meta.url).pathname).href;
    const started = 'echo $$ > first; sleep 300 & echo $! > second; wait';
    const script = `import(${JSON.stringify(module)}).then(({ commandOutput }) =>
      commandOutput(${JSON.stringify(started)}, ${JSON.stringify(host)}, 60_000))`;
    const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
    const pids = ['first', 'second'].map((name) => join(directory, name));
    await until(() => pids.every((path) => existsSync(path) && statSync(path).size > 0), 'it runs');
    child.kill('SIGKILL');
    const isGone = (pid: string) => {
      const status = join('/proc', pid, 'status');
      return !existsSync(status) || /^State:\tZ/m.test(readFileSync(status, 'utf8'));
    };
    await until(() => pids.every((path) => isGone(readFileSync(path, 'utf8').trim())), 'it has ended');
  });
});
