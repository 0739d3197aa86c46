import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { anyPublicNetwork, hostNetwork, noNetwork } from '../../authority/network.js';
import { networkSecretCharacters } from '../../base/limits/network.js';
import { uniqueName } from '../../base/unique-name.js';
import { storePaths } from '../../vault/store/layout.js';
import type { AskedSecret } from './asked-secret.js';
import { assertUsable, secretNames, secretsFor } from './injected-secrets.js';
import { commandOutput } from './secret-command.js';
import { type SecretHost, SecretValues, usableSecrets } from './secret-values.js';
import { assertSecretValue, readSecret, removeSecret, storedNames, storeSecret } from './stored-secrets.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-secrets-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const secrets = storePaths(directory).secrets;
const host = {
  store: { directory },
  environment: { PATH: '/usr/bin:/bin', GIVEN: 'outside' },
  home: directory,
} as unknown as SecretHost;
beforeEach(() => rmSync(secrets, { recursive: true, force: true }));

describe('a stored secret', () => {
  it('is read as it was stored, by nobody else, until it is removed', () => {
    assert.deepEqual([storedNames(host), readSecret(host, 'TOKEN')], [[], undefined]);
    storeSecret(host, 'TOKEN', { value: 'one' });
    storeSecret(host, 'B_2', { command: 'echo two' });
    assert.deepEqual([readSecret(host, 'TOKEN'), readSecret(host, 'B_2')], [{ value: 'one' }, { command: 'echo two' }]);
    const modes = [secrets, join(secrets, 'TOKEN.json')].map((path) => statSync(path).mode & 0o777);
    assert.deepEqual(modes, [0o700, 0o600]);
    assert.deepEqual(storedNames(host), ['B_2', 'TOKEN']);
    storeSecret(host, 'TOKEN', { value: 'other' });
    assert.deepEqual(readSecret(host, 'TOKEN'), { value: 'other' });
    removeSecret(host, 'TOKEN');
    assert.deepEqual([readSecret(host, 'TOKEN'), storedNames(host)], [undefined, ['B_2']]);
    assert.throws(() => removeSecret(host, 'TOKEN'), { name: 'ErrnoError', code: 'ENOENT' });
  });

  it('goes with the next change of any where it was only begun, by a process that was killed', () => {
    const module = JSON.stringify(new URL('../../base/unique-name.js', import.meta.url).href);
    const program = `import { uniqueName } from ${module}; process.stdout.write(uniqueName());`;
    const { stdout: ofDead } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
    });
    const [own, before] = [`TOKEN.json.${uniqueName()}.new`, `TOKEN.json.${2 ** 22 + 1}.new`];
    const changes: readonly (() => unknown)[] = [
      () => storeSecret(host, 'TOKEN', { value: 'one' }),
      () => storeSecret(host, 'B_2', { value: 'two' }),
      () => removeSecret(host, 'B_2'),
      () => assert.throws(() => removeSecret(host, 'NEVER'), { code: 'ENOENT' }),
    ];
    for (const change of changes) {
      mkdirSync(secrets, { recursive: true });
      const drafts = [own, before, `TOKEN.json.${ofDead}.new`, `NEVER.json.${ofDead}.new`];
      for (const draft of drafts) writeFileSync(join(secrets, draft), 'half');
      change();
      assert.deepEqual(
        drafts.filter((draft) => existsSync(join(secrets, draft))),
        [own],
        String(change),
      );
    }
  });

  it('has a name that a template can have, whoever names it', () => {
    const long = 'a'.repeat(64);
    for (const name of ['A', '_', 'a_9', long]) {
      storeSecret(host, name, { value: 'x' });
      assert.deepEqual(readSecret(host, name), { value: 'x' });
    }
    for (const name of ['', '9', 'a-b', 'a.b', '../x', 'a/b', 'a\n', ' a', `${long}a`]) {
      assert.throws(() => storeSecret(host, name, { value: 'x' }), { code: 'EINVAL' }, name);
      assert.throws(() => readSecret(host, name), { code: 'EINVAL' }, name);
    }
    assert.equal(storedNames(host).length, 4);
  });

  it('is one line that a header can hold, and nothing else is kept', () => {
    const most = 'x'.repeat(networkSecretCharacters);
    for (const value of ['x', 'a b', '!~', most]) {
      storeSecret(host, 'TOKEN', { value });
      assert.deepEqual(readSecret(host, 'TOKEN'), { value });
      assertSecretValue(value);
    }
    for (const value of ['', ' ', ' x', 'x ', 'a\nb', 'a\tb', 'ä', '\x7f', `${most}x`]) {
      assert.throws(() => storeSecret(host, 'TOKEN', { value }), { code: 'EINVAL' }, JSON.stringify(value));
      assert.throws(
        () => assertSecretValue(value),
        (error: Error) => value.length < 2 || !error.message.includes(value),
      );
    }
    const mostCommand = 'x'.repeat(4_096);
    for (const command of ['x', ' echo "ä" ', mostCommand]) {
      storeSecret(host, 'COMMAND', { command });
      assert.deepEqual(readSecret(host, 'COMMAND'), { command });
    }
    for (const command of ['', '  ', 'a\nb', 'a\0b', `${mostCommand}x`]) {
      assert.throws(() => storeSecret(host, 'COMMAND', { command }), { code: 'EINVAL' }, JSON.stringify(command));
    }
    assert.deepEqual(
      [readSecret(host, 'TOKEN'), readSecret(host, 'COMMAND')],
      [{ value: most }, { command: mostCommand }],
    );
  });

  it('that others may read, that is damaged, or of another format is refused, whatever it holds', () => {
    const path = join(secrets, 'TOKEN.json');
    for (const mode of [0o640, 0o620, 0o610, 0o604, 0o602, 0o601]) {
      storeSecret(host, 'TOKEN', { value: 'x' });
      chmodSync(path, mode);
      assert.throws(() => readSecret(host, 'TOKEN'), { code: 'EACCES' }, mode.toString(8));
    }
    chmodSync(path, 0o600);
    for (const text of [
      '{}',
      'null',
      '[]',
      '"x"',
      '{"format":1}',
      '{"format":2,"value":"x"}',
      '{"format":2,"command":"x"}',
      '{"value":"x"}',
      '{"format":1,"value":5}',
      '{"format":1,"command":5}',
    ]) {
      writeFileSync(path, text);
      assert.throws(() => readSecret(host, 'TOKEN'), { code: 'EIO' }, text);
    }
    // What older versions of ctx have written.
    writeFileSync(path, '{"format":1,"value":"x"}');
    assert.deepEqual(readSecret(host, 'TOKEN'), { value: 'x' });
    writeFileSync(path, '{"format":1,"command":"x"}');
    assert.deepEqual(readSecret(host, 'TOKEN'), { command: 'x' });
  });
});

describe('the command of a secret', () => {
  const ended = async (command: string, milliseconds = 60_000) => commandOutput(command, host, milliseconds);

  it('has its output without the end of the last line, the caller’s environment, and nothing to read', async () => {
    const output = async (command: string) => (await ended(command)).stdout;
    assert.deepEqual(await ended('printf "a\\n"; echo said >&2'), {
      ended: 'exit code 0',
      stdout: 'a',
      stderr: 'said\n',
    });
    assert.equal(await output('printf "a\\n\\n"'), 'a\n');
    assert.equal(await output('printf "a\\r\\n"'), 'a');
    assert.equal(await output('printf "$GIVEN:"; pwd'), `outside:${directory}`);
    assert.equal(await output('cat; echo end'), 'end');
  });

  it('says how it failed', async () => {
    assert.equal((await ended('exit 3')).ended, 'exit code 3');
    assert.equal((await ended('kill -9 $$')).ended, 'SIGKILL');
    assert.equal((await ended('sleep 60', 20)).ended, 'it took longer than 0.02 s');
    const mark = join(directory, 'mark');
    const ignores = "trap '' TERM; i=0; while [ $i -lt 600 ]; do sleep 0.05; i=$((i + 1)); done; touch mark";
    assert.match((await ended(ignores, 20)).ended, /^it took longer/);
    assert.equal(existsSync(mark), false, 'it is not waited for');
    const most = 2 * networkSecretCharacters;
    assert.equal((await ended(`head -c ${most} /dev/zero`)).ended, 'exit code 0');
    assert.equal((await ended(`head -c ${most + 1} /dev/zero`)).ended, `it printed more than ${most} bytes`);
    const noisy = await ended(`head -c ${most + 1} /dev/zero >&2; echo x`);
    assert.deepEqual([noisy.ended, noisy.stdout, noisy.stderr.length], ['exit code 0', 'x', most]);
    const nowhere = { ...host, home: join(directory, 'nowhere') };
    assert.equal((await commandOutput('true', nowhere, 1000)).ended, 'it could not be started in your home (ENOENT)');
  });

  it('has no terminal, and ends with all that it has started: by its time, and where nobody needs its answer', async () => {
    const [sid, pid] = (await ended('ps -o sid= -p $$ | tr -d " "; echo $$')).stdout.split('\n');
    assert.equal(sid, pid);
    const child = join(directory, 'child');
    // Longer than anything here is waited for: what ends by itself would look as if it had been ended.
    const started = `sleep 3600 & echo $! > '${child}.new'; mv '${child}.new' '${child}'; wait; echo x`;
    const isGone = async () => {
      const id = Number(readFileSync(child, 'utf8'));
      const latest = performance.now() + 30_000;
      while (existsSync(`/proc/${id}/stat`) && performance.now() < latest)
        await new Promise((resolve) => setTimeout(resolve, 5));
      if (!existsSync(`/proc/${id}/stat`)) return;
      process.kill(id, 'SIGKILL');
      assert.fail('what it has started goes on');
    };
    assert.match((await ended(started, 500)).ended, /^it took longer/);
    await isGone();
    rmSync(child);
    const ending = new AbortController();
    const cancelled = commandOutput(started, host, 60_000, ending.signal);
    while (!existsSync(child)) await new Promise((resolve) => setTimeout(resolve, 5));
    ending.abort();
    assert.equal((await cancelled).ended, 'it was cancelled');
    await isGone();
    rmSync(child);
    assert.equal((await commandOutput(started, host, 60_000, ending.signal)).ended, 'it was cancelled');
  });

  it('is taken for its value only where it ended well, with one line that a header can hold', async () => {
    const values = new SecretValues(host);
    for (const [command, reason] of [
      ['echo x; exit 1', /secret TOKEN failed: exit code 1$/],
      ['true', /secret TOKEN failed: expected one line .* got nothing$/],
      ['printf "a\\nb"', /secret TOKEN failed: expected one line .* got several lines$/],
      ['printf "\\007"', /secret TOKEN failed: expected one line .* got something else$/],
    ] as const) {
      storeSecret(host, 'TOKEN', { command });
      await assert.rejects(values.of('TOKEN'), { code: 'EIO', reason });
    }
    storeSecret(host, 'TOKEN', { command: 'echo from-command' });
    storeSecret(host, 'OTHER', { value: 'plain' });
    assert.equal(await values.filled('a $TOKEN-$OTHER $TOKEN$'), 'a from-command-plain from-command$');
    await assert.rejects(values.of('NONE'), { code: 'ENOENT' });
    await assert.rejects(values.filled('$OTHER $NONE'), { code: 'ENOENT' });
  });
});

describe('secrets for the requests of a command', () => {
  const asked = { host: 'API.example.org', header: 'X-Key', value: 'v' };
  const granted = hostNetwork(['api.example.org:443']);

  it('are named by place and header, and never by value', () => {
    const secretsOf: readonly AskedSecret[] = [
      { ...asked, value: 'hidden' },
      { ...asked, host: 'a.example.org', port: 8443, template: '$T', value: undefined },
    ];
    assert.deepEqual(secretNames(secretsOf), ['a.example.org:8443 x-key', 'api.example.org:443 x-key']);
    assert.deepEqual(secretNames(), []);
  });

  it('are a value or a template, of what is stored, for a host that may be reached', async () => {
    storeSecret(host, 'TOKEN', { value: 'x' });
    const template = { host: asked.host, header: asked.header };
    const usable: readonly AskedSecret[][] = [
      [],
      [asked],
      [{ ...template, template: 'Bearer $TOKEN' }],
      [asked, { ...asked, header: 'X-Other' }],
    ];
    for (const each of usable) await assertUsable(host, each, granted);
    await assertUsable(host, [{ ...asked, host: 'x.org', port: 8080 }], anyPublicNetwork);
    await assertUsable(host, [], noNetwork);
    for (const [each, network, code] of [
      [[template], granted, 'EINVAL'],
      [[{ ...asked, template: '$TOKEN' }], granted, 'EINVAL'],
      [[{ ...template, template: 'Bearer' }], granted, 'EINVAL'],
      [[{ ...template, template: '$TOKEN $NONE' }], granted, 'ENOENT'],
      [[{ ...asked, header: 'Host' }], granted, 'EINVAL'],
      [[{ ...asked, value: '' }], granted, 'EINVAL'],
      [[asked], noNetwork, 'EINVAL'],
      [[{ ...asked, port: 8443 }], granted, 'EINVAL'],
      [[asked, { ...asked, host: 'other.org' }], granted, 'EINVAL'],
      [[asked, asked], granted, 'EINVAL'],
    ] as const) {
      await assert.rejects(assertUsable(host, each, network), { code }, JSON.stringify(each));
    }
  });

  it('run no command before they are needed, and are given to the proxy with what gives their value', async () => {
    const ran = join(directory, 'ran');
    mkdirSync(ran, { recursive: true });
    storeSecret(host, 'TOKEN', { command: `touch ${ran}/it; echo x` });
    const template = { host: 'api.example.org', header: 'X-Key', template: 'Bearer $TOKEN' };
    await assertUsable(host, [template], granted);
    const { signal } = new AbortController();
    assert.deepEqual(await secretsFor(host)(signal), []);
    const [plain, filled] = await secretsFor(host, [{ ...asked, port: 8443 }, template])(signal);
    assert.deepEqual(plain, { host: asked.host, header: asked.header, port: 8443, value: 'v' });
    assert.deepEqual(readdirSync(ran), []);
    const { value, ...rest } = filled ?? assert.fail();
    assert.deepEqual(rest, { host: template.host, header: template.header });
    assert.equal(typeof value === 'function' ? await value() : value, 'Bearer x');
    assert.deepEqual(readdirSync(ran), ['it']);
    assert.deepEqual(usableSecrets(host), []);
  });
});
