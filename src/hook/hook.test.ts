import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { makeAuthority } from '../authority/authority.js';
import { parseLabel } from '../authority/label.js';
import { hostNetwork } from '../authority/network.js';
import { parsePolicy } from '../authority/policy.js';
import { makeSurface } from '../authority/surface.js';
import { ErrnoError } from '../base/errno.js';
import { answerTo, type HookRequest, protocolOf } from './hook.js';
import type { HookHost, Task } from './hook-host.js';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-hook-')));
const project = join(root, 'project');
mkdirSync(join(project, '.git'), { recursive: true });
mkdirSync(join(project, 'src'));
mkdirSync(join(root, 'other'));
mkdirSync(join(root, 'configuration'));
symlinkSync('../other', join(project, 'link'));

class Stage {
  readonly entries: RecordEntry[] = [];
  readonly asked: Task[] = [];
  readonly host: HookHost = {
    store: join(root, 'store'),
    recorder: { append: (entry) => ({ chain: 'person', seq: this.entries.push(entry) }) },
    home: join(root, 'home'),
    hidden: [join(root, 'store')],
    operatorDirectories: [join(root, 'configuration')],
    program: '/opt/ctx',
    authorityOf: async (task) => {
      this.asked.push(task);
      const authority = makeAuthority({
        identity: { uid: 1, gid: 1, label: parseLabel('u:r:coder_t:s0') },
        surface: makeSurface({ cwd: project, additionalReads: [join(root, 'other')], hidden: [join(root, 'store')] }),
        policy: parsePolicy('allow coder_t network:default connect\nallow coder_t tool:mcp.a.b execute\n', 'policy'),
        network: hostNetwork(['example.org:443']),
      });
      return { authority, used: 0, toolFacts: () => ({ exists: false, visible: false }) };
    },
    now: () => new Date(),
  };

  async answer(text: string | Promise<string>, more: Partial<HookRequest> = {}, task: Partial<Task> = {}) {
    const request: HookRequest = {
      protocol: protocolOf('json', false),
      commands: 'rewrite',
      task: {
        directory: project,
        agent: undefined,
        reads: [],
        writes: [],
        network: [],
        tools: [],
        environment: {},
        ...task,
      },
      host: async () => this.host,
      ...more,
    };
    return (await answerTo(Promise.resolve(text), request)).verdict;
  }
}

const call = (rest: object) => JSON.stringify({ version: 1, cwd: project, ...rest });
const read = (path: string) => call({ tool: 'read', paths: [path] });

describe('the hook', () => {
  after(() => rmSync(root, { recursive: true }));

  it('asks for the whole authority only where the workspace is not enough', async () => {
    const stage = new Stage();
    assert.equal((await stage.answer(read('src/a'))).decision, 'allow');
    assert.equal((await stage.answer(call({ tool: 'exec', command: 'ls' }))).decision, 'rewrite');
    assert.equal(stage.asked.length, 0);
    assert.equal((await stage.answer(read('link/a'))).decision, 'allow');
    assert.equal((await stage.answer(call({ tool: 'write', paths: ['link/a'] }))).decision, 'deny');
    assert.equal(stage.asked.length, 2);
  });

  it('asks for it at once where an agent, a path or an operator’s file has a say', async () => {
    const stage = new Stage();
    await stage.answer(read('src/a'), {}, { agent: 'coder' });
    await stage.answer(read('src/a'), {}, { reads: ['/x'] });
    writeFileSync(join(root, 'configuration', 'agents.toml'), '');
    await stage.answer(read('src/a'));
    rmSync(join(root, 'configuration', 'agents.toml'));
    assert.equal(stage.asked.length, 3);
  });

  it("holds the harness to an agent's network and tools, and its commands to the agent", async () => {
    const stage = new Stage();
    const as = (text: string) => stage.answer(text, {}, { agent: 'coder', reads: ['/a b'] });
    assert.equal((await as(call({ tool: 'fetch', url: 'https://example.org/' }))).decision, 'allow');
    assert.equal((await as(call({ tool: 'fetch', url: 'https://example.com/' }))).decision, 'deny');
    assert.equal((await as(call({ tool: 'other', name: 'mcp.a.b' }))).decision, 'allow');
    assert.equal((await as(call({ tool: 'other', name: 'mcp.a.c' }))).decision, 'deny');
    const verdict = await as(call({ tool: 'exec', command: 'ls' }));
    assert.ok(verdict.decision === 'rewrite');
    assert.match(verdict.command, /^\/opt\/ctx exec --wait --agent coder --read '\/a b' -- (?:ba)?sh -c 'ls'$/);
    assert.equal((await stage.answer(call({ tool: 'fetch', url: 'https://example.org/' }))).decision, 'deny');
  });

  it('does not let the task change what switches the hook off', async () => {
    const stage = new Stage();
    for (const path of [
      '.claude/settings.json',
      '.claude/settings.local.json',
      '.mcp.json',
      '.git/hooks/post-checkout',
      '.git/config',
      '.ctx/workspace.json',
    ]) {
      for (const agent of [undefined, 'coder']) {
        const verdict = await stage.answer(call({ tool: 'write', paths: [path] }), {}, { agent });
        assert.equal(verdict.decision, 'deny', path);
        assert.equal((await stage.answer(read(path), {}, { agent })).decision, 'allow', path);
      }
    }
  });

  it('does not let it write a directory that holds something read-only, be it there or not', async () => {
    const stage = new Stage();
    for (const agent of [undefined, 'coder']) {
      const decided = (path: string, tool = 'write') => stage.answer(call({ tool, paths: [path] }), {}, { agent });
      for (const path of ['.', project, 'src/..']) {
        const verdict = await decided(path);
        assert.equal(verdict.decision, 'deny', path);
        assert.match(verdict.reason, /cannot be written as a whole: \S+ in it is read-only in this task; name what/);
        assert.equal((await decided(path, 'read')).decision, 'allow', path);
      }
      assert.equal((await decided('src')).decision, 'allow');
    }
  });

  it('records every denial, and nothing else', async () => {
    const stage = new Stage();
    await stage.answer(read('src/a'));
    assert.equal(stage.entries.length, 0);
    await stage.answer(read('/etc/shadow\u001b[0m'));
    await stage.answer('{');
    assert.deepEqual(
      stage.entries.map(({ type, object, status }) => [type, object, status]),
      [
        ['hook', 'hook/json', 'denied'],
        ['hook', 'hook/json', 'denied'],
      ],
    );
    assert.deepEqual(stage.entries[0]?.facts?.['tool'], 'read');
    assert.doesNotMatch(JSON.stringify(stage.entries), /\\u001b/);
  });

  it('denies, and says so, where the record cannot be written', async () => {
    const stage = new Stage();
    const broken = {
      ...stage.host,
      recorder: {
        append: () => {
          throw new ErrnoError('ENOSPC', { operation: 'record', reason: 'full' });
        },
      },
    };
    const verdict = await stage.answer(read('/etc/shadow'), { host: async () => broken });
    assert.equal(verdict.decision, 'deny');
    assert.match(verdict.reason, /could not be recorded.*full/);
  });

  it('denies where the store cannot be reached', async () => {
    const host = async () => {
      throw new ErrnoError('EACCES', { operation: 'make the store', path: '/no', reason: 'closed' });
    };
    const verdict = await new Stage().answer(read('src/a'), { host });
    assert.equal(verdict.decision, 'deny');
    assert.match(verdict.reason, /make the store \/no: closed \(EACCES\)/);
  });

  it('denies where the message cannot be read, or a defect shows', async () => {
    const stage = new Stage();
    const unread = Promise.reject(new ErrnoError('E2BIG', { operation: 'read stdin', reason: 'too much' }));
    assert.match((await stage.answer(unread)).reason, /too much/);
    const defect = {
      ...stage.host,
      authorityOf: () => {
        throw new TypeError('a defect with /secret');
      },
    };
    const verdict = await stage.answer(read('/etc/x'), { host: async () => defect });
    assert.equal(verdict.decision, 'deny');
    assert.match(verdict.reason, /bug in ctx/);
    assert.doesNotMatch(verdict.reason, /secret/);
  });

  it('denies where the directory is no project', async () => {
    const stage = new Stage();
    for (const directory of ['/', '/etc', '/proc', join(root, 'missing'), join(root, 'store')]) {
      mkdirSync(join(root, 'store'), { recursive: true });
      assert.equal((await stage.answer(read('src/a'), {}, { directory })).decision, 'deny', directory);
    }
  });
});
