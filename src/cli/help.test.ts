import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { ErrnoError } from '../base/errno.js';
import { version } from '../base/version.js';
import { refuseVerb } from './find-verb.js';
import { overview, usage } from './help.js';
import { manualPage, markdownReference } from './reference.js';
import { everyday, verbGroups } from './verb-groups.js';
import { verbs } from './verbs.js';

it('an option before its verb is told where it belongs', () => {
  const remedy = (...words: string[]) => {
    try {
      return refuseVerb(verbs, words);
    } catch (error) {
      return (error as ErrnoError).remedy;
    }
  };
  assert.match(remedy('--json', 'fork', 'list') ?? '', /^options come after the verb: ctx fork list --json; /);
  for (const words of [['--json'], ['--json', 'nosuch']]) assert.doesNotMatch(remedy(...words) ?? '', /after the verb/);
});

describe('help', () => {
  it('shows the version, the eight verbs of every day first, and every other by what it is about', () => {
    const text = overview(verbs, '1.2.3');
    assert.match(text, /^ctx 1\.2\.3: /);
    for (const { name, summary } of verbs) {
      const [noun, own] = name.split(' ');
      const line = own === undefined ? escaped(summary) : `(?:.*, )?${own}(?:, .*)?`;
      assert.match(text, new RegExp(`^  ${noun} +${line}$`, 'm'));
    }
    const [first, ...rest] = verbGroups(verbs);
    assert.deepEqual(
      first?.verbs.map(({ name }) => name),
      everyday,
    );
    assert.deepEqual(
      rest.filter(({ title }) => title === 'more'),
      [],
      'each verb has its group',
    );
    const grouped = verbGroups(verbs).flatMap((group) => group.verbs);
    assert.deepEqual([grouped.length, new Set(grouped).size], [verbs.length, verbs.length]);
  });

  it('is, as a reference and a manual page, what docs has; CTX_WRITE_VECTORS=1 writes it', () => {
    for (const [name, text] of [
      ['cli.md', markdownReference(verbs)],
      ['ctx.1', manualPage(verbs, version)],
    ] as const) {
      const file = new URL(`../../../../docs/${name}`, import.meta.url);
      if (process.env['CTX_WRITE_VECTORS'] === '1') writeFileSync(file, text);
      assert.ok(
        readFileSync(file, 'utf8') === text,
        `docs/${name} is out of date: CTX_WRITE_VECTORS=1 npm test -- cli/help`,
      );
    }
  });

  it('shows every option of a verb with its value and summary, its operands, details and examples', () => {
    for (const verb of verbs) {
      const text = usage(verb);
      for (const { name, value, summary } of verb.options) {
        const option = value === undefined ? `--${name}` : `--${name} ${value}`;
        assert.match(text, new RegExp(`^  ${escaped(option)} +${escaped(summary)}$`, 'm'));
      }
      assert.match(text, /^ {2}--help +show this$/m);
      assert.ok(text.includes(`usage: ctx ${verb.name} [OPTION...]`));
      for (const part of [verb.operands ?? '', ...(verb.details ?? []), ...verb.examples])
        assert.ok(text.includes(part));
      assert.ok(text.endsWith('\n') && !text.endsWith('\n\n'));
    }
  });

  it('fits a terminal, and has no spaces at the ends of lines', () => {
    for (const text of [overview(verbs, '0.1.0'), ...verbs.map(usage)]) {
      for (const line of text.split('\n')) {
        assert.ok(line.length <= 120, line);
        assert.equal(line, line.trimEnd());
      }
    }
  });
});

describe('the table of verbs', () => {
  it('has --json on every verb, and no name twice', () => {
    for (const { name, options } of verbs) {
      assert.ok(
        options.some((option) => option.name === 'json'),
        name,
      );
      assert.equal(new Set(options.map((option) => option.name)).size, options.length);
    }
    assert.equal(new Set(verbs.map(({ name }) => name)).size, verbs.length);
  });

  it('loads something to run for every verb', async () => {
    const call = { words: [], command: [], flag: () => false, value: () => undefined, values: () => [] };
    for (const verb of verbs) assert.equal(typeof (await verb.load(call)), 'function', verb.name);
  });

  it('gives only examples of verbs and options that there are', () => {
    for (const verb of verbs) {
      for (const example of verb.examples) {
        const [, rest] = new RegExp(`ctx ${verb.name}\\b(.*)$`).exec(example) ?? [];
        assert.ok(rest !== undefined, example);
        const own = rest.split(' -- ')[0] ?? '';
        for (const [, option] of own.matchAll(/--([a-z-]+)/g)) {
          assert.ok(
            verb.options.some((known) => known.name === option),
            example,
          );
        }
      }
    }
  });
});

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
