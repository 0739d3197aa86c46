import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { builtInTools } from './built-in-tools.js';
import { schemaFault, valueFault } from './schema-check.js';

/** Of each member: what it takes, and what it does not. */
const path = [
  ['a', '/a', '.'],
  ['', 7, null],
] as const;
const yesOrNo = [
  [true, false],
  [0, 'true', null],
] as const;
const count = [
  [1, 2],
  [0, -1, 1.5, '1'],
] as const;
const agent = [
  ['a', 'x'.repeat(64)],
  ['', 'x'.repeat(65), 7],
] as const;
const anyText = [
  ['', 'a'],
  [7, null],
] as const;
const someText = [['a'], ['', 7, null]] as const;
const names = [
  [[], ['a', '']],
  ['a', [7], {}],
] as const;

const tools: Readonly<Record<string, Readonly<Record<string, readonly [readonly unknown[], readonly unknown[]]>>>> = {
  'fs.read path': { path, offset: count, limit: count },
  'fs.list': { path },
  'fs.stat path': { path },
  'fs.write path content': { path, content: anyText, create: yesOrNo, parents: yesOrNo },
  'fs.replace path old new': { path, old: someText, new: anyText, all: yesOrNo },
  'fs.search pattern': {
    pattern: someText,
    path,
    literal: yesOrNo,
    limit: [
      [1, 10_000],
      [0, 10_001, 1.5, '1'],
    ],
  },
  'shell.exec cmd': {
    cmd: someText,
    timeout: [
      [0.1, 60],
      [0, -1, '1'],
    ],
  },
  'fork.diff': { path },
  'fork.checkpoint': { name: agent },
  'fork.rollback': { checkpoint: someText },
  'agent.create name': {
    ...{ name: agent, label: someText, tools: names, model: names, policy: anyText },
    shared: [
      [{}, { a: ['read'] }],
      [[], 'a', 7],
    ],
    mount: [
      [[], [['a', 'b']]],
      [['a'], [[7]], {}],
    ],
  },
  'agent.start name': { name: agent },
  'agent.stop name': { name: agent },
};

describe('the tools that every installation has', () => {
  it('are these, and each takes what it needs, each member as it has to be, and nothing else', () => {
    assert.deepEqual(
      builtInTools.map(({ name }) => name),
      Object.keys(tools).map((words) => words.split(' ')[0]),
    );
    for (const [words, members] of Object.entries(tools)) {
      const [name, ...required] = words.split(' ');
      const { input, description } = builtInTools.find((each) => each.name === name) ?? assert.fail(name);
      assert.equal(schemaFault(input), undefined);
      assert.match(description, /^[A-Z].*\.$/);
      const whole = Object.fromEntries(Object.entries(members).map(([member, [[good]]]) => [member, good]));
      const fault = (value: object) => valueFault(value, input);
      assert.equal(fault(whole), undefined, name);
      for (const [member, [good, bad]] of Object.entries(members)) {
        for (const value of good) assert.equal(fault({ ...whole, [member]: value }), undefined, `${name} ${member}`);
        for (const value of bad)
          assert.match(
            fault({ ...whole, [member]: value }) ?? '',
            new RegExp(`^/${member}`),
            `${name} ${member} ${value}`,
          );
        const { [member]: _gone, ...rest } = whole;
        assert.equal(fault(rest) === undefined, !required.includes(member), `${name} without ${member}`);
      }
      // What a child is made of grows; what it cannot have is refused where it is made.
      assert.equal(fault({ ...whole, other: 1 }) === undefined, name === 'agent.create', name);
    }
  });
});
