/** What was granted is replaced by something else at the same path, after it was looked at and before it is mounted. */
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bareJail } from '../support/bare-jail.js';

const jail = bareJail();
const [granted, secret] = ['granted', 'secret'].map((name) => join(jail.base, name)) as [string, string];
for (const directory of [granted, secret]) mkdirSync(directory);
writeFileSync(join(secret, 'file'), 'secret');
const { dev, ino } = statSync(granted, { bigint: true });
const path = { source: granted, target: '/granted', access: 'read only' } as const;
const look = ['test', '-e', '/granted/file'];
const weakened = ['seccomp'] as const;

describe('a granted directory', () => {
  it('is shown where it is still the same', async () => {
    const plan = jail.plan(look, { weakened, shared: [{ ...path, identity: `${dev}:${ino}` }] });
    assert.equal(await jail.run(plan), 1);
  });

  it('is not shown where another has taken its path, nor through a link', async () => {
    renameSync(granted, `${granted}-away`);
    renameSync(secret, granted);
    // The path alone would be followed to whatever is there.
    assert.equal(await jail.run(jail.plan(look, { weakened, shared: [path] })), 0);
    const known = { ...path, identity: `${dev}:${ino}` };
    assert.match(
      String(await jail.run(jail.plan(look, { weakened, shared: [known] }))),
      /failed \d+ bind 116 .*granted/,
    );
    renameSync(granted, secret);
    symlinkSync(secret, granted);
    for (const shared of [path, known]) {
      assert.match(
        String(await jail.run(jail.plan(look, { weakened, shared: [shared] }))),
        /failed \d+ bind 40 .*granted/,
      );
    }
    unlinkSync(granted);
  });
});
