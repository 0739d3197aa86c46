/** Servers of sources from their start to their end: here each is a function, which a jail would run. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { until } from '../../../test/support/process.js';
import type { RecordEntry } from '../../audit/record.js';
import { ErrnoError } from '../../base/errno.js';
import { sourceRefreshMilliseconds } from '../../base/limits/objects.js';
import { readSource, requireSource, stageSource } from '../../objects/source/source-store.js';
import type { BesideEnd, ServerCommand } from '../../proxy/agent-views.js';
import { ServedSources } from './served-sources.js';
import { sourceTool } from './source-tool.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-sources-'));
after(() => rmSync(base, { recursive: true }));

type Message = Readonly<Record<string, unknown>> & { readonly id?: number; readonly method: string };

/** What a server does with a message; `say` is its stdout, and `err` its stderr. */
interface Acting {
  say(message: object | string): void;
  err(text: string): void;
  end(how: Partial<BesideEnd>): void;
}
type Behaviour = (message: Message, acting: Acting) => void;

const initialized = { capabilities: { tools: {} }, serverInfo: { name: 'a\u001b[2Jserver', version: '1.2' } };

/** One that starts a session, lists its tools, and says what it was called with. */
const working: Behaviour = ({ id, method, params }, { say }) => {
  if (method === 'initialize') say({ id, result: initialized });
  if (method === 'tools/list') say({ id, result: { tools: [{ name: 'one' }] } });
  if (method === 'tools/call') say({ id, result: params });
};

let count = 0;

/** Ended also where a test has failed. */
const stages: ReadonlySet<Acting>[] = [];
afterEach(() => {
  for (const running of stages.splice(0)) for (const acting of running) acting.end({});
});

function stage(behaviour: Behaviour, { cap = '', stays = false } = {}) {
  const root = join(base, String(count++));
  const staged = stageSource({ root, uid: 0 }, 'user', 'src', {
    server: { kind: 'stdio', command: 'it', args: ["it's", 'b c'], environment: { A: "x'y" } },
    ...{ from: 'test', cap },
  });
  staged.place();
  const { directory } = requireSource({ root, uid: 0 }, 'src');
  const recorded: RecordEntry[] = [];
  const commands: ServerCommand[] = [];
  const scripts: string[] = [];
  const heard: Message[] = [];
  const running = new Set<Acting>();
  stages.push(running);
  const views = join(root, 'views');
  const runServer = (command: ServerCommand): Promise<BesideEnd> => {
    commands.push(command);
    scripts.push(readFileSync(command.program.path, 'utf8'));
    const { dev, ino, mode } = statSync(command.program.path, { bigint: true });
    assert.deepEqual([command.program.identity, mode & 0o777n], [`${dev}:${ino}`, 0o755n]);
    const input = new Socket({ fd: command.input, readable: true, writable: false });
    return new Promise((resolve) => {
      const end = (how: Partial<BesideEnd>) => {
        running.delete(acting);
        input.destroy();
        resolve({ exitCode: 0, signal: null, timedOut: false, ...how });
      };
      const acting: Acting = {
        say: (message) => {
          const text = typeof message === 'string' ? message : JSON.stringify(message);
          void command.onOutput('stdout', Buffer.from(`${text}\n`));
        },
        err: (text) => void command.onOutput('stderr', Buffer.from(text)),
        end,
      };
      running.add(acting);
      let text = '';
      input.on('data', (chunk) => {
        text += String(chunk);
        const lines = text.split('\n');
        text = lines.pop() ?? '';
        for (const line of lines) {
          const message = JSON.parse(line) as Message;
          heard.push(message);
          behaviour(message, acting);
        }
      });
      input.on('end', () => {
        if (!stays) end({});
      });
      command.signal?.addEventListener('abort', () => end({ exitCode: null, signal: 'SIGKILL' }));
    });
  };
  const sources = new ServedSources({
    ...{ views, agent: 'coder', runServer, now: () => new Date(0), changing: async (act) => act() },
    recorder: { append: (entry: RecordEntry) => void recorded.push(entry) } as never,
  });
  const source = { name: 'src', tool: 'one', directory } as Parameters<ServedSources['server']>[0];
  return { sources, source, directory, commands, scripts, heard, running, recorded, views };
}

const left = (views: string) => (existsSync(views) ? readdirSync(views) : []);

async function refusalOf(act: () => Promise<unknown>): Promise<ErrnoError> {
  const error = await act().catch((thrown: unknown) => thrown);
  assert.ok(error instanceof ErrnoError, String(error));
  return error;
}

describe('a server of a source', { timeout: 60_000 }, () => {
  it('is started once, asked for a session, goes on for the next call, and ends with its view', async () => {
    const { sources, source, commands, scripts, heard, running, views } = stage(working, {
      cap: 'net.connect a.org:80',
    });
    const [one, two] = await Promise.all([sources.server(source), sources.server(source)]);
    assert.equal(one, two);
    assert.equal(await sources.server(source), one);
    assert.equal(one.serverName, 'a\\e[2Jserver 1.2');
    const [{ name, grants, input: _input, ...command } = assert.fail(), ...more] = commands;
    assert.deepEqual(
      [more, name, grants.network, 'timeoutMilliseconds' in command],
      [[], 'mcp.src', ['a.org:80'], false],
    );
    assert.deepEqual(scripts, ["#!/bin/sh\nexport A='x'\\''y'\nexec 'it' 'it'\\''s' 'b c'\n"]);
    await until(() => heard.length > 1, 'it heard both');
    assert.deepEqual(
      heard.map(({ method }) => method),
      ['initialize', 'notifications/initialized'],
    );
    assert.deepEqual(await one.conversation.request('tools/call', { a: 1 }, { milliseconds: 60_000 }), { a: 1 });
    assert.equal(left(views).length, 1);
    await sources.end();
    assert.deepEqual([running.size, left(views)], [0, []]);
    assert.equal((await refusalOf(() => sources.server(source))).code, 'ENOTCONN');
  });

  it('is started again where it has ended, and those who wait are told how, with its last words', async () => {
    const dying: Behaviour = (message, acting) => {
      if (message.method !== 'tools/call') return working(message, acting);
      acting.err('one\n\n  two \nthree\nfour\nfive\n');
      acting.end({ exitCode: 5 });
    };
    const { sources, source, commands } = stage(dying);
    const call = async () =>
      refusalOf(async () =>
        (await sources.server(source)).conversation.request('tools/call', {}, { milliseconds: 60_000 }),
      );
    const { code, reason, remedy } = await call();
    assert.deepEqual(
      [code, reason],
      ['ENOTCONN', 'its server is gone: it ended with exit code 5; it said: two | three | four | five'],
    );
    assert.match(remedy ?? '', /--net HOST/);
    await call();
    assert.equal(commands.length, 2);
    await sources.end();
    const online = stage(dying, { cap: 'net.connect a.org:80' });
    const told = await refusalOf(async () =>
      (await online.sources.server(online.source)).conversation.request('tools/call', {}, { milliseconds: 60_000 }),
    );
    assert.equal(told.remedy, undefined, 'it has a network');
    await online.sources.end();
  });

  it('says how it ended: by its time, by a signal, by itself', async () => {
    for (const [how, text] of [
      [{ timedOut: true, exitCode: null, signal: 'SIGKILL' }, /it reached its time limit$/],
      [{ exitCode: null, signal: 'SIGSEGV' }, /it was ended by SIGSEGV$/],
      [{ exitCode: 0 }, /it ended with exit code 0$/],
    ] as const) {
      const { sources, source } = stage((_message, { end }) => end(how));
      const { code, reason } = await refusalOf(() => sources.server(source));
      assert.equal(code, 'ENOTCONN');
      assert.match(reason, text);
      await sources.end();
    }
  });

  it('is ended where it does not start a session, whatever it says instead, and the view ends', async () => {
    const odd = { toString: 1, valueOf: 1 };
    for (const [result, name] of [
      [undefined, undefined],
      [null, undefined],
      ['x', undefined],
      [{}, undefined],
      [{ capabilities: {} }, undefined],
      [{ capabilities: { tools: true } }, undefined],
      [{ capabilities: { tools: {} } }, ''],
      [
        { ...initialized, serverInfo: { name: 'x'.repeat(70), version: 'y'.repeat(40) } },
        `${'x'.repeat(64)} ${'y'.repeat(32)}`,
      ],
      [{ ...initialized, serverInfo: { name: odd, version: odd } }, ''],
      [{ ...initialized, serverInfo: { name: 7, version: ['1'] } }, ''],
      [{ ...initialized, serverInfo: [] }, ''],
    ] as const) {
      const { sources, source, running, views } = stage(({ id, method }, { say }) => {
        if (method === 'initialize') say({ id, result });
      });
      if (name === undefined) assert.equal((await refusalOf(() => sources.server(source))).code, 'EIO');
      else assert.equal((await sources.server(source)).serverName, name, JSON.stringify(result));
      await sources.end();
      assert.deepEqual([running.size, left(views)], [0, []], JSON.stringify(result));
    }
    const refusing = stage(({ id }, { say }) => say({ id, error: { code: 1, message: 'no\u001b[2J' } }));
    const { code, reason } = await refusalOf(() => refusing.sources.server(refusing.source));
    assert.deepEqual([code, reason], ['EIO', 'its server refused to start a session: no\\e[2J']);
    await refusing.sources.end();
    assert.equal(refusing.running.size, 0);
  });

  it('is killed where it stays after the end of its input', async () => {
    const { sources, source, running, views } = stage(working, { stays: true });
    await sources.server(source);
    await sources.end();
    assert.deepEqual([running.size, left(views)], [0, []]);
  });

  it('has its list written down again when it says that it changed, and recorded', async () => {
    const { sources, source, directory, running, recorded } = stage(working);
    await sources.server(source);
    const [acting = assert.fail()] = running;
    acting.say({ method: 'notifications/other' });
    acting.say({ method: 'notifications/tools/list_changed' });
    await until(() => recorded.length === 1, 'the list is written and recorded');
    assert.match(readFileSync(join(directory, 'tools'), 'utf8'), /"server":"a\\\\e\[2Jserver 1.2"/);
    const [{ facts, ...entry } = assert.fail()] = recorded;
    assert.deepEqual(entry, { type: 'source.refresh', object: 'source/src', status: 'ok' });
    assert.match(String(facts?.['tools']), /^sha256:[0-9a-f]{64}$/);
    await sources.end();
    assert.equal(readSource(directory).cap, '');
  });

  it('is asked once at a time, again for what it said meanwhile, and recorded where the list is another', async () => {
    let lists = 0;
    const changing: Behaviour = (message, acting) => {
      if (message.method !== 'tools/list') return working(message, acting);
      lists += 1;
      // The second time it says so and has the same.
      const tools = [{ name: lists < 3 ? 'one' : 'two' }];
      if (lists < 3) acting.say({ method: 'notifications/tools/list_changed' });
      setImmediate(() => acting.say({ id: message.id, result: { tools } }));
    };
    const { sources, source, directory, running, recorded } = stage(changing);
    await sources.server(source);
    const [acting = assert.fail()] = running;
    const start = performance.now();
    for (const _ of [1, 2, 3]) acting.say({ method: 'notifications/tools/list_changed' });
    await until(() => recorded.length === 2, 'the last change counts');
    assert.equal(lists, 3);
    assert.ok(performance.now() - start > 1.5 * sourceRefreshMilliseconds, 'it waits between them');
    assert.match(readFileSync(join(directory, 'tools'), 'utf8'), /"two"/);
    await sources.end();
  });

  it('is ended with its view also where it never answers, and no call starts one after that', async () => {
    const { sources, source, running, views } = stage(() => undefined, { stays: true });
    const [first, second] = [refusalOf(() => sources.server(source)), refusalOf(() => sources.server(source))];
    await until(() => running.size === 1, 'it has started');
    await sources.end();
    assert.deepEqual(
      [(await first).code, (await second).code, running.size, left(views)],
      ['ENOTCONN', 'ENOTCONN', 0, []],
    );
  });

  it('is not waited for by a call whose caller has gone', async () => {
    const { sources, source, running } = stage(() => undefined);
    const caller = new AbortController();
    const { run } = sourceTool(
      { control: () => undefined } as never,
      { place: 'tool', name: 'mcp.src.one', source },
      sources,
    );
    const called = run({ input: {}, signal: caller.signal } as never);
    await until(() => running.size === 1, 'it has started');
    caller.abort();
    await assert.rejects(called, { code: 'ECANCELED' });
    assert.equal(running.size, 1);
    await sources.end();
  });

  it('has for each call the time that its cap gives, whatever it does meanwhile', async () => {
    for (const milliseconds of [40, 90]) {
      const silent: Behaviour = (message, acting) => {
        if (message.method === 'tools/call') acting.say({ method: 'notifications/progress' });
        else working(message, acting);
      };
      const { sources, source, heard } = stage(silent, { cap: `quota wallTime ${milliseconds}` });
      const { run } = sourceTool(
        { control: () => undefined } as never,
        { place: 'tool', name: 'mcp.src.one', source },
        sources,
      );
      const call = () => run({ input: {}, signal: new AbortController().signal } as never);
      for (const _ of [1, 2]) {
        const { code, reason } = await refusalOf(call);
        assert.deepEqual([code, reason], ['ETIMEDOUT', `no answer within ${milliseconds / 1000} s`]);
      }
      await until(() => heard.some(({ method }) => method === 'notifications/cancelled'), 'it is told');
      await sources.end();
    }
  });

  it('leaves its list as it was where it cannot be asked for', async () => {
    const { sources, source, directory, running, heard, recorded } = stage((message, acting) => {
      if (message.method === 'tools/list') acting.say({ id: message.id, error: { code: 1, message: 'no' } });
      else working(message, acting);
    });
    await sources.server(source);
    const [acting = assert.fail()] = running;
    for (const times of [1, 2]) {
      acting.say({ method: 'notifications/tools/list_changed' });
      await until(() => heard.filter(({ method }) => method === 'tools/list').length === times, 'it was asked');
      await new Promise((resolve) => setImmediate(resolve));
    }
    await sources.end();
    assert.deepEqual([recorded, existsSync(join(directory, 'tools'))], [[], false]);
  });
});

describe('what is seen of a source', () => {
  it('is whether it is busy, idle or not started, and the calls of this view', async () => {
    const { sources, source, directory } = stage(working);
    assert.equal(sources.status(directory), 'ready');
    let inside = '';
    const both = sources.during(source, async () => {
      await sources.during(source, async () => undefined);
      inside = sources.status(directory);
    });
    await both;
    assert.deepEqual([inside, sources.status(directory)], ['busy', 'ready']);
    await assert.rejects(
      sources.during(source, () => Promise.reject(new RangeError('of a test'))),
      RangeError,
    );
    await sources.server(source);
    assert.deepEqual([sources.status(directory), sources.status('/another')], ['idle', 'ready']);
    await sources.end();
    assert.equal(sources.log('mcp.src.one'), '');
    for (let call = 0; call < 101; call += 1) sources.noted('mcp.src.one', call === 100 ? 'failed' : 'ok');
    const lines = sources.log('mcp.src.one').split('\n').slice(0, -1);
    const known = { ts: '1970-01-01T00:00:00.000Z', type: 'tool.call', agent: 'coder', object: 'tool/mcp.src.one' };
    assert.deepEqual(
      [lines.length, ...[lines[0], lines.at(-1)].map((line) => JSON.parse(line ?? '') as object)],
      [100, { ...known, status: 'ok' }, { ...known, status: 'failed' }],
    );
    assert.equal(sources.log('mcp.src.two'), '');
  });
});
