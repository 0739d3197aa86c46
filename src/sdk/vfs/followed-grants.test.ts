import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CountedRefusal } from '../../guard/refusal-counter.js';
import { followGrants } from './followed-grants.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-grants-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const file = join(directory, 'grants');

async function becomes(wanted: boolean, is: () => boolean): Promise<boolean> {
  for (const end = Date.now() + 20_000; is() !== wanted && Date.now() < end; ) await sleep(10);
  return is() === wanted;
}

const gone = () => rmSync(file, { recursive: true, force: true });

/** What can become of a file: each takes every right away. */
const wrong: Readonly<Record<string, () => void>> = {
  deleted: gone,
  empty: () => writeFileSync(file, ''),
  'other text': () => writeFileSync(file, 'fs.read\n'),
  'another scope': () => writeFileSync(file, 'fs.everything /\n'),
  'right and wrong': () => writeFileSync(file, 'fs.read /\nfs.reed /\n'),
  'a relative path': () => writeFileSync(file, 'fs.read data\n'),
  'a directory': () => {
    gone();
    mkdirSync(file);
  },
  'a pipe': () => {
    gone();
    execFileSync('mkfifo', [file]);
  },
  'far too long': () => writeFileSync(file, `fs.read /\n#${'x'.repeat(300_000)}\n`),
  'moved away': () => renameSync(file, join(directory, 'elsewhere')),
};

describe('grants of a file', () => {
  for (const [how, change] of Object.entries(wrong)) {
    it(`are none while it is ${how}, and count again when it is right again`, async () => {
      gone();
      writeFileSync(file, 'fs.read /data\n');
      const { guard, end } = followGrants(file, () => undefined);
      const isGranted = () => guard.allows('fs.read', ['data', 'file']);
      try {
        assert.ok(isGranted());
        change();
        assert.ok(await becomes(false, isGranted));
        gone();
        writeFileSync(file, 'fs.read /data\n');
        assert.ok(await becomes(true, isGranted));
      } finally {
        end();
      }
    });
  }

  it('that are wrong to begin with are refused', () => {
    for (const [how, change] of Object.entries(wrong)) {
      if (how === 'empty') continue; // which says that nothing is granted
      gone();
      writeFileSync(file, '');
      change();
      assert.throws(() => followGrants(file, () => undefined), { name: 'ErrnoError' }, how);
    }
  });

  it('tell of every refusal, the last ones when they end', () => {
    gone();
    writeFileSync(file, 'fs.read /data\n');
    const told: CountedRefusal[] = [];
    const { guard, end } = followGrants(file, (refusal) => told.push(refusal));
    for (let i = 0; i < 3; i++) assert.throws(() => guard.pass('fs.read', 'open', ['other']));
    end();
    assert.equal(
      told.reduce((sum, { count }) => sum + count, 0),
      3,
    );
  });
});
