import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeAuthority } from '../../authority/authority.js';
import { parseLabel } from '../../authority/label.js';
import { parsePolicy } from '../../authority/policy.js';
import { viewSurface } from './agent-viewer.js';
import type { Catalogue } from './catalogue.js';
import { lineBelow, mayWriteAgent } from './visible.js';

/** Agents by name, with their parents. */
function catalogue(parents: Readonly<Record<string, string>>): Catalogue {
  const text = (content: string) => ({ size: content.length, modified: 0n, read: () => Buffer.from(content) });
  const file = { uid: 1000, gid: 1000, mode: 0o755 };
  const nothing = () => [];
  return {
    tools: nothing,
    tool: () => undefined,
    policy: () => ({}),
    described: () => Object.keys(parents),
    isDescribed: (_place, name) => Object.hasOwn(parents, name),
    agent: (place, name) =>
      place === 'agent' && Object.hasOwn(parents, name) ? { facts: { exists: true, visible: true, file } } : undefined,
    providers: nothing,
    model: () => undefined,
    spaceFiles: () => ({ directory: '/', names: [] }),
    spaces: nothing,
    space: () => undefined,
    controls: () => ['parent'],
    control: (_place, name) => text(parents[name] ?? ''),
  };
}

const all = catalogue({
  writer: 'agent:boss\n',
  boss: '',
  child: 'agent:writer session:x\n',
  grandchild: 'agent:child\n',
  stranger: '',
  one: 'agent:other\n',
  other: 'agent:one\n',
});

const viewer = {
  authority: makeAuthority({
    identity: { uid: 1000, gid: 1000, label: parseLabel('u:r:writer_t:s0') },
    surface: viewSurface,
    policy: parsePolicy(
      ['writer', 'boss', 'child', 'stranger', 'one', 'none']
        .map((name) => `allow writer_t agent:${name} write\n`)
        .join(''),
      'policy',
    ),
  }),
  now: 0,
};

describe('the agents that one may write', () => {
  it('are its descendants, which is not itself, its parents or strangers', () => {
    const line = (name: string) => lineBelow(all, viewer, 'writer', name);
    assert.deepEqual(line('grandchild'), ['grandchild', 'child']);
    assert.deepEqual(line('child'), ['child']);
    for (const name of ['writer', 'boss', 'stranger', 'one', 'none']) assert.equal(line(name), undefined, name);
  });

  it('need the permission, too', () => {
    const may = (name: string) => mayWriteAgent(all, viewer, 'writer', name);
    assert.equal(may('child'), true);
    for (const name of ['grandchild', 'writer', 'boss', 'stranger', 'one', 'none'])
      assert.equal(may(name), false, name);
  });
});
