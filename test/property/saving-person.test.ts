/**
 * A person who saves all the time, into files that are being replaced and removed: no save is lost. Whatever went from a file,
 * other than by a later save of their own, was kept before, or is beside the file, or the file has it again.
 *
 * One save is made by hand: the process that has found a file by its name and opens it when it is taken away.
 *
 * CTX_TEST_SEED repeats the person's choices; CTX_SOAK=1 lets them save a million times.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Tree } from '../../src/vault/tree/tree.js';
import type { Step } from '../../src/vault/tree/tree-jobs.js';
import { checkout, temporaryRoot } from '../support/program.js';
import { randomFrom, testSeed } from '../support/random.js';

const person = fileURLToPath(new URL('saving/person.js', import.meta.url));
const files = 6;
const leastSaves = process.env['CTX_SOAK'] === '1' ? 1_000_000 : 1_500;

/** A file's text, or none where it is away or something else. */
function textsIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap(({ name }) => {
      try {
        return [readFileSync(join(directory, name), 'utf8')];
      } catch {
        return []; // Gone since it was listed.
      }
    });
}

test(`no save of a person is lost while their files are replaced, CTX_TEST_SEED=${testSeed}`, async () => {
  const top = mkdtempSync(join(temporaryRoot(), 'ctx-saving-'));
  const at = (name: string) => join(top, name);
  const tree = new Tree({ program: join(checkout, 'dist', 'native', 'tree') });
  const random = randomFrom(testSeed);
  const kept = new Set<string>();
  try {
    for (const name of ['origin', 'fork']) mkdirSync(at(name));
    writeFileSync(at('round'), '0');
    writeFileSync(at('log'), '');
    const argv = [person, at('origin'), String(files), String(testSeed), at('log')];
    const child = spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
    const closed = once(child, 'close');
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    let replaced = 0;
    let clashed = 0;
    const saves = () =>
      Math.max(0, ...textsIn(at('origin')).map((text) => Number(/save (\d+) of [^\n]*\n$/.exec(text)?.[1] ?? 0)));
    for (let round = 1; replaced < 20 || clashed < 20 || saves() < leastSaves; round++) {
      assert.equal(child.exitCode, null, 'the person has stopped');
      const plan: Step[] = [];
      rmSync(at('fork'), { recursive: true });
      mkdirSync(at('fork'));
      for (let number = 0; number < files; number++) {
        const path = `f${number}`;
        const chance = random();
        plan.push({ action: chance < 0.2 ? 'remove' : 'put', path });
        // Now and then so large that copying it takes a while.
        if (chance >= 0.2)
          writeFileSync(at(`fork/${path}`), `fork ${round}\n`.padEnd(chance > 0.97 ? 20_000_000 : 20, '.'));
      }
      const into = at(`kept-${round}`);
      await tree.mirror({ root: at('origin'), into, layers: [], paths: plan.map(({ path }) => path) });
      const expected = [into];
      const met = await tree.apply({ uppers: [at('fork')], root: at('origin'), plan, expected });
      clashed += met.clashes.length;
      replaced += plan.length - met.clashes.length;
      for (const text of textsIn(into)) kept.add(text);
      rmSync(into, { recursive: true });
      writeFileSync(at('round'), String(round));
    }
    child.stdin.end();
    const [code] = (await closed) as [number];
    assert.equal(code, 0);
    for (const text of textsIn(at('origin'))) kept.add(text);
    const log = readFileSync(at('log'), 'utf8').trimEnd().split('\n');
    const lost = log.map((line) => JSON.parse(line) as string).filter((text) => !kept.has(text));
    assert.deepEqual(lost, [], `of ${said.trim()} saves, ${replaced} replaced, ${clashed} clashes`);
    const strays = readdirSync(at('origin')).filter((name) => name.startsWith('.ctx-'));
    assert.deepEqual(strays, []);
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
});

/** Has found the file when it says so, and opens it as soon as something else has its name. */
const latecomer = `
import os, sys
found = os.open(sys.argv[1], os.O_PATH)
print('found', flush=True)
while True:
    try:
        if os.stat(sys.argv[1]).st_ino != os.fstat(found).st_ino: break
    except FileNotFoundError: break
with open(f'/proc/self/fd/{found}', 'w') as file: file.write('a late save')
`;

for (const [action, earlier] of [
  ['put', []],
  ['remove', []],
  ['put', ['file.ctx-saved', 'file.ctx-saved-1']],
] as const)
  test(`a save that was on its way when its file was taken away is beside it, and beside ${earlier.length} earlier ones: ${action}`, async () => {
    const top = mkdtempSync(join(temporaryRoot(), 'ctx-late-'));
    const at = (name: string) => join(top, name);
    const tree = new Tree({ program: join(checkout, 'dist', 'native', 'tree') });
    try {
      for (const name of ['origin', 'fork', 'kept']) mkdirSync(at(name));
      for (const name of ['origin', 'kept']) {
        writeFileSync(at(`${name}/file`), 'before');
        chmodSync(at(`${name}/file`), 0o754);
      }
      writeFileSync(at('fork/file'), 'of the fork');
      for (const name of earlier) writeFileSync(at(`origin/${name}`), `the save in ${name}`);
      // What comes after it takes long enough for anybody to arrive.
      const others = Array.from({ length: 3_000 }, (_, number) => `other-${number}`);
      for (const name of others) writeFileSync(at(`fork/${name}`), name);
      const child = spawn('python3', ['-c', latecomer, at('origin/file')], { stdio: ['ignore', 'pipe', 'inherit'] });
      const closed = once(child, 'close');
      await once(child.stdout, 'data');
      const plan: Step[] = [
        { action, path: 'file' },
        { action: 'remove', path: 'nothing' },
        ...others.map((path): Step => ({ action: 'put', path })),
      ];
      const { clashes } = await tree.apply({
        uppers: [at('fork')],
        root: at('origin'),
        plan,
        expected: [at('kept')],
      });
      assert.deepEqual(await closed, [0, null]);
      const texts = readdirSync(at('origin'))
        .filter((name) => !name.startsWith('other-'))
        .map((name): [string, string] => [name, readFileSync(at(`origin/${name}`), 'utf8')]);
      // One who comes before the file was looked at keeps it, and that is a clash.
      const isKept = clashes.includes('file');
      const place = earlier.length === 0 ? 'file.ctx-saved' : `file.ctx-saved-${earlier.length}`;
      const expected = new Map(earlier.map((name): [string, string] => [name, `the save in ${name}`]));
      if (action === 'put' && !isKept) expected.set('file', 'of the fork');
      expected.set(isKept ? 'file' : place, 'a late save');
      assert.deepEqual(new Map(texts), expected);
      assert.equal(statSync(at(`origin/${isKept ? 'file' : place}`)).mode & 0o7777, 0o754);
    } finally {
      rmSync(top, { recursive: true, force: true });
    }
  });
