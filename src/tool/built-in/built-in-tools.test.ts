/** What each built-in tool says and does for its input, with files and commands made up. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { toolRows } from '../../base/limits/commands.js';
import { toolReplacedBytes, toolReplacements } from '../../base/limits/objects.js';
import { builtInTools } from '../../objects/built-in-tools.js';
import type { BesideCommand, BesideEnd, ForkWork } from '../../proxy/agent-views.js';
import type { CallerFiles } from '../caller-files.js';
import type { ToolRun, ToolRunCall } from '../tool-run.js';
import { agentTools } from './agent-tools.js';
import { commandTools } from './command-tools.js';
import { fileTools } from './file-tools.js';
import { forkTools } from './fork-tools.js';

const tools: Readonly<Record<string, ToolRun>> = { ...fileTools, ...commandTools, ...forkTools, ...agentTools };
const ended: BesideEnd = { exitCode: 0, signal: null, timedOut: false };

/** A call, and what became of it. */
async function call(name: string, input: object, given: Partial<ToolRunCall> = {}) {
  const [printed, errors]: [Buffer[], string[]] = [[], []];
  const run = tools[name] ?? assert.fail(name);
  const whole = {
    ...{ name, input, directory: '/work/sub', roots: [{ path: '/work', source: '/work' }] },
    print: (bytes: Buffer | string) => void printed.push(Buffer.from(bytes)),
    printError: (bytes: Buffer | string) => void errors.push(String(bytes)),
    complain: (text: string) => void errors.push(text),
    signal: new AbortController().signal,
    ...given,
  } as unknown as ToolRunCall;
  const code = await run(whole);
  return { code, text: Buffer.concat(printed).toString(), errors };
}

/** A file in pieces of any sizes. */
function files(bytes: Buffer, cuts: readonly number[] = [], more: object = {}): Pick<ToolRunCall, 'files'> {
  const content = async function* () {
    let from = 0;
    for (const cut of [...cuts, bytes.length].map((at) => Math.min(at, bytes.length)).sort((a, b) => a - b)) {
      if (cut > from) yield bytes.subarray(from, cut);
      from = cut;
    }
  };
  return { files: { content, ...more } as unknown as CallerFiles };
}

it('every built-in tool that is shown can be called, and no other', () => {
  assert.deepEqual(Object.keys(tools).sort(), builtInTools.map(({ name }) => name).sort());
});

describe('fs.read', () => {
  const text = fc
    .array(fc.constantFrom('\n', 'a', 'ä', '\n\n', 'line'), { maxLength: 12 })
    .map((parts) => parts.join(''));
  const cuts = fc.array(fc.nat(40), { maxLength: 5 });

  it('prints the file, or the lines that were asked for, however they come', async () => {
    await fc.assert(
      fc.asyncProperty(
        text,
        cuts,
        fc.option(fc.integer({ min: 1, max: 9 })),
        fc.option(fc.nat(9)),
        async (whole, at, offset, limit) => {
          const lines = whole.match(/[^\n]*\n|[^\n]+$/g) ?? [];
          const first = (offset ?? 1) - 1;
          const expected = lines.slice(first, limit === null ? undefined : first + limit).join('');
          const input = { path: 'f', ...(offset === null ? {} : { offset }), ...(limit === null ? {} : { limit }) };
          assert.equal((await call('fs.read', input, files(Buffer.from(whole), at))).text, expected);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('reads no further than to the last line that was asked for', async () => {
    let pieces = 0;
    const content = async function* () {
      for (; pieces < 10; pieces += 1) yield Buffer.from('a\nb\n');
    };
    const some = { files: { content } as unknown as CallerFiles };
    const { text: two } = await call('fs.read', { path: 'f', limit: 2 }, some);
    assert.deepEqual([two, pieces], ['a\nb\n', 0]);
  });

  it('finds the file where the caller is, in the directory that has it, and nowhere else', async () => {
    const roots = [
      { path: '/work', source: '/work' },
      { path: '/work/sub/inner', source: '/other' },
      { path: '/second', source: '/second' },
    ];
    const place = async (path: string, name = 'fs.stat') => {
      let found: unknown;
      const stat = async (at: unknown) => {
        found = at;
        return { type: 'file', size: 1, mode: 0o7, modified: 0 };
      };
      await call(name, { path }, { roots, files: { stat } as unknown as CallerFiles });
      return found;
    };
    const root = { root: '/work', source: '/work' };
    for (const [path, at] of [
      ['file', { ...root, path: 'sub/file' }],
      ['..', { ...root, path: '.' }],
      ['/work', { ...root, path: '.' }],
      ['../../second/x', { root: '/second', source: '/second', path: 'x' }],
      ['inner', { root: '/work/sub/inner', source: '/other', path: '.' }],
      ['/work/sub/inner/x', { root: '/work/sub/inner', source: '/other', path: 'x' }],
      ['/work/sub/inner2', { ...root, path: 'sub/inner2' }],
    ] as const) {
      assert.deepEqual(await place(path), { ...at, shown: path }, path);
    }
    for (const path of ['/', '/etc/passwd', '../../x', '/work2', '/secondary'])
      await assert.rejects(place(path), { code: 'EACCES' }, path);
    await assert.rejects(place('a\0b'), { code: 'EINVAL' });
  });
});

describe('fs.list and fs.stat', () => {
  it('say what is there, one JSON value a line, and whether there is more', async () => {
    const entries = [
      { name: 'a\nb', type: 'file', size: 3 },
      { name: 'd', type: 'directory', size: 0 },
    ];
    const list = (isMore: boolean) => {
      const shown: unknown[] = [];
      const one = async (at: { readonly shown: string }) => {
        shown.push(at.shown);
        return { entries, isMore };
      };
      return { shown, files: { list: one } as unknown as CallerFiles };
    };
    const whole = list(false);
    const { text, errors } = await call('fs.list', {}, whole);
    assert.deepEqual(
      [text, errors, whole.shown],
      [entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''), [], ['.']],
    );
    assert.equal((await call('fs.list', { path: 'x' }, list(true))).errors.length, 1);
    const stat = async () => ({ type: 'symlink', size: 5, mode: 0o70, modified: 1_000, target: 't' });
    const said = await call('fs.stat', { path: 'x' }, { files: { stat } as unknown as CallerFiles });
    const value = { type: 'symlink', size: 5, mode: '0070', modified: '1970-01-01T00:16:40.000Z', target: 't' };
    assert.equal(said.text, `${JSON.stringify(value)}\n`);
    const far = async () => ({ ...(await stat()), modified: -1e17 });
    const when = await call('fs.stat', { path: 'x' }, { files: { stat: far } as unknown as CallerFiles });
    assert.match(when.text, /"modified":"-271821-04-20/);
  });
});

describe('fs.write and fs.replace', () => {
  const writing = (bytes: Buffer) => {
    const written: unknown[] = [];
    const write = async (at: { readonly path: string }, content: Buffer, how?: object) =>
      void written.push([at.path, content.toString(), how]);
    return { written, ...files(bytes, [3, 5], { write }) };
  };

  it('write what they are given, and make what is missing where they are asked to', async () => {
    for (const [input, how] of [
      [{}, { create: false, parents: false }],
      [{ create: true }, { create: true, parents: false }],
      [{ parents: true }, { create: false, parents: true }],
    ] as const) {
      const one = writing(Buffer.alloc(0));
      const { code, text } = await call('fs.write', { path: 'x', content: 'ä', ...input }, one);
      assert.deepEqual([code, text, one.written], [0, '', [['sub/x', 'ä', how]]]);
    }
  });

  it('replace one place, or all, and nothing where it is not clear which', async () => {
    const replace = async (whole: string, input: object) => {
      const one = writing(Buffer.from(whole));
      const { text } = await call('fs.replace', { path: 'x', ...input }, one);
      const [[, content, how] = []] = one.written as (readonly unknown[])[];
      return [text, content, how];
    };
    assert.deepEqual(await replace('one two', { old: 'two', new: '2' }), ['replaced 1 time\n', 'one 2', undefined]);
    assert.deepEqual(await replace('aXbXc', { old: 'X', new: '$&', all: true }), [
      'replaced 2 times\n',
      'a$&b$&c',
      undefined,
    ]);
    assert.deepEqual(await replace('aaaa', { old: 'aa', new: 'a', all: true }), [
      'replaced 2 times\n',
      'aa',
      undefined,
    ]);
    assert.deepEqual(await replace('ä\n', { old: 'ä', new: '' }), ['replaced 1 time\n', '\n', undefined]);
    for (const input of [
      { old: 'none', new: 'x' },
      { old: 'X', new: 'x' },
      { old: 'X', new: 'x', all: false },
    ]) {
      const one = writing(Buffer.from('aXbXc'));
      await assert.rejects(call('fs.replace', { path: 'x', ...input }, one), { code: 'EINVAL' });
      assert.deepEqual(one.written, []);
    }
  });

  it('replace so many places, and make a file no larger than they read', async () => {
    for (const [size, input, code] of [
      [toolReplacements, { new: 'b' }, undefined],
      [toolReplacements + 1, { new: 'b' }, 'EFBIG'],
      [toolReplacements + 1, { new: 'b', all: false }, 'EFBIG'],
      [64, { new: 'b'.repeat(toolReplacedBytes / 64) }, undefined],
      [64, { new: 'b'.repeat(toolReplacedBytes / 64 + 1) }, 'EFBIG'],
    ] as const) {
      const lengths: number[] = [];
      const write = async (_at: unknown, content: Buffer) => void lengths.push(content.length);
      const one = files(Buffer.alloc(size, 'a'), [], { write });
      const replaced = call('fs.replace', { path: 'x', old: 'a', all: true, ...input }, one);
      await (code === undefined ? replaced : assert.rejects(replaced, { code }));
      assert.deepEqual(lengths, code === undefined ? [size * input.new.length] : []);
    }
  });

  it('replace in files up to a limit', async () => {
    for (const [size, code] of [
      [toolReplacedBytes, undefined],
      [toolReplacedBytes + 1, 'EFBIG'],
    ] as const) {
      const one = writing(Buffer.alloc(size, 'a').fill('b', 0, 1));
      const replaced = call('fs.replace', { path: 'x', old: 'b', new: 'c' }, one);
      await (code === undefined ? replaced : assert.rejects(replaced, { code }));
      assert.equal(one.written.length, code === undefined ? 1 : 0);
    }
  });
});

describe('fs.search', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-search-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'a'), "one\nt.o\ntwo\nit's\n");

  /** With the machine's grep, or with what it is made to say. */
  async function search(input: object, said?: readonly (readonly ['stdout' | 'stderr', string])[], exitCode = 0) {
    const asked: BesideCommand[] = [];
    const run = async (command: BesideCommand) => {
      asked.push(command);
      const real = said === undefined ? spawnSync('sh', ['-c', command.text], { cwd: command.directory }) : undefined;
      if (real !== undefined) await command.onOutput('stdout', real.stdout);
      for (const [stream, text] of said ?? [])
        if (!command.signal.aborted) await command.onOutput(stream, Buffer.from(text));
      return { ...ended, exitCode: real?.status ?? exitCode };
    };
    const roots = [{ path: directory, source: directory }];
    return { ...(await call('fs.search', input, { run, roots, directory })), asked };
  }

  it('finds lines by an expression or a text, of whatever letters', async () => {
    assert.equal((await search({ pattern: 't.o' })).text, './a:2:t.o\n./a:3:two\n');
    assert.equal((await search({ pattern: 't.o', literal: true })).text, './a:2:t.o\n');
    assert.equal((await search({ pattern: "it's", path: 'a' })).text, "a:4:it's\n");
    assert.equal((await search({ pattern: '-n' })).text, '');
    const { asked } = await search({ pattern: 'x', path: directory });
    assert.deepEqual([asked[0]?.directory, asked[0]?.text.endsWith("-- '.'")], [directory, true]);
  });

  it('prints so many and no more, ends what looks for them then, and says so', async () => {
    for (const [limit, printed] of [
      [1, 'a\n'],
      [2, 'a\nb\n'],
      [3, 'a\nb\nc\n'],
    ] as const) {
      const found = await search({ pattern: 'x', limit }, [
        ['stdout', 'a\nb'],
        ['stdout', '\nc\nd\n'],
        ['stdout', 'e\n'],
      ]);
      assert.deepEqual(
        [found.text, found.errors.length, found.asked[0]?.signal.aborted],
        [printed, 1, true],
        String(limit),
      );
    }
    const under = await search({ pattern: 'x', limit: 4 }, [['stdout', 'a\nb\nc\n']]);
    assert.deepEqual([under.text, under.errors, under.asked[0]?.signal.aborted], ['a\nb\nc\n', [], false]);
    const many = await search({ pattern: 'x' }, [['stdout', 'l\n'.repeat(toolRows + 5)]]);
    assert.equal(many.text.length, 2 * toolRows);
  });

  it('fails as grep does, and not where nothing was found', async () => {
    assert.deepEqual((await search({ pattern: 'x' }, [], 1)).text, '');
    await assert.rejects(search({ pattern: 'x' }, [['stderr', 'bad expression\n']], 2), {
      code: 'EINVAL',
      reason: 'bad expression',
    });
    await assert.rejects(search({ pattern: 'x' }, [], 137), { code: 'EIO' });
    assert.deepEqual((await search({ pattern: 'x', limit: 1 }, [['stdout', 'a\n']], 2)).code, 0);
  });
});

describe('shell.exec', () => {
  it('runs the command where the caller is, says what it says, and how it ended', async () => {
    const asked: BesideCommand[] = [];
    const exec = (input: object, end: Partial<BesideEnd>) =>
      call('shell.exec', input, {
        run: async (command) => {
          asked.push(command);
          await command.onOutput('stdout', Buffer.from('out'));
          await command.onOutput('stderr', Buffer.from('err'));
          return { ...ended, ...end };
        },
      });
    assert.deepEqual(await exec({ cmd: 'make it' }, {}), { code: 0, text: 'out', errors: ['err'] });
    const [{ text, directory, timeoutMilliseconds } = assert.fail()] = asked;
    assert.deepEqual([text, directory, timeoutMilliseconds], ['make it', '/work/sub', undefined]);
    for (const [end, said] of [
      [{ exitCode: 3 }, 'exit code 3'],
      [{ exitCode: null, signal: 'SIGKILL' }, 'ended by SIGKILL'],
      [{ exitCode: null, signal: 'SIGKILL', timedOut: true }, 'timed out after 1.5 s'],
    ] as const) {
      const { code, errors } = await exec({ cmd: 'x', timeout: 1.5 }, end);
      assert.deepEqual([code, errors], [1, ['err', said]]);
    }
    assert.equal(asked.at(-1)?.timeoutMilliseconds, 1500);
  });
});

describe('tools of the fork', () => {
  it('remember what is to be done, with its name where it has one; without a fork they refuse', async () => {
    const works: ForkWork[] = [];
    const later = (work: ForkWork) => void works.push(work);
    for (const input of [{}, { name: 'n', checkpoint: 'c' }]) {
      for (const tool of ['fork.checkpoint', 'fork.rollback'])
        assert.match((await call(tool, input, { later })).text, /when the command has ended\n$/);
    }
    assert.deepEqual(works, [
      { kind: 'checkpoint', name: undefined },
      { kind: 'rollback', checkpoint: undefined },
      { kind: 'checkpoint', name: 'n' },
      { kind: 'rollback', checkpoint: 'c' },
    ]);
    for (const tool of ['fork.checkpoint', 'fork.rollback'])
      await assert.rejects(call(tool, {}, { later: undefined }), { code: 'ENOTSUP' });
  });

  it('show the changes of all, or of a path as it is in the fork', async () => {
    const asked: unknown[] = [];
    const diff = async (path: string | undefined, onText: (text: string) => void) => {
      asked.push(path);
      onText('+ ä\n');
    };
    const roots = [
      { path: '/work', source: '/work' },
      { path: '/mnt', source: '/second' },
    ];
    assert.equal((await call('fork.diff', {}, { diff, roots })).text, '+ ä\n');
    for (const path of ['x', '/mnt/x/y']) await call('fork.diff', { path }, { diff, roots });
    assert.deepEqual(asked, [undefined, '/work/sub/x', '/second/x/y']);
    await assert.rejects(call('fork.diff', { path: '/etc' }, { diff, roots }), { code: 'EACCES' });
  });
});

describe('agent.create', () => {
  it('makes a child within its caller’s reach, and shows nothing of where that is on the host', async () => {
    const made: unknown[] = [];
    const input = { name: 'kid', quota: {} };
    const createAgent = async (name: string, spec: object) => {
      made.push([name, spec]);
      return { directory: '/ctx/agent/kid.d' };
    };
    assert.equal((await call('agent.create', input, { createAgent })).text, 'made agent kid: /ctx/agent/kid.d\n');
    assert.deepEqual(made, [['kid', input]]);
    await assert.rejects(call('agent.create', input, { createAgent: undefined }), { code: 'ENOTSUP' });
    const { ErrnoError } = await import('../../base/errno.js');
    const facts = { operation: 'o', path: '/host/path', reason: 'r', remedy: 'm', cause: 'c' };
    const fails = (error: Error) => call('agent.create', input, { createAgent: () => Promise.reject(error) });
    await assert.rejects(fails(new ErrnoError('EACCES', facts)), { ...facts, code: 'EACCES', path: undefined });
    await assert.rejects(fails(new TypeError('defect')), { message: 'defect' });
  });
});
