import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Guard, scopes, type VfsGrants } from './guard.js';

it('a directory on the way to what is granted can be read, and nothing else', () => {
  const everything = Object.fromEntries(scopes.map((scope) => [scope, ['/a/b/c']])) as VfsGrants;
  const guard = new Guard(everything);
  for (const scope of scopes) {
    for (const path of [[], ['a'], ['a', 'b']]) {
      assert.equal(guard.allows(scope, path), scope === 'fs.read', `${scope} ${path.join('/')}`);
      if (scope !== 'fs.read') assert.throws(() => guard.pass(scope, 'act', path), { code: 'EACCES' });
    }
    for (const path of [['x'], ['a', 'x'], ['a', 'b', 'cc']]) {
      assert.equal(guard.allows(scope, path), false);
      assert.throws(() => guard.pass(scope, 'act', path), { code: 'ENOENT' });
    }
    for (const path of [
      ['a', 'b', 'c'],
      ['a', 'b', 'c', 'd'],
    ])
      assert.ok(guard.allows(scope, path));
  }
});
