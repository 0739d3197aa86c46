#!/usr/bin/env node
/**
 * `npm run machines [-- amd64|arm64] [WORD...]`: boots Debian's own kernel under qemu, in software, and runs suites inside, as root and as
 * an unprivileged user; what was seen is written to docs/hosts.md. WORDs choose test files by a part of their path; without any a few that
 * differ most from machine to machine; `--all` is every end-to-end and attack suite, for hours. By hand, as root, and not by `npm test`.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeDisk } from './machines/disk.mjs';
import { fewSuites, machines } from './machines/kinds.mjs';
import { readSaid, withSeen } from './machines/seen.mjs';
import { inCheckout } from './setup/checkout.mjs';
import { filesBelow } from './setup/files.mjs';
import { setupOrExit } from './setup.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false } },
});
const named = positionals.filter((word) => word in machines);
const words = positionals.filter((word) => !(word in machines));
const wanted = values.all ? ['e2e/', 'attacks/'] : words.length > 0 ? words : fewSuites;

function fail(text, code = 69) {
  process.stderr.write(`machines: ${text}\n`);
  process.exit(code);
}

function requireTools(name) {
  if (process.getuid?.() !== 0) fail('needs root, to unpack a Debian with its owners: sudo npm run machines');
  const { program, debian } = machines[name];
  const has = (each) => spawnSync('sh', ['-c', `command -v ${each}`]).status === 0;
  const tools = { debootstrap: 'debootstrap', [program]: debian, cpio: 'cpio', mke2fs: 'e2fsprogs' };
  const missing = Object.entries(tools).filter(([tool]) => !has(tool));
  if (missing.length === 0) return;
  fail(`${missing[0][0]} is missing. Run: apt-get install -y ${missing.map(([, each]) => each).join(' ')}`);
}

function boot({ program, options, console: port }, { disk, initial, kernel }) {
  const all = [
    ...options,
    ...['-accel', process.env['CTX_MACHINES_ACCEL'] ?? 'tcg,thread=multi', '-smp', '2', '-m', '3072', '-nographic'],
    ...['-no-reboot', '-nic', 'none', '-drive', `file=${disk},format=raw,if=virtio,cache=unsafe`],
    ...['-kernel', kernel, '-initrd', initial, '-append', `console=${port} quiet no_timer_check panic=-1`],
  ];
  const child = spawn(program, all, { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (bytes) => {
    said += bytes;
    process.stdout.write(bytes);
  });
  return new Promise((resolve) => child.once('close', () => resolve(said)));
}

await setupOrExit('package');
await setupOrExit('test');
const suites = filesBelow(inCheckout('test'), (path) => path.endsWith('.test.ts'))
  .filter((path) => wanted.some((word) => path.includes(word)))
  .map((path) => path.replace(/\.ts$/, ''));
if (suites.length === 0) fail(`no test file has ${wanted.join(' or ')} in its path`, 2);
let failures = 0;
for (const name of named.length > 0 ? named : Object.keys(machines)) {
  requireTools(name);
  const directory = inCheckout('dist/machines', name);
  mkdirSync(directory, { recursive: true });
  const log = (text) => process.stdout.write(`machines: ${text}\n`);
  const made = await makeDisk(name, machines[name], directory, suites, log);
  log(`booting ${name}, for ${suites.length} suites`);
  const text = await boot(machines[name], made);
  writeFileSync(join(directory, 'said'), text);
  const said = readSaid(text);
  if (said.suites.length === 0) fail(`${name} did not come to its suites: ${join(directory, 'said')}`, 1);
  const page = inCheckout('docs/hosts.md');
  writeFileSync(page, withSeen(readFileSync(page, 'utf8'), name, said));
  if (!said.ended) log(`${name} did not come to its end: ${join(directory, 'said')}`);
  failures += said.ended ? 0 : 1;
  failures += said.suites.filter(({ code }) => code !== 0).length;
  for (const line of said.failed) log(`failed: ${line}`);
}
process.exitCode = failures === 0 ? 0 : 1;
