/** Loaded into each test file's process before it: how long that process was there, as a line of CTX_TEST_TIMES. */
const { appendFileSync } = require('node:fs');

const list = process.env.CTX_TEST_TIMES;
// Not for the processes that a test starts.
delete process.env.CTX_TEST_TIMES;
if (list !== undefined && process.env.NODE_TEST_CONTEXT !== undefined) {
  process.on('exit', () => appendFileSync(list, `${JSON.stringify([process.argv[1], performance.now() / 1000])}\n`));
}
