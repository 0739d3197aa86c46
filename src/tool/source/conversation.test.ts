/** What is said to a server and heard of it, whatever it does wrong. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  sourceMessageBytes,
  sourcePages,
  sourceTools,
  sourceUnaskedBytes,
  sourceUnaskedLineBytes,
} from '../../base/limits/objects.js';
import { MessageLines } from '../message-lines.js';
import { askTools } from './ask-tools.js';
import { ServerConversation, ServerRefusal } from './conversation.js';
import { printedResult } from './tool-result.js';

type Sent = Readonly<Record<string, unknown>>;

/** A conversation, what was sent in it, and what was said of it. */
function stage(unread: () => number = () => 0) {
  const sent: Sent[] = [];
  const told: string[] = [];
  const send = (bytes: Buffer) => {
    assert.equal(bytes.at(-1), 10);
    sent.push(JSON.parse(bytes.toString()) as Sent);
    return unread();
  };
  const conversation = new ServerConversation(
    { send },
    (method) => told.push(method),
    () => told.push('FAULT'),
  );
  const hears = (...messages: readonly unknown[]) =>
    conversation.take(
      Buffer.from(messages.map((each) => `${typeof each === 'string' ? each : JSON.stringify(each)}\n`).join('')),
    );
  const asks = (method = 'm', more: { milliseconds?: number; signal?: AbortSignal } = {}) =>
    conversation.request(method, { a: 1 }, { milliseconds: 60_000, ...more });
  return { conversation, sent, told, hears, asks };
}

const isOver = (reason: RegExp) => (error: { code?: string; reason?: string }) => {
  assert.equal(error.code, 'EIO');
  assert.match(error.reason ?? '', reason);
  return true;
};

describe('a request to a server', () => {
  it('is answered by its number, in whatever order, and only once', async () => {
    const { sent, hears, asks, told } = stage();
    const [one, two] = [asks('first'), asks('second')];
    assert.deepEqual(sent, [
      { jsonrpc: '2.0', id: 1, method: 'first', params: { a: 1 } },
      { jsonrpc: '2.0', id: 2, method: 'second', params: { a: 1 } },
    ]);
    hears(
      [{ id: 2, result: 'b' }],
      { id: 3, result: 'none' },
      { id: '1', result: 'text' },
      { id: 1, result: { a: [] } },
      { id: 1, result: 'later' },
    );
    assert.deepEqual([await one, await two, told], [{ a: [] }, 'b', []]);
  });

  it('that is refused says why, and the conversation goes on', async () => {
    const { hears, asks } = stage();
    for (const [error, number, message] of [
      [{ code: -32_602, message: 'bad' }, -32_602, 'bad'],
      [{ code: 'x' }, 0, 'no reason'],
    ] as const) {
      const asked = asks();
      hears({ id: number === 0 ? 2 : 1, error });
      await assert.rejects(asked, (found) => {
        assert.ok(found instanceof ServerRefusal);
        assert.deepEqual([found.number, found.message], [number, message]);
        return true;
      });
    }
    const asked = asks();
    hears({ id: 3, error: null, result: 5 });
    assert.equal(await asked, 5);
  });

  it('ends with its time or its caller, is cancelled there, and its late answer is nobody’s', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const { sent, hears, asks } = stage();
    const late = asks('m', { milliseconds: 1_500 });
    context.mock.timers.tick(1_499);
    const other = asks();
    context.mock.timers.tick(1);
    await assert.rejects(late, { code: 'ETIMEDOUT', reason: 'no answer within 1.5 s' });
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 1, reason: 'no answer within 1.5 s' },
    };
    assert.deepEqual(sent.at(-1), cancelled);
    hears({ id: 1, result: 'late' }, { id: 2, result: 'b' });
    assert.equal(await other, 'b');
    const caller = new AbortController();
    const left = asks('m', { signal: caller.signal });
    caller.abort();
    await assert.rejects(left, { code: 'ECANCELED' });
    await assert.rejects(asks('m', { signal: AbortSignal.abort() }), { code: 'ECANCELED' });
    assert.deepEqual(
      sent.slice(-2).map(({ method }) => method),
      ['m', 'notifications/cancelled'],
    );
    const count = sent.length;
    context.mock.timers.tick(120_000);
    assert.equal(sent.length, count, 'what was answered is not cancelled');
  });
});

describe('what a server says by itself', () => {
  it('is told where it is a notice, and refused where it asks, but for ping', () => {
    const { sent, hears, told } = stage();
    hears(
      { method: 'notifications/tools/list_changed' },
      { id: 7, method: 'ping' },
      { id: 'x', method: 'sampling/createMessage' },
    );
    assert.deepEqual(told, ['notifications/tools/list_changed']);
    assert.deepEqual(sent, [
      { jsonrpc: '2.0', id: 7, result: {} },
      { jsonrpc: '2.0', id: 'x', error: { code: -32_601, message: 'not supported' } },
    ]);
  });

  it('may greet before its first answer, and nothing that is no JSON comes after it', async () => {
    const { hears, asks, told } = stage();
    hears('Welcome!', '', '  ');
    const asked = asks();
    hears({ id: 1, result: 1 });
    assert.deepEqual([await asked, told], [1, []]);
    const waiting = asks();
    hears('Bye', { id: 2, result: 2 });
    await assert.rejects(waiting, isOver(/not JSON: Bye$/));
    assert.deepEqual(told, ['FAULT']);
  });

  it('ends the conversation where it is wrong, for all who wait and who come, once, with one reason', async () => {
    const deep = `${'['.repeat(2_000)}${']'.repeat(2_000)}`;
    for (const [said, reason] of [
      ['{"a":', /not JSON/],
      ['5', /not JSON|not an object/],
      ['[5]', /not an object/],
      ['[[]]', /not an object/],
      [deep, /too deep/],
    ] as const) {
      const { conversation, hears, asks, told, sent } = stage();
      const first = asks();
      hears({ id: 1, result: 1 });
      await first;
      const waiting = [asks(), asks()];
      hears(said, 'worse', { id: 2, result: 2 });
      for (const each of waiting) await assert.rejects(each, isOver(reason), said.slice(0, 10));
      await assert.rejects(asks(), isOver(reason));
      const count = sent.length;
      conversation.notify('x');
      assert.deepEqual([told, sent.length, conversation.over?.code], [['FAULT'], count, 'EIO']);
    }
  });

  it('without being asked is counted: so much and no more between answers', async () => {
    const { conversation, hears, asks, told } = stage();
    const line = Buffer.from(`${' '.repeat((1 << 20) - 1)}\n`);
    const fill = (bytes: number) => {
      for (let left = bytes; left > 0; left -= line.length + sourceUnaskedLineBytes)
        conversation.take(line.subarray(-Math.min(left - sourceUnaskedLineBytes, line.length)));
    };
    const answer = Buffer.from('{"id":1,"result":1}\n');
    const asked = asks();
    fill(sourceUnaskedBytes - answer.length - sourceUnaskedLineBytes);
    hears(answer.toString().trim());
    assert.equal(await asked, 1);
    fill(sourceUnaskedBytes);
    assert.deepEqual(told, []);
    fill(sourceUnaskedLineBytes + 1);
    assert.deepEqual(told, ['FAULT']);
    const short = stage();
    const lines = Math.floor(sourceUnaskedBytes / (sourceUnaskedLineBytes + 1));
    short.conversation.take(Buffer.from('\n'.repeat(lines)));
    assert.deepEqual(short.told, []);
    short.conversation.take(Buffer.from('\n'));
    assert.deepEqual(short.told, ['FAULT'], 'each line takes time, however short');
  });

  it('is not waited for where it reads nothing, or was ended', async () => {
    let unread = 2 * sourceMessageBytes;
    const { conversation, asks, told } = stage(() => unread);
    const waiting = asks();
    assert.deepEqual(told, []);
    unread += 1;
    conversation.notify('x');
    await assert.rejects(waiting, isOver(/reads nothing/));
    assert.deepEqual(told, ['FAULT']);
    const other = stage();
    const asked = other.asks();
    const { ErrnoError } = await import('../../base/errno.js');
    const gone = (reason: string) => new ErrnoError('ENOTCONN', { operation: 'x', reason });
    for (const reason of ['gone', 'later']) other.conversation.end(gone(reason));
    await assert.rejects(asked, { reason: 'gone' });
    other.conversation.take(Buffer.from('no JSON\n'));
    assert.deepEqual([other.told, other.conversation.over?.reason], [[], 'gone']);
  });
});

describe('lines of messages', () => {
  it('are the same however they come', () => {
    const text = fc.array(fc.constantFrom('\n', 'a', 'bc', '\r\n', 'ä')).map((parts) => Buffer.from(parts.join('')));
    fc.assert(
      fc.property(text, fc.array(fc.nat(30)), (whole, cuts) => {
        const lines = new MessageLines(sourceMessageBytes);
        const found: string[] = [];
        let from = 0;
        for (const cut of [...cuts, whole.length].map((at) => Math.min(at, whole.length)).sort((a, b) => a - b)) {
          for (const line of lines.push(whole.subarray(from, cut))) found.push(line.toString());
          from = cut;
        }
        assert.deepEqual(found, whole.toString().split('\n').slice(0, -1));
      }),
    );
  });

  it('are at most so long, also in pieces', () => {
    const most = Buffer.alloc(sourceMessageBytes, 'x');
    const lines = new MessageLines(sourceMessageBytes);
    assert.deepEqual([...lines.push(most)], []);
    assert.deepEqual(
      [...lines.push(Buffer.from('\nshort\n'))].map(({ length }) => length),
      [sourceMessageBytes, 5],
    );
    assert.deepEqual([...lines.push(most)], []);
    assert.throws(() => [...lines.push(Buffer.from('x'))], { code: 'EFBIG' });
    assert.throws(() => [...new MessageLines(sourceMessageBytes).push(Buffer.concat([most, Buffer.from('x\n')]))], {
      code: 'EFBIG',
    });
  });
});

describe('the tools of a server', () => {
  /** Answers each page by its cursor. */
  async function listed(page: (cursor: unknown) => unknown) {
    const cursors: unknown[] = [];
    const request = async (method: string, params: { readonly cursor?: unknown }) => {
      assert.equal(method, 'tools/list');
      cursors.push(params.cursor);
      return page(params.cursor);
    };
    const list = askTools('s', { request } as unknown as ServerConversation);
    return { names: (await list).tools.map(({ name }) => name), cursors };
  }
  const tool = (name: string) => ({ name, inputSchema: { type: 'object' } });

  it('are asked for page by page, to the last', async () => {
    const pages: Readonly<Record<string, object>> = {
      undefined: { tools: [tool('a')], nextCursor: 'x' },
      x: { tools: [], nextCursor: 'y' },
      y: { tools: [tool('b')], nextCursor: null },
    };
    const { names, cursors } = await listed((cursor) => pages[String(cursor)]);
    assert.deepEqual(
      [names, cursors],
      [
        ['a', 'b'],
        [undefined, 'x', 'y'],
      ],
    );
  });

  it('are refused where there is no end of them', async () => {
    await assert.rejects(
      listed(() => ({ tools: [], nextCursor: 'same' })),
      { code: 'EIO', reason: /in a circle$/ },
    );
    let count = 0;
    const endless = (last: number) => () => {
      count += 1;
      return { tools: [], ...(count <= last ? { nextCursor: String(count) } : {}) };
    };
    assert.equal((await listed(endless(sourcePages - 1))).cursors.length, sourcePages);
    count = 0;
    await assert.rejects(listed(endless(sourcePages)), { code: 'EIO', reason: /pages$/ });
    const many = (number: number) => () => ({ tools: Array.from({ length: number }, () => null) });
    await listed(many(2 * sourceTools)).catch((error: { reason: string }) =>
      assert.doesNotMatch(error.reason, /more than/),
    );
    await assert.rejects(listed(many(2 * sourceTools + 1)), { code: 'EIO', reason: /more than \d+ tools$/ });
    for (const wrong of [null, 5, {}, { tools: {} }])
      await assert.rejects(
        listed(() => wrong),
        { code: 'EIO' },
      );
    await assert.rejects(
      listed(() => Promise.reject(new ServerRefusal(1, 'not now'))),
      { code: 'EIO', reason: /not now$/ },
    );
    await assert.rejects(
      listed(() => Promise.reject(new TypeError('defect'))),
      TypeError,
    );
  });
});

describe('the result of a tool of a server', () => {
  const printed = (result: unknown, output?: Readonly<Record<string, unknown>>) => printedResult('t', result, output);
  const text = (said: string) => ({ type: 'text', text: said });
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };

  it('is its texts, each with the end of its line, or its blocks as they are', () => {
    for (const [content, expected] of [
      [[], ''],
      [[text('')], ''],
      [[text('a')], 'a\n'],
      [[text('a\n'), text('b')], 'a\nb\n'],
      [[{ type: 'resource', resource: { text: 'r' } }, text('b')], 'r\nb\n'],
    ] as const) {
      assert.deepEqual(printed({ content }), { failed: false, text: expected });
    }
    for (const block of [
      { type: 'image', data: 'x' },
      { type: 'text', text: 5 },
      { type: 'resource', resource: 5 },
      { type: 'resource', resource: {} },
      {},
    ]) {
      const both = [text('a'), block];
      assert.equal(printed({ content: both }).text, both.map((each) => `${JSON.stringify(each)}\n`).join(''));
    }
  });

  it('is its structured value where the tool has a schema for it, or nothing else to say', () => {
    const structuredContent = { n: 1 };
    assert.deepEqual(printed({ structuredContent, content: [text('a')] }, schema), {
      failed: false,
      text: '{"n":1}\n',
    });
    assert.equal(printed({ structuredContent }).text, '{"n":1}\n');
    assert.equal(printed({ structuredContent, content: [text('a')] }).text, 'a\n');
    for (const wrong of [
      {},
      { structuredContent: 5 },
      { structuredContent: {} },
      { structuredContent: { n: 'x' } },
      { content: [text('a')] },
    ])
      assert.throws(() => printed(wrong, schema), { code: 'EIO' }, JSON.stringify(wrong));
  });

  it('that failed is what it says of that, or that it says nothing; no schema is asked then', () => {
    const { failed, text: said } = printed({ isError: true, content: [text('no\u001b[2J\nwhy')] }, schema);
    assert.ok(failed);
    assert.ok(!said.includes('\u001b') && said.endsWith('\nwhy\n'), JSON.stringify(said));
    for (const content of [[], [text(' \n')]])
      assert.match(printed({ isError: true, content }).text, /did not say why\n$/);
    assert.equal(printed({ isError: 'yes', content: [text('a')] }).failed, false);
    for (const wrong of [null, 5, [], { content: 5 }, { content: [5] }, { content: {} }])
      assert.throws(() => printed(wrong), { code: 'EIO' });
  });
});
