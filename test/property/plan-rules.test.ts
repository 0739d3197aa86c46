/**
 * The rules of the reader of plans, each on both sides, by tables of their own: how many words every operation has, which plans it
 * may be in, what must be there once and in which order, and the limits of the frame around it. No plan here is ever executed.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { frame, request } from '../../src/jail/frame.js';
import { bareJail, bareUser } from '../support/bare-jail.js';

const jail = bareJail();

type Word = 'whole' | 'kept' | 'command' | 'overlays';
const many = 65_535;

/** By code: the name, the fewest and the most words, and the parts of plans that it may be in beside a whole one. */
const rules: readonly (readonly [name: string, least: number, most: number, ...plans: readonly Word[]])[] = [
  ['base', 1, 1, 'kept'],
  ['namespaces', 0, 0, 'kept'],
  ['map self', 0, 0, 'kept'],
  ['hostname', 1, 1, 'kept'],
  ['loopback', 0, 0, 'kept'],
  ['root', 0, 0, 'kept'],
  ['directory', 1, 1, 'kept'],
  ['file', 2, 2, 'kept'],
  ['symlink', 2, 2, 'kept'],
  ['tmpfs', 1, 1, 'kept'],
  ['bind', 2, 3, 'kept'],
  ['overlay', 4, many, 'kept', 'overlays'],
  ['proc', 1, 1, 'kept'],
  ['devpts', 1, 1, 'kept'],
  ['mask', 1, 1, 'kept'],
  ['make read only', 1, 1, 'kept', 'overlays'],
  ['pivot', 0, 0, 'kept'],
  ['shift', 0, 0, 'kept'],
  ['user', 0, 0, 'command'],
  ['limit', 0, 0, 'command'],
  ['command directory', 1, 1, 'command'],
  ['environment', 0, many, 'command'],
  ['command', 1, many, 'command'],
  ['landlock', 0, 0, 'command'],
  ['landlock rule', 1, 1, 'command'],
  ['seccomp', 1, 1, 'command'],
  ['listen', 0, 0, 'kept'],
  ['control group', 1, 1, 'kept'],
  ['owners', 2, 2, 'kept'],
  ['groups', 1, many, 'command'],
  ['report held files', 1, many, 'command'],
  ['cache', 4, many, 'kept'],
  ['fuse', 1, 1, 'kept'],
  ['numbers', 2, 2, 'kept'],
  ['again', 2, 2, 'kept'],
];

const wordsOf = (name: string) => rules.find(([each]) => each === name)?.[1] ?? 0;
const codeOf = (name: string) => rules.findIndex(([each]) => each === name) + 1;

function operation(code: number, words: number): Buffer {
  const head = Buffer.alloc(16);
  head.writeUInt16LE(code, 0);
  head.writeUInt16LE(words, 2);
  const word = Buffer.from([1, 0, 0, 0, 0x78, 0]);
  return Buffer.concat([head, ...Array.from({ length: words }, () => word)]);
}

function planOf(operations: readonly Buffer[], { magic = 'CTXJAIL\0', version = 1 } = {}): Buffer {
  const head = Buffer.alloc(16);
  head.write(magic, 'latin1');
  head.writeUInt32LE(version, 8);
  head.writeUInt32LE(operations.length, 12);
  return Buffer.concat([head, ...operations]);
}

const named = (...names: readonly string[]) => planOf(names.map((name) => operation(codeOf(name), wordsOf(name))));

function program(mode: readonly string[]): ChildProcess {
  const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe', 'pipe', 'ignore', 'pipe'] as const;
  const child = spawn(jail.program, mode, { stdio: [...stdio], env: {}, ...bareUser });
  // It may end before it has read all.
  for (const stream of child.stdio) stream?.on('error', () => undefined);
  return child;
}

/** All that the program says to these bytes. */
async function answer(bytes: Buffer, mode: readonly string[] = []): Promise<string> {
  const child = program(mode);
  const [, , , input, output] = child.stdio as unknown as readonly Duplex[];
  let said = '';
  output?.on('data', (chunk: Buffer) => {
    said += chunk.toString('latin1');
  });
  input?.end(bytes);
  await once(child, 'close');
  return said;
}

const whole = (plan: Buffer) => answer(frame(0, request.jail, plan));
const kept = (plan: Buffer) => answer(frame(0, request.jail, plan), ['serve']);

const refused = {
  words: /^0 failed 0 start 22 an operation has the wrong number of strings\0$/,
  kind: /^0 failed 0 start 22 an operation does not belong in a plan of this kind\0$/,
  order: /^0 failed 0 start 22 .* must occur once each, in this order\0$/,
};

describe('the reader of plans', () => {
  it('takes as many words of each operation as it has, and no other number', async () => {
    for (const [index, [name, least, most]] of rules.entries()) {
      const said = (words: number) => whole(planOf([operation(index + 1, words)]));
      for (const words of new Set([least, Math.min(most, least + 2)])) {
        if (words <= most) assert.match(await said(words), refused.order, `${name} with ${words}`);
      }
      if (least > 0) assert.match(await said(least - 1), refused.words, `${name} with ${least - 1}`);
      if (most < many) assert.match(await said(most + 1), refused.words, `${name} with ${most + 1}`);
    }
    for (const code of [0, rules.length + 1, 0xffff])
      assert.match(await whole(planOf([operation(code, 0)])), / an operation has an unknown code\0$/, String(code));
  });

  it('takes what belongs into the plan of a kept jail, and nothing of its commands', async () => {
    for (const [name, , , ...plans] of rules) {
      const said = await kept(named(name));
      assert.match(said, plans.includes('kept') ? refused.order : refused.kind, name);
    }
  });

  it('takes what belongs into the plan of a command or of overlays, and nothing else', async () => {
    const keeping = await jail.keep(jail.keptPlans([], { weakened: ['landlock', 'seccomp'] }).jail);
    try {
      for (const [name, , , ...plans] of rules) {
        const ofCommand = await keeping.ask(request.command, named(name));
        assert.match(
          ofCommand,
          plans.includes('command') ? / 22 user and command must occur once/ : / 22 an operation does not belong/,
          name,
        );
        if (plans.includes('overlays')) continue;
        assert.match(await keeping.ask(request.overlays, named(name)), / 22 an operation does not belong/, name);
      }
      for (const plan of orders(['user', 'command']))
        assert.match(await keeping.ask(request.command, named(...plan)), / 22 user and command must/, plan.join());
    } finally {
      await keeping.end();
    }
  });

  it('wants what makes a jail once, and in its order', async () => {
    const all = ['namespaces', 'root', 'pivot', 'user', 'command'];
    for (const plan of orders(all)) assert.match(await whole(named(...plan)), refused.order, plan.join());
    for (const plan of orders(all.slice(0, 3))) assert.match(await kept(named(...plan)), refused.order, plan.join());
  });

  it('has a head of its own, and takes as many operations as its limit', async () => {
    for (const magic of ['XTXJAIL\0', 'CTXJAIX\0', 'CTXJAIL1'])
      assert.match(await whole(planOf([], { magic })), / 22 this is not a plan\0$/, magic);
    for (const version of [0, 2, 257])
      assert.match(await whole(planOf([], { version })), / 22 the plan has another version than this program\0$/);
    const pivots = (count: number) => planOf(Array.from({ length: count }, () => operation(codeOf('loopback'), 0)));
    assert.match(await whole(pivots(4096)), refused.order);
    assert.match(await whole(pivots(4097)), / 22 the plan has too many operations\0$/);
    assert.match(await whole(Buffer.concat([planOf([]), Buffer.from([0])])), / 22 bytes follow the last operation\0$/);
  });

  it('comes in a frame of its own kind, which has both its numbers and a limit', async () => {
    const most = 16 << 20;
    const head = (length: number, kind: number) => {
      const bytes = Buffer.alloc(12);
      bytes.writeUInt32LE(length, 0);
      bytes.writeUInt32LE(kind, 8);
      return bytes;
    };
    for (const kind of [0, 2, 3, 4, 5, 6, 7, 8, 9])
      assert.match(await answer(frame(0, kind, planOf([]))), /^0 failed 0 start 22 reading the plan\0$/, String(kind));
    for (const length of [0, 7]) assert.match(await answer(head(length, request.jail)), / 22 reading the plan\0$/);
    assert.match(await answer(head(8, request.jail)), / 22 this is not a plan\0$/);
    assert.match(await answer(head(most + 1, request.jail)), / 7 reading the plan\0$/);
    const full = Buffer.concat([head(most, request.jail), Buffer.alloc(most - 8)]);
    assert.match(await answer(full), / 22 this is not a plan\0$/);
  });

  it('takes as many trees that others serve as there are channels', async () => {
    const trees = (count: number) =>
      named('namespaces', 'root', ...Array.from({ length: count }, () => 'fuse'), 'pivot', 'user', 'command');
    assert.match(await whole(trees(17)), /^0 failed 0 start 7 too many servers of mounts\0$/);
  });
});

/** Each left out, each twice, and each two neighbours exchanged: nothing of these is in order. */
function orders(all: readonly string[]): readonly (readonly string[])[] {
  return all.flatMap((name, index) => {
    const without = [...all.slice(0, index), ...all.slice(index + 1)];
    const next = all[index + 1];
    return [
      without,
      [...all, name],
      [...all.slice(0, index), name, ...all.slice(index)],
      ...(next === undefined ? [] : [[...all.slice(0, index), next, name, ...all.slice(index + 2)]]),
    ];
  });
}
