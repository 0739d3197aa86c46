/** What a harness's task may do is what `ctx exec` would give its commands. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { agentNamed } from '../objects/agent.js';
import { makeObject } from '../objects/object-store.js';
import { agentTexts, toolTexts } from '../objects/spec.js';
import { resolveAuthority } from '../proxy/grants/authority-of.js';
import { type Host, placeOf } from '../proxy/host.js';
import { testHost } from '../proxy/host-fixture.js';
import { taskAuthority } from './task-authority.js';

const made = testHost();
const { root, uid, gid } = made.host;
const system = join(made.base, 'system');
const host: Host = { ...made.host, system, agents: async (name) => agentNamed({ root, uid }, name) };
const task = { agent: undefined, reads: [], writes: [], network: [] };

describe('the authority of a task', () => {
  it('is that of its directory, with what was granted, and no limits', async () => {
    const directory = join(made.project({ 'sub/file': '' }), 'sub');
    const [read, write] = [made.project(), made.project()];
    const network = ['example.org:443'];
    const { authority, used } = await taskAuthority(host, {
      ...task,
      directory,
      reads: [read],
      writes: [write],
      network,
    });
    const place = placeOf(host, directory);
    const grants = { network, quota: {} };
    const same = await resolveAuthority(host, { place, reads: [read], writes: [write], grants });
    assert.deepEqual(
      [authority.view.entries, authority.network, authority.quota, used],
      [same.authority.view.entries, same.authority.network, {}, 0],
    );
    assert.deepEqual(
      [read, write, directory, made.base].map((path) => authority.view.accessTo(path)),
      ['read', 'write', 'write', 'none'],
    );
    assert.equal((await taskAuthority(host, { ...task, directory })).authority.network.kind, 'none');
    await assert.rejects(taskAuthority(host, { ...task, directory: join(directory, 'no') }), { code: 'ENOENT' });
  });

  it('is its agent’s, with the tools that the agent may find, of the user and of the system', async () => {
    for (const [file, text] of agentTexts('coder', {}, { uid, gid })) {
      const path = join(root, 'agent/coder.d', file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    makeObject({ root: system, uid }, 'system', 'tool', 'theirs', toolTexts('theirs', {}));
    const directory = made.project();
    const { authority, toolFacts } = await taskAuthority(host, { ...task, directory, agent: 'coder' });
    assert.equal(authority.identity.label.type, 'coder_t');
    assert.deepEqual(
      ['theirs', 'fs.read', 'nowhere'].map((name) => toolFacts(name).exists),
      [true, true, false],
    );
    await assert.rejects(taskAuthority(host, { ...task, directory, agent: 'nobody' }), { code: 'ENOENT' });
  });
});
