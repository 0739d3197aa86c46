/** Calls of objects, decided and answered, with what runs a tool made up. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { toolOutputBytes } from '../base/limits/objects.js';
import { agentViewer } from '../objects/projection/agent-viewer.js';
import { diskCatalogue } from '../objects/projection/disk-catalogue.js';
import { agentTexts } from '../objects/spec.js';
import { type Answering, answerCall } from './answer-call.js';
import type { Calling } from './caller.js';
import { decodeCall, type ObjectCall } from './wire.js';

const uid = 1000;

describe('a call of an object', () => {
  const root = mkdtempSync(join(tmpdir(), 'ctx-calls-'));
  after(() => rmSync(root, { recursive: true }));
  const put = (path: string, text: string, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode });
  };
  const policy = ['lint', 'flood', 'calling', 'unread'].map((name) => `allow coder_t tool:${name} execute`);
  const path = ['/ctx/tool', `/ctx/home/${uid}/tool`];
  for (const [file, text] of agentTexts('coder', { uid, policy, path }, { uid, gid: 100 })) {
    put(`agent/coder.d/${file}`, text);
  }
  put('tool/lint', '', 0o755);
  put(`home/${uid}/tool/lint`, '', 0o755);
  put('tool/other', '', 0o755);
  put('tool/flood', '', 0o755);
  put('tool/flood.d/schema', JSON.stringify({ output: { type: 'object' } }));
  put('tool/calling', '', 0o755);
  put('tool/unread', '', 0o755);

  const viewing = agentViewer({ root, uid }, 'coder', () => 10);
  async function call(
    object: string,
    said: readonly Buffer[] = [Buffer.from('{}')],
    { input }: Pick<ObjectCall, 'input'> = { input: '{}' },
  ) {
    const ran: string[] = [];
    const records: RecordEntry[] = [];
    let printed = '';
    let printedError = '';
    const answering = {
      agent: 'coder',
      root,
      isCrowded: false,
      catalogue: diskCatalogue(root),
      recorder: { append: (entry: RecordEntry) => void records.push(entry) },
      viewer: () => viewing.viewer(),
      roots: [],
      runTool: async ({ program, onOutput, signal }: Parameters<Answering['runTool']>[0]) => {
        ran.push(program.path);
        for (const chunk of said) if (!signal?.aborted) await onOutput('stdout', chunk);
        return { exitCode: 0, signal: null, timedOut: false };
      },
    } as unknown as Answering;
    const code = await answerCall(answering, {
      call: { path: object, directory: '/', input },
      print: (bytes: Buffer | string) => (printed += bytes),
      printError: (bytes: Buffer | string) => (printedError += bytes),
      signal: new AbortController().signal,
    } as unknown as Calling);
    return { code, ran, records: records.map(({ status }) => status), printed, printedError };
  }

  it('runs the first of that name along the agent’s path, called as that and as nothing else', async () => {
    const found = await call('/ctx/tool/lint');
    assert.deepEqual([found.code, found.ran, found.printed], [0, [join(root, 'tool/lint')], '{}'], found.printedError);
    assert.deepEqual(found.records, ['begin', 'ok']);
    for (const object of [`/ctx/home/${uid}/tool/lint`, '/ctx/shared/x/tool/lint', '/ctx/tool/none']) {
      const hidden = await call(object);
      assert.deepEqual([hidden.code, hidden.ran, hidden.records], [1, [], []], object);
      assert.match(hidden.printedError, /there is no such tool in this view \(ENOENT\)/);
    }
    const agent = await call('/ctx/agent/lint');
    assert.deepEqual([agent.code, agent.ran, agent.records], [1, [], ['denied']]);
    for (const object of ['/usr/bin/lint', '/ctx/tool/', 'tool/lint']) {
      const other = await call(object);
      assert.deepEqual([other.code, other.ran], [2, []], object);
    }
  });

  it('of what its policy does not allow is refused and recorded, and nothing runs', async () => {
    const denied = await call('/ctx/tool/other');
    assert.deepEqual([denied.code, denied.ran, denied.records], [13, [], ['denied']], denied.printedError);
  });

  it('of a tool whose policy cannot be read is refused and recorded, whatever that may have allowed', async () => {
    for (const text of ['allow coder_t tool:unread execute\nallow\n', 'permit everybody\n', '\0']) {
      put('tool/unread.d/policy', text);
      const refused = await call('/ctx/tool/unread');
      assert.deepEqual([refused.code, refused.ran, refused.records], [13, [], ['denied']], text);
      assert.match(refused.printedError, /its policy cannot be read \(EACCES\)/);
    }
    rmSync(join(root, 'tool/unread.d/policy'));
    assert.deepEqual((await call('/ctx/tool/unread')).ran, [join(root, 'tool/unread')]);
  });

  it('with an input that is not UTF-8 is refused, and nothing runs', async () => {
    const refused = await call('/ctx/tool/lint', [], decodeCall(Buffer.from('/x\0/\0"ä"', 'latin1')));
    assert.deepEqual([refused.code, refused.ran, refused.records], [2, [], []]);
    assert.match(refused.printedError, /expected an input that is UTF-8 \(EINVAL\)/);
  });

  it('is not told what a tool says beyond the limit of a checked answer', async () => {
    const large = Buffer.from(`"${'x'.repeat(toolOutputBytes / 2)}`);
    const flooded = await call('/ctx/tool/flood', [Buffer.from('{"a":'), large, large, large]);
    assert.deepEqual([flooded.printed, flooded.records], ['', ['begin', 'failed']]);
    assert.match(flooded.printedError, /printed more than/);
    assert.equal((await call('/ctx/tool/flood')).code, 0);
  });

  it('of a tool that asks to call others is refused as long as none can', async () => {
    for (const cap of ['tool lint', 'model openai/small']) {
      put('tool/calling.d/cap', `${cap}\n`);
      const { ran, printedError } = await call('/ctx/tool/calling');
      assert.deepEqual(
        [ran, /cannot call other tools or models yet \(ENOTSUP\)/.test(printedError)],
        [[], true],
        printedError,
      );
    }
  });
});
