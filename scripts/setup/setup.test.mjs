import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { filesBelow, prune, publish, signatureOf } from './files.mjs';
import { checkHost } from './host.mjs';
import { difference } from './npm-packages.mjs';

const linux = { platform: 'linux', arch: 'x64' };
const present = () => true;

describe('the set-up', () => {
  it('refuses another system and an older Node, and says what to do', () => {
    assert.doesNotThrow(() => checkHost('linux', '20.19.0'));
    assert.doesNotThrow(() => checkHost('linux', '24.1.0'));
    assert.throws(() => checkHost('darwin', '24.1.0'), { exitCode: 69, message: /needs Linux/ });
    assert.throws(() => checkHost('linux', '20.18.3'), { exitCode: 69, message: /20\.19 or newer; this is 20\.18\.3/ });
    assert.throws(() => checkHost('linux', '18.20.0'), { exitCode: 69 });
  });

  it('finds installed packages as the lock file wants them', () => {
    const wanted = { '': {}, 'node_modules/a': { version: '1.0.0', integrity: 'x' } };
    assert.equal(difference(wanted, { 'node_modules/a': { version: '1.0.0', integrity: 'x' } }, present), undefined);
  });

  it('finds missing, older, altered, deleted and left-over packages', () => {
    const wanted = { 'node_modules/a': { version: '1.0.0', integrity: 'x' } };
    const compare = (installed, isPresent = present) => difference(wanted, installed, isPresent);
    assert.match(compare({}), /a is missing/);
    assert.match(compare({ 'node_modules/a': { version: '0.9.0' } }), /0\.9\.0 instead of 1\.0\.0/);
    assert.match(compare({ 'node_modules/a': { version: '1.0.0', integrity: 'y' } }), /other content/);
    assert.match(
      compare({ 'node_modules/a': { version: '1.0.0' } }, () => false),
      /missing/,
    );
    assert.match(compare({ ...wanted, 'node_modules/b': { version: '1.0.0' } }), /b is left over/);
  });

  it('does without optional packages for other systems only', () => {
    const optional = (limits) => ({ 'node_modules/a': { version: '1.0.0', optional: true, ...limits } });
    assert.equal(difference(optional({ os: ['darwin'] }), {}, present, linux), undefined);
    assert.equal(difference(optional({ os: ['!linux'] }), {}, present, linux), undefined);
    assert.equal(difference(optional({ os: ['linux'], cpu: ['arm64'] }), {}, present, linux), undefined);
    assert.match(difference(optional({ os: ['linux'], cpu: ['x64'] }), {}, present, linux), /missing/);
    assert.match(difference(optional({}), {}, present, linux), /missing/);
  });

  it('publishes a build over the one before and removes what is no longer made', () => {
    const directory = mkdtempSync(join(tmpdir(), 'ctxfs-setup-'));
    try {
      const target = join(directory, 'target');
      const staging = join(directory, 'staging');
      mkdirSync(join(target, 'old'), { recursive: true });
      mkdirSync(join(staging, 'new'), { recursive: true });
      writeFileSync(join(target, 'old', 'gone.js'), 'old');
      writeFileSync(join(target, 'same.js'), 'old');
      writeFileSync(join(staging, 'same.js'), 'new!');
      writeFileSync(join(staging, 'new', 'made.js'), 'new');
      const files = publish(staging, target, ['same.js']);
      prune(target, (path) => files.includes(path));
      assert.deepEqual(filesBelow(target), ['new/made.js', 'same.js']);
      assert.match(signatureOf(join(target, 'same.js')), /^4 /);
      assert.equal(signatureOf(join(target, 'old')), 'missing');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
