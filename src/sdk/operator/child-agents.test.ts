import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { childrenOfAgent } from '../../base/limits/objects.js';
import { testHost } from '../../proxy/host-fixture.js';
import { createChild } from './child-agents.js';

const root = mkdtempSync(join(tmpdir(), 'ctx-children-'));
after(() => rmSync(root, { recursive: true, force: true }));
const { host } = testHost({ root, uid: 1000, gid: 1000 });

function place(name: string, parent: string): void {
  const directory = join(root, 'agent', `${name}.d`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, 'parent'), `${parent}\n`);
}
/** Beyond the limit it is asked for other things, of which this host has none. */
const create = (parent: string) =>
  createChild(host, parent, 'new', {}, root).then(
    () => 'made',
    (error) => (error instanceof ErrnoError ? error.code : 'no limit'),
  );

it('an agent makes so many children, and those of others are not among them', async () => {
  for (const name of ['ada', 'bob']) place(name, '');
  for (let number = 1; number <= 2; number += 1) place(`other${number}`, 'agent:bob');
  for (let number = 1; number < childrenOfAgent; number += 1) place(`child${number}`, 'agent:ada');
  assert.notEqual(await create('ada'), 'EDQUOT');
  place('last', 'agent:ada');
  assert.equal(await create('ada'), 'EDQUOT');
  assert.notEqual(await create('bob'), 'EDQUOT');
  assert.equal(await create('nobody'), 'ENOENT');
});
