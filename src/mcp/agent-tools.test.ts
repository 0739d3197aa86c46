import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import type { Envelope } from '../sdk/report.js';
import { callAgentTool, describedTool, notOffered, offeredTools } from './agent-tools.js';
import type { Context } from './tool.js';

const tool = (name: string) => ({ name, description: '', input: {}, output: undefined });

describe('the tools of an agent beside those of the server', () => {
  it('have names of their own, each that of one tool, and none is left out but for want of a name', () => {
    const name = fc.constantFrom<string>('exec', 'list', 'own', 'tool.exec', 'tool.list', 'tool.own', 'tool.tool.exec');
    fc.assert(
      fc.property(fc.uniqueArray(name), fc.uniqueArray(name), (names, taken) => {
        const offered = offeredTools(names.map(tool), taken);
        const shown = offered.map((each) => each.name);
        assert.equal(new Set(shown).size, shown.length, `${shown} of ${names}, taken ${taken}`);
        for (const each of offered) {
          assert.ok([each.tool.name, `tool.${each.tool.name}`].includes(each.name));
          assert.ok(!taken.includes(each.name) || each.name !== each.tool.name);
        }
        for (const each of names) {
          const isFound = offered.some((found) => found.tool.name === each);
          assert.equal(isFound, !taken.includes(each) || !names.includes(`tool.${each}`), each);
        }
      }),
      seeded(500),
    );
  });

  it('are told with a schema of an object, and with that of the answer where it is one', () => {
    for (const [output, isTold] of [
      [undefined, false],
      [{ type: 'string' }, false],
      [{ type: ['object'] }, false],
      [{ type: 'object', properties: {} }, true],
    ] as const) {
      const told = describedTool({ name: 'n', tool: { name: 'n', description: 'd', input: { type: 'x' }, output } });
      assert.deepEqual([told.inputSchema.type, 'outputSchema' in told], ['object', isTold]);
    }
  });

  it('answer as they ended: an error where the exit code is not 0, and data only where it is whole', async () => {
    const answer = (given: Partial<Envelope>, output?: Readonly<Record<string, unknown>>) => {
      const workspace = { callTool: async () => given };
      const context = { workspace, say: () => undefined, asked: () => undefined } as unknown as Context;
      const offered = notOffered('own');
      return callAgentTool({ ...offered, tool: { ...offered.tool, output } }, {}, context);
    };
    const said = (text: string) => ({ stdout: { text } as Envelope['stdout'], stderr: null });
    const object = { type: 'object' };
    for (const [exitCode, signal, end] of [
      [1, null, '[exit code 1]'],
      [255, null, '[exit code 255]'],
      [null, 'SIGKILL', '[ended by SIGKILL]'],
    ] as const) {
      const { text, isError } = await answer({ ...said('{}'), exitCode, signal }, object);
      assert.deepEqual([text, isError], [`{}\n${end}`, true]);
    }
    const good = { exitCode: 0, signal: null };
    assert.deepEqual(await answer({ ...said('text\n'), ...good }), { text: 'text' });
    assert.deepEqual(await answer({ ...said('{"a":1}\n'), ...good }, object), { text: '{"a":1}', facts: { a: 1 } });
    for (const cut of ['{"a":', '', '[1]', '1']) {
      await assert.rejects(answer({ ...said(cut), ...good }, object), { code: 'EFBIG' }, cut);
    }
  });

  it('are called by their own name, with what was given, as long as the caller waits', async () => {
    const { signal } = new AbortController();
    const calls: unknown[][] = [];
    const workspace = {
      callTool: async (...given: unknown[]) => {
        calls.push(given);
        return { stdout: null, stderr: null, exitCode: 0, signal: null };
      },
    };
    const context = { workspace, signal, timeoutMilliseconds: 77, say: () => undefined } as unknown as Context;
    await callAgentTool({ name: 'tool.own', tool: tool('own') }, { a: 1 }, context);
    const [name, given, options] = calls[0] ?? [];
    const { signal: passed, timeoutMilliseconds } = options as { signal: AbortSignal; timeoutMilliseconds: number };
    assert.deepEqual(
      [calls.length, name, given, passed === signal, timeoutMilliseconds],
      [1, 'own', { a: 1 }, true, 77],
    );
  });
});
