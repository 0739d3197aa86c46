/**
 * Records the first minute with ctx: runs the commands below in a throw-away project, with its own home and store, and writes what
 * they printed to docs/first-minute.svg, which the README shows. Needs a built checkout: npm run setup -- start.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { terminalSvg } from './record/terminal-svg.mjs';
import { inCheckout } from './setup/checkout.mjs';

const columns = 88;
const commands = [
  `ctx exec -- sh -c 'rm README.md; echo "// oops" >> total.js; cat ~/.ssh/id_ed25519'`,
  'ls -m',
  'ctx drop',
  'ctx exec -- sed -i s/price/cost/g total.js',
  'ctx diff',
  'ctx apply',
  'git status --short',
];

const place = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-record-')));
const home = join(place, 'home');
const project = join(place, 'shop');

function run(command, environment = {}) {
  const { stdout, error } = spawnSync('bash', ['-c', `{ ${command}; } 2>&1`], {
    cwd: project,
    encoding: 'utf8',
    env: {
      PATH: `${inCheckout('bin')}${delimiter}${process.env.PATH}`,
      HOME: home,
      CTX_DATA: join(place, 'store'),
      CTX_REPORT: 'always',
      GIT_CONFIG_NOSYSTEM: '1',
      ...environment,
    },
  });
  if (error !== undefined) throw error;
  return stdout.replaceAll(home, '~');
}

try {
  mkdirSync(join(home, '.ssh'), { recursive: true });
  writeFileSync(join(home, '.ssh', 'id_ed25519'), 'secret\n');
  mkdirSync(project);
  writeFileSync(join(project, 'README.md'), '# Shop\n');
  writeFileSync(
    join(project, 'total.js'),
    'export const total = (list) => list.reduce((sum, price) => sum + price, 0);\n',
  );
  run('git init -q && git add -A && git -c user.name=a -c user.email=a@b commit -qm first');
  // The first command imports the directory; what is shown are those after it.
  run('ctx prepare');
  const steps = commands.map((command) => ({ command, output: run(command, { FORCE_COLOR: '1' }) }));
  const wide = steps.flatMap(({ command, output }) => [`$ ${command}`, ...output.split('\n')]).filter(isTooWide);
  if (wide.length > 0) throw new Error(`expected lines of at most ${columns} characters, got:\n${wide.join('\n')}`);
  const title = 'ctx runs a command on a fork, shows what it changed, and keeps or drops it';
  writeFileSync(inCheckout('docs', 'first-minute.svg'), terminalSvg(steps, { title, columns }));
} finally {
  rmSync(place, { recursive: true, force: true });
}

function isTooWide(line) {
  return line.replace(/\u001b\[[0-9;]*m/g, '').length > columns;
}
