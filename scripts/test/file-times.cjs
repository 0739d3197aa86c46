/**
 * Loaded into each test file's process before it. A line of CTX_TEST_TIMES: how many seconds that process was there,
 * and how many of a processor it and those that it waited for have used. What a keeper ran for it (test/support/warm-
 * calls.ts) is not in this.
 */
const { appendFileSync, readFileSync } = require('node:fs');

const list = process.env.CTX_TEST_TIMES;
// Not for the processes that a test starts.
delete process.env.CTX_TEST_TIMES;

/** user, system, and both of children, in hundredths of a second: what follows the name, which may hold spaces. */
function processorSeconds() {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) / 100, 0);
}

if (list !== undefined && process.env.NODE_TEST_CONTEXT !== undefined) {
  process.on('exit', () => {
    appendFileSync(list, `${JSON.stringify([process.argv[1], performance.now() / 1000, processorSeconds()])}\n`);
  });
}
