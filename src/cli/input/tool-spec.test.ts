import assert from 'node:assert/strict';
import { test } from 'node:test';
import { capLines, toolSpec } from './tool-spec.js';

const none = { net: [], privateNet: [], reads: [], writes: [], secrets: [] };

test('each option is a line of its own kind, and nothing is one without it', () => {
  assert.deepEqual(toolSpec(none), {});
  for (const [option, line] of [
    [{ net: ['a.example'] }, 'net.connect a.example:443'],
    [{ net: ['a.example:80'] }, 'net.connect a.example:80'],
    [{ net: ['any'] }, 'net.connect any'],
    [{ privateNet: ['b.example'] }, 'net.connect b.example:443 private'],
    [{ reads: ['/r'] }, 'fs.read /r'],
    [{ writes: ['/w'] }, 'fs.write /w'],
    [{ secrets: ['h X-Key: $NAME'] }, 'secret NAME h:443 X-Key'],
    [{ secrets: ['h:8443 Authorization: Bearer $A_1'] }, 'secret A_1 h:8443 Authorization Bearer'],
    [{ fork: 'f' }, 'fork f'],
  ] as const) {
    assert.deepEqual(toolSpec({ ...none, ...option }), { cap: [line] });
  }
  const all = {
    net: ['n:1', 'n:2'],
    privateNet: ['p:3'],
    reads: ['/r'],
    writes: ['/w'],
    secrets: ['h X: $N'],
    fork: 'f',
  };
  assert.equal(capLines(all).length, 7);
});

test('a secret that is not the name of a stored one is refused', () => {
  for (const text of [
    '',
    'h',
    'h X-Key',
    'h X-Key: value',
    'h X-Key: Bearer value',
    'h X-Key: $1',
    'h X-Key: a b $N',
    'h X Key: $N',
    'h X-Key: $N tail',
    ' X-Key: $N',
  ]) {
    assert.throws(() => capLines({ ...none, secrets: [text] }), { code: 'EINVAL' }, text);
  }
});

test('a schema is that of the input, or of both', () => {
  const schema = (text: string) => toolSpec({ ...none, schema: { text, file: 'f' } })['schema'];
  assert.deepEqual(schema('{"type":"object"}'), { input: { type: 'object' } });
  assert.deepEqual(schema('{"input":{}}'), { input: {} });
  assert.deepEqual(schema('{"output":{}}'), { output: {} });
  assert.deepEqual(schema('null'), { input: null });
  assert.deepEqual(schema('[]'), { input: [] });
  assert.throws(() => schema('{'), { code: 'EINVAL' });
  assert.deepEqual(toolSpec({ ...none, description: '' }), { description: '' });
});
