import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toolLineCharacters, toolRows, toolTextCharacters } from '../base/limits/commands.js';
import { fileTools } from './file-tools.js';
import { ToolInput } from './input.js';
import type { Context } from './tool.js';

/** What a tool answers where the workspace answers with this. */
async function answer(name: string, given: Readonly<Record<string, unknown>>, found: unknown) {
  const tool = fileTools.find((each) => each.name === name);
  assert.ok(tool);
  const workspace = new Proxy({}, { get: () => async () => found });
  const { text, facts } = await tool.run(new ToolInput(name, tool.input, given), { workspace } as unknown as Context);
  return { text, facts: facts ?? {} };
}

const read = async (content: string | Buffer, given: Readonly<Record<string, unknown>> = {}) =>
  (await answer('read_file', { path: 'f', ...given }, Buffer.from(content))).text;

describe('read_file', () => {
  it('gives a file as it is, with nothing added', async () => {
    for (const content of ['', 'one', 'one\n', 'one\n\ntwo\r\n', '\u00e4\u{1f600}\n', '\ufeffwith a mark\n']) {
      assert.equal(await read(content), content);
    }
  });

  it('gives as many lines as were asked for, from any of them', async () => {
    const lines = Array.from({ length: 9 }, (_, at) => `line ${at + 1}`);
    for (let offset = 1; offset <= lines.length; offset += 1) {
      for (const limit of [1, 2, 5, 9, 20]) {
        const [shown = ''] = (await read(lines.join('\n'), { offset, limit })).split('\n[');
        assert.equal(shown, lines.slice(offset - 1, offset - 1 + limit).join('\n'), `${limit} from ${offset}`);
      }
    }
  });

  it('says how many lines there are where none is asked for', async () => {
    assert.equal(await read('one\ntwo', { offset: 3 }), '[the file has 2 lines: none from 3 on]');
    assert.equal(await read('', { offset: 9 }), '[the file has 1 line: none from 9 on]');
  });

  it('says so where a line is cut, on both sides of the limit, and where it is', async () => {
    for (const length of [toolTextCharacters - 1, toolTextCharacters, toolTextCharacters + 1, 3 * toolTextCharacters]) {
      const isCut = length > toolTextCharacters;
      for (const [content, from] of [
        ['x'.repeat(length), 1],
        [`first\n${'x'.repeat(length)}\nlast`, 2],
      ] as const) {
        const text = await read(content, { offset: from, limit: 1 });
        assert.equal(/line \d+ is cut off/.test(text), isCut, `${length} in line ${from}`);
        if (isCut)
          assert.ok(text.includes(`[line ${from} is cut off: ${toolTextCharacters} of its ${length} characters`));
      }
    }
  });

  it('says so where bytes are no text, and refuses what is binary', async () => {
    for (const bytes of [[0x66, 0xe4, 0x6e], [0xff], [0xc3], [0xed, 0xa0, 0x80]]) {
      assert.match(await read(Buffer.from(bytes)), /\[the file is not UTF-8: /);
    }
    await assert.rejects(read('a\0b'), { code: 'EINVAL' });
  });

  it('gives long files in parts that are the whole again', async () => {
    const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at} ${'x'.repeat(at % 60)}`);
    const found: string[] = [];
    let offset = 1;
    for (let parts = 0; parts < 100; parts++) {
      const text = await read(lines.join('\n'), { offset });
      const [, shown = '', note = ''] = /^(.*)\n(\[lines [^\n]*\])$/s.exec(text) ?? [];
      found.push(...shown.split('\n'));
      assert.ok(shown.length <= toolTextCharacters, `${shown.length}`);
      const next = /continue with offset (\d+)\]$/.exec(note)?.[1];
      if (next === undefined) break;
      offset = Number(next);
    }
    assert.deepEqual(found, lines);
  });
});

describe('every tool of files', () => {
  const asked = async (name: string, given: Readonly<Record<string, unknown>>, found: unknown) => {
    const tool = fileTools.find((each) => each.name === name);
    assert.ok(tool);
    const calls: unknown[] = [];
    const workspace = new Proxy(
      {},
      {
        get:
          (_, method) =>
          async (...words: readonly unknown[]) => {
            calls.push([method, ...words]);
            return found;
          },
      },
    );
    const { signal } = new AbortController();
    const context = { workspace, signal } as unknown as Context;
    const { text, facts } = await tool.run(new ToolInput(name, tool.input, given), context);
    return { call: calls[0], text, facts, signal };
  };

  it('asks for exactly what it was given, and can be cancelled', async () => {
    const search = { path: undefined, include: undefined, ignoreCase: false, literal: false };
    const rows: readonly (readonly [string, object, unknown, readonly unknown[]])[] = [
      ['read_file', { path: 'f' }, Buffer.from('x'), ['read', 'f', {}]],
      ['write_file', { path: 'f', content: 'ä' }, { pending: 1 }, ['write', 'f', 'ä', {}]],
      [
        'edit_file',
        { path: 'f', old_text: 'a', new_text: 'b' },
        { count: 1 },
        ['edit', 'f', { before: 'a', after: 'b', all: false }, {}],
      ],
      [
        'edit_file',
        { path: 'f', old_text: 'a', new_text: '', all: true },
        { count: 2 },
        ['edit', 'f', { before: 'a', after: '', all: true }, {}],
      ],
      ['list', {}, { entries: [], truncated: false }, ['list', undefined, { depth: undefined }]],
      ['list', { path: 'd', depth: 3 }, { entries: [], truncated: false }, ['list', 'd', { depth: 3 }]],
      ['search', { pattern: 'p' }, { matches: [], truncated: false }, ['search', 'p', search]],
      [
        'search',
        { pattern: 'p', path: 'd', include: '*.ts', ignore_case: true, literal: true },
        { matches: [], truncated: false },
        ['search', 'p', { path: 'd', include: '*.ts', ignoreCase: true, literal: true }],
      ],
    ];
    for (const [name, given, found, call] of rows) {
      const answer = await asked(name, given as Readonly<Record<string, unknown>>, found);
      const options = call.at(-1) as object;
      assert.deepEqual(answer.call, [...call.slice(0, -1), { ...options, signal: answer.signal }], name);
    }
  });

  it('says what it did', async () => {
    const wrote = await asked('write_file', { path: 'f', content: 'ä' }, { pending: 1 });
    assert.deepEqual(
      [wrote.text, wrote.facts],
      ['wrote 2 bytes; 1 change pending in the fork', { bytes: 2, pending: 1 }],
    );
    const edited = await asked('edit_file', { path: 'f', old_text: 'a', new_text: 'b' }, { count: 2 });
    assert.deepEqual([edited.text, edited.facts], ['replaced 2 times', { count: 2 }]);
    const entries = [
      { path: 'd', type: 'directory', size: 9 },
      { path: 'l', type: 'symlink', size: 3, target: 'far' },
      { path: 'f', type: 'file', size: 1 },
      { path: 'o', type: 'other', size: 0 },
      { path: 'n\nd/', type: 'symlink', size: 0, target: '\udcff' },
    ];
    const listed = await asked('list', {}, { entries, truncated: false });
    assert.deepEqual(listed.text.split('\n'), ['d/', 'l -> far', 'f  1 byte', 'o  0 bytes', '"n\\nd/" -> "\\udcff"']);
    assert.deepEqual(listed.facts, { entries, truncated: false });
    const some = await asked('list', { limit: 2 }, { entries, truncated: false });
    assert.deepEqual(some.facts, { entries: entries.slice(0, 2), truncated: true });
    const none = { entries: [], matches: [], truncated: false };
    assert.equal((await asked('list', {}, none)).text, '[empty]');
    assert.equal((await asked('search', { pattern: 'x' }, none)).text, '[nothing matches]');
    const places = ['f', 'a\udcff', 'n\nf:1:y'].map((path) => ({ path, line: 3, text: 'x' }));
    const found = await asked('search', { pattern: 'x' }, { matches: places, truncated: false });
    assert.deepEqual(found.text.split('\n'), ['f:3:x', '"a\\udcff":3:x', '"n\\nf:1:y":3:x']);
  });
});

describe('list and search', () => {
  const entries = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ path: `f${at}`, type: 'file', size: at, mode: 0o644 }));
  const matches = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ path: 'f', line: at + 1, text: 'x'.repeat(toolLineCharacters + 1) }));

  it('say that there is more exactly where there is', async () => {
    for (const count of [0, 1, toolRows - 1, toolRows, toolRows + 1]) {
      for (const truncated of [false, true]) {
        const isMore = truncated || count > toolRows;
        const list = await answer('list', {}, { entries: entries(count), truncated });
        const search = await answer('search', { pattern: 'x' }, { matches: matches(count), truncated });
        for (const { text, facts } of [list, search]) {
          assert.deepEqual([facts['truncated'], /\[there (?:is|are) more: /.test(text)], [isMore, isMore], `${count}`);
        }
      }
    }
  });

  it('show as much of a line as its limit, and as many as were asked for', async () => {
    const { facts } = await answer('search', { pattern: 'x', limit: 3 }, { matches: matches(4), truncated: false });
    const shown = facts['matches'] as readonly { readonly text: string }[];
    assert.deepEqual(
      shown.map(({ text }) => text.length),
      [toolLineCharacters, toolLineCharacters, toolLineCharacters],
    );
    assert.equal(facts['truncated'], true);
  });
});
