import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, it } from 'node:test';
import { systemView } from './system-view.js';

let host = '';
beforeEach(() => {
  host = mkdtempSync(join(tmpdir(), 'ctx-system-'));
  chmodSync(host, 0o755);
});
afterEach(() => rmSync(host, { recursive: true, force: true }));
function write(...paths: readonly string[]): void {
  for (const path of paths) {
    mkdirSync(dirname(join(host, path)), { recursive: true });
    writeFileSync(join(host, path), '');
  }
}
const shown = () => systemView(host).shared.map(({ target }) => target);

/** Root may look everywhere: as another user for as long as it takes. */
function asOther<T>(act: () => T): T {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(65_534);
  try {
    return act();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

it('what a host has of the system is shown, read-only; a link keeps its text, and the rest is left out', () => {
  write('/usr/bin/sh', '/etc/ssl/openssl.cnf', '/etc/ssl/private/key', '/etc/shadow', '/etc/maven/settings.xml');
  write('/var/lib/dpkg/status', '/var/lib/other/file', '/home/ada/file');
  symlinkSync('usr/bin', join(host, 'bin'));
  symlinkSync('/nowhere', join(host, 'lib'));
  const { shared, links } = systemView(host);
  assert.deepEqual(
    shared.map(({ source, target, access }) => [source, target, access]),
    ['/usr', '/etc/ssl/openssl.cnf', '/var/lib/dpkg'].map((path) => [path, path, 'read only']),
  );
  assert.deepEqual(links, [
    { path: '/bin', target: 'usr/bin' },
    { path: '/lib', target: '/nowhere' },
  ]);
});

it('a part that is missing, closed or something else keeps no command from starting', () => {
  assert.deepEqual(systemView(host), { shared: [], links: [] });
  write('/usr/x', '/etc/ssl/openssl.cnf', '/etc/maven', '/var/lib/dpkg/status', '/etc/chromium.d/default-flags');
  const all = ['/usr', '/etc/ssl/openssl.cnf', '/etc/chromium.d/default-flags', '/var/lib/dpkg'];
  assert.deepEqual(shown().sort(), [...all].sort());
  for (const [closed, left] of [
    ['/etc/ssl', all.filter((path) => !path.startsWith('/etc/ssl'))],
    ['/etc/chromium.d', all.filter((path) => !path.startsWith('/etc/chromium'))],
    ['/var/lib', all.filter((path) => !path.startsWith('/var'))],
    ['/etc', all.filter((path) => !path.startsWith('/etc'))],
  ] as const) {
    for (const mode of [0o700, 0o000]) {
      const isRoot = process.geteuid?.() === 0;
      if (!isRoot && mode === 0o700) continue;
      chmodSync(join(host, closed), mode);
      assert.deepEqual(asOther(shown).sort(), [...left].sort(), `${closed} ${mode.toString(8)}`);
      chmodSync(join(host, closed), 0o755);
    }
  }
});
