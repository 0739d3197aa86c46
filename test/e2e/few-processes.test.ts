/** Where too few processes are allowed Node waits for ever or aborts, before a line of ours has run: `ctx` says so instead. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

forEachUser((user) => {
  const stage = useStage(user);
  /** The option is `-p` in dash and `-u` elsewhere, where `-p` cannot be set. */
  const limited = (most: number, words: string) => {
    const script = `ulimit -p ${most} 2>/dev/null || ulimit -u ${most}; exec "$0" ${words}`;
    return stage.start(stage.project(), ['sh', '-c', script, stage.program]).finished;
  };

  if (user.uid === 0) {
    test('a limit that does not hold for its user is none', async () => {
      const { code, stdout, stderr } = await limited(999, '--version');
      assert.deepEqual([code, stderr], [0, '']);
      assert.match(stdout, /^ctx \d/);
    });
  } else {
    // Fewer than Node has threads, no matter who else runs as this user.
    for (const words of ['jail start', 'exec -- true', 'exec --keep -- true', '--version', 'status']) {
      test(`ctx ${words} says what it lacks and what to do, and leaves nothing`, async () => {
        const { code, stdout, stderr } = await limited(10, words);
        assert.deepEqual([code, stdout], [69, ''], stderr);
        assert.match(
          stderr,
          /^ctx: start Node: expected room for \d+ processes and threads, got \d: .* \(EAGAIN\)\n {2}try: /,
        );
      });
    }
  }
});
