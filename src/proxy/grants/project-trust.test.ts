/** What of a project's file is read at all, before anybody is asked about it. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { projectAt, projectFileName, readProject } from './project-trust.js';

describe('a project’s file', () => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-trust-')));
  after(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, '.ctx'));
  const store = { directory: join(directory, 'store') } as Parameters<typeof projectAt>[0]['store'];
  const put = (bytes: Buffer | string) => writeFileSync(join(directory, projectFileName), bytes);

  it('is text, byte for byte: two that are no UTF-8 would read alike, and have one digest', () => {
    put('# \u00ff\n');
    assert.match(readProject(directory)?.digest ?? '', /^[0-9a-f]{64}$/);
    for (const byte of [0xfe, 0xff]) {
      put(Buffer.from([0x23, byte, 0x0a]));
      const isRefused = (error: unknown) => error instanceof ErrnoError && error.code === 'EINVAL';
      assert.throws(() => readProject(directory), isRefused);
      assert.deepEqual(projectAt({ store }, directory), {
        kind: 'unconfirmed',
        digest: null,
        reason: 'expected UTF-8',
      });
    }
  });
});
