/** Files of an approval are whole or damaged; until when one holds; what a rule matches, word by word. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { approvalSessionMilliseconds, approvalUseMilliseconds } from '../../base/limits/decisions.js';
import { readOnly } from '../../shell/classes.js';
import type { Reading } from '../../shell/reading.js';
import { type ApprovalAnswer, type Asked, holdsFor, parseAnswer, parseAsked, scopes, statusOf } from './approval.js';
import { makeRule, matchText, parseRules, ruleMatches, ruleWeight, ruleWords } from './decision-rule.js';

const asked: Asked = {
  version: 2,
  id: '00000001',
  askedAt: 1_000,
  expiresAt: 2_000,
  agent: 'coder',
  argv: ['git', 'push'],
  directory: '/work',
  origin: '/work',
  categories: ['networked'],
  reason: 'r',
  rule: 'default',
  connected: false,
  words: ['git', 'push'],
  shown: ['a line'],
  onceOnly: false,
  steps: 3,
  digest: 'd',
  lasting: 'l',
};
const answer: ApprovalAnswer = {
  version: 1,
  granted: true,
  scope: 'once',
  at: 1_500,
  by: 'uid 0',
  why: '',
  network: ['a.example:443'],
};

describe('a file of an approval', () => {
  const damaged = { code: 'EIO', path: 'file' };
  /** Each member as something else, and left out. */
  const others = [undefined, null, 7, 'x', true, [7], {}];
  const isSame = (one: unknown, other: unknown) =>
    typeof one === typeof other && Array.isArray(one) === Array.isArray(other) && one !== null && other !== null;

  it('is read where every member has its form', () => {
    assert.deepEqual(parseAsked(asked, 'file'), asked);
    assert.deepEqual(parseAsked({ ...asked, agent: null, steps: undefined }, 'file').agent, null);
    assert.deepEqual(parseAnswer(answer, 'file'), answer);
    for (const scope of scopes) assert.equal(parseAnswer({ ...answer, scope }, 'file').scope, scope);
  });

  it('is damaged where one has not', () => {
    const optional = new Set(['agent null', 'steps undefined']);
    for (const [whole, parse] of [
      [asked, parseAsked],
      [answer, parseAnswer],
    ] as const) {
      for (const [member, value] of Object.entries(whole)) {
        for (const other of others) {
          if (isSame(value, other) && !Array.isArray(value)) continue;
          if (optional.has(`${member} ${other}`)) continue;
          if (Array.isArray(other) && !['shown', 'network'].includes(member) && Array.isArray(value)) continue;
          assert.throws(
            () => parse({ ...whole, [member]: other }, 'file'),
            damaged,
            `${member} ${JSON.stringify(other)}`,
          );
        }
      }
      for (const other of [null, [], 'x', 7, {}]) assert.throws(() => parse(other, 'file'), damaged);
    }
    for (const version of [0, 3]) assert.throws(() => parseAsked({ ...asked, version }, 'file'), damaged);
    assert.throws(() => parseAnswer({ ...answer, version: 2 }, 'file'), damaged);
    assert.throws(() => parseAnswer({ ...answer, scope: 'always' }, 'file'), damaged);
  });
});

describe('an approval', () => {
  it('has one state at each time', () => {
    const status = (now: number, said?: Partial<ApprovalAnswer>, more: { used?: boolean; attended?: boolean } = {}) =>
      statusOf(
        {
          asked,
          answer: said === undefined ? undefined : { ...answer, ...said },
          used: false,
          attended: true,
          ...more,
        },
        now,
      );
    assert.equal(status(1_999), 'waiting');
    assert.equal(status(2_000), 'expired');
    assert.equal(status(1_999, undefined, { attended: false }), 'expired');
    assert.equal(status(1_999, { granted: false }), 'denied');
    for (const scope of scopes) {
      const lasts = scope === 'session' ? approvalSessionMilliseconds : approvalUseMilliseconds;
      assert.equal(status(1_500 + lasts - 1, { scope }), 'granted', scope);
      assert.equal(status(1_500 + lasts, { scope }), 'expired', scope);
      assert.equal(status(1_600, { scope }, { used: true }), scope === 'session' ? 'granted' : 'used');
      assert.equal(status(1_600, { scope }, { attended: false }), scope === 'once' ? 'expired' : 'granted');
    }
  });

  it('holds again only for a session, the same binding, and input that is known', () => {
    const holds = (said: Partial<ApprovalAnswer>, more: Partial<Asked> = {}, now = 1_600) =>
      holdsFor(
        { asked: { ...asked, ...more }, answer: { ...answer, ...said }, used: false, attended: true },
        { lasting: 'l' },
        now,
      );
    assert.ok(holds({ scope: 'session' }));
    assert.ok(!holds({ scope: 'once' }) && !holds({ scope: 'rule' }));
    assert.ok(!holds({ scope: 'session', granted: false }));
    assert.ok(!holds({ scope: 'session' }, { onceOnly: true }));
    assert.ok(!holds({ scope: 'session' }, { lasting: 'other' }));
    assert.ok(!holds({ scope: 'session' }, {}, 1_500 + approvalSessionMilliseconds));
  });
});

describe('a rule on a command', () => {
  const reading = (text: string, more: Partial<Reading> = {}): Reading => {
    const argv = text.split(' ');
    const words = [argv[0]?.split('/').at(-1) ?? '', ...argv.slice(1)];
    return { text, words, argv, classes: readOnly, readable: true, why: '', parts: [], ...more };
  };
  const denies = (rule: string, text: string, more?: Partial<Reading>) =>
    ruleMatches({ action: 'deny', match: { command: rule.split(' ') } }, reading(text, more));
  const allows = (rule: string, text: string, prefix?: true) =>
    ruleMatches({ action: 'allow', match: { command: rule.split(' '), ...(prefix ? { prefix } : {}) } }, reading(text));

  it('that denies is about options in any order and form, and operands by any spelling', () => {
    for (const [rule, text] of [
      ['rm -rf', 'rm -f -r x'],
      ['rm -r -f', 'rm -fr x'],
      ['rm --force', 'rm x --force'],
      ['cat -', 'cat x -'],
      ['rm /data', 'rm ///data//.'],
      ['rm /', 'rm //'],
      ['rm a/b', 'rm a/./b/'],
      ['rm a/b/', 'rm a/b'],
      ['/bin/rm x', 'rm x'],
      ['rm x y', 'rm y z x'],
    ] as const) {
      assert.ok(denies(rule, text), `${rule}: ${text}`);
    }
    for (const [rule, text] of [
      ['rm -rf', 'rm -r x'],
      ['rm -x', 'rm --x'],
      ['rm --xy', 'rm -x -y'],
      ['cat -', 'cat x'],
      ['cat x', 'cat -x'],
      ['rm /', 'rm /x'],
      ['rm a', 'rm a/b'],
      ['rm x y', 'rm x'],
      ['rm x', 'ls x'],
      ['rm rm', 'rm x'],
      ['rm --ab', 'rm --ba'],
      ['rm -ab=1', 'rm -ba=1'],
    ] as const) {
      assert.ok(!denies(rule, text), `${rule}: ${text}`);
    }
  });

  it('that denies a path is not about a word that is empty', () => {
    for (const path of ['.', '/']) assert.ok(!denies(`rm ${path}`, '', { words: ['rm', ''] }), path);
  });

  it('that denies a subcommand is about the first operand', () => {
    const more = { hasSubcommands: true };
    assert.ok(denies('git push', 'git push x', more));
    assert.ok(denies('git push x', 'git push y x', more));
    assert.ok(!denies('git push', 'git log push', more));
    assert.ok(!denies('git push x', 'git x push', more));
    assert.ok(!denies('git push push', 'git push', more));
    assert.ok(denies('git log push', 'git log x push', more));
  });

  it('that allows is for its words, by its name or by a directory of the system', () => {
    for (const directory of ['/bin', '/sbin', '/usr/bin', '/usr/sbin', '/usr/local/bin', '/usr/local/sbin']) {
      assert.deepEqual(ruleWords(reading(`${directory}/ls -l`)), ['ls', '-l']);
      assert.ok(allows('ls -l', `${directory}/ls -l`));
    }
    for (const program of ['./ls', '/opt/bin/ls', '/usr/bin/x/ls', 'bin/ls']) {
      assert.deepEqual(ruleWords(reading(`${program} -l`)), [program, '-l']);
      assert.ok(!allows('ls -l', `${program} -l`));
    }
    assert.ok(!allows('ls', 'ls -l') && allows('ls', 'ls -l', true) && !allows('ls -l x', 'ls -l', true));
    const { argv: _argv, ...without } = reading('ls -l');
    assert.deepEqual(ruleWords(without), ['ls', '-l']);
    assert.deepEqual(ruleWords({ words: [], argv: ['x'] }), []);
  });

  it('is about nothing where no command could be read, and a class about none', () => {
    for (const action of ['allow', 'deny'] as const) {
      assert.ok(!ruleMatches({ action, match: { command: ['ls'] } }, reading('ls', { words: [] })));
      assert.ok(!ruleMatches({ action, match: { class: 'mutating' } }, reading('ls')));
    }
    assert.ok(ruleMatches({ action: 'allow_with_checkpoint', match: { command: ['ls'] } }, reading('ls')));
    assert.ok(!ruleMatches({ action: 'allow_with_checkpoint', match: { command: ['ls'] } }, reading('ls -l')));
    assert.ok(ruleMatches({ action: 'require_approval', match: { command: ['ls'] } }, reading('ls -l')));
  });

  it('says more with more words, and for one agent', () => {
    const weight = (agent: string, ...command: readonly string[]) => ruleWeight(makeRule('deny', agent, { command }));
    const byClass = (agent: string) => ruleWeight(makeRule('deny', agent, { class: 'mutating' }));
    const ordered = [byClass('*'), byClass('a'), weight('*', 'x'), weight('-', 'x'), weight('*', 'x', 'y')];
    assert.deepEqual(
      ordered,
      [...new Set(ordered)].sort((one, other) => one - other),
    );
  });

  it('is known by what it says, and read from nothing else', () => {
    const id = (...given: Parameters<typeof makeRule>) => makeRule(...given).id;
    const ids = [
      id('deny', '*', { command: ['a'] }),
      id('allow', '*', { command: ['a'] }),
      id('deny', '-', { command: ['a'] }),
      id('deny', '*', { command: ['a'], prefix: true }),
      id('deny', '*', { class: 'mutating' }),
    ];
    assert.equal(new Set(ids).size, ids.length);
    for (const each of ids) assert.match(each, /^[0-9a-f]{8}$/);
    const rule = (value: object) => ({ version: 1, rules: [{ action: 'deny', agent: '*', ...value }] });
    const good = { match: { command: ['a'] } };
    for (const agent of ['*', '-', 'a', 'A-b.c+d_e', `a${'b'.repeat(63)}`])
      parseRules(rule({ ...good, agent }), 'file');
    for (const value of [
      ...['', '**', '--', '.a', 'a b', `a${'b'.repeat(64)}`, 7].map((agent) => ({ ...good, agent })),
      { match: { command: ['a', ''] } },
      { match: { command: ['a', 7] } },
      { match: { command: 'a' } },
      { match: { command: ['a'], prefix: false } },
      { match: { class: 7 } },
      { match: null },
      {},
      { ...good, action: undefined },
    ]) {
      assert.throws(() => parseRules(rule(value), 'file'), { code: 'EINVAL', path: 'file' }, JSON.stringify(value));
    }
    for (const value of [7, [], { version: 1 }, { version: 1, rules: {} }, { version: 1, rules: [null] }]) {
      assert.throws(() => parseRules(value, 'file'), { code: 'EINVAL' });
    }
    assert.equal(matchText({ class: 'mutating' }), 'class mutating');
    assert.equal(matchText({ command: ['a', 'b c'] }), "a 'b c'");
    assert.equal(matchText({ command: ['a'], prefix: true }), 'a ...');
  });
});
