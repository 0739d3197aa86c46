import assert from 'node:assert/strict';
import { it } from 'node:test';
import { removal } from './stop.js';

it('the command that removes the program is one for a shell, wherever the program is', () => {
  assert.equal(
    removal("/home/ann's/node 20/lib/node_modules/ctxfs", true),
    "npm uninstall --global --prefix '/home/ann'\\''s/node 20' ctxfs",
  );
  assert.equal(removal('/usr/lib/node_modules/ctxfs', false), 'sudo npm uninstall --global --prefix /usr ctxfs');
  assert.equal(removal('/srv/shop/node_modules/ctxfs', true), 'npm uninstall --prefix /srv/shop ctxfs');
  assert.equal(removal('/usr/lib/ctxfs', false), 'sudo apt-get remove ctxfs');
  assert.equal(removal('/usr/lib/ctxfs', true), 'apt-get remove ctxfs');
  assert.equal(removal('/opt/ctxfs', true), 'rm -r /opt/ctxfs');
  assert.equal(removal("/opt/ann's", true), "rm -r '/opt/ann'\\''s'");
});
