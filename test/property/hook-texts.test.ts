/** Any text at all on the hook's stdin: one clean answer, never a crash, and never a grant outside of the workspace. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { makeAuthority } from '../../src/authority/authority.js';
import { parseLabel } from '../../src/authority/label.js';
import { makePolicy } from '../../src/authority/policy.js';
import { makeSurface } from '../../src/authority/surface.js';
import { answerTo, type HookRequest, protocolNames, protocolOf } from '../../src/hook/hook.js';
import type { HookHost } from '../../src/hook/hook-host.js';
import { seeded } from './seeded.js';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-hook-texts-')));
const project = join(root, 'project');
mkdirSync(join(project, '.git'), { recursive: true });
symlinkSync(root, join(project, 'up'));

let denials = 0;
const host: HookHost = {
  store: join(root, 'store'),
  recorder: {
    append: () => {
      denials += 1;
      return { chain: 'person', seq: denials };
    },
  },
  home: join(root, 'home'),
  hidden: [join(root, 'store')],
  operatorDirectories: [],
  program: '/opt/ctx',
  authorityOf: async () => ({
    authority: makeAuthority({
      identity: { uid: 1, gid: 1, label: parseLabel('u:r:exec_t:s0') },
      surface: makeSurface({ cwd: project, hidden: [join(root, 'store')] }),
      policy: makePolicy('', []),
    }),
    used: 0,
    toolFacts: () => ({ exists: false, visible: false }),
  }),
  now: () => new Date(),
};

const tools = [
  'Read',
  'Write',
  'Edit',
  'MultiEdit',
  'NotebookEdit',
  'Glob',
  'Grep',
  'LS',
  'Bash',
  'Task',
  'WebFetch',
  'WebSearch',
  'TodoWrite',
  'mcp__a__b',
  'Unknown',
  '',
  '__proto__',
];
const outside = [
  '/etc/passwd',
  '/',
  '..',
  '../other',
  'up/other',
  'up/../other',
  '~/.ssh/id',
  '/proc/self/root/etc/passwd',
  `${project}2/x`,
  `${root}/store/x`,
  ' /etc/passwd',
  '/etc/passwd\0.txt',
  'a/../../x',
  '\ud800/x',
];
const inside = ['a', './a/b', `${project}/x`, project, 'up/project/x', 'a//b/'];
const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1e308, '', [], {}),
  fc.string({ unit: 'binary', maxLength: 20 }),
);
const path = fc.oneof(fc.constantFrom(...outside), fc.constantFrom(...inside), scalar);

const input = fc.record(
  {
    file_path: path,
    notebook_path: path,
    path,
    pattern: fc.oneof(fc.constantFrom('**/*', '../*', '/etc/*', '{a,/etc}/*', '.{.,x}/*'), scalar),
    command: fc.oneof(fc.constantFrom('ls', 'ctx exec -- ls', "/opt/ctx exec --wait -- sh -c 'ls'; id", '\0'), scalar),
    url: fc.oneof(fc.constantFrom('https://example.org/', 'file:///etc/passwd'), scalar),
    timeout: scalar,
  },
  { requiredKeys: [] },
);

const claudeMessage = fc.record(
  {
    session_id: scalar,
    cwd: fc.oneof({ weight: 8, arbitrary: fc.constant<unknown>(project) }, { weight: 1, arbitrary: path }),
    hook_event_name: fc.oneof(
      { weight: 12, arbitrary: fc.constant<unknown>('PreToolUse') },
      { weight: 1, arbitrary: scalar },
    ),
    tool_name: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom<unknown>(...tools) },
      { weight: 1, arbitrary: scalar },
    ),
    tool_input: fc.oneof({ weight: 12, arbitrary: input }, { weight: 1, arbitrary: scalar }),
  },
  { requiredKeys: ['cwd', 'hook_event_name', 'tool_name', 'tool_input'] },
);
const named = fc.oneof({ weight: 3, arbitrary: fc.constantFrom<unknown>(...inside) }, { weight: 2, arbitrary: path });
const jsonMessage = fc
  .tuple(
    fc.constantFrom<unknown>(1, 1, 1, 1, 2),
    fc.constantFrom('read', 'write', 'read', 'write', 'exec', 'fetch', 'other', 'Read'),
    fc.constantFrom(project, project, project, '/etc', 'a'),
    fc.array(named, { maxLength: 2 }),
    input,
  )
  .map(([version, tool, cwd, paths, { command, url }]) => {
    const members: Readonly<Record<string, object>> = { exec: { command }, fetch: { url }, other: { name: 'x' } };
    return { version, tool, cwd, ...(members[tool] ?? { paths }) };
  });
const messages = {
  'claude-code': fc.oneof({ weight: 9, arbitrary: claudeMessage }, { weight: 1, arbitrary: jsonMessage }),
  json: fc.oneof({ weight: 1, arbitrary: claudeMessage }, { weight: 9, arbitrary: jsonMessage }),
};

/** The text with a few characters replaced, removed, doubled, or cut off. */
const mutated = (message: fc.Arbitrary<string>) =>
  fc
    .tuple(
      message,
      fc.array(
        fc.tuple(
          fc.nat(),
          fc.nat({ max: 3 }),
          fc.constantFrom('"', '{', '}', ',', ':', '\\', '\0', 'é', '9', ' ', '\n'),
        ),
      ),
    )
    .map(([text, changes]) =>
      changes.reduce((now, [at, kind, character]) => {
        const place = now.length === 0 ? 0 : at % now.length;
        const end = kind === 0 ? place + 1 : kind === 1 ? place : kind === 2 ? now.length : place + 1;
        return `${now.slice(0, place)}${kind === 3 ? '' : character}${now.slice(end)}`;
      }, text),
    );
const odd = (message: fc.Arbitrary<string>) =>
  fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    fc.json(),
    fc.nat({ max: 5_000 }).map((depth) => '['.repeat(depth)),
    fc.nat({ max: 5_000 }).map((depth) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`),
    fc.nat({ max: 100_000 }).map((length) => JSON.stringify({ tool_name: 'x'.repeat(length) })),
    message.map((text) => text.replace('{', '{"tool_name":"Read",')),
  );
function texts(name: keyof typeof messages): fc.Arbitrary<string> {
  const message = messages[name].map((value) => JSON.stringify(value));
  return fc.oneof(
    { weight: 4, arbitrary: message },
    { weight: 3, arbitrary: mutated(message) },
    { weight: 1, arbitrary: odd(message) },
  );
}

/** What a granted call may name: everything of it lies in the workspace by the plainest comparison there is. */
function namesOutside(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  return outside.includes(value);
}

const harmless = ['Task', 'TodoWrite'];

function checkGranted(parsed: Record<string, unknown>): void {
  const tool = String(parsed['tool_name'] ?? parsed['tool']);
  if (harmless.includes(tool)) return;
  const given = (parsed['tool_input'] ?? parsed) as Record<string, unknown>;
  const used: Readonly<Record<string, readonly unknown[]>> = {
    Read: [given['file_path']],
    Write: [given['file_path']],
    Edit: [given['file_path']],
    MultiEdit: [given['file_path']],
    NotebookEdit: [given['notebook_path']],
    Glob: [given['path']],
    Grep: [given['path']],
    LS: [given['path']],
    read: (given['paths'] ?? []) as readonly unknown[],
    write: (given['paths'] ?? []) as readonly unknown[],
  };
  assert.ok(Object.hasOwn(used, tool), `granted ${tool}`);
  for (const each of used[tool] ?? []) assert.ok(!namesOutside(each), `granted ${tool} of ${JSON.stringify(each)}`);
  if (tool === 'Glob') assert.doesNotMatch(String(given['pattern']), /\.\.|etc|^\.\{/);
}

describe('any text on the hook’s stdin', () => {
  after(() => rmSync(root, { recursive: true }));

  for (const name of protocolNames) {
    it(`of the protocol ${name} has one clean answer, and none is a grant outside`, async () => {
      const seen = { allow: 0, deny: 0, rewrite: 0 };
      denials = 0;
      await fc.assert(
        fc.asyncProperty(texts(name), fc.boolean(), async (value, approve) => {
          const request: HookRequest = {
            protocol: protocolOf(name, approve),
            commands: 'rewrite',
            task: {
              directory: project,
              agent: undefined,
              reads: [],
              writes: [],
              network: [],
              tools: [],
              environment: {},
            },
            host: async () => host,
          };
          const { verdict, text: answer } = await answerTo(Promise.resolve(value), request);
          seen[verdict.decision] += 1;
          assert.match(answer, /^[^\n]+\n$/);
          const said = JSON.parse(answer);
          assert.doesNotMatch(verdict.reason, /[\u0000-\u001f\u007f-\u009f]/);
          assert.ok(verdict.reason.length < 4_000);
          if (name === 'json') assert.equal(said.decision, verdict.decision === 'deny' ? 'deny' : 'allow');
          else assert.equal(said.hookSpecificOutput.permissionDecision === 'deny', verdict.decision === 'deny');
          if (verdict.decision === 'rewrite')
            assert.match(verdict.command, /^\/opt\/ctx exec --wait -- (?:ba)?sh -c '/);
          if (verdict.decision === 'allow') checkGranted(JSON.parse(value));
        }),
        seeded(1_000, 50_000),
      );
      assert.equal(denials, seen.deny);
      assert.ok(seen.allow > 20 && seen.deny > 200 && seen.rewrite > 0, JSON.stringify(seen));
    });
  }
});
