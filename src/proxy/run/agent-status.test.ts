import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { busy } from './agent-status.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-status-'));
after(() => rmSync(base, { recursive: true, force: true }));
const state = (directory: string) => ['status', 'pid'].map((file) => readFileSync(join(directory, file), 'utf8'));

it('an agent is busy while a command runs for it, and dead when the last that began has ended', () => {
  const directory = join(base, 'ada.d');
  mkdirSync(directory);
  const own = ['busy\n', `${process.pid}\n`];
  const end = busy({ directory });
  assert.deepEqual([state(directory), statSync(join(directory, 'pid')).mode & 0o777], [own, 0o644]);
  end();
  assert.deepEqual(state(directory), ['dead\n', '']);
  const first = busy({ directory });
  writeFileSync(join(directory, 'pid'), '1\n');
  first();
  assert.deepEqual(state(directory), ['busy\n', '1\n'], 'another process has begun since');
});

it('what cannot be written is no failure: no agent, or one that is gone', () => {
  busy(undefined)();
  const directory = join(base, 'gone.d');
  busy({ directory })();
  assert.deepEqual(readdirSync(base).includes('gone.d'), false);
  mkdirSync(directory);
  const end = busy({ directory });
  rmSync(directory, { recursive: true });
  end();
});
