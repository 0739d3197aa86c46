/** Which of a package's programs `bin/ctx` runs: a shell would read one that the kernel refuses as a script. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { checkout, temporaryRoot } from '../support/program.js';

const scratch = mkdtempSync(join(temporaryRoot(), 'ctx-machine-'));
after(() => rmSync(scratch, { recursive: true }));

/** A package where `bin/ctx` finds no loader of either machine, and `uname` says which this is. */
function packageOn(machine: string): (...words: readonly string[]) => string {
  const root = join(scratch, machine);
  const programs = ['x64', 'arm64'].map((name) => join(root, 'dist/native', name));
  for (const directory of [join(root, 'bin'), join(root, 'dist/cli'), ...programs])
    mkdirSync(directory, { recursive: true });
  const files = {
    'bin/uname': `#!/bin/sh\necho ${machine}\n`,
    'bin/ctx': readFileSync(join(checkout, 'bin/ctx'), 'utf8').replace(/\/lib(64)?\/ld-linux-/g, '/nowhere/'),
    'dist/cli/ctx.cjs': "console.log('node');",
    'dist/native/x64/call': '#!/bin/sh\necho x64\n',
    'dist/native/arm64/call': '#!/bin/sh\necho arm64\n',
  };
  for (const [path, text] of Object.entries(files)) {
    writeFileSync(join(root, path), text);
    chmodSync(join(root, path), 0o755);
  }
  const env = { PATH: `${root}/bin:${process.env['PATH']}`, HOME: scratch };
  return (...words) => spawnSync(join(root, 'bin/ctx'), words, { encoding: 'utf8', env }).stdout.trim();
}

test('without a loader at its usual place, uname says whose programs run; for other machines Node alone is started', () => {
  const machines = ['x86_64', 'aarch64', 's390x'];
  assert.deepEqual(
    machines.map((machine) => packageOn(machine)('status')),
    ['x64', 'arm64', 'node'],
  );
});
