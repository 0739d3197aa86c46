/** Whole views of one machine's objects, name by name: the operator's, two agents', and that of a person who calls a tool. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, it } from 'node:test';
import { stageSource, writeToolList } from '../source/source-store.js';
import { printToolList, toolList } from '../source/tool-list.js';
import { agentTexts } from '../spec.js';
import { agentViewer } from './agent-viewer.js';
import type { Shown, ViewNode } from './nodes.js';
import { personViewer } from './person-viewer.js';
import { viewRoot } from './view-root.js';
import { wholeCatalogue } from './whole-catalogue.js';
import { withOwnLogs } from './with-own-logs.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-view-')));
after(() => rmSync(base, { recursive: true, force: true }));
const root = join(base, 'objects');
// Who may write a file of an agent is also said by its mode.
const [uid = 0, gid = 0] = [process.geteuid?.(), process.getegid?.()];
const own = `home/${uid}`;

function put(path: string, text = '', mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, { mode });
}

function agent(place: string, name: string, spec: object, more: Readonly<Record<string, string>> = {}): void {
  for (const [file, text] of agentTexts(name, { ...spec }, { uid, gid }))
    put(`${place}/${name}.d/${file}`, more[file] ?? text);
}

const policy = (name: string, ...rules: readonly string[]) => rules.map((rule) => `allow ${name}_t ${rule}`);
put('tool/lint', '', 0o755);
put('tool/lint.d/policy', 'allow operator_t tool:lint execute\nallow ada_t tool:lint execute\n');
put('tool/lint.d/log', '{"agent":"ada","x":1}\n{"agent":"eve"}\nno JSON\n');
put('tool/plain', '', 0o644);
put('tool/broken', '', 0o755);
put('tool/broken.d/policy', 'permit\n');
put('tool/described.d/name', 'described\n');
symlinkSync('lint', join(root, 'tool/linked'));
put('tool/-odd', '', 0o755);
put(`${own}/tool/own`, '', 0o755);
put('home/64700/tool/theirs', '', 0o755);
put('shared/team/tool/t', '', 0o755);
put('shared/team/docs/x');
put('shared/other/file');
put('model/openai/small.d/name', 'small\n');
put('model/openai/large.d/name', 'large\n');
put('model/empty/file');
const staged = stageSource({ root, uid }, 'user', 'src', {
  server: { kind: 'http', url: 'http://a', headers: {} },
  from: 'x',
  cap: 'fork ro\n',
});
writeToolList(
  staged.directory,
  printToolList(toolList('src', [{ name: 'one', description: 'd', inputSchema: { type: 'object' } }]), 'server 1'),
);
staged.place();
agent('agent', 'ada', {
  policy: policy(
    'ada',
    'tool:lint execute',
    'tool:broken execute',
    'tool:own execute',
    'tool:theirs execute',
    'tool:t execute',
    'tool:fs.read execute',
    'tool:mcp.src.one execute',
    'agent:kid read',
    'agent:kid write',
    'agent:eve read',
    'agent:eve write',
    'shared:team read',
    'model:openai/small use',
  ),
  path: ['/ctx/tool', `/ctx/${own}/tool`, '/ctx/home/64700/tool', '/ctx/shared/team/tool', '/ctx/shared/other/tool'],
  model: ['openai/small'],
});
agent('agent', 'kid', {}, { parent: 'agent:ada\n' });
agent('agent', 'eve', {});
agent(`${own}/agent`, 'low', {});

/** Every path, with what it is; `!` may be executed, `w` may be written, and the text of a file in brackets. */
function walk(node: ViewNode | undefined, at: string, texts: boolean): string[] {
  if (node === undefined) return [`${at} MISSING`];
  if (node.kind === 'symlink') return [`${at} -> ${node.target}`];
  if (node.kind === 'file') {
    const text = node.text.read().toString();
    assert.equal(node.text.size, Buffer.byteLength(text), at);
    return [
      `${at}${node.executable ? '!' : ''}${node.write === undefined ? '' : ' w'}${texts && !node.executable ? ` [${text}]` : ''}`,
    ];
  }
  const names = node.names();
  const entries = node.entries?.();
  if (entries !== undefined)
    assert.deepEqual(
      entries.map(([name]) => name),
      names,
      at,
    );
  for (const name of ['none', '', '.', '..', 'none.d', '-odd', '__proto__', 'constructor'])
    assert.equal(node.child(name), undefined, `${at}/${name}`);
  return names.flatMap((name) => walk(node.child(name), `${at}/${name}`, texts));
}

const client = { size: 6, modified: 0n, read: () => Buffer.from('client') };
const whole = () => wholeCatalogue({ root, uid });
const shownTo = (more: Partial<Shown> = {}): Shown => ({
  catalogue: whole(),
  viewer: () => undefined,
  uid,
  client,
  ...more,
});
/** Those of built-in tools are of one form. */
const isBuiltIn = (line: string) => /^\/tool\/(?:fs|shell|fork|agent)\./.test(line);
const listing = (shown: Shown, texts = false) => walk(viewRoot(shown), '', texts).filter((line) => !isBuiltIn(line));

const ofTool = ['name', 'description', 'schema', 'cap', 'policy', 'status', 'log'];
const ofModel = ['name', 'description', 'policy', 'status', 'log', 'meta.json'];
const ofAgent = [
  ...[
    'owner',
    'uid',
    'gid',
    'groups',
    'label',
    'iso',
    'parent',
    'life',
    'root',
    'cwd',
    'env',
    'path',
    'mount',
    'model',
  ],
  ...['policy', 'status', 'pid', 'log', 'meta.json', 'network', 'quota', 'expiry', 'scope', 'sibling_reads'],
  ...['additional_reads', 'supervised'],
];
/** An object and its control files; without the mark of a program, where it has none. */
const below = (path: string, files: readonly string[]) => files.map((file) => `${path}.d/${file}`);
const object = (path: string, files: readonly string[]) => [`${path}!`, ...below(path, files)];

it('the operator sees all there is of this user’s and everybody’s, also what cannot be run', () => {
  const source = `/${own}/tool/mcp.src.one`;
  assert.deepEqual(listing(shownTo()), [
    ...['large', 'small'].flatMap((name) => object(`/model/openai/${name}`, ofModel)),
    ...['ada', 'eve', 'kid'].flatMap((name) => object(`/agent/${name}`, ofAgent)),
    ...['/tool/broken!', '/tool/lint!'],
    ...['broken', 'described', 'lint'].flatMap((name) => below(`/tool/${name}`, ofTool)),
    ...below(`/${own}/agent/low`, ofAgent),
    ...[`${source}!`, `/${own}/tool/own!`],
    ...below(source, [...ofTool, 'origin']),
    `/shared/other/file -> ${root}/shared/other/file`,
    ...['/shared/team/tool/t!', `/shared/team/docs -> ${root}/shared/team/docs`],
  ]);
});

it('what is not there of a tool or a model is shown as what it counts as, and a source as what its server said', () => {
  const texts = new Map(listing(shownTo(), true).map((line) => line.split(/ \[/, 2) as [string, string]));
  const of = (path: string, files: readonly string[]) =>
    files.map((file) => texts.get(`${path}.d/${file}`)?.slice(0, -1));
  const policyText = '# no policy of its own: the policies of agents decide\n';
  assert.deepEqual(of('/tool/described', ofTool), ['described\n', '', '{}\n', '', policyText, 'ready\n', '']);
  assert.deepEqual(of('/model/openai/large', ofModel), ['large\n', '', policyText, 'dead\n', '', '{}\n']);
  const schema = '{"input":{"type":"object"}}\n';
  const source = [
    'mcp.src.one\n',
    'd\n',
    schema,
    'fork ro\n',
    policyText,
    'ready\n',
    '',
    'mcp src one\nserver server 1\n',
  ];
  assert.deepEqual(of(`/${own}/tool/mcp.src.one`, [...ofTool, 'origin']), source);
});

const viewing = agentViewer({ root, uid }, 'ada', () => 0);
const written: unknown[] = [];
const asAda = (more: Partial<Shown> = {}) =>
  shownTo({
    catalogue: withOwnLogs(whole(), 'ada', (tool) => `seen ${tool}\n`),
    viewer: () => viewing.viewer(),
    writes: async (...given) => void written.push(given),
    home: { agent: 'ada', target: '/h', socket: '/s' },
    spaces: () => [
      { name: 'team', part: '', target: '/m' },
      { name: 'other', part: '', target: '/o' },
    ],
    ...more,
  });

it('an agent sees what it may use and read, writes those alone that descend from it, and its own events in a log', async () => {
  const writable = [
    ...[
      'groups',
      'label',
      'iso',
      'life',
      'root',
      'cwd',
      'env',
      'path',
      'mount',
      'model',
      'policy',
      'owner',
      'uid',
      'gid',
    ],
    ...['network', 'quota', 'expiry', 'scope', 'sibling_reads', 'additional_reads', 'meta.json', 'parent'],
  ];
  const found = listing(asAda());
  const plain = found.map((line) => line.replace(/ w$/, ''));
  assert.deepEqual(plain, [
    ...object('/model/openai/small', ofModel),
    '/agent/ada.sock -> /s',
    ...['eve', 'kid'].flatMap((name) => object(`/agent/${name}`, ofAgent)),
    ...object('/tool/lint', ofTool),
    `/${own}/agent/ada -> /h`,
    ...[`/${own}/tool/mcp.src.one!`, `/${own}/tool/own!`],
    ...below(`/${own}/tool/mcp.src.one`, [...ofTool, 'origin']),
    ...below(`/${own}/tool/own`, ofTool),
    ...['/shared/team/tool/t!', ...below('/shared/team/tool/t', ofTool), '/shared/team/docs -> /m/docs'],
  ]);
  const marked = found.filter((line) => line.endsWith(' w')).map((line) => line.slice(0, -2));
  assert.ok(marked.length > 0 && marked.every((path) => path.startsWith('/agent/kid.d/')), String(marked));
  assert.deepEqual(
    marked.map((path) => path.split('/').at(-1)).filter((file) => !writable.includes(file ?? '')),
    [],
  );
  for (const file of ['status', 'pid', 'log', 'supervised']) assert.ok(!marked.includes(`/agent/kid.d/${file}`), file);
  const policyFile = viewRoot(asAda()).child('agent');
  const node = policyFile?.kind === 'directory' ? policyFile.child('kid.d') : undefined;
  const leaf = node?.kind === 'directory' ? node.child('policy') : undefined;
  if (leaf?.kind === 'file') await leaf.write?.('text');
  assert.deepEqual(written, [['kid', 'policy', 'text']]);
  const logs = listing(asAda(), true).filter(
    (line) => line.startsWith('/tool/lint.d/log') || line.startsWith(`/${own}/tool/own.d/log`),
  );
  assert.deepEqual(logs, ['/tool/lint.d/log [{"agent":"ada","x":1}\n]', `/${own}/tool/own.d/log [seen own\n]`]);
});

it('an agent that may write none, or is not in a view of its own, writes none; parts of spaces are where they are mounted', () => {
  const { writes: _writes, ...readOnly } = asAda();
  const { home: _home, ...homeless } = asAda();
  for (const shown of [readOnly, homeless])
    assert.deepEqual(
      listing(shown).filter((line) => line.endsWith(' w')),
      [],
    );
  assert.equal(
    listing(homeless).some((line) => line.includes(' -> /h') || line.includes('.sock')),
    false,
  );
  const spaces = (part: string, target: string) =>
    listing(asAda({ spaces: () => [{ name: 'team', part, target }] })).filter((line) =>
      line.startsWith('/shared/team/docs'),
    );
  assert.deepEqual(spaces('docs', '/part'), ['/shared/team/docs -> /part']);
  assert.deepEqual(spaces('none', '/part'), []);
  assert.deepEqual(spaces('', '/'), ['/shared/team/docs -> /docs']);
  const { spaces: _spaces, ...without } = asAda();
  assert.equal(
    listing(without).some((line) => line.startsWith('/shared/team/docs')),
    false,
  );
});

it('a person who calls a tool sees that tool alone, where its own policy lets everybody, or says nothing', () => {
  const seen = (tool: string) => {
    const { viewer } = personViewer({ uid, gid }, tool, () => 7);
    assert.equal(viewer().now, 7);
    return listing(shownTo({ viewer }));
  };
  assert.deepEqual(seen('lint'), object('/tool/lint', ofTool));
  assert.deepEqual(seen('own'), object(`/${own}/tool/own`, ofTool));
  for (const tool of ['broken', 'described', 'theirs', 'none']) assert.deepEqual(seen(tool), [], tool);
  assert.throws(() => personViewer({ uid, gid }, '-odd', () => 0), { code: 'EINVAL' });
});
