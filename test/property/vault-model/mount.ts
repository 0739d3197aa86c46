/** A fork's tree through its own overlay, in a mount namespace that ends with the script. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { overlayOf } from '../../../src/proxy/run/fork-mounts.js';
import { prepareRoot } from '../../../src/vault/fork-trees.js';
import { workspaceRoot } from '../../../src/vault/store/layout.js';
import type { OpenFork } from '../../../src/vault/vault.js';
import type { Entry, Model } from './model.js';

const lookScript = `find . -mindepth 1 -printf '%P\\t%y\\t%m\\t%l\\n'; echo ====; find . -type f -exec md5sum {} +`;
const sums = new Map(
  ['0', '1', '2', '3', '4'].map((text) => [
    execFileSync('sh', ['-c', `echo ${text} | md5sum`], { encoding: 'utf8' }).slice(0, 32),
    text,
  ]),
);

function parsed(text: string): Model {
  const [entries = '', digests = ''] = text.split('====\n');
  const contents = new Map(digests.split('\n').map((line) => [line.slice(36), sums.get(line.slice(0, 32)) ?? line]));
  const lines = entries.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line): [string, Entry] => {
      const [path = '', type = '', mode = '', to = ''] = line.split('\t');
      const bits = Number.parseInt(mode, 8);
      if (type === 'd' || type === 'p') return [path, { type, mode: bits }];
      if (type === 'l') return [path, { type, to }];
      assert.equal(type, 'f', `${path} is of type ${type}`);
      return [path, { type, mode: bits, text: contents.get(path) ?? '?', linked: false }];
    }),
  );
}

export function shellIn(directory: string, line: string): void {
  execFileSync('sh', ['-euc', `umask 022; ${line}`], { cwd: directory });
}

export function lookAt(directory: string): Model {
  return parsed(execFileSync('sh', ['-c', lookScript], { cwd: directory, encoding: 'utf8' }));
}

/** Runs the lines; `meanwhile` happens after them, while the overlay is still mounted. */
export async function insideFork(
  fork: OpenFork,
  lines: readonly string[],
  meanwhile: () => Promise<void>,
): Promise<Model> {
  prepareRoot(fork, workspaceRoot);
  const { meta, paths, vault, owner } = fork;
  const root = { target: vault.origin, root: workspaceRoot, frozen: [...meta.base, ...meta.deltas], live: meta.live };
  const { lower, upper, work } = overlayOf(paths, root);
  const options = `userxattr,index=off,redirect_dir=nofollow,metacopy=off,lowerdir=${lower.join(':')},upperdir=${upper},workdir=${work}`;
  const script = ['umask 022', ...lines, 'echo done', 'read -r go', lookScript].join('\n');
  const mount = `mount -t overlay overlay -o '${options}' '${vault.origin}'; cd '${vault.origin}'`;
  // As the jail does it: root's commands run as an owner that is root to no one.
  const as = owner.shift > 0 ? `setpriv --reuid ${owner.shift} --regid ${owner.shift} --clear-groups` : '';
  const flags = process.geteuid?.() === 0 ? '-m' : '-Urm';
  const child = spawn('unshare', [flags, 'sh', '-euc', `${mount}; exec ${as} sh -euc "$1"`, 'sh', script], {
    cwd: paths.directory,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let output = '';
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  const closed = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve));
  const ready = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      if (output.startsWith('done\n')) resolve();
    });
  });
  await Promise.race([ready, closed]);
  try {
    await meanwhile();
  } finally {
    child.stdin.on('error', () => undefined).end('go\n');
  }
  assert.equal(await closed, 0, errors);
  return parsed(output.slice('done\n'.length));
}
