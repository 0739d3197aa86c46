import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ErrnoError } from '../base/errno.js';
import { toolMilliseconds, toolOutputBytes } from '../base/limits/objects.js';
import type { Catalogue } from '../objects/projection/catalogue.js';
import type { ToolHit } from '../objects/projection/visible.js';
import { operatorTool, toolGrants } from './operator-tool.js';
import type { ToolRunCall } from './tool-run.js';

const none = { fork: undefined, reads: [], writes: [], network: [], privateHosts: [], secrets: [], quota: {} };
const hit = { place: 'tool', program: '/objects/tool/x', identity: '1:2' } as unknown as ToolHit;

type Files = Readonly<Partial<Record<'cap' | 'schema', string>>>;
type Asked = Parameters<ToolRunCall['runTool']>[0];

function catalogueOf(files: Files): Catalogue {
  const control = (place: string, name: string, file: keyof Files) => {
    assert.deepEqual([place, name], ['tool', 'x']);
    const text = files[file];
    return text === undefined ? undefined : { read: () => Buffer.from(text) };
  };
  return { control } as unknown as Catalogue;
}

interface Ended {
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly timedOut?: boolean;
  readonly error?: Error;
}

/** What the caller was told of one call, and what was asked of the jail. */
async function called(files: Files, says: readonly string[], ended: Ended = {}) {
  const [printed, errors, complaints, asked]: [string[], string[], string[], Asked[]] = [[], [], [], []];
  const { error, exitCode = 0, signal = null, timedOut = false } = ended;
  const gone = new AbortController();
  const call = {
    ...{ name: 'x', input: { b: [1], a: 'ä' }, signal: gone.signal },
    print: (bytes: Buffer) => void printed.push(String(bytes)),
    printError: (bytes: Buffer) => void errors.push(String(bytes)),
    complain: (text: string) => void complaints.push(text),
    runTool: async (given: Asked) => {
      asked.push(given);
      for (const text of says) await given.onOutput?.(text.startsWith('!') ? 'stderr' : 'stdout', Buffer.from(text));
      if (error !== undefined) throw error;
      return { exitCode, signal, timedOut };
    },
  } as unknown as ToolRunCall;
  const code = await operatorTool(catalogueOf(files), 'x', hit).run(call);
  return { code, printed, errors, complaints, asked, gone };
}

describe('what the cap of a tool grants', () => {
  it('is each line of its own kind, and nothing of another', () => {
    for (const [line, grants] of [
      ['', {}],
      ['fs.read /a', { reads: ['/a'] }],
      ['fs.read /a\nfs.read /b', { reads: ['/a', '/b'] }],
      ['fs.write /a', { writes: ['/a'] }],
      ['net.connect example.org:80', { network: ['example.org:80'] }],
      ['net.connect example.org', { network: ['example.org:443'] }],
      ['net.connect db.local:5432 private', { privateHosts: ['db.local:5432'] }],
      ['fork ro', { fork: 'ro' }],
      ['fork rw', { fork: 'rw' }],
      ['quota wallTime 3\nquota pids 4', { quota: { wallTime: 3, pids: 4 } }],
      [
        'secret TOKEN example.org Authorization Bearer',
        { secrets: [{ host: 'example.org', port: 443, header: 'Authorization', template: 'Bearer $TOKEN' }] },
      ],
      [
        'secret KEY example.org:8443 X-Key',
        { secrets: [{ host: 'example.org', port: 8443, header: 'X-Key', template: '$KEY' }] },
      ],
    ] as const) {
      assert.deepEqual(toolGrants('x', line, 'cap'), { ...none, ...grants }, line);
    }
  });

  it('is refused where it asks for what tools cannot do yet, or is none', () => {
    for (const line of ['tool other', 'model maker/fast', 'fork ro\nmodel maker/fast'])
      assert.throws(() => toolGrants('x', line, 'cap'), { code: 'ENOTSUP', operation: 'x' }, line);
    for (const line of ['fs.read a', 'other', 'fork both']) {
      assert.throws(() => toolGrants('x', line, 'cap'), { code: 'EINVAL' }, line);
    }
  });
});

describe('a tool of the operator’s', () => {
  it('is run as its file is, with its input as JSON, and what it says is passed on as it comes', async () => {
    const { code, printed, errors, complaints, asked, gone } = await called({ cap: 'fs.read /a' }, [
      'one',
      '!two',
      '3',
    ]);
    assert.deepEqual([code, printed, errors, complaints], [0, ['one', '3'], ['!two'], []]);
    const [{ signal, onOutput: _onOutput, ...given } = assert.fail()] = asked;
    assert.deepEqual(given, {
      name: 'x',
      program: { path: '/objects/tool/x', identity: '1:2' },
      input: Buffer.from('{"b":[1],"a":"ä"}'),
      grants: { ...none, reads: ['/a'] },
      timeoutMilliseconds: toolMilliseconds,
    });
    assert.equal(signal?.aborted, false);
    gone.abort();
    assert.equal(signal?.aborted, true, 'it ends with its caller');
  });

  it('has the time that its cap says', async () => {
    const { asked } = await called({ cap: 'quota wallTime 7' }, []);
    assert.equal(asked[0]?.timeoutMilliseconds, 7);
  });

  it('fails with how it ended', async () => {
    for (const [ended, text] of [
      [{ exitCode: 3 }, 'the tool ended with exit code 3'],
      [{ exitCode: null, signal: 'SIGKILL' }, 'the tool was ended by SIGKILL'],
      [{ exitCode: null, signal: 'SIGTERM', timedOut: true }, 'timed out'],
    ] as const) {
      for (const schema of ['{}', '{"output":{"type":"object"}}']) {
        const { code, complaints, printed } = await called({ schema }, ['{}'], ended);
        assert.deepEqual([code, complaints], [1, [text]]);
        assert.deepEqual(printed, schema === '{}' ? ['{}'] : []);
      }
    }
  });

  it('is held to its schema: nothing that it says is passed on before all of it is known to be so', async () => {
    const schema = '{"input":{"type":"object"},"output":{"type":"object","required":["a"]}}';
    assert.deepEqual(operatorTool(catalogueOf({ schema }), 'x', hit).input, { type: 'object' });
    assert.deepEqual(operatorTool(catalogueOf({}), 'x', hit).input, {});
    const whole = await called({ schema }, ['{"a"', '!beside', ':1}']);
    assert.deepEqual([whole.code, whole.printed, whole.errors], [0, ['{"a":1}'], ['!beside']]);
    for (const says of [['{"a":1'], ['{"b":1}'], [], ['[1]']]) {
      await assert.rejects(called({ schema }, says), { code: 'EIO', operation: 'x' }, says.join());
    }
    await assert.rejects(called({ schema }, ['[1]']), { reason: /^the tool broke its schema: .*its output/ });
    for (const bad of ['{"input":{"type":"no"}}', '{"output":{"type":"no"}}', '{', '[]']) {
      assert.throws(() => operatorTool(catalogueOf({ schema: bad }), 'x', hit), { code: 'EINVAL' }, bad);
    }
  });

  it('says so many bytes where a schema checks them, and as many as it likes where none does', async () => {
    const schema = '{"output":{"type":"string"}}';
    const text = JSON.stringify('x'.repeat(toolOutputBytes - 2));
    assert.equal((await called({ schema }, [text.slice(0, 5), text.slice(5)])).code, 0);
    await assert.rejects(called({ schema }, [text, ' ']), { code: 'EIO', reason: /printed more than/ });
    const open = await called({}, [text, ' ']);
    assert.deepEqual([open.code, open.printed.length, open.asked[0]?.signal?.aborted], [0, 2, false]);
    const flooded = await called({ schema }, [text, ' '], { exitCode: 1 }).catch((error: unknown) => error);
    assert.ok(flooded instanceof ErrnoError && flooded.code === 'EIO', 'the reason, not how it was ended');
  });

  it('is refused without a word of where it is on the host', async () => {
    const details = { operation: 'jail', path: '/objects/tool/x', reason: 'of a test', remedy: 'look at /objects' };
    for (const code of ['EACCES', 'ENOTSUP', 'EDQUOT'] as const) {
      const error = await called({}, [], { error: new ErrnoError(code, details) }).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof ErrnoError);
      assert.deepEqual(
        [error.code, error.operation, error.path, error.reason, error.remedy],
        [code, 'x', undefined, 'of a test', undefined],
      );
    }
    const stale = await called({}, [], { error: new ErrnoError('ESTALE', details) }).catch((thrown: unknown) => thrown);
    assert.ok(stale instanceof ErrnoError);
    assert.deepEqual([stale.code, stale.path, stale.remedy], ['ESTALE', undefined, 'call it again']);
    assert.ok(!stale.reason.includes('test'));
    const changed = new ErrnoError('ESTALE', { operation: 'decide', reason: 'the fork changed' });
    await assert.rejects(called({}, [], { error: changed }), { code: 'ESTALE', reason: 'the fork changed' });
    await assert.rejects(called({}, [], { error: new RangeError('a defect') }), RangeError);
  });
});
