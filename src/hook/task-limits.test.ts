/** Each way that a task can have more than its workspace, alone, and what is granted when its authority is over. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { makeAuthority } from '../authority/authority.js';
import { parseLabel } from '../authority/label.js';
import { parsePolicy } from '../authority/policy.js';
import { makeLifetime } from '../authority/quota.js';
import { makeSurface } from '../authority/surface.js';
import { authorityGrants } from './authority-grants.js';
import { answerTo, protocolOf } from './hook.js';
import type { HookHost, Task, TaskAuthority } from './hook-host.js';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-hook-limits-')));
after(() => rmSync(root, { recursive: true }));

describe('a task', () => {
  const project = join(root, 'home', 'project');
  mkdirSync(join(project, '.git'), { recursive: true });

  it('that has more than its workspace in any one way is asked of the whole Authority', async () => {
    const asked: Task[] = [];
    const host = {
      store: join(root, 'store'),
      home: join(root, 'home'),
      hidden: [],
      operatorDirectories: [],
      program: '/opt/ctx',
      recorder: { append: () => ({ chain: 'person', seq: 1 }) },
      authorityOf: async (task: Task) => {
        asked.push(task);
        throw new Error('the whole');
      },
      now: () => new Date(),
    } as unknown as HookHost;
    const plain = {
      directory: project,
      agent: undefined,
      reads: [],
      writes: [],
      network: [],
      tools: [],
      environment: {},
    };
    const asksForAll = async (more: object) => {
      asked.length = 0;
      const text = JSON.stringify({ version: 1, cwd: project, tool: 'read', paths: ['a'] });
      const request = {
        protocol: protocolOf('json', false),
        commands: 'rewrite',
        task: { ...plain, ...more },
      } as const;
      await answerTo(Promise.resolve(text), { ...request, host: async () => host });
      return asked.length > 0;
    };
    assert.equal(await asksForAll({}), false);
    assert.equal(await asksForAll({ tools: ['x'] }), false);
    const [reads, writes, network] = [['/x'], ['/x'], ['any']];
    for (const more of [
      { agent: 'coder' },
      { reads },
      { writes },
      { network },
      { reads, writes },
      { reads, network },
      { writes, network },
      { reads: ['/x', '/y'], writes, network },
    ]) {
      assert.equal(await asksForAll(more), true, JSON.stringify(more));
    }
  });

  it('grants nothing when its authority is over, and a tool by its name or by its policy', () => {
    const authority = makeAuthority({
      identity: { uid: 1, gid: 1, label: parseLabel('u:r:coder_t:s0') },
      surface: makeSurface({ cwd: project, hidden: [] }),
      policy: parsePolicy('allow coder_t tool:granted execute\n', 'policy'),
      lifetime: makeLifetime({ expiresAt: 1000, uses: 3 }),
    });
    const held = (used: number, exists = false): TaskAuthority => ({
      authority,
      used,
      toolFacts: () => ({ exists, visible: false }),
    });
    for (const [now, used, isOver] of [
      [999, 2, false],
      [1000, 2, true],
      [999, 3, true],
    ] as const) {
      const grants = () => authorityGrants(held(used), new Set(['named']), now);
      if (isOver) assert.throws(grants, { code: 'EACCES' }, `${now} ${used}`);
      else {
        const { toolFault } = grants();
        assert.deepEqual([toolFault('named'), toolFault('granted')], [undefined, undefined]);
        assert.match(toolFault('other') ?? '', /allow coder_t tool:other execute/);
      }
    }
    const { toolFault } = authorityGrants(held(0, true), new Set(['named']), 0);
    assert.equal(toolFault('named'), undefined);
    assert.notEqual(toolFault('granted'), undefined, 'an object that nobody may see is not granted by a policy alone');
  });
});
