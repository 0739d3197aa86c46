/** The clock of the wall is set: back an hour, or on by a day. What waits, or is as new as that, goes by the one that only goes forward. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkout } from './support/program.js';

/** What reads it, and what for: a time that is written down, shown, or compared with one that was. */
const readers: Readonly<Record<string, string>> = {
  'src/base/clock.ts': 'the way to a time that is written down',
  'src/base/unique-name.ts': 'a part of a name',
  'src/cli/verbs/audit.ts': 'what a person asks for as `since`',
  'src/compose-hook.ts': 'the clock of the host',
  'src/compose-recorder.ts': 'the clock of the host',
  'src/fuse/removed.ts': 'a time of a file',
  'src/keeper/warm-up.ts': 'how old a directory is, by its own time',
  'src/objects/left-behind.ts': 'how old a directory is, by its own time',
  'src/objects/projection/projection.ts': 'a time of a file',
  'src/sdk/operator/living.ts': 'since when, of what does not say',
  'src/vault/apply/apply.ts': 'when it was made',
  'src/vault/forks/checkpoint.ts': 'when it was made',
  'src/vault/store/group.ts': 'since when, of what does not say',
  'src/vault/store/member.ts': 'since when',
  'src/vault/store/recover.ts': 'when it was made',
  'src/vault/vault.ts': 'when it was made',
  'src/vfs/engines/chunked/chunked-store.ts': 'when it was made',
  'src/vfs/engines/inodes/inode-time.ts': 'a time of a file',
  'src/vfs/engines/remote/remote-filesystem.ts': 'a time of a file',
};

test('the clock of the wall is read where a time is written down or shown, and nowhere to wait by it', () => {
  const found = readdirSync(join(checkout, 'src'), { recursive: true, encoding: 'utf8' })
    .map((name) => `src/${name}`)
    .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|-fixture\.ts$/.test(name))
    .filter((name) => /\bDate\.now\b|new Date\(\)/.test(readFileSync(join(checkout, name), 'utf8')));
  assert.deepEqual(found.sort(), Object.keys(readers).sort());
});
