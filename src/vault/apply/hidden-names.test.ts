import assert from 'node:assert/strict';
import { test } from 'node:test';
import { change } from '../tree/change-fixture.js';
import type { Change } from '../tree/tree.js';
import { harmless, hiddenReason } from './hidden-names.js';

const reason = (path: string, more: Partial<Change> = {}, has: readonly string[] = []) =>
  hiddenReason(change(path, more), (each) => has.includes(each));

test('a new hidden file, or one in a new hidden directory, is held back unless it is known to be harmless', () => {
  for (const path of [
    '.babelrc',
    'sub/.newharness',
    '.newharness/rules.md',
    'a\nb/.x',
    '.gitignore\n',
    '.mocharc.json',
  ]) {
    assert.ok(reason(path) !== undefined, path);
    assert.ok(reason(path, { type: 'symlink' }) !== undefined, path);
  }
  for (const path of [
    ...['.gitignore', 'sub/.gitkeep', '.dockerignore', '.editorconfig', '.nvmrc', '.env.example', '.gitattributes'],
    ...[
      '.pytest_cache/v/x',
      '.next/build-manifest.json',
      '.github/CODEOWNERS',
      '.changeset/a.md',
      '.coverage',
      'src/a',
    ],
    ...['node_modules/a/.eslintrc', 'node_modules/.bin/x', 'target/debug/.fingerprint/a', '.main.o.d', '../x'],
  ]) {
    assert.equal(reason(path), undefined, path);
  }
});

test('what the person has already is not new, and neither are files that they put beside it', () => {
  assert.equal(reason('.storybook/new.ts', {}, ['.storybook']), undefined);
  assert.ok(reason('.storybook/.new', {}, ['.storybook']) !== undefined);
  assert.equal(reason('.babelrc', { kind: 'modified' }), undefined);
  assert.equal(reason('.babelrc', { kind: 'deleted' }), undefined);
  assert.equal(reason('.empty-directory', { type: 'directory' }), undefined);
});

test('each that is let through says why', () => {
  for (const { why, names } of harmless) assert.ok(why.length > 10, String(names));
});
