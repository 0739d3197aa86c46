import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const sources = fileURLToPath(new URL('../../../../src', import.meta.url));
const module = new URL('./child-process.js', import.meta.url).href;

/** In a process of its own: what is open there before and after a start with so many descriptors left, and how that went. */
const startedWithFew = `
  import { closeSync, openSync, readdirSync } from 'node:fs';
  import { once } from 'node:events';
  const { startProgram } = await import(${JSON.stringify(module)});
  const open = () => readdirSync('/proc/self/fd').length;
  const start = async () => {
    const child = startProgram('/bin/true', [], { stdio: ['pipe', 'pipe', 'pipe'] });
    await once(child, 'close');
  };
  await start();
  const rows = [];
  for (let left = 0; left < 24; left++) {
    const before = open();
    const held = [];
    try { for (;;) held.push(openSync('/dev/null')); } catch {}
    for (const descriptor of held.splice(0, left)) closeSync(descriptor);
    const how = await start().then(() => 'started', (error) => error.code + ' ' + error.name);
    for (const descriptor of held) closeSync(descriptor);
    await new Promise((resolve) => setTimeout(resolve, 5));
    rows.push([how, open() - before]);
  }
  console.log(JSON.stringify(rows));
`;

describe('a program that is started by a process that stays', () => {
  test('leaves nothing open where too few descriptors are left, and is refused with EMFILE then', () => {
    const script = 'ulimit -n 100; exec "$0" --input-type=module -e "$1"';
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', script, process.execPath, startedWithFew], {
      encoding: 'utf8',
    });
    assert.equal(stderr, '');
    const rows = JSON.parse(stdout) as readonly (readonly [string, number])[];
    assert.deepEqual(
      rows.filter(([, left]) => left !== 0),
      [],
    );
    assert.deepEqual([...new Set(rows.map(([how]) => how))], ['EMFILE ErrnoError', 'started']);
  });
});

/** What starts programs by Node's own way, and why nothing stays open because of it. */
const others: Readonly<Record<string, string>> = {
  'base/child-process.ts': 'the way itself',
  'cli/kept-jail/ask-keeper.ts': 'a verb that ends',
  'cli/kept-jail/exec-keep.ts': 'a verb that ends',
  'cli/kept-jail/kept-jail.ts': 'a verb that ends',
  'cli/mounts/background-server.ts': 'a verb that ends',
  'cli/text/pager.ts': 'a verb that ends',
  'keeper/copy-trial.ts': 'before a keeper can be called',
  'keeper/warm-up.ts': 'before a keeper can be called',
};

test('programs are started by that function, but where the process ends soon', () => {
  const names = readdirSync(sources, { recursive: true, encoding: 'utf8' });
  const found = names
    .filter((name) => name.endsWith('.ts') && !/\.test\.ts$|-fixture\.ts$/.test(name))
    .filter((name) => /(?<![.\w]function )\bspawn\(/.test(readFileSync(join(sources, name), 'utf8')));
  assert.deepEqual(found.sort(), Object.keys(others).sort());
});
