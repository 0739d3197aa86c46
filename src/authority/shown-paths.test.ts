/**
 * The lists of what every jail shows, and of what none does, against test/vectors/shown-paths.txt: each row was looked at once, for
 * what lies there besides. CTX_WRITE_VECTORS=1 writes the file anew.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { javaParts, keptSecret, madePlaces, prefixParts, secretKeepers, versionManagers } from './program-paths.js';
import {
  isSystemConfiguration,
  partlyShownConfiguration,
  protectedKernelPaths,
  systemConfiguration,
  systemDevices,
  systemDirectories,
  systemFacts,
} from './system-profile.js';
import { cachePaths, defaultToolingPaths } from './tooling-paths.js';

const file = new URL('../../../../test/vectors/shown-paths.txt', import.meta.url);
const lists: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  'software, read-only': systemDirectories,
  'of /etc': systemConfiguration,
  'parts of these of /etc': partlyShownConfiguration,
  'facts about the machine': systemFacts,
  devices: systemDevices,
  'of the kernel, read-only': protectedKernelPaths.readOnly,
  'of the kernel, masked': protectedKernelPaths.hidden,
  'of a home, read-only': defaultToolingPaths,
  'of a home, as caches': cachePaths,
  'version managers, whole': versionManagers,
  'beside a bin': prefixParts,
  'beside the bin of a Java runtime': javaParts,
  'never whole': secretKeepers,
  'never for a link of PATH': keptSecret,
  'made by a jail itself': madePlaces,
};

test('what is shown and what never is are the lists that were looked at', () => {
  const text = Object.entries(lists)
    .map(([title, rows]) => `# ${title}\n${rows.map((row) => `${row}\n`).join('')}`)
    .join('');
  if (process.env['CTX_WRITE_VECTORS'] === '1') writeFileSync(file, text);
  assert.equal(text, readFileSync(file, 'utf8'));
});

test('of /etc exactly the rows are shown', () => {
  for (const row of systemConfiguration) {
    const name = typeof row === 'string' ? row : 'java-17-openjdk';
    assert.ok(isSystemConfiguration(name), name);
    assert.ok(!isSystemConfiguration(`x${name}`) && !isSystemConfiguration(`${name}/x`), name);
  }
});
