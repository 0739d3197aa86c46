/** Both sides of each limit of a decision. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { noNetwork } from '../authority/network.js';
import { makeSurface } from '../authority/surface.js';
import { hookCommandBytes, jsonNesting } from '../base/limits/decisions.js';
import { globAlternatives, pathBytes } from '../base/limits/objects.js';
import { decideCall, type HookRules } from './decide-call.js';
import { patternStarts } from './glob-pattern.js';
import { surfaceGrants } from './grants.js';
import { jailed } from './jailed-command.js';
import { parseJsonText, plainValue } from './json-text.js';
import { readingsOf } from './path-readings.js';
import { resolvePath } from './resolve-path.js';

const form = { program: '/opt/ctx', options: [], shell: 'sh' };
const surface = makeSurface({ cwd: '/srv/app', hidden: [] });
const rules = (commands: HookRules['commands']): HookRules => ({
  grants: surfaceGrants(surface, { network: noNetwork, toolFault: () => undefined }),
  resolve: (path) => resolvePath(path, async () => ({ kind: 'directory' })),
  commands,
  form,
});
const command = (text: string, commands: HookRules['commands'] = 'rewrite') =>
  decideCall(rules(commands), { tool: 'T', cwd: '/srv/app', action: { kind: 'command', command: text } });

describe('a command', () => {
  it('is as long as one argument may be, with the words around it, and no longer', async () => {
    const most = hookCommandBytes - jailed('', form).length;
    for (const letter of ['x', 'ä']) {
      const size = Buffer.byteLength(letter);
      const fits = letter.repeat(Math.floor(most / size));
      assert.equal((await command(fits)).decision, 'rewrite');
      const padded = `${fits}${'y'.repeat(most - Buffer.byteLength(fits))}`;
      assert.equal((await command(padded)).decision, 'rewrite');
      assert.equal((await command(`${padded}y`)).decision, 'deny');
    }
  });

  it('is repeated in a reason where it is short enough', async () => {
    const most = 2_000 - jailed('', form).length;
    for (const length of [most, most + 1]) {
      const text = 'x'.repeat(length);
      const { reason } = await command(text, 'deny');
      assert.ok(reason.endsWith(jailed(length > most ? 'COMMAND' : text, form)));
    }
  });
});

describe('a path', () => {
  it('is as long as the kernel takes it, in each of its readings', () => {
    const fits = (path: string, cwd = '/w') => readingsOf(path, cwd).ok;
    assert.ok(fits(`/${'x'.repeat(pathBytes - 1)}`) && !fits(`/${'x'.repeat(pathBytes)}`));
    assert.ok(fits('x'.repeat(pathBytes - 3)) && !fits('x'.repeat(pathBytes - 2)), 'below the working directory');
    assert.ok(!fits(`/${'x'.repeat(pathBytes - 1)} `), 'not trimmed');
    assert.ok(!fits(`/./${'x'.repeat(pathBytes - 1)}`), 'not normalised');
    assert.ok(!fits(`/${'x'.repeat(pathBytes - 3)}e\u0301`), 'not composed');
    assert.ok(fits(`/${'x'.repeat(pathBytes - 4)}e\u0301`));
  });

  it('may lead through links that are as long as the kernel takes them', async () => {
    const look = (target: string) => async (place: string) =>
      place === '/link' ? ({ kind: 'link', target } as const) : ({ kind: 'missing' } as const);
    for (const [length, ok] of [
      [pathBytes - 1, true],
      [pathBytes, true],
      [pathBytes + 1, false],
    ] as const) {
      assert.equal((await resolvePath('/link', look(`/${'x'.repeat(length - 1)}`))).ok, ok, String(length));
    }
    const failing = async () => {
      throw Object.assign(new Error('a defect'), { code: 'ELOOP' });
    };
    await assert.rejects(resolvePath('/x', failing), /a defect/);
  });
});

describe('a pattern', () => {
  const starts = (pattern: string) => {
    const found = patternStarts(pattern);
    return found.ok ? [...found.starts].sort() : found.fault;
  };

  it('has so many alternatives, and as many characters as a path has bytes', () => {
    const of = (count: number) => `{${Array.from({ length: count }, (_, index) => `a${index}`).join()}}/x`;
    assert.equal(starts(of(globAlternatives)).length, globAlternatives);
    assert.match(String(starts(of(globAlternatives + 1))), /^expected at most/);
    assert.deepEqual(starts('a'.repeat(pathBytes)), ['a'.repeat(pathBytes)]);
    assert.match(String(starts('a'.repeat(pathBytes + 1))), /^expected a pattern of at most/);
  });

  it('has alternatives where there is a comma between its braces, the first of them and each that follows', () => {
    assert.deepEqual(starts('{a}/{b,/etc}/x'), ['.']);
    assert.deepEqual(starts('x/{b,c}/{d,e}'), ['x/b/d', 'x/b/e', 'x/c/d', 'x/c/e']);
    assert.deepEqual(starts('{/a/{b,c},d}/e'), ['/a/b/e', '/a/c/e', 'd/e']);
    assert.deepEqual(starts('{a,{b}}'), ['.', 'a']);
    assert.deepEqual(starts('{}{/etc,/usr}'), ['.']);
    assert.deepEqual(starts('a/{b'), ['a']);
    assert.deepEqual(starts('a}/{b,c}'), ['.']);
    for (const escaped of ['\\{/etc,/usr\\}/x', '{/etc\\,/usr}/x', '/etc\\/x', '\\/etc/x']) {
      assert.ok(starts(escaped).includes('/etc/x'), `${escaped} may mean its letters`);
    }
  });

  it('does not climb by what an escape or an alternative leaves of it', () => {
    for (const pattern of ['a/..', '..', '{.,a}./x', '{a/.,b}./x', '.\\./x', '{..}', '[.][.]', '!(.).', '+(..)'])
      assert.match(String(starts(pattern)), /without/, pattern);
    for (const pattern of ['.', './x', 'a.b', 'a/.b/*', '{.a,.b}/x']) assert.ok(patternStarts(pattern).ok, pattern);
  });
});

describe('JSON text', () => {
  it('is nested so deep, and no deeper', () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const nested = (depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`;
      plainValue(parseJsonText(nested(jsonNesting)));
      assert.throws(() => parseJsonText(nested(jsonNesting + 1)), { code: 'EINVAL' });
    }
  });

  it('has strings that end where they end, whatever backslashes they have, and whatever comes before', () => {
    const text = fc.string({ unit: fc.constantFrom('\\', '"', 'a', '\n'), maxLength: 8 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        assert.deepEqual(plainValue(parseJsonText(JSON.stringify(texts))), texts);
        for (const each of texts) assert.deepEqual(plainValue(parseJsonText(JSON.stringify(each))), each);
      }),
      seeded(500),
    );
    for (const unended of ['"', '"\\', '"\\"', '"\\\\\\"', '["a","\\"]']) {
      assert.throws(() => parseJsonText(unended), { code: 'EINVAL' }, unended);
    }
  });
});
