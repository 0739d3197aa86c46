/** What the suites start their programs with: a program that hangs fails its test. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { start } from './process.js';

describe('a program that a test starts', () => {
  it('is given back as it ended, by itself or by a signal of its own', async () => {
    const { code, signal, stdout } = await start(['sh', '-c', 'echo out; exit 3']).finished;
    assert.deepEqual([code, signal, stdout], [3, null, 'out\n']);
    assert.equal((await start(['sh', '-c', 'kill -9 $$']).finished).signal, 'SIGKILL');
  });

  it('fails the test where it hangs, with what it said, also where something else holds its streams', async () => {
    const script = 'echo begun; sleep 3 & exec sleep 30';
    const { finished, child } = start(['sh', '-c', script], { timeoutSeconds: 0.5 });
    await assert.rejects(
      finished,
      /killed by the test after 0\.5 s: sh -c .*\nstdout: begun\n.*it waited:\n {2}\d+ sleep 30\n {4}1x S.*\n {2}\d+ sleep 3\n/s,
    );
    assert.ok(child.killed);
  });
});
