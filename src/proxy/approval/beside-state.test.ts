/** What other workspaces' commands write, and a command that was approved once sees: each change of it is another state. */
import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { storePaths } from '../../vault/store/layout.js';
import { agentHomeDirectory, keptParts } from '../grants/agent-home.js';
import { testHost } from '../host-fixture.js';
import { besideState, type SeenBeside } from './beside-state.js';

const { host } = testHost();
const views = () => Promise.reject(new Error('not asked'));

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** Of an agent's command, unless it is otherwise in one thing. */
const stateOf = (request: object = {}, more: object = {}) =>
  besideState({
    host: { ...host, views },
    place: { owner: { uid: 5 } },
    resolved: { authority: { identity: { uid: 5 } }, agent: { name: 'coder' } },
    request,
    ...more,
  } as unknown as SeenBeside);

it('is of the agent’s home, but for what the record writes there', async () => {
  const home = agentHomeDirectory(host.root, 5, 'coder');
  const empty = await stateOf();
  for (const part of keptParts) write(join(home, part, 'file'), 'x');
  assert.equal(await stateOf(), empty);
  write(join(home, '.gitconfig'), 'one');
  const first = await stateOf();
  assert.notEqual(first, empty);
  appendFileSync(join(home, 'session/file'), 'x');
  assert.equal(await stateOf(), first);
  write(join(home, '.gitconfig'), 'two');
  assert.notEqual(await stateOf(), first);
  const others = [stateOf({ home: '/other' }), stateOf({}, { host }), stateOf({}, { resolved: { authority: {} } })];
  assert.deepEqual(await Promise.all(others), [undefined, undefined, undefined]);
});

it('is of the caches that it shares, but for what the kernel keeps beside them', async () => {
  const without = { resolved: { authority: {} } };
  const stateOfCaches = () => stateOf({ cache: 'share' }, without);
  const caches = join(storePaths(host.store.directory).caches, '5');
  write(join(caches, 'key/dir/file'), 'x');
  const first = await stateOfCaches();
  write(join(caches, 'key.work/work/file'), 'x');
  assert.equal(await stateOfCaches(), first);
  rmSync(join(caches, 'key/dir/file'));
  assert.notEqual(await stateOfCaches(), first);
  assert.equal(await stateOf({ cache: 'fork' }, without), undefined);
});

it('is like no other state where it cannot be read, whatever it is of', async () => {
  write(join(agentHomeDirectory(host.root, 5, 'coder'), '.gitconfig'), 'one');
  write(join(storePaths(host.store.directory).caches, '5', 'key/dir/file'), 'x');
  const reading = (error: Error) => ({ host: { ...host, views, tree: { diff: () => Promise.reject(error) } } });
  const closed = reading(new ErrnoError('EACCES', { operation: 'diff', reason: 'closed' }));
  const agentless = { ...closed, resolved: { authority: {} } };
  const asked = [stateOf({}, closed), stateOf({}, closed), stateOf({ cache: 'share' }, agentless), stateOf()];
  const states = await Promise.all([...asked, stateOf({ cache: 'share' }, agentless)]);
  assert.equal(new Set(states).size, states.length);
  await assert.rejects(stateOf({}, reading(new TypeError('a defect'))), TypeError);
});
