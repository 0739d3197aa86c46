import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { leftBehindMilliseconds } from '../../base/limits/objects.js';
import type { ServerConfig } from './server-config.js';
import {
  checkSourceName,
  findSource,
  listSources,
  readSource,
  refuseExistingSource,
  removeSource,
  requireSource,
  sourceAndTool,
  sourceDirectory,
  sourceNames,
  stageSource,
  ToolListFile,
  writeToolList,
} from './source-store.js';
import { printToolList, toolList } from './tool-list.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-sources-'));
after(() => rmSync(base, { recursive: true, force: true }));
const roots = { root: join(base, 'own'), uid: 1000, system: join(base, 'system') };
const tools = {
  system: join(roots.root, 'tool'),
  user: join(roots.root, 'home/1000/tool'),
  forAll: join(roots.system, 'tool'),
};
const server = {
  kind: 'stdio',
  command: 'x',
  args: [],
  environment: {},
} as unknown as ServerConfig;
const given = { server, from: 'mcp.json', cap: 'fork ro\n' };
beforeEach(() => {
  rmSync(base, { recursive: true, force: true });
  for (const directory of Object.values(tools)) mkdirSync(directory, { recursive: true });
});
const modeOf = (path: string) => statSync(path).mode & 0o777;

describe('names of sources', () => {
  it('have no dot, so that the name of a tool of one means one tool', () => {
    const long = 'a'.repeat(32);
    for (const name of ['a', '0', 'a_b-C', long]) {
      assert.equal(checkSourceName(name), name);
      assert.deepEqual(sourceAndTool(`mcp.${name}.x.y`), { source: name, tool: 'x.y' });
    }
    for (const name of ['', '-a', '_a', '.a', 'a.b', 'a/b', 'a b', `${long}a`, 'a\n']) {
      assert.throws(() => checkSourceName(name), { code: 'EINVAL' }, name);
      assert.throws(() => requireSource(roots, name), { code: 'EINVAL' }, name);
    }
    for (const name of ['mcp.', 'mcp.a', 'mcp.a.', 'mcpxa.b', 'x.mcp.a.b', `mcp.${long}a.x`, 'mcp.-a.x']) {
      assert.equal(sourceAndTool(name), undefined, name);
    }
  });
});

describe('a source', () => {
  it('is one once it is placed, is read as it was given, and is gone when it is removed', () => {
    assert.deepEqual([listSources(roots), sourceNames(tools.user)], [[], []]);
    const staged = stageSource(roots, 'user', 'src', given);
    assert.deepEqual([listSources(roots), readSource(staged.directory)], [[], given]);
    assert.deepEqual(
      [modeOf(join(staged.directory, 'server.json')), modeOf(join(staged.directory, 'cap'))],
      [0o600, 0o644],
    );
    const located = staged.place();
    assert.deepEqual(located, { name: 'src', tier: 'user', directory: sourceDirectory(tools.user, 'src') });
    assert.deepEqual(
      [listSources(roots), findSource(roots, 'src'), requireSource(roots, 'src')],
      [[located], located, located],
    );
    assert.deepEqual(readSource(located.directory), given);
    assert.deepEqual(readdirSync(dirname(located.directory)), ['src']);
    for (const tier of ['user', 'system'] as const)
      assert.throws(() => stageSource(roots, tier, 'src', given), { code: 'EEXIST' });
    assert.throws(() => refuseExistingSource(roots, 'src'), { code: 'EEXIST' });
    removeSource(located);
    assert.deepEqual([listSources(roots), readdirSync(dirname(located.directory))], [[], []]);
    assert.throws(() => requireSource(roots, 'src'), { code: 'ENOENT' });
    assert.throws(() => removeSource(located), { code: 'ENOENT' });
    refuseExistingSource(roots, 'src');
  });

  it('is placed in one tier alone, of two that were begun at the same time', () => {
    const [one, other] = [stageSource(roots, 'user', 'src', given), stageSource(roots, 'system', 'src', given)];
    const placed = one.place();
    assert.throws(() => other.place(), { code: 'EEXIST' });
    assert.deepEqual(listSources(roots), [placed]);
    assert.equal(existsSync(other.directory), false);
  });

  it('that is for every user can be read by them; of one name the user’s own counts', () => {
    const staged = stageSource({ root: roots.system, uid: 0 }, 'system', 'src', { ...given, isForAll: true });
    assert.equal(modeOf(join(staged.directory, 'server.json')), 0o644);
    const forAll = sourceDirectory(tools.forAll, 'src');
    mkdirSync(dirname(forAll), { recursive: true });
    staged.place();
    assert.deepEqual(
      listSources(roots).map(({ tier, directory }) => [tier, directory]),
      [['system', forAll]],
    );
    mkdirSync(sourceDirectory(tools.user, 'src'), { recursive: true });
    mkdirSync(sourceDirectory(tools.user, 'b'), { recursive: true });
    mkdirSync(sourceDirectory(tools.user, 'a'), { recursive: true });
    assert.deepEqual(
      listSources(roots).map(({ name, directory }) => [name, directory]),
      [
        ['a', sourceDirectory(tools.user, 'a')],
        ['b', sourceDirectory(tools.user, 'b')],
        ['src', sourceDirectory(tools.user, 'src')],
      ],
    );
    assert.deepEqual(listSources({ root: roots.root, uid: 7 }), []);
  });

  it('that is not to be leaves nothing; what killed processes began is taken away, and what others are at is not', () => {
    const sources = dirname(sourceDirectory(tools.user, 'x'));
    mkdirSync(sources, { recursive: true });
    const longAgo = Date.now() / 1000 - leftBehindMilliseconds / 1000 - 60;
    const left = ['.x.1234.new', '.x.12-ab-cd.gone'];
    for (const name of [...left, '.x.1234.other', 'real', '.x.5678.new']) mkdirSync(join(sources, name));
    for (const name of [...left, '.x.1234.other', 'real']) utimesSync(join(sources, name), longAgo, longAgo);
    const staged = stageSource(roots, 'user', 'src', given);
    const own = basename(staged.directory);
    assert.deepEqual(readdirSync(sources).sort(), ['.x.1234.other', '.x.5678.new', own, 'real'].sort());
    const another = stageSource(roots, 'user', 'src', given);
    assert.notEqual(another.directory, staged.directory);
    another.discard();
    assert.deepEqual(sourceNames(tools.user), ['real']);
    staged.discard();
    assert.equal(existsSync(join(sources, own)), false);
    const again = stageSource(roots, 'user', 'src', given);
    mkdirSync(join(sources, 'src', 'taken'), { recursive: true });
    assert.throws(() => again.place(), { code: 'EEXIST' });
    assert.equal(existsSync(join(sources, own)), false, 'of two that add one, the later leaves nothing');
    writeFileSync(join(base, 'file'), '');
    assert.throws(() => stageSource({ root: join(base, 'file'), uid: 1 }, 'user', 'src', given), { code: 'ENOTDIR' });
    assert.deepEqual(sourceNames(join(base, 'file')), []);
  });

  it('whose file is damaged, or of another version, is refused', () => {
    const { directory } = stageSource(roots, 'user', 'src', given).place();
    const file = join(directory, 'server.json');
    for (const text of [
      '',
      '{',
      'null',
      '{}',
      '{"version":1,"from":"x"}',
      '{"version":1,"server":{}}',
      '{"version":1,"from":"x","server":{}}',
      '{"version":1,"from":"x","server":{"kind":"stdio","command":"x"}}',
      '{"version":1,"from":"x","server":{"kind":"http","url":7,"headers":{}}}',
      '{"version":2,"from":"x","server":{"kind":"http","url":"http://a","headers":{}}}',
      '{"from":"x","server":{"kind":"http","url":"http://a","headers":{}}}',
    ]) {
      writeFileSync(file, text);
      assert.throws(() => readSource(directory), { code: 'EIO' }, text);
    }
    const http = { kind: 'http', url: 'http://a/', headers: {} };
    writeFileSync(file, JSON.stringify({ version: 1, from: 'x', server: http }));
    assert.deepEqual(readSource(directory), { server: http, from: 'x', cap: given.cap });
    rmSync(join(directory, 'cap'));
    assert.throws(() => readSource(directory), { code: 'ENOENT' });
  });
});

describe('the list of a source', () => {
  const listed = (...names: readonly string[]) =>
    printToolList(
      toolList(
        's',
        names.map((name) => ({ name, description: `${name} ä`, inputSchema: { type: 'object', title: name } })),
      ),
      'server 1',
    );

  it('is read where it has changed, and a text when it is asked for', () => {
    const directory = join(base, 'source');
    mkdirSync(directory);
    const list = new ToolListFile(directory);
    assert.deepEqual([list.index(), list.read('a', 'schema'), list.modified], [undefined, undefined, 0n]);
    writeToolList(directory, listed('a', 'b'));
    utimesSync(join(directory, 'tools'), 5, 5);
    const index = list.index();
    assert.deepEqual(
      [[...(index?.tools.keys() ?? [])], index?.server, list.modified],
      [['a', 'b'], 'server 1', 5_000_000_000n],
    );
    assert.equal(list.index(), index, 'the same file is not read again');
    for (const name of ['a', 'b']) {
      assert.equal(list.read(name, 'description')?.toString(), `${name} ä\n`);
      assert.deepEqual(JSON.parse(list.read(name, 'schema')?.toString() ?? ''), {
        input: { type: 'object', title: name },
      });
    }
    assert.equal(list.read('none', 'schema'), undefined);
    writeToolList(directory, listed('b'));
    assert.equal(list.read('a', 'description'), undefined);
    assert.deepEqual([...(list.index()?.tools.keys() ?? [])], ['b']);
    assert.equal(modeOf(join(directory, 'tools')), 0o644);
    rmSync(directory, { recursive: true });
    assert.deepEqual([list.index(), list.read('b', 'schema')], [undefined, undefined]);
  });

  it('that is damaged is refused, and stays no file open', () => {
    const directory = join(base, 'damaged');
    mkdirSync(directory);
    const open = readdirSync('/proc/self/fd').length;
    const whole = listed('a');
    for (const text of [
      '',
      'x',
      '00000000001',
      `00000000009\n${whole.slice(12)}`,
      whole.slice(0, 30),
      whole.replace('"version":1', '"version":2'),
    ]) {
      writeToolList(directory, text);
      const list = new ToolListFile(directory);
      assert.throws(() => list.index(), { code: 'EIO' }, text.slice(0, 20));
      assert.throws(() => list.read('a', 'schema'), { code: 'EIO' });
    }
    const [head, rows] = [whole.slice(0, 12), whole.slice(12)];
    writeToolList(directory, `${head}${rows.replace(/\["a",\d,(\d\d)\]/, '["a",9,99]')}`);
    const short = new ToolListFile(directory);
    assert.equal(short.index()?.tools.size, 1);
    assert.throws(() => short.read('a', 'schema'), { code: 'EIO' }, 'it ends before the schema does');
    assert.equal(readdirSync('/proc/self/fd').length, open);
  });
});
