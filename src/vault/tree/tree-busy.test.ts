/** Trees that change while they are walked: what is made, deleted and replaced meanwhile is there or not, and never a failure. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { freshPlace, tree } from './tree-fixture.js';

const { at, write } = freshPlace();
const names = Array.from({ length: 6 }, (_, number) => `n${number}`);

/** Each name in turn becomes another kind of entry, and directories come and go, as fast as one process can. */
const changing = `
import os, random, shutil, sys
os.chdir(sys.argv[1])
names, kinds = sys.argv[2:], ('nothing', 'file', 'directory', 'link', 'pipe')
random.seed(1)
print('ready', flush=True)
while True:
    for name in ('d0', 'd1', 'd2', 'd3'):
        os.mkdir(name)
    for name in ('d0', 'd1', 'd2', 'd3'):
        os.rmdir(name)
    for name in names:
        if random.random() < 0.9: continue
        try: os.unlink(name)
        except OSError: shutil.rmtree(name, ignore_errors=True)
        kind = random.choice(kinds)
        if kind == 'file': open(name, 'w').write(name)
        if kind == 'link': os.symlink('elsewhere', name)
        if kind == 'pipe': os.mkfifo(name)
        if kind == 'directory':
            os.mkdir(name)
            open(name + '/inner', 'w').close()
`;

async function whileChanging(
  directory: string,
  act: (turn: number) => Promise<unknown>,
  seconds: number,
): Promise<void> {
  const child = spawn('python3', ['-c', changing, directory, ...names], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    const end = Date.now() + seconds * 1000;
    for (let turn = 1; Date.now() < end; turn += 1) await act(turn);
    assert.equal(child.exitCode, null);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
}

describe('a tree that changes while it is walked', () => {
  const paths = names.flatMap((name) => [name, `${name}/inner`]);
  const verbs: Readonly<Record<string, (turn: number) => Promise<unknown>>> = {
    scan: (turn) => tree.scan({ root: at('busy'), signatures: at(`s${turn % 2}`), against: at(`s${(turn + 1) % 2}`) }),
    copy: (turn) => tree.copy({ root: at('busy'), destination: at(`copy${turn}`), signatures: at('copied') }),
    mirror: (turn) => tree.mirror({ root: at('busy'), into: at(`mirror${turn}`), layers: [at('lower')], paths }),
    diff: () => tree.diff({ uppers: [at('busy')], lowers: [at('lower')] }),
    compare: () => tree.compare({ layers: [at('lower')], root: at('busy'), paths }),
    read: () => tree.read({ layers: [at('busy'), at('lower')], paths }),
  };
  for (const [verb, act] of Object.entries(verbs)) {
    it(`is no failure of ${verb}`, async () => {
      mkdirSync(at('busy'));
      for (const name of names.slice(0, 2)) write(`lower/${name}`);
      for (const name of names.slice(2, 4)) write(`lower/${name}/inner`);
      await whileChanging(at('busy'), act, 0.5);
    });
  }
});

/** Of each entry of a file of signatures (native/tree/signature.c), the time of its last change; 0 where it is not trusted. */
function changeTimes(file: string): ReadonlyMap<string, bigint> {
  const bytes = readFileSync(file);
  const times = new Map<string, bigint>();
  let path = Buffer.alloc(0);
  for (let start = 32; start < bytes.length; ) {
    const [shared, rest] = [bytes.readUInt32LE(start), bytes.readUInt32LE(start + 4)];
    path = Buffer.concat([path.subarray(0, shared), bytes.subarray(start + 56, start + 56 + rest)]);
    times.set(path.toString(), bytes.readBigInt64LE(start + 48));
    start += 56 + rest;
  }
  return times;
}

it('a file that is written all the while it is copied counts as changed, whatever its times say later', async () => {
  write('busy/still');
  // It takes so long to copy that somebody else gets the processor meanwhile.
  write('busy/written', 'x'.repeat(8 << 20));
  const writing =
    "import sys\nf = open(sys.argv[1], 'r+b', 0)\nprint('ready', flush=True)\nwhile True: f.seek(0); f.write(b'x')";
  const child = spawn('python3', ['-c', writing, at('busy/written')], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await once(child.stdout, 'data');
    // On a busy machine the writer may have had no processor for as long as one copy takes.
    for (let turn = 0; ; turn += 1) {
      const problems = await tree.copy({
        root: at('busy'),
        destination: at(`copy${turn}`),
        signatures: at('signatures'),
      });
      const times = changeTimes(at('signatures'));
      const isTold = problems.some(({ path, code }) => path === 'written' && code === 'EBUSY');
      assert.ok((times.get('still') ?? 0n) > 0n);
      assert.equal((times.get('written') ?? 0n) === 0n, isTold);
      if (isTold) break;
      assert.ok(turn < 100, 'it was never written while it was copied');
    }
  } finally {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
});
