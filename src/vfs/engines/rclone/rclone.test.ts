/** rclone, where it cannot be started: what it does is tested with WebDAV, whose server it is. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { rcloneFileSystem } from './rclone.js';

it('a tree whose server cannot be started is refused at once', async () => {
  const { PATH } = process.env;
  process.env['PATH'] = '/nothing/here';
  try {
    await assert.rejects(rcloneFileSystem({ remote: 'remote:', writable: false }), { code: 'EIO' });
  } finally {
    process.env['PATH'] = PATH;
  }
});
