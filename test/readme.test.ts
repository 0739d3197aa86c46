/** What the README and the tour show is run: each `console` block's commands in one sample project, their output compared. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(import.meta.url);
const checkout = here.slice(0, here.lastIndexOf('/dist/'));
const readme = ['README.md', 'docs/tour.md'].map((name) => readFileSync(join(checkout, name), 'utf8')).join('\n');

interface Step {
  readonly command: string;
  readonly output: string;
}

function stepsOf(block: string): Step[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      return { command: part.slice(0, end), output: part.slice(end + 1) };
    });
}

const blocks = [...readme.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map((match) => stepsOf(match[1] ?? ''));

const place = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-readme-')));
const home = join(place, 'home');
const project = join(place, 'shop');

function makeProject(): void {
  mkdirSync(join(home, '.ssh'), { recursive: true });
  writeFileSync(join(home, '.ssh', 'id_ed25519'), 'secret\n');
  mkdirSync(project);
  writeFileSync(join(project, 'README.md'), '# Shop\n');
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }\n');
  writeFileSync(
    join(project, 'total.js'),
    'export const total = (prices) => prices.reduce((sum, price) => sum + price, 0);\n',
  );
  writeFileSync(
    join(project, 'total.test.js'),
    "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { total } from './total.js';\n" +
      "test('adds', () => assert.equal(total([1, 2]), 3));\n",
  );
}

function shell(command: string): string {
  const { stdout } = spawnSync('bash', ['-c', `{ ${command}; } 2>&1`], {
    cwd: project,
    encoding: 'utf8',
    env: {
      PATH: `${join(checkout, 'bin')}:${process.env['PATH']}`,
      HOME: home,
      CTX_DATA: join(place, 'store'),
      CTX_REPORT: 'always',
      CTX_KEEPER: 'off',
      GIT_CONFIG_NOSYSTEM: '1',
    },
  });
  return stdout;
}

/** What differs from machine to machine and from run to run. */
function settled(text: string): string {
  return text
    .replaceAll(home, '~')
    .replace(/\d+(\.\d+)? (ms|s)\b/g, 'TIME')
    .replace(/^✓ kernel( +).*$/m, '✓ kernel$1VERSION')
    .replace(/ABI \d+/, 'ABI N')
    .replace(/^[✓–] (FUSE|cgroup|limits|Landlock|idmapped mounts|vfs mounts)( +).*$(\n {5,}.*$)?/gm, '✓ $1$2FOUND');
}

describe('the README', () => {
  makeProject();
  shell('git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm first');
  after(() => rmSync(place, { recursive: true, force: true }));

  it('has console blocks', () => assert.ok(blocks.length >= 3));

  for (const { command, output } of blocks.flat()) {
    it(`shows what \`${command}\` prints`, () => assert.equal(settled(shell(command)), settled(output)));
  }

  it('is short, and no line of it is long', () => {
    const lines = readFileSync(join(checkout, 'README.md'), 'utf8').split('\n');
    assert.ok(lines.length <= 110, String(lines.length));
    for (const line of lines) assert.ok(line.length <= 120, line);
  });

  it('links to files that exist', () => {
    for (const [file, folder] of [
      ['README.md', '.'],
      ['docs/tour.md', 'docs'],
    ] as const) {
      for (const [, target = ''] of readFileSync(join(checkout, file), 'utf8').matchAll(/\]\(([^)#:]+)\)/g))
        assert.ok(existsSync(join(checkout, folder, target)), `${file}: ${target}`);
    }
  });

  it('names scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
    for (const [, name] of readme.matchAll(/npm (?:run )?(start|test|bench)\b/g)) assert.ok(scripts[name ?? '']);
  });
});
