/** Calls by lines, over real sockets, of tools that are made up. */
import assert from 'node:assert/strict';
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
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { callEvents, lineResults, lookForClientMilliseconds, viewCalls } from '../base/limits/objects.js';
import { nativeProgram } from '../base/native-program.js';
import { fuseLibrary } from '../fuse/mount.js';
import { CallEvents } from './call-events.js';
import { type LineCall, LineCalls, type LineEnd } from './line-calls.js';
import { listenForCalls, ownDirectory } from './view-socket.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-lines-'));
after(() => rmSync(directory, { recursive: true, force: true }));

type Answer = Readonly<Record<string, unknown>>;

/** One connection to one view; its answers in order. */
async function connected(call: (asked: LineCall) => Promise<LineEnd>, calls = new LineCalls({ agent: 'ada', call })) {
  const path = join(directory, `${Math.random()}.sock`);
  let served: Promise<void> | undefined;
  const server = createServer((socket) => {
    served = calls.serve(socket);
  }).listen(path);
  await new Promise((resolve) => server.once('listening', resolve));
  const client: Socket = createConnection(path);
  const answers: Answer[] = [];
  const arrived: (() => void)[] = [];
  let text = '';
  client.setEncoding('utf8').on('data', (chunk) => {
    const lines = (text + chunk).split('\n');
    text = lines.pop() ?? '';
    answers.push(...lines.map((line) => JSON.parse(line) as Answer));
    for (const tell of arrived.splice(0)) tell();
  });
  client.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()));
  /** The next answer, or the next to this request. */
  const heard = async (id?: unknown): Promise<Answer> => {
    for (;;) {
      const at = answers.findIndex((answer) => id === undefined || answer['id'] === id);
      const [found] = at < 0 ? [] : answers.splice(at, 1);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => void arrived.push(resolve));
    }
  };
  const ask = async (request: object | string) => {
    client.write(`${typeof request === 'string' ? request : JSON.stringify(request)}\n`);
    const { id } = typeof request === 'string' ? { id: undefined } : (request as { id?: unknown });
    return heard(typeof id === 'string' && id !== '' && id.length <= 4_096 ? id : undefined);
  };
  const end = async () => {
    client.destroy();
    await served;
    server.close();
  };
  return { ask, heard, client, closed, end, calls };
}

const fails = (error: string) => (answer: Answer) => {
  const { ok, error: found, reason } = answer;
  assert.deepEqual([ok, found, typeof reason], [false, error, 'string']);
};

describe('a call that comes as a line', () => {
  it('is made with what it says, is told what it prints, and how it ended', async () => {
    const asked: object[] = [];
    const { ask, heard, end } = await connected(async ({ print, signal, ...rest }) => {
      asked.push({ ...rest, aborted: signal.aborted });
      await print('stdout', 'text');
      await print('stderr', Buffer.from([0xc3]));
      await print('stderr', Buffer.from([0xa4]));
      return { exitCode: 0 };
    });
    const first = await ask({ id: 'a', op: 'call', tool: 't', input: { x: 1 }, directory: '/d' });
    assert.deepEqual(first, { id: 'a', type: 'output', stream: 'stdout', text: 'text' });
    assert.deepEqual(await heard(), { id: 'a', type: 'output', stream: 'stderr', text: 'ä' }, 'whole letters');
    assert.deepEqual(await heard(), { id: 'a', type: 'result', ok: true, exitCode: 0 });
    await ask({ id: 'b', op: 'call', tool: 't' });
    assert.deepEqual(asked, [
      { tool: 't', input: '{"x":1}', directory: '/d', aborted: false },
      { tool: 't', input: '{}', directory: undefined, aborted: false },
    ]);
    await end();
  });

  it('that fails says with what, and a defect is not taken for an answer', async () => {
    const ends: readonly (() => Promise<LineEnd>)[] = [
      async () => ({ exitCode: 13, error: 'EACCES', reason: 'no' }),
      async () => ({ exitCode: 1 }),
      () => Promise.reject(new ErrnoError('ENOENT', { operation: 'o', reason: 'r' })),
      () => Promise.reject(new TypeError('oops')),
    ];
    let at = 0;
    const { ask, end } = await connected(() => (ends[at++] ?? assert.fail)());
    const answers: Answer[] = [];
    for (const id of ['a', 'b', 'c', 'd']) answers.push(await ask({ id, op: 'call', tool: 't' }));
    assert.deepEqual(answers.slice(0, 3), [
      { id: 'a', type: 'result', ok: false, exitCode: 13, error: 'EACCES', reason: 'no' },
      { id: 'b', type: 'result', ok: false, exitCode: 1, error: 'EIO' },
      { id: 'c', type: 'result', ok: false, error: 'ENOENT', reason: 'r' },
    ]);
    assert.match(String(answers[3]?.['reason']), /bug in ctx/);
    await end();
  });

  it('is made once for its id, also on another connection; another request by that id is refused', async () => {
    let made = 0;
    const call = async () => {
      made += 1;
      return { exitCode: made };
    };
    const one = await connected(call);
    const request = { id: 'a', op: 'call', tool: 't', input: { x: 1, y: 2 } };
    const first = await one.ask(request);
    await one.end();
    const two = await connected(call, one.calls);
    assert.deepEqual(await two.ask({ input: { y: 2, x: 1 }, tool: 't', op: 'call', id: 'a' }), first);
    assert.deepEqual(await two.ask({ ...request, attempt: 2 }), first, 'a member that is not known says nothing');
    for (const other of [{ tool: 'other' }, { input: { x: 1 } }, { directory: '/d' }])
      fails('EINVAL')(await two.ask({ ...request, ...other }));
    assert.equal(made, 1);
    for (let count = 1; count < lineResults; count += 1) await two.ask({ id: `n${count}`, op: 'call', tool: 't' });
    assert.deepEqual([await two.ask(request), made], [first, lineResults], 'so many are known');
    await two.ask({ id: 'one more', op: 'call', tool: 't' });
    await two.ask(request);
    assert.equal(made, lineResults + 2, 'and the oldest is forgotten');
    await two.end();
  });

  it('is not made a second time while it runs, however many came after it', async () => {
    let long = 0;
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const {
      ask,
      heard,
      end: close,
    } = await connected(async ({ tool, print }) => {
      if (tool !== 'long') return { exitCode: 0 };
      long += 1;
      await print('stdout', 'begun');
      await ended;
      return { exitCode: 0 };
    });
    const request = { id: 'long', op: 'call', tool: 'long' };
    await ask(request);
    for (let count = 0; count <= lineResults; count += 1) await ask({ id: `n${count}`, op: 'call', tool: 't' });
    const again = ask(request);
    await ask({ id: 'p', op: 'ping' });
    end();
    const result = { id: 'long', type: 'result', ok: true, exitCode: 0 };
    assert.deepEqual([await again, await heard('long'), long], [result, result, 1]);
    await close();
  });

  it('can be seen while it runs, cancelled by anyone of the view, and ends with its own connection alone', {
    timeout: 60_000,
  }, async () => {
    const signals = new Map<string, AbortSignal>();
    const call = ({ tool, signal }: LineCall) => {
      signals.set(tool, signal);
      return new Promise<LineEnd>((resolve) => {
        const end = () => resolve({ exitCode: 0 });
        if (signal.aborted) end();
        else signal.addEventListener('abort', end);
      });
    };
    const one = await connected(call);
    const two = await connected(call, one.calls);
    const running = one.ask({ id: 'a', op: 'call', tool: 'first' });
    const other = two.ask({ id: 'b', op: 'call', tool: 'second' });
    assert.deepEqual(await one.ask({ id: 'p', op: 'ping' }), { id: 'p', type: 'result', ok: true });
    const busy = { id: 's', type: 'result', ok: true, agent: 'ada', status: 'busy' };
    const { calls, ...said } = await two.ask({ id: 's', op: 'status' });
    assert.deepEqual([said, [...(calls as string[])].sort()], [busy, ['a', 'b']]);
    fails('ENOENT')(await one.ask({ id: 'c', op: 'cancel', call: 'none' }));
    assert.deepEqual(await two.ask({ id: 'c', op: 'cancel', call: 'a' }), { id: 'c', type: 'result', ok: true });
    fails('ECANCELED')(await running);
    assert.deepEqual((await two.ask({ id: 's', op: 'status' }))['calls'], ['b']);
    const third = one.ask({ id: 'd', op: 'call', tool: 'third' });
    await one.ask({ id: 'p', op: 'ping' });
    await one.end();
    assert.deepEqual(
      ['first', 'third', 'second'].map((tool) => signals.get(tool)?.aborted),
      [true, true, false],
    );
    await two.end();
    assert.equal(signals.get('second')?.aborted, true);
    for (const never of [third, other]) void never;
  });

  it('is answered to a client that has shut down its side, and the connection ends with the last answer', {
    timeout: 60_000,
  }, async () => {
    const ends: (() => void)[] = [];
    const { client, closed, heard, end } = await connected(
      ({ signal }) => new Promise((resolve) => void ends.push(() => resolve({ exitCode: signal.aborted ? 1 : 0 }))),
    );
    client.end(['a', 'b'].map((id) => `${JSON.stringify({ id, op: 'call', tool: 't' })}\n`).join(''));
    while (ends.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
    // Time enough for more than one look at the client.
    await new Promise((resolve) => setTimeout(resolve, 3 * lookForClientMilliseconds));
    for (const [index, id] of ['a', 'b'].entries()) {
      ends[index]?.();
      assert.deepEqual(await heard(), { id, type: 'result', ok: true, exitCode: 0 });
    }
    await closed;
    await end();
  });

  it('ends with a client that had shut down its side and is gone', { timeout: 60_000 }, async () => {
    let begun: () => void = () => undefined;
    const running = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const aborted = new Promise<void>((resolve) => {
      const call = ({ signal }: LineCall) => {
        begun();
        return new Promise<LineEnd>((settle) =>
          signal.addEventListener('abort', () => {
            resolve();
            settle({ exitCode: 1 });
          }),
        );
      };
      void connected(call).then(async ({ client, end }) => {
        client.end('{"id":"a","op":"call","tool":"t"}\n');
        await running;
        await new Promise((wait) => setTimeout(wait, 2 * lookForClientMilliseconds));
        await end();
      });
    });
    await aborted;
  });

  it('is not waited for where its client has gone before anyone looked', { timeout: 60_000 }, async () => {
    const path = join(directory, 'gone.sock');
    const sockets: Socket[] = [];
    const server = createServer((socket) => void sockets.push(socket)).listen(path);
    await new Promise((resolve) => server.once('listening', resolve));
    createConnection(path).destroy();
    while (sockets[0]?.closed !== true) await new Promise((resolve) => setTimeout(resolve, 10));
    await new LineCalls({ agent: 'ada', call: () => assert.fail('not called') }).serve(sockets[0]);
    server.close();
  });

  it('is refused where so many run already', async () => {
    const ends: (() => void)[] = [];
    const { ask, end, client, heard } = await connected(
      () => new Promise((resolve) => void ends.push(() => resolve({ exitCode: 0 }))),
    );
    for (let count = 0; count < viewCalls; count += 1) client.write(`{"id":"${count}","op":"call","tool":"t"}\n`);
    fails('EAGAIN')(await ask({ id: 'more', op: 'call', tool: 't' }));
    ends[0]?.();
    assert.equal((await heard('0'))['ok'], true);
    client.write('{"id":"again","op":"call","tool":"t"}\n');
    const { calls } = (await ask({ id: 's', op: 'status' })) as { readonly calls?: readonly string[] };
    assert.deepEqual([calls?.length, calls?.includes('again')], [viewCalls, true]);
    for (const finish of ends) finish();
    await end();
  });

  it('that is none is refused, whatever is wrong with it', async () => {
    const { ask, end, client } = await connected(() => assert.fail('not called'));
    client.write('\n  \n');
    const long = 'x'.repeat(4_097);
    for (const request of [
      '{',
      '5',
      'null',
      '[]',
      ...[
        {},
        { id: 'a' },
        { id: '', op: 'ping' },
        { id: 5, op: 'ping' },
        { id: long, op: 'ping' },
        { id: 'a', op: 'unknown' },
      ],
      ...[
        { id: 'a', op: 'call' },
        { id: 'a', op: 'call', tool: 5 },
        { id: 'a', op: 'call', tool: 't', directory: '' },
        { id: 'a', op: 'cancel' },
      ],
    ]) {
      fails('EINVAL')(await ask(request));
    }
    for (const op of ['send', 'resume']) fails('ENOTSUP')(await ask({ id: 'a', op }));
    assert.deepEqual(await ask({ id: long.slice(1), op: 'ping' }), { id: long.slice(1), type: 'result', ok: true });
    await end();
  });

  it('is refused where it is not UTF-8, and nothing is done with what it could be read as', async () => {
    const asked: unknown[] = [];
    const { heard, client, end } = await connected(async (call) => {
      asked.push(call.input);
      return { exitCode: 0 };
    });
    const line = (id: string) => Buffer.from(`{"id":"${id}","op":"call","tool":"t","input":{"path":"ä"}}\n`, 'latin1');
    for (const wrong of [line('a'), line('ä')]) {
      client.write(wrong);
      const answer = await heard();
      fails('EINVAL')(answer);
      assert.deepEqual([answer['id'], answer['reason']], [null, 'expected UTF-8']);
    }
    assert.deepEqual(asked, []);
    await end();
  });

  it('costs as little as others where its client reads nothing of many answers', async () => {
    const warnings: Error[] = [];
    const warned = (warning: Error) => void warnings.push(warning);
    process.on('warning', warned);
    const { client, heard, end } = await connected(() => assert.fail('not called'));
    client.pause();
    const id = 'x'.repeat(4_000);
    const count = 2_000;
    client.write(`{"id":"${id}","op":"ping"}\n`.repeat(count));
    client.write('{"id":"last","op":"ping"}\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    client.resume();
    assert.equal((await heard('last'))['ok'], true);
    await end();
    process.off('warning', warned);
    assert.deepEqual(warnings, [], 'a listener for each answer');
  });

  it('is at most so long; a line without an end is answered and no more is read', async () => {
    const { ask, end, closed, client, heard } = await connected(async () => ({ exitCode: 0 }));
    const line = (bytes: number) => {
      const [head, tail] = ['{"id":"a","op":"ping","x":"', '"}'];
      return `${head}${'x'.repeat(bytes - head.length - tail.length)}${tail}`;
    };
    assert.equal((await ask(line(1 << 20)))['ok'], true);
    client.write('x'.repeat((1 << 20) + 1));
    const answer = await heard();
    fails('EINVAL')(answer);
    assert.equal(answer['id'], null);
    await closed;
    await end();
  });
});

describe('the socket of a view', () => {
  it('is in a directory of its own, which others may enter and connect to; those of processes that ended are taken away', () => {
    const views = join(directory, 'views');
    mkdirSync(views);
    const start = ownDirectory(views).split('/').at(-1)?.split('.')[1] ?? '';
    // In ticks since the machine started: found here by other means.
    const began = Number(readFileSync('/proc/uptime', 'latin1').split(' ')[0]) - process.uptime();
    assert.ok(Math.abs(Number(start) / 100 - began) < 30, `${start} is when this process started, ${began} s`);
    for (const name of [
      `${process.pid}.1.left`,
      `${process.pid}.0.left`,
      `${process.pid}.${Number(start) - 1}.left`,
      `4194303.${start}.left`,
      '1.1.left',
      'no view',
      `${process.pid}.${start}.other`,
    ])
      mkdirSync(join(views, name));
    const { directory: own, descriptor, remove } = listenForCalls(views, fuseLibrary(nativeProgram('fuse.node')));
    const name = own.split('/').at(-1) ?? '';
    assert.match(name, new RegExp(`^${process.pid}\\.${start}\\.`));
    const left = readdirSync(views).filter((each) => !each.startsWith(`${process.pid}.${start}.`));
    assert.deepEqual(left, ['no view']);
    assert.ok(existsSync(join(views, `${process.pid}.${start}.other`)));
    assert.deepEqual([statSync(own).mode & 0o777, statSync(join(own, 'view.sock')).mode & 0o777], [0o755, 0o666]);
    assert.ok(descriptor > 2);
    remove();
    remove();
    assert.equal(existsSync(own), false);
    assert.equal(statSync(ownDirectory(join(directory, 'made'))).mode & 0o777, 0o700);
    assert.equal(statSync(join(directory, 'made')).mode & 0o777, 0o700);
  });

  it('that cannot be made says so', () => {
    const [views, file] = ['own', 'file'].map((name) => join(directory, name)) as [string, string];
    writeFileSync(file, '');
    const library = fuseLibrary(nativeProgram('fuse.node'));
    assert.throws(() => listenForCalls(join(file, 'views'), library), { code: 'ENOTDIR' });
    mkdirSync(views);
    chmodSync(views, 0o700);
    const broken = { listen: () => -24 } as unknown as typeof library;
    assert.throws(() => listenForCalls(views, broken), { code: 'EIO', reason: /errno 24/ });
    assert.deepEqual(readdirSync(views), [], 'nothing is left');
  });
});

it('the events of a tool are the last of them, each of its own', () => {
  const events = new CallEvents('ada');
  assert.equal(events.of('t'), '');
  for (let count = 0; count <= callEvents; count += 1) events.note('t', count === 0 ? 'begin' : 'ok', new Date(count));
  events.note('other', 'denied', new Date(0));
  const lines = events.of('t').split('\n').slice(0, -1);
  assert.deepEqual(
    [lines.length, lines.some((line) => line.includes('begin')), events.of('other').split('\n').length],
    [callEvents, false, 2],
  );
  assert.match(events.of('other'), /denied/);
  assert.match(events.of('other'), /ada/);
});
