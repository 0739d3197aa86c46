/** npm only warns of a Node that is too old, and Debian 12 has one: every way in says so, in our words. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkout, temporaryRoot } from '../support/program.js';

const scratch = mkdtempSync(join(temporaryRoot(), 'ctx-old-node-'));
after(() => rmSync(scratch, { recursive: true }));
/** As Node 18 is to us. */
const older = join(scratch, 'older.cjs');
writeFileSync(
  older,
  "delete process.getBuiltinModule;\nObject.defineProperty(process, 'version', { value: 'v18.20.8' });\n",
);

const started = (bundle: string, ...words: readonly string[]) => {
  const argv = ['--require', older, join(checkout, 'dist/cli', bundle), ...words];
  const env = { PATH: process.env['PATH'], HOME: scratch, CTX_DATA: join(scratch, 'store') };
  return spawnSync(process.execPath, argv, { encoding: 'utf8', env, cwd: scratch, input: '{}' });
};

for (const [code, bundle, ...words] of [
  [69, 'ctx.cjs', '--version'],
  [69, 'ctx.cjs', 'exec', '--', 'true'],
  [69, 'ctx.cjs', 'doctor'],
  [2, 'hook.cjs', 'hook', 'claude-code'],
] as const) {
  test(`ctx ${words.join(' ')} says that Node is too old, and which one it expected`, () => {
    const { status, stdout, stderr } = started(bundle, ...words);
    assert.deepEqual([status, stdout], [code, ''], stderr);
    assert.match(stderr, /^ctx: .*expected Node 20\.19 or newer, .*got v18\.20\.8.*\n {2}try: install a newer Node/);
  });
}
