import assert from 'node:assert/strict';
import { it } from 'node:test';
import { removal } from './stop.js';

it('the command that removes the program is one for a shell, wherever the program is', () => {
  assert.equal(
    removal("/home/ann's/node 20/lib/node_modules/ctxfs"),
    "npm uninstall --global --prefix '/home/ann'\\''s/node 20' ctxfs",
  );
  assert.equal(removal('/usr/lib/ctxfs'), 'sudo apt-get remove ctxfs');
  assert.equal(removal('/opt/ctxfs'), 'rm -r /opt/ctxfs');
  assert.equal(removal("/opt/ann's"), "rm -r '/opt/ann'\\''s'");
});
