import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pagerFor } from './pager.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-pager-'));
after(() => rmSync(directory, { recursive: true }));
writeFileSync(join(directory, 'less'), '');
chmodSync(join(directory, 'less'), 0o755);
const terminal = { isTTY: true };

test('in a pipe there is no pager, whatever the environment says', () => {
  assert.equal(pagerFor({ isTTY: false }, { PAGER: 'more', PATH: directory }), undefined);
});

test('the person’s own pager comes first; cat, and an empty one, mean none', () => {
  assert.equal(pagerFor(terminal, { PAGER: 'more -s', PATH: directory }), 'more -s');
  for (const none of ['', ' ', 'cat']) assert.equal(pagerFor(terminal, { PAGER: none, PATH: directory }), undefined);
});

test('else it is less, where it is there and the terminal can do it', () => {
  assert.equal(pagerFor(terminal, { PATH: `/nowhere:${directory}` }), 'less -FRX');
  assert.equal(pagerFor(terminal, { PATH: '/nowhere' }), undefined);
  assert.equal(pagerFor(terminal, { PATH: directory, TERM: 'dumb' }), undefined);
});

test('a less in the current directory is not taken for one', () => {
  assert.equal(pagerFor(terminal, { PATH: ':.:relative' }), undefined);
});
