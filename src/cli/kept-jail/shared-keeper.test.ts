/** By itself: it takes the signals of its process, and ends it. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { nativeProgram } from '../../base/native-program.js';
import type { KeeperSpot } from '../../sdk/workspace/shared-keeper.js';
import { SharedKeeper, type SharedKeeping } from './shared-keeper.js';

it('whose starter has gone before it could be told ends, and leaves nothing', async (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-keeper-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const host = { lockLibrary: nativeProgram('flock.node'), jailProgram: nativeProgram('jail') };
  const at = (end: string) => join(directory, `key.${end}`);
  const names = { socketName: 'key.socket', socket: at('socket'), lock: at('lock'), complaints: at('log') };
  const spot = { directory, key: 'key', ...names };
  // The build is asked for by what was started.
  const [, program = ''] = process.argv;
  process.argv[1] = join(dirname(nativeProgram('jail')), 'jail');
  context.after(() => {
    process.argv[1] = program;
  });
  const keeper = new SharedKeeper({ host } as unknown as SharedKeeping, spot as unknown as KeeperSpot);
  const gone = new ErrnoError('EPIPE', { operation: 'print', reason: 'broken pipe' });
  const begun = () => {
    assert.deepEqual(readdirSync(directory).sort(), ['key.lock', 'key.socket']);
    throw gone;
  };
  await assert.rejects(keeper.run(begun), gone);
  assert.deepEqual(readdirSync(directory), []);
});
