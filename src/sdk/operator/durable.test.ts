/**
 * What a person decides is on the disk when they are told so: every file of it that is new or changed was waited for, and then the
 * directory that names it. A power cut afterwards brings no right back, and takes none away.
 */
import assert from 'node:assert/strict';
import fs, { existsSync, lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { before, describe, it, mock } from 'node:test';
import { fileAnchor } from '../../audit/anchor/file-anchor.js';
import { changeSettings } from '../../hook/settings-file.js';
import { agentNamed } from '../../objects/agent.js';
import type { ServerConfig } from '../../objects/source/server-config.js';
import { removeSource, requireSource, stageSource, writeToolList } from '../../objects/source/source-store.js';
import { approvalsOf } from '../../proxy/approval/answer-approval.js';
import { makeRule } from '../../proxy/approval/decision-rule.js';
import { addRule, removeRule } from '../../proxy/approval/rules-file.js';
import { forgetConfirmed, storeConfirmed } from '../../proxy/grants/project-trust.js';
import { removeSecret, storeSecret } from '../../proxy/grants/stored-secrets.js';
import { countUse } from '../../proxy/grants/uses.js';
import { testHost } from '../../proxy/host-fixture.js';
import { storePaths } from '../../vault/store/layout.js';
import { Agents } from './agents.js';
import { Objects } from './objects.js';

const { host, base, project } = testHost({ agents: async (name) => agentNamed(host, name) });
const origin = project();
const agents = new Agents(host);
const tools = new Objects(host, 'tool');
const approvals = approvalsOf(host);

/** They hold a lock while their process lives, and say nothing; the record waits by rules of its own (audit/durable). */
const isPassing = (path: string) =>
  /(^|\/)([a-z]+\.lock|asker|answering)$/.test(path) || path.startsWith(host.audit.record);

/** Path to what tells one content from another. */
function look(directory: string, found = new Map<string, string>()): Map<string, string> {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (isPassing(path)) continue;
    const { ino, size, mtimeMs, mode } = lstatSync(path);
    const isDirectory = (mode & 0o170000) === 0o040000;
    found.set(path, isDirectory ? 'directory' : `${ino} ${size} ${mtimeMs}`);
    if (isDirectory) look(path, found);
  }
  return found;
}

/** What the disk may not have yet when `act` has returned. */
async function left(act: () => unknown): Promise<readonly string[]> {
  const before = look(base);
  /** Inodes in the order in which they were waited for. */
  const synced: number[] = [];
  const real = fs.fsyncSync;
  mock.method(fs, 'fsyncSync', (descriptor: number) => {
    synced.push(lstatSync(readlinkSync(`/proc/self/fd/${descriptor}`)).ino);
    real(descriptor);
  });
  syncBuiltinESMExports();
  try {
    await act();
  } finally {
    mock.restoreAll();
    syncBuiltinESMExports();
  }
  const after = look(base);
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
    (path) => before.get(path) !== after.get(path),
  );
  assert.ok(changed.length > 0, 'nothing was written at all');
  const when = (path: string) => synced.lastIndexOf(lstatSync(path).ino);
  return changed.flatMap((path) => {
    const [there, above] = [after.has(path), after.has(dirname(path))];
    const isFile = there && lstatSync(path).isFile() && lstatSync(path).size > 0;
    const content = isFile && when(path) < 0 ? [`content of ${relative(base, path)}`] : [];
    // What was taken away with the directory that it was in is named by none.
    const isNamed = !above || (when(dirname(path)) >= 0 && (!isFile || when(dirname(path)) > when(path)));
    return isNamed ? content : [...content, `name of ${relative(base, path)}`];
  });
}

const rule = makeRule('deny', '*', { command: ['rm'] });
const asked = {
  ...{ askedAt: Date.now(), expiresAt: Date.now() + 60_000, agent: null, argv: ['x'], directory: '/', origin: '/' },
  ...{
    categories: [],
    reason: '',
    rule: '',
    connected: false,
    words: [],
    shown: [],
    onceOnly: false,
    digest: 'd',
    lasting: 'l',
  },
};
let id = '';
const answer = { version: 1, at: Date.now(), granted: true, scope: 'once', by: '', why: '', network: [] } as const;
const connect = { kind: 'connect', host: 'h.example:443' } as const;
const server = { kind: 'stdio', command: 'x', args: [], environment: {} } as unknown as ServerConfig;
const settings = { path: join(origin, '.claude', 'settings.json'), within: origin };
const defaults = { network: [], reads: [], environment: [], secrets: [], quota: {} };

/** In this order: what is taken away was there. */
const acts: Readonly<Record<string, () => unknown>> = {
  'a rule': () => addRule(host, rule),
  'another rule': () => addRule(host, makeRule('allow', '*', { command: ['ls'] })),
  'a rule that goes': () => removeRule(host, rule.id),
  'a question': () => {
    id = approvals.ask(asked, ['put a']).asked.id;
  },
  'an answer': () => approvals.answer(id, answer),
  'an answer that has acted': () => approvals.settle(id),
  'a grant that is used': () => assert.ok(approvals.use(id)),
  'a secret': () => storeSecret(host, 'TOKEN', { value: 'x' }),
  'another value of it': () => storeSecret(host, 'TOKEN', { command: 'pass x' }),
  'a secret that goes': () => removeSecret(host, 'TOKEN'),
  'a project': () => storeConfirmed(host, origin, 'd', defaults),
  'a project that is confirmed no more': () => assert.ok(forgetConfirmed(host, origin)),
  'an agent': () => agents.make('ada'),
  'a grant': () => agents.grant('ada', connect, base),
  'a grant that goes': () => agents.revoke('ada', connect),
  'a file of an agent': () => agents.set('ada', 'expiry', 'uses 3', base),
  'a use': () => countUse(host, [agentNamed(host, 'ada')]),
  'an agent that goes': () => agents.remove('ada'),
  'a tool': () => {
    mkdirSync(join(base, 'programs'), { recursive: true });
    return tools.make('hello', { program: join(base, 'programs', 'hello') });
  },
  'a tool that goes': () => tools.remove('hello'),
  'a source': () => {
    stageSource(host, 'system', 'src', { server, from: 'mcp.json', cap: '' }).place();
  },
  'what its server offers': () => writeToolList(requireSource(host, 'src').directory, 'x\n'),
  'a source that goes': () => removeSource(requireSource(host, 'src')),
  'an anchor': () => fileAnchor(join(base, 'anchors', 'root')).commit({ counter: 1, seq: 1, head: 'h', root: 'r' }),
  'the hook of a harness': () => changeSettings(settings, () => '{"hooks":1}\n'),
  'another hook of it': () => changeSettings(settings, (text) => `${text}\n`),
};

describe('on the disk when it returns', () => {
  mkdirSync(join(base, 'programs'));
  writeFileSync(join(base, 'programs', 'hello'), '#!/bin/sh\n', { mode: 0o755 });
  for (const [what, act] of Object.entries(acts))
    it(`is ${what}`, async () => {
      assert.deepEqual(await left(act), []);
    });
});

describe('what a process that was killed had begun to write', () => {
  const ended = (2 ** 22 + 1).toString(36);
  const draftIn = (directory: string, file: string, maker: string) => {
    const path = join(directory, `${file}.${maker}-a-b.new`);
    mkdirSync(directory, { recursive: true });
    writeFileSync(path, 'half');
    return path;
  };
  const agentFiles = join(host.root, 'agent', 'bob.d');
  const trusted = storePaths(host.store.directory).trusted;
  const places: readonly (readonly [string, string, string, () => unknown])[] = [
    ['of the rules', host.root, 'rules.json', () => addRule(host, makeRule('deny', '*', { command: ['mv'] }))],
    ['of an agent', agentFiles, 'network', () => agents.grant('bob', connect, base)],
    ['of an agent that is changed', agentFiles, 'expiry', () => agents.set('bob', 'expiry', 'uses 3', base)],
    ['of a project', trusted, `${'0'.repeat(16)}.json`, () => storeConfirmed(host, origin, 'd', defaults)],
  ];
  before(() => agents.make('bob'));
  for (const [what, directory, file, act] of places)
    it(`${what} goes with the next change, and nothing else does`, async () => {
      const left = draftIn(directory, file, ended);
      const kept = [
        draftIn(directory, file, process.pid.toString(36)),
        draftIn(directory, 'notes', ended),
        draftIn(directory, `${file}.mine.old`, ended),
      ];
      await act();
      assert.deepEqual(
        [left, ...kept].filter((path) => existsSync(path)),
        kept,
      );
      for (const path of kept) rmSync(path);
    });
});
