/** Whatever wraps a command, it is never read as safer than the command; and any text at all is read. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { commandClasses } from '../../src/shell/classes.js';
import { type Classification, classify } from '../../src/shell/classify.js';
import { plainWordsOf } from '../../src/shell/reader.js';
import { seeded } from './seeded.js';

const file = new URL('../../../../test/vectors/commands.txt', import.meta.url);
const texts = readFileSync(file, 'utf8')
  .split('\n')
  .flatMap((line) => /^[rmdnhi]+ {2}(.*)$/.exec(line)?.[1] ?? [])
  .map((text) => text.replaceAll('␤', '\n').replaceAll('␍', '\r'));
const plain = texts.filter((text) => plainWordsOf(text) !== undefined);

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Of whole shell text, as a word of its own: what cannot be read stays so. */
const quoting: readonly ((text: string) => string)[] = [
  (text) => `bash -c ${quoted(text)}`,
  (text) => `sh -ec ${quoted(text)} sh x`,
  (text) => `eval ${quoted(text)}`,
  (text) => `trap ${quoted(text)} EXIT`,
  (text) => `alias x=${quoted(text)}`,
  (text) => `bash <<'END-OF-IT'\n${text}\nEND-OF-IT`,
  (text) => `bash <<< ${quoted(text)}`,
  (text) => `env -i X=1 bash -c ${quoted(text)}`,
  (text) => `xargs -n1 sh -c ${quoted(text)}`,
  (text) => `find . -exec sh -c ${quoted(text)} \\;`,
  (text) => `flock lock -c ${quoted(text)}`,
  (text) => `X=${quoted(text)}; eval "$X"`,
  (text) => `git -c core.pager=${quoted(text)} log`,
];

/** Of whole shell text, in the midst of other text: `ls )` within `$(` and `)` is another command. */
const aroundText: readonly ((text: string) => string)[] = [
  ...quoting,
  (text) => `echo "$(${text}\n)"`,
  (text) => `(${text}\n)`,
  (text) => `{ ${text}\n}`,
  (text) => `if true; then ${text}\nfi`,
  (text) => `while true; do ${text}\ndone`,
  (text) => `f() { ${text}\n}; f`,
  (text) => `cat <(${text}\n)`,
  (text) => `cd x && ls; ls | sort; ${text}`,
];

/** Of one command without anything of the shell. */
const aroundCommand: readonly ((text: string) => string)[] = [
  (text) => `env ${text}`,
  (text) => `env -u A B=c ${text}`,
  (text) => `A=b ${text}`,
  (text) => `nice -n 5 ${text}`,
  (text) => `timeout -k 1 5s ${text}`,
  (text) => `nohup ${text} &`,
  (text) => `command ${text}`,
  (text) => `stdbuf -oL ${text}`,
  (text) => `time ${text}`,
  (text) => `! ${text}`,
  (text) => `sudo -u x ${text}`,
  // Without `{}`: one more word can be another command, `cp x /proc/sys/x {}` writes elsewhere.
  (text) => `find . -exec ${text} \\;`,
  (text) => `exec ${text}`,
  (text) => `setsid -w ${text}`,
  (text) => `git bisect run ${text}`,
  (text) => `${text} > /dev/null 2>&1`,
  (text) => `${text} | cat`,
  (text) => `/usr/bin/${text}`,
  (text) => `\\${text}`,
];

/** Anyone who wants a terminal may get none from a wrapper. */
const kept = commandClasses.filter((name) => name !== 'read_only' && name !== 'interactive');

let read = 0;
let unread = 0;

function assertNoSafer(outer: Classification, inner: Classification, text: string): void {
  if (!outer.readable) {
    unread += 1;
    return;
  }
  read += 1;
  for (const name of kept) {
    if (!inner.classes.includes(name)) continue;
    const has = outer.classes.includes(name) || (name === 'mutating' && outer.classes.includes('destructive'));
    assert.ok(has, `${JSON.stringify(text)}: ${outer.classes}, and inside it ${inner.classes}`);
  }
}

describe('a command that is wrapped', () => {
  after(() => assert.ok(read > 2 * unread, `${unread} of ${read + unread} could not be read at all`));

  it('is never read as safer, whatever stands around it, and around that', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...texts),
        fc.array(fc.constantFrom(...aroundText), { minLength: 1, maxLength: 3 }),
        async (text, wrappers) => {
          const inner = await classify({ text });
          const fitting = inner.readable ? wrappers : wrappers.filter((wrap) => quoting.includes(wrap));
          const outer = fitting.reduce((now, wrap) => wrap(now), text);
          assertNoSafer(await classify({ text: outer }), inner, outer);
        },
      ),
      seeded(700, 40_000),
    );
  });

  it('is never read as safer behind a program that runs it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...plain.filter((text) => /^[a-z]/.test(text))),
        fc.constantFrom(...aroundCommand),
        fc.array(fc.constantFrom(...aroundText), { maxLength: 1 }),
        async (text, command, around) => {
          const inner = await classify({ text });
          const outer = around.reduce((now, wrap) => wrap(now), command(text));
          assertNoSafer(await classify({ text: outer }), inner, outer);
        },
      ),
      seeded(700, 40_000),
    );
  });

  it('is never read as safer beside others', async () => {
    const separators = [';', '&&', '||', '|', '&', '\n'];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...plain),
        fc.constantFrom(...plain),
        fc.constantFrom(...separators),
        async (first, second, separator) => {
          const both = await classify({ text: `${first} ${separator} ${second}` });
          assertNoSafer(both, await classify({ text: first }), first);
          assertNoSafer(both, await classify({ text: second }), second);
        },
      ),
      seeded(350, 20_000),
    );
  });
});

describe('any text at all', () => {
  const pieces = fc.constantFrom(
    ...[
      '$(',
      ')',
      '`',
      '"',
      "'",
      '\\',
      '{',
      '}',
      '((',
      '))',
      '[[',
      ']]',
      '<<E\n',
      '\nE\n',
      '|',
      '&',
      ';',
      '>',
      '<',
      '#',
    ],
    ...[
      'if ',
      'then ',
      'fi',
      'case x in ',
      'esac',
      'do ',
      'done',
      '$',
      '${',
      '$((',
      'X=',
      '*',
      '~',
      '\0',
      '\r',
      '\n',
      'é',
      '\ud800',
    ],
    ...[
      'rm ',
      'sudo ',
      'eval ',
      'bash -c ',
      '--',
      '-',
      'a[',
      ']',
      '!',
      '@',
      'function f ',
      'trap ',
      'find . -exec ',
      'xargs ',
    ],
  );

  it('has an answer', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join('')),
          fc.string({ unit: 'binary', maxLength: 200 }),
          fc.tuple(fc.constantFrom(...texts), fc.nat(), pieces).map(([text, at, piece]) => {
            const place = at % (text.length + 1);
            return text.slice(0, place) + piece + text.slice(place);
          }),
        ),
        async (text) => {
          const { classes, reading } = await classify({ text });
          assert.ok(classes.length > 0);
          assert.ok(reading.why.length > 0);
          await classify({ argv: text.split(' ') });
        },
      ),
      seeded(1_000, 60_000),
    );
  });

  it('has an answer where it is long or deep', async () => {
    const units = [
      'ls;',
      '(',
      '$(',
      '"',
      '`',
      '{a,',
      '<<a ',
      'a|',
      '$((',
      'a=',
      'if ',
      '${',
      '+(',
      'a\n',
      'X=$X$X;',
      'f(){ ',
      '$(")"',
    ];
    for (const unit of units) {
      for (const count of [300, 20_000]) assert.ok((await classify({ text: unit.repeat(count) })).classes.length > 0);
    }
    const nested = `${'env '.repeat(100)}ls`;
    assert.equal((await classify({ text: nested })).mostDangerous, 'host_escape_risk');
    const many = await classify({ text: `${'ls;'.repeat(5_000)} sudo ls` });
    assert.equal(many.mostDangerous, 'host_escape_risk');
  });

  it('is read the same with and without the parser, where it is plain', async () => {
    for (const text of plain) {
      assert.deepEqual((await classify({ text })).classes, (await classify({ text: `${text}\n` })).classes, text);
    }
  });
});
