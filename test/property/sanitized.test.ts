/** The native programs once more, built with sanitizers: their own tests, and real commands through the whole of `ctx`. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { checkout, temporaryRoot } from '../support/program.js';
import { cannotSanitize, compileSanitized } from '../support/sanitizers.js';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const base = mkdtempSync(join(temporaryRoot(), 'ctx-sanitized-'));
chmodSync(base, 0o755);
after(() => rmSync(base, { recursive: true }));

/** A whole product, with these native programs in place of its own. */
function sanitizedProduct(): string {
  const product = join(base, 'ctxfs');
  for (const part of ['bin', 'dist/cli', 'dist/native']) {
    mkdirSync(join(product, part), { recursive: true, mode: 0o755 });
    cpSync(join(checkout, part), join(product, part), { recursive: true });
  }
  for (const name of ['jail', 'tree']) compileSanitized(name, join(product, 'dist/native'));
  return product;
}

const product = cannotSanitize === undefined ? sanitizedProduct() : '';

/** The tests of these compiled files, with another program under them; they have to pass. */
async function passes(variable: string, program: string, files: readonly string[]): Promise<void> {
  const paths = files.map((file) => fileURLToPath(new URL(`../../${file}`, import.meta.url)));
  const { NODE_TEST_CONTEXT: _ours, ...environment } = process.env;
  const child = spawn(process.execPath, ['--test', ...paths], {
    env: { ...environment, [variable]: join(product, 'dist/native', program) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  const [code] = (await once(child, 'close')) as [number];
  const failed = said.split('\n').filter((line) => /not ok|Sanitizer|runtime error/.test(line));
  assert.equal(code, 0, failed.join('\n'));
  assert.match(said, /pass [1-9]/);
}

describe('with sanitizers', { skip: cannotSanitize }, () => {
  // Against real mounts it takes a while: the soak does that, too.
  const ofTree = ['tree', 'usage', ...(process.env['CTX_SOAK'] === '1' ? ['tree-overlay'] : [])];
  test('the tree program passes its tests', () =>
    passes(
      'CTX_TEST_TREE',
      'tree',
      ofTree.map((name) => `src/vault/tree/${name}.test.js`),
    ));

  test('the jail program reads damaged plans', () =>
    passes('CTX_TEST_JAIL', 'jail', ['test/property/jail-plan-reader.test.js']));

  forEitherUser((user) => {
    const stage = useStage(user);
    const run = (cwd: string, words: readonly string[], input = '') =>
      stage.start(cwd, [join(product, 'bin/ctx'), ...words], { input }).finished;

    test('real programs run in the jail, and their changes are read, applied and dropped', async () => {
      const project = stage.project('git init -q .; echo old > file; mkdir deep; chmod 700 deep; ln -s file link');
      const script = [
        "git add -A; git -c user.name=a -c user.email=a@b commit -qm one; python3 -c \"open('made', 'w').write('x' * 99999)\"",
        'exec 9> gone; rm gone; echo held >&9; cat; unshare -U true; echo new > file; rm link; mkdir -p a/b/c; touch a/b/c/d; sleep 0.1 & wait; exit 3',
      ].join('\n');
      const ran = await run(project, ['exec', '--report', 'always', '--disk', '1G', '--', 'sh', '-c', script], 'input');
      assert.equal(ran.code, 3, ran.stderr);
      assert.equal(ran.stdout, 'input');
      assert.match(ran.stderr, /exit 3.*D link.*A made.*refused unshare once/s);
      assert.doesNotMatch(ran.stderr, /Sanitizer|runtime error/);
      const applied = await run(project, ['apply']);
      assert.equal(applied.code, 0, applied.stderr);
      for (const words of [
        ['exec', '--timeout', '300ms', '--', 'sleep', '9'],
        ['exec', '--', '/no/such'],
        ['exec', '--', 'false'],
      ]) {
        const { stderr, code } = await run(project, words);
        assert.doesNotMatch(stderr, /Sanitizer|runtime error/);
        assert.ok([143, 127, 1].includes(code ?? -1), stderr);
      }
      assert.equal((await run(project, ['drop'])).code, 0);
    });

    test('a kept jail outlives what its commands leave running, while others start', async () => {
      const project = stage.project();
      assert.equal((await run(project, ['jail', 'start'])).code, 0);
      for (let at = 0; at < 8; at += 1) {
        const { code, stderr } = await run(project, ['jail', 'exec', '--', 'sh', '-c', 'sleep 0.1 &']);
        assert.equal(code, 0, stderr);
      }
      assert.equal((await run(project, ['jail', 'stop'])).code, 0);
    });
  });
});
