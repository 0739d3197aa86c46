/**
 * One run of the model as one user: `node main.js UID GID DIRECTORY TREE-PROGRAM RUNS`. A process of its own, since a process
 * has one identity, and this one gives up root's for good.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { identityShift } from '../../../src/jail/id-maps.js';
import { Tree } from '../../../src/vault/tree/tree.js';
import { seeded } from '../seeded.js';
import type { Choice } from './work.js';
import { World } from './world.js';

const [uid = 0, gid = 0] = process.argv.slice(2, 4).map(Number);
const [base = '', program = '', runs = '1'] = process.argv.slice(4);
if (process.getuid?.() !== uid) {
  process.setgroups?.([]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}
const tree = new Tree({ program });
const owner = { uid, gid, shift: uid === 0 ? identityShift : 0 };

const number = fc.nat(1000);
const choice: fc.Arbitrary<Choice> = fc.record({ kind: number, a: number, b: number, c: number });
const step = fc.record({ what: fc.nat(99), by: number, choices: fc.array(choice, { maxLength: 6 }), one: choice });
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** How often each thing is done, of a hundred. */
const plays: readonly (readonly [number, (world: World, step: Step) => unknown])[] = [
  [38, (world, { choices, by, one }) => world.work(choices, by, one.a % 6 === 0)],
  [16, (world, { choices }) => world.edit(choices.slice(0, 3))],
  [5, (world, { by }) => world.checkpoint(by)],
  [7, (world, { by, one }) => world.rollBack(by, one.a)],
  [6, (world, { by, one }) => world.restore(by, one.c, one)],
  [6, (world, { by, one }) => world.fork(by, one.a)],
  [10, (world, { by, one }) => world.apply(by, one)],
  [4, (world, { by }) => world.undo(by)],
  [4, (world, { by }) => world.flatten(by)],
  [1, (world, { by }) => world.drop(by)],
  [1, (world, { by, one }) => world.forget(by, one.b)],
  [2, (world) => world.collect()],
];

function play(world: World, each: Step): unknown {
  let rest = each.what;
  for (const [share, act] of plays) {
    if (rest < share) return act(world, each);
    rest -= share;
  }
  throw new Error('expected the shares to be a hundred');
}

let count = 0;
const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30, size: 'max' }), async (steps) => {
  const directory = join(base, `${uid}-${count++}`);
  mkdirSync(directory);
  const world = new World(directory, tree, owner);
  try {
    await world.start();
    for (const each of steps) await play(world, each);
    await world.checkAll();
  } catch (error) {
    throw new Error(`${world.done.join('\n')}\n${String(error)}`, { cause: error });
  } finally {
    await tree.remove(directory);
  }
});
// A shorter failure is looked for, but not for ever (CTX_SHRINK=0: not at all). It says what was done in words of a shell.
const interruptAfterTimeLimit = (process.env['CTX_SOAK'] === '1' ? 120 : 5) * 60_000;
const endOnFailure = process.env['CTX_SHRINK'] === '0';
await fc.assert(property, { ...seeded(Number(runs)), interruptAfterTimeLimit, endOnFailure });
console.log(`${count} sequences`);
