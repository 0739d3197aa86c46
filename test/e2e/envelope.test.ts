/** What machines are answered with: every kind of answer is as the published schema says, and holds what it must. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { envelopeSchema } from '../../src/proxy/report/envelope-schema.js';
import { checkout } from '../support/program.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forEitherUser, isRoot } from '../support/users.js';

const published = readFileSync(join(checkout, 'docs', 'envelope.schema.json'), 'utf8');

/** Readers may meet members that are newer than they are; what we write has none that the schema does not name. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const within = Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, closed(value)]));
  return within['type'] === 'object' ? { ...within, additionalProperties: false } : within;
}

const validate = new Ajv2020({ allErrors: true }).compile(closed(JSON.parse(published)) as object);

function assertValid(answer: unknown): void {
  assert.ok(validate(answer), JSON.stringify([validate.errors, answer], undefined, 1).slice(0, 4_000));
}

describe('the published schema', () => {
  test('is that of this version; node scripts/envelope-schema.mjs writes it', () => {
    assert.deepEqual(JSON.parse(published), envelopeSchema());
  });

  test('refuses what is no answer', () => {
    for (const value of [{}, { version: 1 }, { version: 2, error: {} }, { version: 1, error: { code: 'EIO' } }, []]) {
      assert.equal(validate(value), false);
    }
  });
});

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('a command, one that timed out, one that was signalled and one that writes what is no text', async () => {
    const project = stage.project('echo a > a');
    const wrote = await stage.exec(project, ['sh', '-c', 'echo b > b; rm a; printf "\\377\\000"; echo err >&2']);
    assertValid(wrote);
    assert.deepEqual(
      wrote.changes.map(({ kind, path }) => `${kind} ${path}`),
      ['deleted a', 'added b'],
    );
    assert.deepEqual(Buffer.from(wrote.stdout?.base64 ?? '', 'base64'), Buffer.from([0xff, 0]));

    const slow = ['exec', '--json', '--timeout', '3s', '--', 'sh', '-c', 'echo so far; sleep 60'];
    const timedOut = parseJson((await stage.ctx(project, slow)).stdout) as Envelope;
    assertValid(timedOut);
    assert.deepEqual([timedOut.timedOut, timedOut.stdout?.text, timedOut.exitCode], [true, 'so far\n', null]);

    for (const signal of ['KILL', 'SEGV', 'USR1']) {
      const ended = await stage.exec(project, ['sh', '-c', `kill -${signal} $$`]);
      assertValid(ended);
      assert.deepEqual([ended.signal, ended.exitCode], [`SIG${signal}`, null]);
    }
  });

  test('a refusal by a decision, a command that is not there, and a bad call', async () => {
    const project = stage.project();
    const env = { CTX_DATA: stage.makeDirectory('judged') };
    const calls = [
      [['--', 'sudo', 'ls'], 13],
      [['--', './missing'], 127],
    ] as const;
    for (const [words, exitCode] of calls) {
      const { code, stdout } = await stage.ctx(project, ['exec', '--json', ...words], { env });
      assert.equal(code, exitCode, stdout);
      assertValid(parseJson(stdout));
    }
    const refused = parseJson((await stage.ctx(project, ['exec', '--json', '--', 'sudo', 'ls'], { env })).stdout);
    assert.equal((refused as Envelope).decision.action, 'deny');
    assertValid(parseJson((await stage.ctx(project, ['exec', '--json'])).stdout));
  });

  test('a command of a kept jail, and one on the directory itself', async () => {
    const project = stage.project();
    await stage.ctx(project, ['jail', 'start']);
    try {
      const inside = await stage.exec(project, ['sh', '-c', 'echo b > b']);
      assertValid(inside);
      assert.ok(inside.keptJail);
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
    const { stdout } = await stage.ctx(project, ['jail', 'run', '--json', '--', 'true']);
    assertValid(parseJson(stdout));
  });

  test('says what was asked, as it was asked, on a fork, in a kept jail and on the directory itself', async () => {
    const project = stage.project('mkdir inner; git init -q .');
    const asked = ['--timeout', '90s', '--env', 'TOKEN=secret', '--cwd', 'inner', '--json', '--shell', 'true; true'];
    const answers = async (verb: readonly string[]) => {
      const { stdout, stderr } = await stage.ctx(project, [...verb, ...asked]);
      const envelope = parseJson(stdout, stderr) as Envelope;
      assertValid(envelope);
      assert.ok(envelope.request, stdout);
      assert.deepEqual(envelope.request.argv, envelope.argv);
      const { argv: _argv, ...request } = envelope.request;
      return request;
    };
    const expected = {
      shell: 'true; true',
      cwd: join(project, 'inner'),
      agent: null,
      fork: null,
      readonly: false,
      live: false,
      timeoutMilliseconds: 90_000,
      reads: ['/usr'],
      writes: [],
      liveWrites: [],
      siblings: false,
      network: ['example.org:443'],
      privateHosts: ['127.0.0.1:9'],
      injected: [],
      environment: ['TOKEN'],
      project: null,
      quota: {},
      user: null,
    };
    const grants = ['--read', '/usr', '--net', 'example.org', '--net-private', '127.0.0.1:9'];
    assert.deepEqual(await answers(['exec', '--readonly', ...grants]), { ...expected, readonly: true });
    assert.deepEqual(await answers(['exec', '--live', ...grants]), { ...expected, live: true });
    await stage.ctx(project, ['jail', 'start', ...grants]);
    try {
      assert.deepEqual(await answers(['jail', 'exec']), expected);
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
  });

  test('names the moment before it, and the record of its end', async () => {
    const project = stage.project('echo before > a');
    const first = await stage.exec(project, ['sh', '-c', 'echo after > a']);
    const records = recordsOf(stage.store).filter(({ facts }) => facts?.['run'] === first.run);
    assert.deepEqual(
      records.map(({ status }) => status),
      ['begin', 'ok'],
    );
    const end = records.at(-1);
    assert.deepEqual(first.record, { chain: 'person', seq: end?.seq });
    assert.deepEqual(end?.facts?.['changes'], ['modified a']);
    assert.equal((await stage.ctx(project, ['rollback', String(first.checkpoint)])).code, 0);
    assert.equal(await stage.inside(project, 'cat a'), 'before\n');
  });

  test('what is too long for the report is whole in a file, for the person alone, until gc or drop', async () => {
    const project = stage.project();
    // Bytes that are not text come first only, and not for each user: a report of such takes a second a megabyte to write.
    const noText = user.uid === 0 || !isRoot ? 100_000 : 0;
    const mixed = `{ head -c ${noText} /dev/urandom; seq 1500000; } | head -c 9000000`;
    const script = `${mixed} | tee kept; yes | head -c 9000000 >&2`;
    const long = await stage.exec(project, ['sh', '-c', script]);
    assertValid(long);
    const { stdout, stderr } = long;
    assert.deepEqual([stdout?.bytes, stdout?.file?.bytes, stderr?.file?.bytes], [9_000_000, 9_000_000, 9_000_000]);
    const path = stdout?.file?.path ?? '';
    const inspected = (await stage.ctx(project, ['inspect', long.run])).stdout;
    for (const [name, file] of [
      ['stdout', stdout?.file],
      ['stderr', stderr?.file],
    ] as const) {
      assert.match(inspected, new RegExp(`^output +${name}: .* in ${file?.path}$`, 'm'));
    }
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await stage.ctx(project, ['vault', 'export', join(stage.directory, `export-${user.uid}`)]);
    const kept = readFileSync(join(stage.directory, `export-${user.uid}`, 'kept'));
    assert.ok(readFileSync(path).equals(kept));
    assert.equal(await stage.inside(project, `cat ${path} 2>/dev/null || echo unseen`), 'unseen\n');

    const runs = join(path, '..');
    assert.equal(readdirSync(runs).length, 2);
    await stage.json(project, ['gc']);
    assert.throws(() => readdirSync(runs), /ENOENT/);
    const again = await stage.exec(project, ['sh', '-c', 'yes | head -c 9000000']);
    await stage.json(project, ['drop']);
    assert.throws(() => statSync(again.stdout?.file?.path ?? ''), /ENOENT/);
  });
});
