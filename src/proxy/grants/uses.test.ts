import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Agent } from '../../authority/agent.js';
import { Tree } from '../../vault/tree/tree.js';
import { countUse, usedSoFarOf } from './uses.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-uses-'));
after(() => rmSync(base, { recursive: true }));
const program = fileURLToPath(new URL('../../../../native/tree', import.meta.url));
const host = { tree: new Tree({ program }), now: () => new Date(1_000) };

function agent(name: string, lifetime: Agent['lifetime']): Agent {
  const directory = join(base, name);
  mkdirSync(directory, { recursive: true });
  return { name, directory, lifetime } as Agent;
}

const used = (name: string) => readFileSync(join(base, name, 'uses'), 'utf8');

describe('the uses of an agent', () => {
  it('are counted on disk, and refused when they are used up', async () => {
    const line = [agent('twice', { uses: 2 })];
    await countUse(host, line);
    await countUse(host, line);
    await assert.rejects(countUse(host, line), { code: 'EACCES' });
    assert.equal(used('twice'), '2\n');
  });

  it('are counted against every agent of the line that has a number', async () => {
    const [parent, child] = [agent('parent', { uses: 3 }), agent('child', { uses: 1 })];
    await countUse(host, [parent, agent('between', {}), child]);
    await assert.rejects(countUse(host, [parent, child]), { code: 'EACCES', operation: 'agent child' });
    await countUse(host, [parent]);
    await assert.rejects(countUse(host, [parent]), { code: 'EACCES', operation: 'agent parent' });
  });

  it('are shown by the agent of the line that has least left, and as none where none are counted', async () => {
    const soFar = (line: readonly Agent[]) => {
      const { lifetime } = line.at(-1) ?? {};
      return usedSoFarOf({ authority: { lifetime }, line } as unknown as Parameters<typeof usedSoFarOf>[0]);
    };
    const [above, own] = [agent('above', { uses: 4 }), agent('own', { uses: 3 })];
    assert.deepEqual([soFar([above, own]), soFar([above, agent('free', {})]), soFar([agent('free', {})])], [0, 0, 0]);
    await countUse(host, [above, own]);
    assert.deepEqual([soFar([above, own]), soFar([above]), soFar([own])], [1, 1, 1]);
    for (let use = 0; use < 2; use += 1) await countUse(host, [above]);
    assert.deepEqual([soFar([above, own]), soFar([above]), soFar([own])], [2, 3, 1]);
  });

  it('are never more than allowed, however many ask at once', async () => {
    const line = [agent('crowd', { uses: 5 })];
    const answers = await Promise.allSettled(Array.from({ length: 12 }, () => countUse(host, line)));
    assert.equal(answers.filter(({ status }) => status === 'fulfilled').length, 5);
    assert.equal(used('crowd'), '5\n');
  });

  it('are refused where nobody knows how often it was used, or where it cannot be written down', async () => {
    const line = [agent('torn', { uses: 5 })];
    for (const text of ['', 'x\n', '1', '-1\n', '1\n2\n', '1e3\n']) {
      writeFileSync(join(base, 'torn/uses'), text);
      await assert.rejects(countUse(host, line), { code: 'EIO' });
    }
    const nowhere = { ...agent('gone', { uses: 5 }), directory: join(base, 'gone/no/where') };
    await assert.rejects(countUse(host, [nowhere]), { code: 'ENOENT' });
  });
});
