import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { readSaid, withSeen } from './seen.mjs';

const page = readFileSync(new URL('../../docs/hosts.md', import.meta.url), 'utf8');
const said = (suites, end = '@@ end') =>
  readSaid(['@@ kernel 6.1', '@@ node v20', '@@ cgroup cgroup2fs', ...suites, end].join('\n'));

test('a row is replaced, and what stands around it stays', () => {
  const text = withSeen(page, 'arm64', said(['@@ suite e2e/limits.test 0 5 0 1 20']));
  const without = (each) => each.split('\n').filter((line) => !line.startsWith('| arm64 |'));
  assert.deepEqual(without(text), without(page));
  assert.match(text, /\n\| arm64 \|.*\| 5 passed, 0 failed, 1 skipped \| e2e\/limits \|\n/);
});

test('many suites are counted by folder, and a machine that was cut off is said to be', () => {
  const suites = Array.from({ length: 13 }, (_, index) => `@@ suite attacks/a${index}.test 0 1 0 0 1`);
  assert.match(withSeen('# Hosts\n', 'amd64', said(suites, '')), /13 passed.*\| 13 of attacks, then cut off \|\n$/);
});
