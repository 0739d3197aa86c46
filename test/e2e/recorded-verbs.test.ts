/** What the record says of verbs that write a person's directory, or bring something back: what was done, also where they failed halfway. */
import assert from 'node:assert/strict';
import { chownSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordsOf } from '../support/record.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser, isRoot } from '../support/users.js';

forEitherUser((user) => {
  const stage = useWarmStage(user);
  const socket = (path: string) => `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("${path}")'`;
  const recorded = (project: string, type: string) => {
    const origin = recordsOf(stage.store).find(({ facts }) => facts?.['origin'] === project)?.object;
    return recordsOf(stage.store)
      .filter((each) => each.type === type && each.object === origin)
      .map(({ status, facts }) => ({ status, ...facts }) as Record<string, unknown>);
  };

  test('an apply of one file is whole where the fork has a socket elsewhere, which stays in the fork', async () => {
    const project = stage.project('echo one > a');
    await stage.inside(project, `echo two > a; echo new > b; mkdir d; ${socket('d/socket')}; mkfifo d/pipe`);
    assert.equal((await stage.ctx(project, ['apply', 'a'])).code, 0);
    assert.equal(readFileSync(join(project, 'a'), 'utf8'), 'two\n');
    assert.deepEqual(
      recorded(project, 'apply').map(({ status, steps }) => [status, steps]),
      [
        ['begin', undefined],
        ['begin', ['put a']],
        ['ok', ['put a']],
      ],
    );
    const { changes } = (await stage.json(project, ['diff'])) as {
      changes: readonly { path: string; type: string }[];
    };
    assert.deepEqual(
      changes.map(({ path, type }) => `${type} ${path}`),
      ['file b', 'directory d', 'fifo d/pipe', 'socket d/socket'],
    );
  });

  test('a rollback of one path brings back what was there, a socket as well, and both are in the record', async () => {
    const project = stage.project('echo one > a');
    await stage.inside(project, `echo two > a; mkdir d; ${socket('d/socket')}`);
    await stage.ctx(project, ['checkpoint', 'save', 'made']);
    await stage.inside(project, 'echo three > a; rm -r d');
    const rolled = await stage.json(project, ['rollback', 'made', 'd']);
    assert.equal((rolled['undone'] as unknown[]).length, 2);
    assert.match(await stage.inside(project, 'test -S d/socket && cat a'), /^three\n$/);
    const records = recorded(project, 'rollback');
    assert.deepEqual(
      records.map(({ status }) => status),
      ['begin', 'ok'],
    );
    assert.deepEqual(records[1]?.['changes'], ['deleted d', 'deleted d/socket']);
  });

  test('an apply that fails in the middle, and its undo, say what they have written and what they have not', {
    skip: user.uid === 0 || !isRoot ? 'needs a directory that belongs to somebody else' : false,
  }, async () => {
    const project = stage.project('mkdir m; echo one > a; echo one > m/b; echo one > z');
    await stage.inside(project, 'for name in a m/b z; do echo two > $name; done');
    const give = (owner: number) => chownSync(join(project, 'm'), owner, owner);
    give(0);
    const { code, stderr } = await stage.ctx(project, ['apply']);
    assert.notEqual(code, 0, stderr);
    assert.equal(readFileSync(join(project, 'a'), 'utf8'), 'two\n');
    assert.equal(readFileSync(join(project, 'z'), 'utf8'), 'one\n');
    const [, plan, end] = recorded(project, 'apply');
    assert.deepEqual(plan?.['steps'], ['put a', 'put m/b', 'put z']);
    assert.deepEqual(
      [end?.['status'], end?.['steps'], end?.['unwritten'], end?.['error']],
      ['failed', ['put a'], 2, 'EACCES'],
    );
    give(user.uid);
    assert.equal((await stage.ctx(project, ['apply'])).code, 0);
    give(0);
    assert.notEqual((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    const undone = recorded(project, 'apply undo').at(-1);
    assert.deepEqual([undone?.['status'], undone?.['error']], ['failed', 'EACCES']);
    give(user.uid);
    assert.equal((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    assert.ok(existsSync(join(project, 'm/b')));
  });

  /** In a store of its own: what each record says that is not of a command's own making. */
  const own = (name: string) => {
    const store = stage.makeDirectory(`store-${name}`);
    const options = { env: { CTX_DATA: store } };
    const call = async (project: string, words: readonly string[], code = 0) => {
      const done = await stage.ctx(project, words, options);
      assert.equal(done.code, code, `ctx ${words.join(' ')}: ${done.stdout}${done.stderr}`);
      return done.stdout;
    };
    return { call, options, records: () => recordsOf(store).filter(({ type }) => !type.startsWith('audit.')) };
  };

  test('every verb that begins ends in the record, also where it failed', async () => {
    const project = stage.project('echo one > a');
    const { call, records } = own('ends');
    await call(project, ['exec', '--', 'sh', '-c', 'echo two > a']);
    await call(project, ['checkpoint', 'save', 'here']);
    await call(project, ['checkpoint', 'save', 'here'], 1);
    await call(project, ['rollback']);
    await call(project, ['checkpoint', 'delete', 'here']);
    await call(project, ['fork', 'create', 'other']);
    await call(project, ['fork', 'create', 'other'], 1);
    await call(project, ['fork', 'create', 'third', '--from', 'nothing'], 1);
    await call(project, ['fork', 'delete', 'other']);
    await call(project, ['drop']);
    await call(project, ['vault', 'set', '--name', 'named']);
    await call(project, ['vault', 'set', '--max-files', '1000']);
    await call(project, ['agent', 'new', 'coder']);
    await call(project, ['agent', 'new', 'coder'], 1);
    await call(project, ['agent', 'rm', 'coder']);
    const added = await call(project, ['rules', 'add', 'deny', '--class', 'host_escape_risk']);
    await call(project, ['rules', 'rm', /[0-9a-f]{8,}/.exec(added)?.[0] ?? added.trim()]);
    const open = new Map<string, number>();
    for (const { type, object, status } of records()) {
      const key = `${type} ${object}`;
      open.set(key, (open.get(key) ?? 0) + (status === 'begin' ? 1 : -1));
    }
    assert.deepEqual(
      [...open].filter(([, count]) => count !== 0),
      [],
    );
    const failures = records().filter(({ status }) => status === 'failed');
    assert.deepEqual(
      failures.map(({ type, facts }) => `${type} ${facts?.['error']}`),
      ['checkpoint EEXIST', 'fork EEXIST', 'fork ENOENT', 'agent.new EEXIST'],
    );
  });

  test('what an agent is given is in the record, and what it was refused', async () => {
    const project = stage.project('echo one > a');
    const { call, records, options } = own('given');
    const of = (type: string) => records().filter((each) => each.type === type);
    await call(project, ['agent', 'new', 'parent']);
    const files = of('agent.new').at(-1)?.facts?.['files'] as Record<string, unknown> | undefined;
    assert.equal(files?.['life'], 'owned\n');
    await call(project, ['agent', 'set', 'parent', 'quota', 'pids 20\n']);
    const [begin, end] = of('agent.set');
    assert.deepEqual(
      [begin?.status, end?.status, end?.facts],
      ['begin', 'ok', { file: 'quota', was: '', is: 'pids 20\n' }],
    );
    await call(project, ['agent', 'new', 'child', '--parent', 'parent'], 13);
    const refused = of('agent.new').at(-1);
    assert.deepEqual(
      [refused?.object, refused?.status, refused?.layer, refused?.facts?.['error'], refused?.facts?.['parent']],
      ['agent/child', 'denied', 'proxy', 'EACCES', 'parent'],
    );
    await call(project, ['jail', 'run', '--disk', '1M', '--', 'true'], 69);
    const unsupported = of('exec').at(-1);
    assert.deepEqual([unsupported?.status, unsupported?.facts?.['error']], ['denied', 'ENOTSUP']);
    const kept = await stage.ctx(project, ['jail', 'start', '--memory', '50M'], options);
    // Where a control group can be made it is, and then there is nothing to refuse.
    if (kept.code === 0) await call(project, ['jail', 'stop']);
    const jails = of('jail').map(({ status, facts }) => `${status} ${facts?.['error'] ?? ''}`);
    assert.deepEqual(jails, kept.code === 0 ? ['begin ', 'ok '] : ['denied ENOTSUP']);
  });

  test('an anchor that seals name is missed where its configuration is gone, until it is retired', async () => {
    const project = stage.project('echo one > a');
    const { call } = own('anchors');
    const home = stage.makeDirectory('anchored-home');
    const points = join(home, 'points.jsonl');
    const settings = (value: unknown) =>
      stage.shell(
        home,
        `mkdir -p .config/ctxfs && cat > .config/ctxfs/audit.json <<'END'\n${JSON.stringify(value)}\nEND`,
      );
    const audit = async (...words: readonly string[]) => {
      const env = { CTX_DATA: join(stage.directory, 'store-anchors'), HOME: home };
      return stage.ctx(project, ['audit', ...words], { env });
    };
    await call(project, ['exec', '--', 'true']);
    settings({ anchors: [{ kind: 'file', path: points }] });
    assert.match((await audit('seal')).stdout, /anchored: file:/);
    assert.equal((await audit('verify')).code, 0);
    settings({});
    const missed = await audit('verify');
    assert.equal(missed.code, 1);
    assert.match(missed.stdout, /anchor file:.*points.jsonl: seals name this anchor, but audit.json does not list it/);
    settings({ retired: [`file:${points}`] });
    const retired = await audit('verify', '--json');
    assert.equal(retired.code, 0, retired.stdout);
    assert.match(retired.stdout, /it was retired/);
  });
});
