/** Trees that change while they are walked: what is made, deleted and replaced meanwhile is there or not, and never a failure. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
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
