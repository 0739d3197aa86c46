/** A workspace in this process: commands, files, tools and what a fork changes, and everything that it refuses. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Opened } from '../../../test/support/opened.js';
import { sdkFileBytes } from '../../base/limits/commands.js';
import { operatorEntries } from '../entries.js';

const opened = new Opened({ a: 'one\n', 'd/b': 'two\nthree\n' });
const refuses = (code: string, act: () => Promise<unknown>) => assert.rejects(act, { code });

describe('a workspace', () => {
  it('runs commands in jails of their own and in the one that it keeps, on one fork', async () => {
    const workspace = await opened.open({ environment: ['A=1'], wait: true });
    const prepared = await workspace.prepare();
    assert.deepEqual([prepared.imported, workspace.directory], [true, opened.project]);
    const own = await workspace.exec(['sh', '-c', 'echo $A; exit 3'], { directory: 'd' });
    assert.deepEqual([own.stdout?.text, own.exitCode, own.directory], ['1\n', 3, join(opened.project, 'd')]);
    const heard: string[] = [];
    const kept = await workspace.run(
      { shell: 'cat; echo $B >&2; pwd; exit 4' },
      {
        input: 'given\n',
        directory: 'd',
        environment: ['B=2'],
        onOutput: (stream, chunk) => void heard.push(`${stream} ${Buffer.from(chunk)}`),
      },
    );
    assert.deepEqual([kept.stdout?.text, kept.stderr?.text, kept.exitCode], [`given\n${opened.project}/d\n`, '2\n', 4]);
    assert.equal(heard.join('').replaceAll(/std\w+ /g, '').length, `given\n${opened.project}/d\n2\n`.length);
    assert.equal((await workspace.run(['cat'])).stdout?.text, '');
    assert.equal((await workspace.run(['true'], { input: 'x'.repeat(1_000_000) })).exitCode, 0);
    await workspace.run(['touch', 'made']);
    assert.deepEqual(
      (await workspace.status()).changes.map(({ path }) => path),
      ['made'],
    );
    assert.equal((await workspace.rollback()).undone.length, 1);
    assert.equal((await workspace.run(['ls', 'made'])).exitCode, 2);
    for (const run of ['exec', 'run'] as const) {
      await refuses('EINVAL', () => workspace[run](['true'], { directory: '..' }));
      await refuses('EINVAL', () => workspace[run](['true'], { directory: '/etc' }));
      await refuses('ENOENT', () => workspace[run](['true'], { directory: 'nosuch' }));
      await refuses('ENOENT', () => workspace[run](['nosuch']));
      const ended = AbortSignal.abort();
      await refuses('ECANCELED', () => workspace[run](['true'], { signal: ended }));
      const timed = await workspace[run](['sleep', '60'], { timeoutMilliseconds: 50 });
      assert.equal(timed.timedOut, true);
    }
    const ending = new AbortController();
    const running = workspace.run(['sh', '-c', 'echo begun; sleep 60'], {
      signal: ending.signal,
      onOutput: () => ending.abort(),
    });
    assert.notEqual((await running).signal, null);
    assert.equal((await workspace.execLive(['true'])).exitCode, 0);
    const plan = await workspace.plan(['echo', 'x']);
    assert.deepEqual(plan.at(-1), { do: 'command', argv: ['echo', 'x'] });
    assert.deepEqual((await workspace.plan()).at(-1), { do: 'command', argv: ['true'] });
  });

  it('reads, writes, edits, lists and searches files as its commands see them', async () => {
    const workspace = await opened.open();
    assert.equal(String(await workspace.read('d/b')), 'two\nthree\n');
    await workspace.write('new/deep/f', 'text one one\n');
    await workspace.write('raw', Uint8Array.of(0xff, 0));
    assert.deepEqual([...(await workspace.read('raw'))], [0xff, 0]);
    assert.deepEqual(await workspace.edit('d/b', { before: 'two', after: 'second' }), { count: 1 });
    assert.equal(String(await workspace.read('d/b')), 'second\nthree\n');
    await refuses('EINVAL', () => workspace.edit('raw', { before: 'a', after: 'b' }));
    await refuses('ENOENT', () => workspace.edit('nosuch', { before: 'a', after: 'b' }));
    const many = await Promise.allSettled([
      workspace.edit('new/deep/f', { before: 'text', after: 'edited' }),
      workspace.edit('new/deep/f', { before: 'edited', after: 'twice' }),
    ]);
    assert.deepEqual(
      many.map(({ status }) => status),
      ['fulfilled', 'fulfilled'],
    );
    assert.equal(String(await workspace.read('new/deep/f')), 'twice one one\n');
    const paths = async (path?: string, depth?: number) =>
      (await workspace.list(path, depth === undefined ? {} : { depth })).entries.map(
        (entry) => `${entry.type} ${entry.path}`,
      );
    assert.deepEqual(await paths(), ['file a', 'directory d', 'directory new', 'file raw']);
    assert.deepEqual(await paths('new'), ['directory deep']);
    assert.deepEqual(await paths('new', 2), ['directory deep', 'file deep/f']);
    const { matches, truncated } = await workspace.search('^(one|THREE)$', { ignoreCase: true });
    assert.deepEqual(
      [matches, truncated],
      [
        [
          { path: 'a', line: 1, text: 'one' },
          { path: 'd/b', line: 2, text: 'three' },
        ].sort(
          (one, other) =>
            matches.findIndex(({ path }) => path === one.path) - matches.findIndex(({ path }) => path === other.path),
        ),
        false,
      ],
    );
    assert.deepEqual((await workspace.search('t.r', { literal: true })).matches, []);
    assert.equal((await workspace.search('e', { path: 'd', include: 'b' })).matches.length, 2);
    assert.deepEqual((await workspace.search('e', { include: '*.ts' })).matches, []);
    for (const [code, act] of [
      ['ENOENT', () => workspace.read('nosuch')],
      ['EISDIR', () => workspace.read('d')],
      ['ENOTDIR', () => workspace.list('a')],
      ['ENOENT', () => workspace.list('nosuch')],
      ['EISDIR', () => workspace.write('d', 'x')],
      ['ENOTDIR', () => workspace.write('a/x', 'x')],
      ['ENOENT', () => workspace.search('x', { path: 'nosuch' })],
      ['EINVAL', () => workspace.search('(')],
      ['EINVAL', () => workspace.search('')],
      ['EINVAL', () => workspace.search('a\nb')],
      ['EFBIG', () => workspace.write('large', Buffer.alloc(sdkFileBytes + 1))],
      ['ECANCELED', () => workspace.read('a', { signal: AbortSignal.abort() })],
    ] as const) {
      await refuses(code, act);
    }
    await workspace.run({ shell: `head -c ${sdkFileBytes + 1} /dev/zero > more` });
    await refuses('EFBIG', () => workspace.read('more'));
    assert.equal(readFileSync(join(opened.project, 'd/b'), 'utf8'), 'two\nthree\n');
    await workspace.drop();
  });

  it('has the tools of its agent, as its policy says', async () => {
    const operator = await opened.operate();
    for (const part of Object.keys(operatorEntries.parts ?? {}))
      assert.ok(part in operator && Reflect.get(operator, part) !== undefined, part);
    await operator.agents.make('coder');
    await operator.agents.set('coder', 'policy', 'allow coder_t tool:fs.read execute\n');
    const [workspace, without] = [await opened.open({ agent: 'coder' }), await opened.open()];
    const tools = await workspace.tools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['fs.read'],
    );
    assert.ok(tools[0]?.description !== '' && tools[0]?.input['type'] === 'object');
    assert.deepEqual(await without.tools(), []);
    const { stdout, exitCode } = await workspace.callTool('fs.read', { path: 'a' });
    assert.deepEqual([exitCode, stdout?.text.includes('one')], [0, true]);
    assert.equal((await workspace.callTool('fs.read', { path: 'nosuch' })).exitCode === 0, false);
    await refuses('ENOENT', () => without.callTool('fs.read', {}));
    await refuses('EACCES', () => workspace.callTool('fs.write', { path: 'a', content: '' }));
    await refuses('ENOENT', () => workspace.callTool('nosuch'));
    await operator.agents.set('coder', 'policy', 'allow coder_t tool:fs.list execute\n');
    assert.deepEqual(
      (await workspace.tools()).map(({ name }) => name),
      ['fs.list'],
    );
    await refuses('EACCES', () => workspace.callTool('fs.read', { path: 'a' }));
    assert.equal((await workspace.callTool('fs.list', { path: '.' })).exitCode, 0);
    await workspace.check();
    const nosuch = await opened.open({ agent: 'nosuch' });
    await refuses('ENOENT', () => nosuch.check());
    await refuses('EINVAL', async () => (await opened.open({ privateHosts: ['any'] })).check());
    await refuses('EINVAL', async () => (await opened.open({ network: ['a:b:c'] })).check());
  });

  it('applies what a person agrees to, and nothing else', async () => {
    const asked: string[] = [];
    const answer = async (granted: boolean) => {
      const workspace = await opened.open({
        onApproval: async ({ id }) => {
          asked.push(id);
          const { approvals } = await opened.operate();
          if (granted) approvals.grant(id);
          else approvals.deny(id, { why: 'no' });
        },
        approvalMilliseconds: 60_000,
      });
      return workspace;
    };
    const denied = await answer(false);
    await denied.write('agreed', 'yes\n');
    await refuses('EACCES', () => denied.askToApply());
    assert.throws(() => readFileSync(join(opened.project, 'agreed')), { code: 'ENOENT' });
    const granted = await answer(true);
    await granted.write('other', 'x');
    assert.equal((await granted.askToApply({ paths: ['agreed'] })).done, true);
    assert.equal(readFileSync(join(opened.project, 'agreed'), 'utf8'), 'yes\n');
    assert.throws(() => readFileSync(join(opened.project, 'other')), { code: 'ENOENT' });
    assert.equal(asked.length, 2);
    const unheard = await opened.open({ approvalMilliseconds: 1 });
    await refuses('EACCES', () => unheard.askToApply());
    await granted.drop();
  });

  it('ends with its commands, and does nothing after it was closed', async () => {
    const workspace = await opened.open();
    let begun = false;
    const running = workspace.run(['sh', '-c', 'echo begun; sleep 60'], {
      onOutput: () => {
        begun = true;
      },
    });
    const waiting = assert.rejects(running, { code: 'EPIPE' });
    while (!begun) await sleep(5);
    await workspace.close();
    await waiting;
    for (const act of [
      () => workspace.run(['true']),
      () => workspace.exec(['true']),
      () => workspace.execLive(['true']),
      () => workspace.read('a'),
      () => workspace.write('a', 'x'),
      () => workspace.status(),
      () => workspace.apply(),
      () => workspace.drop(),
      () => workspace.prepare(),
    ]) {
      await refuses('EPIPE', act);
    }
    await workspace.close();
  });

  it('on a fork of a name that can be none is refused, and no file is made where that leads', async () => {
    await (await opened.open()).prepare();
    const vaults = join(opened.data, 'vault');
    const files = () => readdirSync(vaults, { recursive: true }).sort();
    const before = files();
    for (const fork of ['', '.', '..', '../..', 'main/run', 'a b', 'x'.repeat(65)]) {
      const workspace = await opened.open({ fork });
      await refuses('ENOENT', () => workspace.exec(['true']));
      await refuses('ENOENT', () => workspace.status());
      await refuses('ENOENT', () => workspace.drop());
    }
    assert.deepEqual(files(), before);
    const workspace = await opened.open();
    await refuses('EINVAL', () => workspace.apply({ paths: [''] }));
    await refuses('EINVAL', () => workspace.rollback({ paths: [''] }));
  });

  it('runs many commands at once without a word on its streams', async () => {
    const workspace = await opened.open({ wait: true });
    const warned: Error[] = [];
    const listen = (warning: Error) => void warned.push(warning);
    process.on('warning', listen);
    await Promise.all(Array.from({ length: 12 }, () => workspace.run(['true'])));
    await sleep(0);
    process.off('warning', listen);
    assert.deepEqual(warned, []);
  });

  it('answers in the order in which it was asked', async () => {
    const workspace = await opened.open();
    const paths = async () => (await workspace.status()).changes.map(({ path }) => path);
    const [, written] = await Promise.all([workspace.write('ordered', 'x'), paths()]);
    assert.deepEqual(written, ['ordered']);
    const [applied, after, next] = await Promise.all([workspace.apply(), paths(), workspace.run(['touch', 'later'])]);
    assert.deepEqual([applied.done, after, next.changes.map(({ path }) => path)], [true, [], ['later']]);
    const [dropped, left] = await Promise.all([workspace.drop(), paths()]);
    assert.deepEqual([dropped.dropped, left], [1, []]);
  });

  it('gives kept jails that are the caller’s own', async () => {
    const workspace = await opened.open();
    const jail = await workspace.keepJail();
    assert.equal(jail.fork, 'main');
    assert.equal((await jail.exec(['sh', '-c', 'echo $$; exit 5'])).exitCode, 5);
    await jail.write('own', 'x');
    assert.equal(String(await jail.read('own')), 'x');
    await refuses('EINVAL', () => jail.exec(['true'], { directory: '/' }));
    await jail.end();
    await jail.ended;
    await refuses('EPIPE', () => jail.exec(['true']));
    await workspace.drop();
  });
});
