/** Which directory counts as a root: by device and inode, and by inode alone where a device may have another number by now. */
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { currentBoot } from '../../base/boot.js';
import { identityOf } from '../../base/directory-identity.js';
import type { Tree } from '../tree/tree.js';
import { freshPlace } from '../tree/tree-fixture.js';
import { confirmedRoots, isKnownRoots, isStillRoot, type KnownRoots, knowRoots, settledRoot } from './known-roots.js';

/** Numbers of devices as `makedev` makes them: a disk has a major number, what is mounted without one has none. */
const disks = ['66305', '2049', String(0x1000n << 32n)] as const;
const mounts = ['45', '1048621'] as const;

describe('a root that is found again', () => {
  it('is the known one by its inode, and by its device but where that may have been numbered anew', () => {
    for (const known of [...disks, ...mounts])
      for (const found of [...disks, ...mounts])
        for (const [inode, boot] of [
          ['7', 'now'],
          ['7', 'earlier'],
          ['8', 'now'],
          ['8', 'earlier'],
        ] as const) {
          const [before, is] = [{ is: `${known}:7`, boot }, `${found}:${inode}`];
          const areMounts = [known, found].every((device) => mounts.some((each) => each === device));
          const isSame = inode === '7' && (known === found || boot === 'earlier' || areMounts);
          const label = `${before.is} of ${boot}, found ${is}`;
          assert.equal(isStillRoot(before, is, 'now'), isSame, label);
          const settled = settledRoot(before, is, 'now');
          const isNew = isSame && (boot === 'earlier' || areMounts);
          assert.deepEqual(settled, isNew ? { is, boot: 'now' } : before, label);
          // From then on it is that of this start of the machine: no disk takes its place any more.
          if (isSame)
            for (const disk of disks) assert.equal(isStillRoot(settled, `${disk}:7`, 'now'), disk === found, label);
        }
    assert.deepEqual(settledRoot(undefined, '1:2', 'now'), { is: '1:2', boot: 'now' });
  });
});

describe('the roots of a vault', () => {
  const { at } = freshPlace();
  const knowing = (roots: Readonly<Record<string, string>>, known?: KnownRoots) => {
    const held: Record<string, string> = {};
    const tree = { know: (path: string, is: string) => void Object.assign(held, { [path]: is }) } as unknown as Tree;
    return { news: knowRoots(tree, roots, known), held };
  };

  it('are what was found, once that is written down: whatever was known before, the next look has no news', () => {
    mkdirSync(at('one'));
    mkdirSync(at('other'));
    const roots = { one: at('one'), other: at('other') };
    const [one, other] = [identityOf(roots.one), identityOf(roots.other)];
    const boot = currentBoot();
    const [device, inode] = one.split(':');
    const now: KnownRoots = { one: { is: one, boot }, other: { is: other, boot } };
    const kept = { is: other, boot };
    const knowns: readonly (readonly [KnownRoots | undefined, boolean])[] = [
      [undefined, true],
      [{}, true],
      [{ one: now['one'] as never }, true],
      [{ one: { is: one, boot: 'earlier' }, other: kept }, true],
      [{ one: { is: one, boot }, other: { is: other, boot: 'earlier' } }, true],
      [{ one: { is: `${Number(device) + 1}:${inode}`, boot: 'earlier' }, other: kept }, true],
      [now, false],
    ];
    for (const [known, isNews] of knowns) {
      const { news, held } = knowing(roots, known);
      assert.deepEqual(held, { [roots.one]: one, [roots.other]: other });
      assert.deepEqual(news, isNews ? now : undefined, JSON.stringify(known));
      assert.equal(knowing(roots, news ?? known).news, undefined);
      assert.ok(isKnownRoots(news));
    }
    assert.deepEqual(confirmedRoots(roots), now);
  });

  it('stay what they were where another directory, or none, is in their place', () => {
    mkdirSync(at('one'));
    const roots = { one: at('one') };
    const known = confirmedRoots(roots);
    const earlier = { one: { is: known['one']?.is ?? '', boot: 'earlier' } };
    renameSync(at('one'), at('moved'));
    for (const [before, expected] of [
      [known, { [roots.one]: known['one']?.is }],
      [earlier, { [roots.one]: known['one']?.is }],
      [undefined, {}],
    ] as const)
      assert.deepEqual(knowing(roots, before), { news: undefined, held: expected });
    mkdirSync(at('one'));
    for (const before of [known, earlier])
      assert.deepEqual(knowing(roots, before), { news: undefined, held: { [roots.one]: known['one']?.is } });
    rmSync(at('one'), { recursive: true });
  });
});
