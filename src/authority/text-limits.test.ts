/** Both sides of each limit of what is written as text: rules, lineages, capabilities, paths. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { controlTextCharacters, pathBytes } from '../base/limits/objects.js';
import { parseCapabilities } from './capability.js';
import { parseLineage, printLineage } from './lineage.js';
import type { Grant } from './permission.js';
import { makePolicy, parsePolicy } from './policy.js';
import { meaningfulLines, quoted } from './syntax.js';
import { expandGivenPath, expandPath } from './tooling-paths.js';

const refused = (act: () => unknown) => assert.throws(act, { code: 'EINVAL' });

describe('a rule', () => {
  it('is found by its subject, class, name and permission, each of which counts', () => {
    const rules = [
      ['b_t', 'tool', 'x', 'execute'],
      ['a_t', 'agent', 'x', 'read'],
      ['a_t', 'tool', 'y', 'execute'],
      ['a_t', 'agent', 'x', 'start'],
      ['a_t', 'tool', 'x', 'execute'],
    ] as const;
    const text = rules
      .map(([subject, each, name, permission]) => `allow ${subject} ${each}:${name} ${permission}\n`)
      .join('');
    const policy = parsePolicy(text, 'file');
    rules.forEach(([subject, each, name, permission], index) => {
      const grant = { class: each, name, permission } as Grant;
      assert.equal(policy.ruleFor(subject, grant)?.line, index + 1);
      assert.equal(policy.ruleFor('c_t', grant), undefined);
    });
    assert.equal(policy.ruleFor('b_t', { class: 'tool', name: 'y', permission: 'execute' }), undefined);
  });

  it('of another language is refused with what to write instead', () => {
    const remedy = (line: string) => {
      try {
        parsePolicy(`${line}\n`, 'file');
      } catch (error) {
        return /globs|variables|match paths|no deny/.exec((error as { remedy?: string }).remedy ?? '')?.[0];
      }
      return 'taken';
    };
    const told: Readonly<Record<string, string | undefined>> = {
      'deny a_t tool:x execute': 'no deny',
      'permit a_t tool:x execute': undefined,
      'allow *_t tool:x execute': 'globs',
      'allow $a tool:x execute': 'variables',
      'allow a_t /etc/passwd read': 'match paths',
      'allow a_t ~/x read': 'match paths',
      'allow a_t ./x read': 'match paths',
      'allow a_t x/ read': undefined,
      'allow a_t x~ read': undefined,
      'allow a_t x. read': undefined,
      'allow a_t tool:a* execute': 'globs',
      'allow a_t tool:[ab] execute': 'globs',
      'allow a_t tool:%x execute': 'variables',
      'allow a_t': undefined,
      allow: undefined,
    };
    for (const [line, expected] of Object.entries(told)) assert.equal(remedy(line), expected, line);
    for (const line of [
      'allow a_t :x execute',
      'allow a_t tool: execute',
      'allow a_t tool:x',
      'allow a_t tool:x execute now',
    ])
      refused(() => parsePolicy(`${line}\n`, 'file'));
    refused(() => makePolicy('file', [{ subject: 'a_t', class: 'chair' as 'tool', name: 'x', permission: 'execute' }]));
  });
});

describe('a file of words', () => {
  it('has a limit, and a text that is quoted from it another', () => {
    const lines = (length: number) => meaningfulLines('read', 'x'.repeat(length), 'file').length;
    assert.equal(lines(controlTextCharacters), 1);
    refused(() => lines(controlTextCharacters + 1));
    assert.equal(quoted('x'.repeat(80)), `"${'x'.repeat(80)}"`);
    assert.equal(quoted('x'.repeat(81)), `"${'x'.repeat(80)}..."`);
  });

  it('that names a lineage has one word for each of its three', () => {
    const all = ['agent:a', 'session:b', 'run:c'];
    const values = { agent: 'a', session: 'b', run: 'c' };
    all.forEach((_, index) => {
      const text = all.slice(0, index + 1).join(' ');
      const lineage = parseLineage(text);
      assert.deepEqual(lineage, Object.fromEntries(Object.entries(values).slice(0, index + 1)));
      assert.equal(printLineage(lineage), `${text}\n`);
    });
    assert.equal(parseLineage(''), undefined);
    assert.equal(printLineage(undefined), '');
    for (const bad of [
      'agent',
      'agent:',
      'session:b',
      'agent:a run:c',
      `${all.join(' ')} more:d`,
      'agent:a  session:b',
      'agent:../x',
    ])
      refused(() => parseLineage(bad));
  });

  it('that says what a tool needs has numbers as they are, and each limit once', () => {
    const quota = (text: string) => parseCapabilities(`quota cpu ${text}\n`, 'cap')[0];
    for (const good of ['1', '0.5', '1.25', '10.125'])
      assert.deepEqual(quota(good), { kind: 'quota', field: 'cpu', value: Number(good) });
    for (const bad of ['01', '.5', '1.', '1e3', '-1', '+1', '1,5', '0x1', 'x', '0', '1.5.2', ''])
      refused(() => quota(bad));
    refused(() => parseCapabilities('quota pids 1.5\n', 'cap'));
    refused(() => parseCapabilities('quota cpu 1\nquota cpu 1\n', 'cap'));
    refused(() => parseCapabilities('fork ro\nfork rw\n', 'cap'));
    assert.equal(parseCapabilities('quota cpu 1\nquota pids 1\ntool x\ntool x\nfork ro\n', 'cap').length, 5);
    for (const bad of [
      'tool',
      'tool a b',
      'model',
      'net.connect',
      'net.connect a.org public',
      'net.connect a.org private x',
      'secret A a.org',
      'quota cpu',
      'quota cpu 1 2',
      'fs.read',
      'toString x',
    ])
      refused(() => parseCapabilities(`${bad}\n`, 'cap'));
    const [secret] = parseCapabilities('secret A a.org X-Y Bearer\n', 'cap');
    assert.deepEqual(secret, { kind: 'secret', name: 'A', host: 'a.org', port: 443, header: 'X-Y', scheme: 'Bearer' });
    for (const bad of ['secret 1A a.org X', 'secret A a.org X_Y', 'secret A a.org X 1B', 'secret A * X'])
      refused(() => parseCapabilities(bad, 'cap'));
  });
});

describe('a path that is given', () => {
  const environment = { HOME: '/home/a', XDG_CONFIG_HOME: '' };

  it('has the variables that there are, and keeps every other sign as it is', () => {
    for (const [given, path] of [
      ['$HOME/x', '/home/a/x'],
      ['${' + 'HOME}x', '/home/ax'],
      ['/a$b', '/a$b'],
      ['/a$', '/a$'],
      ['/$PATH/x', '/$PATH/x'],
      ['/$' + '{', '/$' + '{'],
    ] as const)
      assert.equal(expandGivenPath(given, environment), path);
    for (const unset of ['$XDG_CONFIG_HOME/x', '$XDG_CACHE_HOME/x']) {
      const found = expandGivenPath(unset, environment);
      assert.ok(typeof found !== 'string' && found.template === unset && / is not set$/.test(found.reason));
    }
    for (const value of ['/home/a\ufffd', '/home/\udcff'])
      for (const found of [expandGivenPath('$HOME/x', { HOME: value }), expandPath('$HOME/x', { HOME: value })])
        assert.deepEqual(found, { template: '$HOME/x', reason: 'HOME is not UTF-8' });
  });

  it('in a file is tidied and normal, and names no other variable', () => {
    assert.equal(expandPath('$HOME//x///y/', environment), '/home/a/x/y');
    assert.equal(expandPath('/', environment), '/');
    for (const bad of ['$HOME/../x', 'x', '', `/${'x'.repeat(pathBytes)}`]) {
      const found = expandPath(bad, environment);
      assert.ok(
        typeof found !== 'string' && found.template === bad && found.reason.includes('not a normal absolute path'),
      );
    }
    for (const bad of ['$PATH/x', '/a$b', '$']) refused(() => expandPath(bad, environment));
  });
});
