import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { compared, resultsOf } from './results.mjs';

const texts = {
  TAP: ['ok 1 - adds # time=3ms\nnot ok 2 - fails', { adds: 'ok', fails: 'not ok' }],
  'the spec of Node and mocha': [
    '  ✔ adds (1.2ms)\n  ✖ fails (0.1ms)\n    1) breaks',
    { adds: 'ok', fails: 'not ok', breaks: 'not ok' },
  ],
  pytest: [
    'tests/a.py::test_x[1] PASSED  [ 50%]\ntests/a.py::test_y FAILED',
    { 'tests/a.py::test_x[1]': 'PASSED', 'tests/a.py::test_y': 'FAILED' },
  ],
  go: [
    '--- PASS: TestA (0.00s)\n    --- FAIL: TestA/b (0.1s)\nok  \texample.org/m\t0.003s',
    { TestA: 'PASS', 'TestA/b': 'FAIL', 'example.org/m': 'ok' },
  ],
  cargo: ['test a::b ... ok\ntest c ... FAILED', { 'a::b': 'ok', c: 'FAILED' }],
  'make check': ['PASS: one\nXFAIL: two', { one: 'PASS', two: 'XFAIL' }],
  ctest: [
    ' 1/2 Test  #1: one ......   Passed    0.01 sec\n 2/2 Test #12: two_x ....***Failed    0.21 sec',
    { one: 'Passed', two_x: '***Failed' },
  ],
  prove: ['t/a.t .... ok\nt/b-c.t .. skipped: no', { 't/a.t': 'ok', 't/b-c.t': 'skipped' }],
  'what is not known, line by line': [
    'all good\n\nbye, 3 done in 5.25s',
    { 'all good': 'printed', 'bye, 3 done': 'printed' },
  ],
};

describe('what a suite printed', () => {
  for (const [name, [text, expected]] of Object.entries(texts)) {
    it(`is read: ${name}`, () => assert.deepEqual(Object.fromEntries(resultsOf(text)), expected));
  }

  it('is read from JUnit files where there are any', () => {
    const report =
      '<testcase classname="A" name="x" time="1"/><testcase classname="A" name="y"><failure>no</failure></testcase>';
    assert.deepEqual(Object.fromEntries(resultsOf('', [report])), { 'A x': 'ok', 'A y': 'failure' });
  });

  it('is compared by name, with tests of one name counted', () => {
    const outside = resultsOf('ok 1 - a\nok 2 - a\nok 3 - b');
    assert.equal(compared(outside, resultsOf('ok 1 - b\nok 2 - a\nok 3 - a')).same, true);
    assert.deepEqual(compared(outside, resultsOf('ok 1 - a\nnot ok 2 - b\nok 3 - c')).lines, [
      'a (2): ok outside, not there inside',
      'b: ok outside, not ok inside',
      'c: ok inside only',
    ]);
  });
});
