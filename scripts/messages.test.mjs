/** The catalogue of messages: that it finds them, and that none of them has a form that riddles its reader. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { avoidedIn } from './messages/avoided.mjs';
import { isPhrase, messagesInC, messagesInShell, messagesInTypeScript } from './messages/collect.mjs';
import { catalogue } from './messages.mjs';

/** `@{` is what a template fills in. */
const textsIn = (source) =>
  messagesInTypeScript('x.ts', source.replaceAll('@{', '$'.concat('{'))).map(({ kind, text }) => `${kind}: ${text}`);

describe('the catalogue of messages', () => {
  it('finds what errors say and advise, by the name of the member', () => {
    const source = "throw new ErrnoError('EIO', { operation: 'look', reason: 'interrupted', remedy: `run @{verb}` });";
    assert.deepEqual(textsIn(source), ['error: interrupted', 'remedy: run {verb}']);
  });

  it('finds phrases of English, and no lists of names, imports or regular expressions', () => {
    assert.deepEqual(
      textsIn("import { a } from './the/is/of.js';\nconst programs = 'ls cat head';\nconst x = /it is 'so'/;"),
      [],
    );
    assert.deepEqual(textsIn("// 'it is a comment'\nconst x = 'it is said';"), ['text: it is said']);
  });

  it('reads texts that are added up, or the lines of one help text, as one', () => {
    assert.deepEqual(textsIn("const x = 'this is ' +\n  'one text';"), ['text: this is one text']);
    assert.deepEqual(textsIn("const v = { details: ['A line that', 'goes on.'] };"), ['help: A line that goes on.']);
  });

  it('shows what is filled in, and what is said in there', () => {
    const source = "const x = `it has @{no ? 'nothing to say' : thisMany('of them', `@{count} of them`)} here`;";
    assert.deepEqual(textsIn(source), [
      "text: it has {no ? 'nothing to say' : thisMany('of ...} here",
      'text: nothing to say',
      'text: of them',
      'text: {count} of them',
    ]);
  });

  it('reads C and the shell, too', () => {
    const [message] = messagesInC('x.c', '/* "it is a comment" */\nfail("making"\n     " the root");');
    assert.deepEqual(message, { file: 'x.c', line: 2, kind: 'error', text: 'making the root' });
    assert.equal(messagesInShell('x', '  echo "ctx: it is not built" >&2')[0]?.text, 'ctx: it is not built');
    assert.equal(isPhrase('npm test'), false);
  });

  it('has messages of every folder, the native programs and the starter', () => {
    const files = new Set(catalogue().map(({ file }) => file.split('/').slice(0, 2).join('/')));
    for (const each of ['src/audit', 'src/cli', 'src/mcp', 'src/vault', 'native/jail', 'native/tree', 'bin/ctx']) {
      assert.ok(files.has(each), each);
    }
  });

  it('has no text with a form to avoid', () => {
    const found = catalogue().flatMap(({ file, line, text }) =>
      avoidedIn(text).map(({ found, instead }) => `${file}:${line}: "${found}" in "${text}"; write: ${instead}`),
    );
    assert.deepEqual(found, []);
  });

  it('knows each form by an example, and lets plain English pass', () => {
    const bad = [
      "'--x' is no option",
      'whoever asks',
      'nobody may',
      'it was told',
      'a moment ago',
      'it stands there',
      'files of it',
    ];
    for (const text of bad) assert.equal(avoidedIn(text).length, 1, text);
    for (const text of ['there is no fork', 'it is no longer there', 'a part of it', 'an unknown option']) {
      assert.deepEqual(avoidedIn(text), [], text);
    }
  });
});
