/** Limits of a process: what does not fit is said, and nothing of it is left. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Tree } from './tree.js';
import { freshPlace, program } from './tree-fixture.js';
import { splitFields } from './tree-program.js';

const { at, write } = freshPlace();

describe('a limit of file sizes', () => {
  const large = 'x'.repeat(300_000);
  const script = 'ulimit -f "$0"; exec "$@"';
  const limited = (kilobytes: number, words: readonly string[], input: readonly string[] = []) => {
    const options = { input: input.map((field) => `${field}\0`).join('') };
    const { status, stderr } = spawnSync('bash', ['-c', script, String(kilobytes), program, ...words], options);
    return { status, why: splitFields(stderr) };
  };
  const verbs: Readonly<Record<string, { words: () => readonly string[]; input?: readonly string[] }>> = {
    copy: { words: () => ['copy', at('source'), at('made'), '--out', at('signatures')] },
    mirror: { words: () => ['mirror', at('source'), '--into', at('made')], input: ['f'] },
    merge: { words: () => ['merge', '--into', at('made'), '--copies', '--upper', at('source')] },
    'apply over a file': {
      words: () => ['apply', '--upper', at('source'), '--to', at('made'), '--layer', at('before')],
      input: ['put', 'f'],
    },
    'apply of a new file': {
      words: () => ['apply', '--upper', at('source'), '--to', at('made'), '--layer', at('nothing')],
      input: ['put', 'f'],
    },
    'apply into a layer': {
      words: () => ['apply', '--upper', at('source'), '--to', at('made')],
      input: ['put', 'f'],
    },
    'apply to the disk': {
      words: () => ['apply', '--upper', at('source'), '--to', at('made'), '--layer', at('before'), '--durable'],
      input: ['put', 'f'],
    },
  };

  for (const [name, { words, input }] of Object.entries(verbs)) {
    it(`${name}: a larger file is refused with its reason, and leaves nothing half; one that fits comes`, () => {
      write('source/f', large);
      write('before/f', 'old');
      mkdirSync(at('nothing'));
      const isOver = name.startsWith('apply') && !name.endsWith('new file');
      if (name.startsWith('apply')) mkdirSync(at('made'));
      if (isOver) write('made/f', 'old');
      assert.deepEqual(limited(100, words(), input), { status: 1, why: ['EFBIG', 'copy', 'f'] });
      assert.deepEqual(readdirSync(at('made')), isOver ? ['f'] : []);
      if (isOver) assert.equal(readFileSync(at('made/f'), 'utf8'), 'old');
      if (!name.startsWith('apply')) spawnSync('rm', ['-r', at('made')]);
      assert.deepEqual(limited(300, words(), input), { status: 0, why: [] });
      assert.equal(readFileSync(at('made/f'), 'utf8'), large);
    });
  }

  it('keeps the signatures that were there where new ones would be larger', () => {
    for (let number = 0; number < 100; number += 1) write(`source/f${number}`, '');
    writeFileSync(at('signatures'), 'of before');
    const words = ['scan', at('source'), '--out', at('signatures')];
    assert.deepEqual(limited(2, words), { status: 1, why: ['EFBIG', 'write', at('signatures')] });
    assert.equal(readFileSync(at('signatures'), 'utf8'), 'of before');
    assert.equal(existsSync(at('signatures.new')), false);
  });

  it('is named to a person, with what raises it', async () => {
    write('source/f', large);
    writeFileSync(at('limited'), `#!/bin/bash\nulimit -f 100; exec '${program}' "$@"\n`);
    chmodSync(at('limited'), 0o755);
    const there = new Tree({ program: at('limited') });
    const copying = there.copy({ root: at('source'), destination: at('made'), signatures: at('s') });
    await assert.rejects(copying, { code: 'EFBIG', path: 'f', message: /ulimit -f/ });
  });
});
