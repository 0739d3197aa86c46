/** How long a value that a command printed is used. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { secretFreshMilliseconds, secretRetryMilliseconds } from '../../base/limits/network.js';
import { type SecretHost, SecretValues } from './secret-values.js';
import { storeSecret } from './stored-secrets.js';

describe('the value of a secret that a command prints', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-secret-'));
  after(() => rmSync(directory, { recursive: true }));
  const [printed, asked] = [join(directory, 'printed'), join(directory, 'asked')];
  const host = {
    store: { directory: join(directory, 'store') },
    environment: { PATH: '/usr/bin:/bin' },
    home: directory,
  } as unknown as SecretHost;
  const times = () => readFileSync(asked, 'utf8').length;

  it('is asked for once a minute, and once by requests at one time; a failure is tried again sooner', async (context) => {
    let now = 1_000;
    context.mock.method(performance, 'now', () => now);
    writeFileSync(asked, '');
    writeFileSync(printed, 'one');
    storeSecret(host, 'TOKEN', { command: `printf x >> '${asked}'; cat '${printed}'` });
    const values = new SecretValues(host);
    assert.deepEqual(await Promise.all([values.of('TOKEN'), values.filled('Bearer $TOKEN')]), ['one', 'Bearer one']);
    writeFileSync(printed, 'two');
    now += secretFreshMilliseconds - 1;
    assert.equal(await values.of('TOKEN'), 'one');
    assert.equal(times(), 1);
    now += 1;
    assert.equal(await values.of('TOKEN'), 'two');
    assert.equal(times(), 2);

    rmSync(printed);
    now += secretFreshMilliseconds;
    await assert.rejects(values.of('TOKEN'), /EIO|failed/);
    writeFileSync(printed, 'three');
    now += secretRetryMilliseconds - 1;
    await assert.rejects(values.of('TOKEN'), /EIO|failed/);
    assert.equal(times(), 3);
    now += 1;
    assert.equal(await values.of('TOKEN'), 'three');

    // Another command is another secret.
    storeSecret(host, 'TOKEN', { command: 'echo four' });
    assert.equal(await values.of('TOKEN'), 'four');
  });
});
