/** `--secret`: a command uses a token that it never holds. The server is a real one over TLS, and says what it was sent. */
import assert from 'node:assert/strict';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { withoutOpenssl } from '../../src/network/certificate-fixture.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useStage } from '../support/stage.js';
import { askToken, useTokenServer } from '../support/token-server.js';
import { forEitherUser } from '../support/users.js';

const token = 'tok-5f0e7c1d9b';
const skip = withoutOpenssl();

forEitherUser((user) => {
  const stage = useStage(user);
  const api = useTokenServer(stage);

  const start = (project: string, words: readonly string[], script: string, env: Record<string, string> = {}) =>
    stage.start(project, [...api.ctx, 'exec', '--json', '--wait', ...words, '--', 'sh', '-c', script], {
      env: { NODE_EXTRA_CA_CERTS: api.certificates, API_TOKEN: token, ...env },
    }).finished;
  const words = () => [
    '--net-private',
    `api.test:${api.port}`,
    '--secret',
    `api.test:${api.port} Authorization: Bearer $API_TOKEN`,
  ];

  test('a command uses a token that is nowhere in its jail, in the report or in the record', { skip }, async () => {
    const project = stage.project();
    const hunt = `${askToken}; echo; env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; true`;
    const { code, stdout, stderr } = await start(project, words(), hunt);
    assert.equal(code, 0, stderr);
    assert.ok(api.seen.includes(`Bearer ${token}`));
    const envelope = parseJson(stdout) as Envelope;
    assert.match(envelope.stdout?.text ?? '', /^you sent \*+$/m);
    assert.ok(!`${stdout}${stderr}`.includes(token));
    assert.deepEqual(envelope.request.injected, [`api.test:${api.port} authorization`]);
    const told = JSON.stringify(recordsOf(stage.store));
    assert.ok(told.includes(`api.test:${api.port} authorization`) && !told.includes(token));
  });

  test('without it the same request reaches nothing: nobody makes TLS of it', { skip }, async () => {
    const { code, stdout, stderr } = await start(stage.project(), words().slice(0, 2), askToken);
    assert.equal(code, 0, `${stdout}${stderr}`);
    assert.match((parseJson(stdout) as Envelope).stdout?.text ?? '', /api\.test:80/, 'port 80 is not granted');
    assert.ok(!api.seen.includes('Bearer own'));
  });

  test('authorities of the person are trusted outside, and inside as certificates alone', { skip }, async () => {
    const project = stage.project();
    const mixed = join(stage.directory, 'mixed.pem');
    writeFileSync(
      mixed,
      `-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n${readFileSync(api.certificates)}`,
    );
    chmodSync(mixed, 0o644);
    // As the launcher leaves it: Node itself has not read it.
    const env = { NODE_EXTRA_CA_CERTS: '', CTX_NODE_EXTRA_CA_CERTS: mixed, CURL_CA_BUNDLE: mixed };
    const script = `${askToken}; echo; curl -sS https://api.test:${api.port}/; echo; cat $NODE_EXTRA_CA_CERTS; echo more >>$NODE_EXTRA_CA_CERTS`;
    const { stdout, stderr } = await start(project, words(), script, env);
    const text = (parseJson(stdout) as Envelope).stdout?.text ?? '';
    assert.match(text, /^you sent \*+$/m, `${text}${stderr}`);
    assert.match(text, /^you sent nothing$/m, 'by TLS of its own, which the authority vouches for');
    assert.match(text, /BEGIN CERTIFICATE/);
    assert.ok(!text.includes('PRIVATE KEY'));
    assert.match((parseJson(stdout) as Envelope).stderr?.text ?? '', /Read-only file system/);
    const alone = await start(project, [], 'echo "[$NODE_EXTRA_CA_CERTS$CURL_CA_BUNDLE]"', env);
    assert.equal(
      (parseJson(alone.stdout) as Envelope).stdout?.text,
      '[]\n',
      'without a network there is nothing to trust',
    );
  });

  test('a call with another token does not run in a kept jail that has the first', { skip }, async () => {
    const project = stage.project();
    const path = api.resolvingPath();
    const kept = async (value: string) => {
      const env = {
        NODE_EXTRA_CA_CERTS: api.certificates,
        API_TOKEN: value,
        PATH: path,
      };
      const call = [...api.ctx, 'exec', '--keep', ...words(), '--', 'sh', '-c', askToken];
      const { code, stdout, stderr } = await stage.start(project, call, { env }).finished;
      assert.deepEqual([code, /^you sent \*+$/.test(stdout)], [0, true], `${stdout}${stderr}`);
    };
    const tokens = ['kept-first-1f', 'kept-second-2e', 'kept-first-1f'];
    try {
      for (const value of tokens) await kept(value);
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
    assert.deepEqual(
      api.seen.filter((value) => value?.includes('kept-')),
      tokens.map((value) => `Bearer ${value}`),
    );
  });

  test('what cannot be used is refused before anything runs', { skip }, async () => {
    const project = stage.project();
    const refused = async (given: readonly string[], reason: RegExp, env?: Record<string, string>) => {
      const { code, stdout } = await start(project, given, 'touch ran', env);
      assert.notEqual(code, 0);
      assert.match(stdout, reason);
      assert.ok(!stdout.includes(token));
    };
    const [net = '', place = '', secret = '', header = ''] = words();
    await refused([secret, header], /--net api\.test/);
    await refused([net, place, secret, header.replace('API_TOKEN', 'NO_SUCH')], /NO_SUCH/);
    await refused([net, place, secret, `api.test:${api.port} Host: $API_TOKEN`], /header/);
    await refused([net, place, secret, header], /printable/, { API_TOKEN: 'two\nlines' });
    await refused([net, place, secret, `api.test:${api.port} Authorization: literal`], /variable/);
    assert.throws(() => readFileSync(join(project, 'ran')));
  });
});
