/** rclone, where it is another program, is not there, or does not end: what it does is tested with WebDAV, whose server it is. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { rcloneFileSystem } from './rclone.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-rclone-'));
after(() => rmSync(directory, { recursive: true }));

it('a tree whose server cannot be started is refused at once', async () => {
  await assert.rejects(rcloneFileSystem({ remote: 'remote:', writable: false, programs: '/nothing/here' }), {
    code: 'ENOSYS',
  });
});

it('starts the programs of the system, whatever comes first in PATH', async () => {
  const { PATH } = process.env;
  for (const name of ['rclone', 'sh'])
    writeFileSync(join(directory, name), `#!/bin/sh\n: > ${directory}/ran\n`, { mode: 0o755 });
  process.env['PATH'] = `${directory}:${PATH}`;
  try {
    await assert.rejects(rcloneFileSystem({ remote: 'no-such-remote:', writable: false }));
    assert.ok(!existsSync(join(directory, 'ran')));
  } finally {
    process.env['PATH'] = PATH;
  }
});

it('a server that does not end is killed', async () => {
  const program = `#!/bin/sh\ntrap '' TERM\necho $$ > ${directory}/process\nexec /bin/sleep 1000\n`;
  writeFileSync(join(directory, 'rclone'), program, { mode: 0o755 });
  const opened = rcloneFileSystem({
    remote: 'remote:',
    writable: false,
    programs: `${directory}:/usr/bin:/bin`,
    startMilliseconds: 300,
  });
  const began = Date.now();
  await assert.rejects(opened, { code: 'ETIMEDOUT' });
  assert.ok(Date.now() - began < 30_000);
  assert.ok(!existsSync(`/proc/${readFileSync(join(directory, 'process'), 'utf8').trim()}`));
});
