/** Which command runs a project's own tests so that each test is named. Found by what the project holds; the first that fits. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

function npmSuite(directory) {
  const file = join(directory, 'package.json');
  if (!existsSync(file)) return undefined;
  const { scripts = {} } = JSON.parse(readFileSync(file, 'utf8'));
  const test = String(scripts.test ?? '');
  if (test === '' || test.includes('no test specified')) return undefined;
  return { kind: 'npm', command: 'npm test' };
}

function makeSuite(directory) {
  const file = join(directory, 'Makefile');
  if (!existsSync(file)) return undefined;
  const target = ['check', 'test'].find((name) => new RegExp(`^${name}\\s*:`, 'm').test(readFileSync(file, 'utf8')));
  return target === undefined ? undefined : { kind: 'make', command: `make ${target}` };
}

const byFile = [
  ['Cargo.toml', { kind: 'cargo', command: 'cargo test --no-fail-fast' }],
  ['go.mod', { kind: 'go', command: 'go test -v ./...' }],
  ['pom.xml', { kind: 'maven', command: 'mvn -B -o test' }],
  ['pyproject.toml', { kind: 'pytest', command: 'python3 -m pytest -v -p no:cacheprovider' }],
  ['setup.py', { kind: 'pytest', command: 'python3 -m pytest -v -p no:cacheprovider' }],
  ['pytest.ini', { kind: 'pytest', command: 'python3 -m pytest -v -p no:cacheprovider' }],
];

export function suiteOf(directory) {
  const found = byFile.find(([name]) => existsSync(join(directory, name)));
  return npmSuite(directory) ?? found?.[1] ?? makeSuite(directory);
}
