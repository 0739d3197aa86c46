import assert from 'node:assert/strict';
import { it } from 'node:test';
import { testHost } from '../../proxy/host-fixture.js';
import { examine } from './doctor.js';

it('a store that cannot be written is found, with what to do, and the rest is looked at', async () => {
  const { host } = testHost();
  // The kernel's own tree, where nobody makes a directory.
  const { ready, checks } = await examine({ ...host, store: { ...host.store, directory: '/sys' } });
  const [first, ...others] = checks;
  assert.deepEqual([ready, first?.name, first?.state], [false, 'store directory', 'missing']);
  assert.match(first?.found ?? '', /^\/sys: mkdtemp failed: /);
  assert.match(first?.remedy ?? '', /CTX_DATA/);
  assert.ok(others.some(({ name }) => name === 'store'));
  const missing = { ...host, jailProgram: '/nonexistent' };
  await assert.rejects(examine(missing), { code: 'ENOENT', operation: 'probe' });
});
