/** `ctx secret`: stored by a person, used by the proxy, held by no jail; a new value counts from the next request on. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { withoutOpenssl } from '../../src/network/certificate-fixture.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { askToken, useTokenServer } from '../support/token-server.js';
import { cannotType, TypedTerminal } from '../support/typed-terminal.js';
import { forEitherUser } from '../support/users.js';

const skip = withoutOpenssl();

forEitherUser((user) => {
  const stage = useWarmStage(user);
  const api = useTokenServer(stage);
  const set = (name: string, value: string) => stage.ctx(stage.directory, ['secret', 'set', name], { input: value });
  const exec = (
    project: string,
    name: string,
    script: string,
    env: Record<string, string> = {},
    more: string[] = [],
  ) => {
    const secret = `api.test:${api.port} Authorization: Bearer $${name}`;
    const words = ['--net-private', `api.test:${api.port}`, '--secret', secret, ...more];
    return stage.start(project, [...api.ctx, 'exec', '--json', ...words, '--', 'sh', '-c', script], {
      env: { NODE_EXTRA_CA_CERTS: api.certificates, ...env },
    }).finished;
  };
  const file = (name: string) => join(stage.store, 'secret', `${name}.json`);

  test('a stored secret is used, and is in no jail, report, list or record', { skip }, async () => {
    const value = 'tok-stored-71c0ffee';
    const stored = await set('STORED', `${value}\n`);
    assert.deepEqual([stored.code, stored.stdout], [0, 'stored STORED\n'], stored.stderr);
    assert.equal(statSync(file('STORED')).mode & 0o777, 0o600);
    const hunt = `${askToken}; echo; cat ${file('STORED')}; grep -rs tok-stored ${stage.directory}; env`;
    const { code, stdout, stderr } = await exec(stage.project(), 'STORED', hunt, {}, ['--read', stage.directory]);
    assert.equal(code, 0, `${stdout}${stderr}`);
    assert.ok(api.seen.includes(`Bearer ${value}`));
    assert.match((parseJson(stdout) as Envelope).stdout?.text ?? '', /^you sent \*+$/m);
    const listed = await stage.ctx(stage.directory, ['secret', 'list', '--json'], { env: { STORED: 'x' } });
    const { secrets } = parseJson(listed.stdout) as { secrets: { name: string }[] };
    assert.deepEqual(
      secrets.find(({ name }) => name === 'STORED'),
      { name: 'STORED', command: null, shadowed: true, problem: null },
    );
    const records = JSON.stringify(recordsOf(stage.store));
    assert.ok(records.includes('secret/STORED'));
    for (const said of [stdout, stderr, listed.stdout, stored.stdout, records]) assert.ok(!said.includes(value));
  });

  const cannotMount = user.uid === 0 ? false : 'only root can mount';
  test('the store is in no jail by another mount of its file system either', { skip: cannotMount }, async () => {
    const value = 'tok-mounted-51c0ffee';
    await set('MOUNTED', value);
    const [whole, part] = [stage.makeDirectory('whole'), stage.makeDirectory('part')];
    const mounts = `mount --bind '${dirname(stage.store)}' '${whole}'; mount --bind '${stage.store}/secret' '${part}'`;
    const look = `grep -rhs tok-mounted '${whole}' '${part}'`;
    const exec = `'${stage.program}' exec --read '${whole}' --read '${part}' -- sh -c "echo ran; $1"`;
    const argv = ['unshare', '-m', 'sh', '-euc', `${mounts}; eval "$1"; ${exec}`, 'sh', look];
    const { stdout, stderr } = await stage.start(stage.project(), argv).finished;
    const [outside, inside = ''] = stdout.split('ran\n');
    assert.ok(outside?.includes(value), stderr);
    assert.deepEqual([inside, /keeps its own files/.test(stderr)], ['', true], stderr);
  });

  test('a new value counts from the next request on, in a jail that is kept', { skip }, async () => {
    const project = stage.project();
    const values = ['tok-before-0001', 'tok-afterwards-0002'];
    const env = { NODE_EXTRA_CA_CERTS: api.certificates, PATH: api.resolvingPath() };
    const secret = `api.test:${api.port} Authorization: Bearer $ROTATED`;
    const call = ['exec', '--keep', '--net-private', `api.test:${api.port}`, '--secret', secret, '--', 'sh', '-c'];
    await set('ROTATED', values[0] ?? '');
    // It goes on running while the value changes, and asks again; what comes after it is relayed to the same jail.
    const waiting = `${askToken}; touch /tmp/asked; until [ -e /tmp/go ]; do sleep 0.05; done; ${askToken}`;
    try {
      const running = stage.start(project, [...api.ctx, ...call, waiting], { env });
      await running.printed('you sent');
      const replaced = await set('ROTATED', values[1] ?? '');
      assert.equal(replaced.stdout, 'replaced ROTATED\n', replaced.stderr);
      await stage.start(project, [...api.ctx, ...call, 'touch /tmp/go'], { env }).finished;
      const { code, stdout } = await running.finished;
      assert.deepEqual([code, stdout.replace(/\*+/g, '*')], [0, 'you sent *you sent *']);
    } finally {
      await stage.ctx(project, ['jail', 'stop']);
    }
    const sent = api.seen.filter((one) => /before|afterwards/.test(one ?? ''));
    assert.deepEqual(
      sent,
      values.map((value) => `Bearer ${value}`),
    );
  });

  test('a command of a password manager prints it; one that fails says so, and shows nothing', { skip }, async () => {
    const project = stage.project();
    const vault = join(stage.directory, 'manager');
    writeFileSync(vault, 'tok-printed-33\n');
    chmodSync(vault, 0o644);
    const command = `cat ${vault}`;
    const stored = await stage.ctx(project, ['secret', 'set', 'PRINTED', '--command', command]);
    assert.equal(stored.code, 0, stored.stderr);
    assert.ok(!readFileSync(file('PRINTED'), 'utf8').includes('tok-printed'));
    const used = await exec(project, 'PRINTED', askToken);
    assert.equal(used.code, 0, used.stderr);
    assert.ok(api.seen.includes('Bearer tok-printed-33'));
    writeFileSync(vault, 'two\nlines\n');
    assert.match((await exec(project, 'PRINTED', askToken)).stdout, /expected one line/);
    for (const [failing, reason] of [
      ['echo tok-leaked >&2; exit 3', /exit code 3/],
      ['true', /got nothing/],
    ] as const) {
      const refused = await stage.ctx(project, ['secret', 'set', 'FAILING', '--command', failing]);
      assert.notEqual(refused.code, 0);
      assert.match(refused.stderr, reason);
    }
    assert.ok(!existsSync(file('FAILING')));
  });

  test('a variable of the caller comes first; what is nowhere, removed or readable by others is refused', {
    skip,
  }, async () => {
    const project = stage.project();
    await set('CHOSEN', 'tok-kept-away');
    await exec(project, 'CHOSEN', askToken, { CHOSEN: 'tok-variable-9' });
    assert.ok(api.seen.includes('Bearer tok-variable-9') && !api.seen.includes('Bearer tok-kept-away'));
    for (const mode of [0o644, 0o640, 0o602]) {
      chmodSync(file('CHOSEN'), mode);
      assert.match((await exec(project, 'CHOSEN', 'touch ran')).stdout, /EACCES.*0600/, mode.toString(8));
    }
    assert.equal((await stage.ctx(project, ['secret', 'rm', 'CHOSEN'])).code, 0);
    const missing = await exec(project, 'CHOSEN', 'touch ran');
    assert.match(missing.stdout, /ENOENT.*ctx secret set CHOSEN/);
    assert.match((await stage.ctx(project, ['secret', 'rm', 'CHOSEN'])).stderr, /ENOENT/);
    for (const [name, value, reason] of [
      ['1BAD', 'x', /letters, digits/],
      ['../BAD', 'x', /letters, digits/],
      ['BAD', '', /got nothing/],
      ['BAD', 'two\nlines', /one line/],
      ['BAD', 'é', /printable/],
    ] as const) {
      const refused = await set(name, value);
      assert.deepEqual([refused.code, reason.test(refused.stderr)], [2, true], refused.stderr);
    }
    assert.ok(!existsSync(file('BAD')));
  });

  test('a pipe is waited for, as of a password manager that asks first, and one without an end is not', async () => {
    const directory = stage.project();
    const script = `(echo begin >&2; sleep 3; echo tok-slow-1) | ${stage.program} secret set SLOW && yes | ${stage.program} secret set ENDLESS`;
    const { code, stdout, stderr } = await stage.start(directory, ['sh', '-c', script]).finished;
    assert.deepEqual([code, stdout], [2, 'stored SLOW\n'], stderr);
    assert.match(stderr, /expected one line/);
  });

  test('typed at a terminal it is not shown', { skip: cannotType ?? false }, async (context) => {
    const command = `${stage.program} secret set TYPED; echo ended`;
    const terminal = new TypedTerminal(stage, 'secret', stage.directory, command);
    context.after(() => terminal.close());
    await terminal.shows(/value of TYPED \(not shown\):/);
    terminal.type('tok-typxd', 'BSpace', 'BSpace', 'ed', 'Enter');
    const screen = await terminal.shows(/ended/);
    assert.match(screen, /stored TYPED/);
    assert.ok(!screen.includes('tok-'), screen);
    assert.match(readFileSync(file('TYPED'), 'utf8'), /"tok-typed"/);
  });
});
