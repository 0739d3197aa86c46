import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { patternStarts } from './glob-pattern.js';
import { isJailed, jailed, shellWord } from './jailed-command.js';
import { readingsOf } from './path-readings.js';

describe('the readings of a path', () => {
  it('are the path as the kernel, as text and as a trimming harness would take it', () => {
    assert.deepEqual(readingsOf('a/../b', '/w'), { ok: true, paths: ['/w/a/../b', '/w/b'] });
    assert.deepEqual(readingsOf(' /x/y', '/w'), { ok: true, paths: ['/w/ /x/y', '/x/y'] });
    assert.deepEqual(readingsOf('/x', '/w'), { ok: true, paths: ['/x'] });
  });

  it('include the composed form of a name', () => {
    const found = readingsOf('e\u0301', '/w');
    assert.ok(found.ok);
    assert.deepEqual(found.paths, ['/w/e\u0301', '/w/\u00e9']);
  });

  it('are none where the text is no path', () => {
    for (const path of ['', '  ', 'a\0b', '~', '~/x', ' ~root/x', '\ud800', `/${'x/'.repeat(2100)}`]) {
      assert.equal(readingsOf(path, '/w').ok, false, JSON.stringify(path.slice(0, 20)));
    }
  });
});

describe('a glob pattern', () => {
  const starts = (pattern: string) => {
    const found = patternStarts(pattern);
    return found.ok ? [...found.starts].sort() : found.fault;
  };

  it('starts where its fixed part ends', () => {
    assert.deepEqual(starts('**/*.ts'), ['.']);
    assert.deepEqual(starts('src/lib/*.ts'), ['src/lib']);
    assert.deepEqual(starts('/etc/*'), ['/etc']);
    assert.deepEqual(starts('/*'), ['/']);
    assert.deepEqual(starts('src/a.ts'), ['src/a.ts']);
    assert.deepEqual(starts('*.{ts,tsx}'), ['.']);
  });

  it('starts in several places where it has alternatives', () => {
    assert.deepEqual(starts('{src,/etc}/*'), ['/etc', 'src']);
    assert.deepEqual(starts('{a,{b,/c}}/d'), ['/c/d', 'a/d', 'b/d']);
  });

  it('does not climb, however it is written', () => {
    for (const pattern of [
      '../*',
      'a/../b',
      '.{.,x}/*',
      '.{x,.}/*',
      '{..,a}/x',
      '[.][.]/x',
      '\\.\\./x',
      '@(.)./x',
      '{.,a}{.,b}/x',
      'a/{b,..}/c',
    ]) {
      assert.match(String(starts(pattern)), /without `\.\.`/, pattern);
    }
    const groups = ['@', '?', '*', '+', '!', ''].flatMap((kind) => [`${kind}(.)`, `${kind}(.|x)`, `${kind}(x|.)`]);
    const dots = ['.', '\\.', '[.]', '{.}', '{.,x}', '{x,.}', ...groups];
    for (const one of dots)
      for (const other of dots)
        for (const pattern of [`${one}${other}/x`, `a/${one}${other}`, `.${one}?(x)`, `.*(x)${one}`])
          assert.match(String(starts(pattern)), /without `\.\.`/, pattern);
  });

  it('may have dots elsewhere', () => {
    for (const pattern of ['.*', '.*/x.json', 'a.b/.c', '*.@(ts|tsx)', '.?(x)', '!(.git)/*', '.[a-z]*/x', '{.a,b}.c'])
      assert.ok(Array.isArray(starts(pattern)), pattern);
  });

  it('has a bounded number of alternatives', () => {
    assert.match(String(starts('{a,b}'.repeat(20))), /at most/);
    assert.match(String(starts(`${'{a,'.repeat(5_000)}`)), /./);
  });
});

describe('a jailed command', () => {
  const form = { program: '/opt/my ctx/bin/ctx', options: ['--agent', 'coder'], shell: 'sh' };

  it('is one word to a shell, whatever it says', () => {
    const nasty = ["it's", "'; rm -rf / #", '$(id) `id` "x" \\', 'a\nb', "''", '!!', '~', '* ? [a]', '--', ''];
    for (const text of nasty) {
      const said = execFileSync('/bin/sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' });
      assert.equal(said, text);
    }
  });

  it('is recognised exactly, and is not wrapped again', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("'", '\\', 'a', ' ', '\n', ';') }), (command) => {
        assert.ok(isJailed(jailed(command, form), form));
      }),
      { numRuns: 2000 },
    );
  });

  it('is not taken for one that merely looks like it', () => {
    const good = jailed('ls', form);
    const others = [
      `${good}; id`,
      `${good} && id`,
      `${good}\nid`,
      `${good} `,
      `${good.slice(0, -1)}`,
      `${good}'; id '`,
      good.replace("'ls'", "'ls' ; id ; 'x'"),
      good.replace("'ls'", "'ls'$(id)'x'"),
      good.replace("'ls'", "'ls'\\'';id;'\\''"),
      good.replace('coder', 'admin'),
      good.replace('exec', 'exec --weaken seccomp'),
      good.replace("-c 'ls'", "-c 'ls' '\\'' '"),
      'ctx exec -- ls',
      "ctx exec -- sh -c 'ls'",
      ` ${good}`,
    ];
    for (const other of others) assert.equal(isJailed(other, form), false, other);
  });

  it('runs as one simple command, whatever it holds', () => {
    const echo = { program: '/bin/echo', options: [], shell: 'sh' };
    const said = execFileSync('/bin/sh', ['-c', jailed("ls'; echo escaped; '", echo)], { encoding: 'utf8' });
    assert.equal(said, "exec --wait -- sh -c ls'; echo escaped; '\n");
  });
});
