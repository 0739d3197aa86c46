import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JailView } from '../../jail/plan.js';
import type { EnforcedView } from '../grants/enforced-plan.js';
import { liveView } from './live-view.js';

const view = {
  jail: {
    base: '/store/vault/1',
    overlays: [{ target: '/w', lower: ['l'], upper: 'u', work: 'k' }],
    shared: [
      { source: '/usr', target: '/usr', access: 'read only' },
      { source: '/store/vault/1/home', target: '/home/ada', access: 'read write', ofFork: true },
    ],
  } as unknown as JailView,
  readOnly: ['/w/.ctx'],
  masked: [],
  noExecution: [],
} satisfies EnforcedView;

describe('a view without a fork', () => {
  it('shows the workspace itself and a home that ends with the jail, and is else the same', () => {
    const { jail, ...rest } = liveView(view, { uid: 1000, gid: 1000, shift: 0 }, '/store');
    assert.deepEqual([jail.base, jail.overlays, jail.temporary], ['/store', [], ['/home/ada']]);
    assert.deepEqual(jail.shared, [
      { source: '/w', target: '/w', access: 'read write' },
      { source: '/usr', target: '/usr', access: 'read only' },
    ]);
    assert.deepEqual(rest.readOnly, ['/w/.ctx']);
  });

  it('is written as its owner where root runs it, and never as root', () => {
    const workspace = (uid: number, gid: number) =>
      liveView(view, { uid, gid, shift: 1 << 30 }, '/store').jail.shared[0];
    assert.equal(workspace(1000, 1000)?.asOwner, true);
    for (const [uid, gid] of [
      [0, 0],
      [1000, 0],
      [0, 1000],
    ] as const)
      assert.equal(workspace(uid, gid)?.asOwner, undefined);
  });
});
