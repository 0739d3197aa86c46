/**
 * Verbs that change what ctx keeps, many at one time, each in a process of its own: what one of them said that it did is there when all
 * have ended, and what they could do only once one of them did.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Stage, useStage } from '../support/stage.js';
import { asOneUser } from '../support/users.js';

const each = Array.from({ length: 6 }, (_, number) => number);

interface Case {
  /** Calls before, one after the other. */
  readonly first?: readonly (readonly string[])[];
  readonly words: (number: number) => readonly string[];
  readonly input?: (number: number) => string;
  /** How many may say that they did it: all, where nothing is said. */
  readonly once?: true;
  /** What is there then: a line for each that did it. */
  readonly found: (stage: Stage, cwd: string) => Promise<readonly string[]>;
  readonly expected: (number: number) => string;
}

async function listed(stage: Stage, cwd: string, words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await stage.ctx(cwd, words);
  assert.equal(code, 0, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
  return stdout;
}

const linesOf = (text: string) => text.split('\n').filter(Boolean);
const controls = (agent: string, file: string) => async (stage: Stage) =>
  linesOf(readFileSync(join(stage.store, 'ctx/agent', `${agent}.d`, file), 'utf8'));
const namesIn = (path: string, pattern: RegExp) => async (stage: Stage) =>
  readdirSync(join(stage.store, path)).flatMap((name) => pattern.exec(name)?.[1] ?? []);
const wordsOf = (words: readonly string[], pattern: RegExp) => async (stage: Stage, cwd: string) =>
  [...(await listed(stage, cwd, words)).matchAll(pattern)].map(([, word = '']) => word);

const limits = [
  { name: 'maxBytes', words: ['--max-bytes', '1G'] },
  { name: 'maxFiles', words: ['--max-files', '99999'] },
  { name: 'maxFileBytes', words: ['--max-file-bytes', '1G'] },
];

const cases: Readonly<Record<string, Case>> = {
  'a rule': {
    words: (number) => ['rules', 'add', 'deny', '--', `tool${number}`],
    found: wordsOf(['rules', 'list'], /(tool\d)/g),
    expected: (number) => `tool${number}`,
  },
  'a secret': {
    words: (number) => ['secret', 'set', `KEY_${number}`],
    input: (number) => `value${number}\n`,
    found: namesIn('secret', /^(KEY_\d)\.json$/),
    expected: (number) => `KEY_${number}`,
  },
  'a host of an agent': {
    first: [['agent', 'new', 'hosts']],
    words: (number) => ['agent', 'grant', 'hosts', 'connect', `h${number}.example:443`],
    found: controls('hosts', 'network'),
    expected: (number) => `h${number}.example:443`,
  },
  'an agent of one name': {
    words: () => ['agent', 'new', 'same'],
    once: true,
    found: namesIn('ctx/agent', /^(same)\.d$/),
    expected: () => 'same',
  },
  'the end of an agent': {
    first: [['agent', 'new', 'gone']],
    words: () => ['agent', 'rm', 'gone'],
    once: true,
    found: async (stage) => (existsSync(join(stage.store, 'ctx/agent/gone.d')) ? [] : ['gone']),
    expected: () => 'gone',
  },
  'a limit of a vault': {
    first: [['vault', 'create']],
    words: (number) => ['vault', 'set', ...(limits[number % limits.length]?.words ?? [])],
    found: async (stage, cwd) => {
      const text = await listed(stage, cwd, ['vault', 'info', '--json']);
      return limits.flatMap(({ name }) => (text.includes(`"${name}":`) ? name : []));
    },
    expected: (number) => limits[number % limits.length]?.name ?? '',
  },
  'a hook': {
    words: () => ['hook', 'install', 'claude-code'],
    found: async (_, cwd) => {
      const { hooks } = JSON.parse(readFileSync(join(cwd, '.claude/settings.json'), 'utf8'));
      assert.deepEqual(readdirSync(join(cwd, '.claude')), ['settings.json']);
      return hooks.PreToolUse.length === 1 ? ['one'] : ['many'];
    },
    expected: () => 'one',
  },
  'a fork': {
    first: [['vault', 'create']],
    words: (number) => ['fork', 'create', `f${number}`],
    found: wordsOf(['fork', 'list'], /\b(f\d)\b/g),
    expected: (number) => `f${number}`,
  },
  'a fork without a name': {
    first: [['vault', 'create']],
    words: () => ['fork', 'create'],
    found: wordsOf(['fork', 'list'], /\b(fork-\d)\b/g),
    expected: (number) => `fork-${number + 1}`,
  },
  'a checkpoint': {
    first: [['vault', 'create']],
    words: (number) => ['checkpoint', 'save', `c${number}`, '--wait'],
    found: wordsOf(['checkpoint', 'list'], /\b(c\d)\b/g),
    expected: (number) => `c${number}`,
  },
};

asOneUser((user) => {
  const stage = useStage(user);

  for (const [what, { first = [], words, input, once, found, expected }] of Object.entries(cases))
    test(`${what}: what was said to be done is there`, async () => {
      const cwd = stage.project('echo hello > file');
      for (const call of first) await listed(stage, cwd, call);
      const ended = await Promise.all(
        each.map((number) => stage.ctx(cwd, words(number), input === undefined ? {} : { input: input(number) })),
      );
      const did = each.filter((number) => ended[number]?.code === 0);
      const said = ended.map(({ code, stderr }) => `${code} ${stderr}`).join('');
      assert.equal(did.length, once === true ? 1 : each.length, said);
      assert.deepEqual([...new Set(await found(stage, cwd))].sort(), [...new Set(did.map(expected))].sort(), said);
    });

  test('a parent that is removed while children are made: no child is without it', async () => {
    const cwd = stage.project();
    const policy = each.map((number) => `allow top_t agent:leaf${number} create\n`).join('');
    writeFileSync(join(cwd, 'policy'), policy);
    await listed(stage, cwd, ['agent', 'new', 'top']);
    await listed(stage, cwd, ['agent', 'set', 'top', 'policy', '--from', join(cwd, 'policy')]);
    const [removed, ...made] = await Promise.all([
      stage.ctx(cwd, ['agent', 'rm', 'top']),
      ...each.map((number) => stage.ctx(cwd, ['agent', 'new', `leaf${number}`, '--parent', 'top'])),
    ]);
    const children = await namesIn('ctx/agent', /^(leaf\d)\.d$/)(stage);
    assert.equal(children.length, made.filter(({ code }) => code === 0).length);
    assert.ok(removed.code !== 0 || children.length === 0, `${children.join()} without their parent`);
  });
});
