/** What is known by its name in a repository: refs, parts, and what becomes of a change by both. Whole tables of each. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { change } from '../tree/change-fixture.js';
import { isPlainDirectory, operationOf, type Part, partOf } from './git-parts.js';
import { placesBy } from './git-places.js';
import {
  isComingRef,
  isReflog,
  isRefName,
  mergePackedRefs,
  objectId,
  parsePackedRefs,
  symbolicTarget,
} from './git-refs.js';
import { judgeAll } from './git-verdicts.js';

const [a, b, c] = ['a', 'b', 'c'].map((digit) => digit.repeat(40)) as [string, string, string];
const long = 'd'.repeat(64);

describe('names of refs', () => {
  it('are those that git takes, of branches, tags, remotes and the stash alone', () => {
    const good = [
      'refs/heads/a',
      'refs/tags/a',
      'refs/remotes/a',
      'refs/stash',
      'refs/heads/a-b_c.d/e{',
      'refs/heads/@',
      'refs/heads/\xe4',
    ];
    for (const name of good) assert.ok(isComingRef(name), name);
    for (const character of [...'\x00\x01\x1f \x7f~^:?*[\\'])
      for (const name of [`refs/heads/a${character}b`, `refs/heads/${character}`])
        assert.ok(!isRefName(name), JSON.stringify(name));
    for (const end of ['a..b', '.a', 'a/.b', 'a.', 'a/', 'a//b', 'a.lock', 'a.LOCK', 'a.lock/b', 'a@{b', '']) {
      assert.ok(!isComingRef(`refs/heads/${end}`), end);
    }
    assert.ok(!isRefName('@') && isRefName('refs/notes/x'));
    for (const name of [
      'refs/notes/x',
      'refs/replace/x',
      'refs/stash/x',
      'refs/heads',
      'refs/x',
      'xrefs/heads/a',
      'HEAD',
      'refs/bisect/x',
    ]) {
      assert.ok(!isComingRef(name), name);
    }
  });

  it('are led to by one line, and objects are named by all of theirs', () => {
    const texts: readonly (readonly [string, string | undefined, string | undefined])[] = [
      [a, a, undefined],
      [`${a}\n`, a, undefined],
      [`${a}\n\n`, undefined, undefined],
      [`x${a}`, undefined, undefined],
      ['e'.repeat(41), undefined, undefined],
      [long, long, undefined],
      ['ref: refs/heads/x', undefined, 'refs/heads/x'],
      ['ref: refs/heads/x\n', undefined, 'refs/heads/x'],
      ['ref: refs/heads/x\ny', undefined, undefined],
      ['ref: a b', undefined, undefined],
      [' ref: refs/heads/x', undefined, undefined],
    ];
    for (const [text, id, target] of texts)
      assert.deepEqual([objectId(text), symbolicTarget(text)], [id, target], text);
  });

  it('are packed a line each, and merged by name', () => {
    assert.deepEqual(parsePackedRefs(''), new Map());
    assert.deepEqual(parsePackedRefs(`# x\n${a} refs/x\n^${b}\n`), new Map([['refs/x', a]]));
    for (const bad of [
      `${a} refs/x`,
      `${a}  refs/x\n`,
      `${a.slice(1)} refs/x\n`,
      `${a}a refs/x\n`,
      `^${b}x\n`,
      '\n',
      `${a} refs/x\n${b} refs/x\n`,
      ` ${a} refs/x\n`,
    ]) {
      assert.equal(parsePackedRefs(bad), undefined, bad);
    }
    const merged = mergePackedRefs(
      new Map([
        ['refs/heads/a', a],
        ['refs/notes/n', a],
        ['refs/heads/c', c],
      ]),
      new Map([
        ['refs/heads/b', b],
        ['refs/heads/a', a],
        ['refs/notes/n', a],
        ['refs/notes/o', b],
      ]),
    );
    assert.deepEqual(merged, {
      text: `# pack-refs with: sorted \n${a} refs/heads/a\n${b} refs/heads/b\n${a} refs/notes/n\n`,
      leftOut: ['refs/notes/o'],
      ids: [['refs/heads/b', b]],
    });
  });

  it('have logs of lines as git writes them', () => {
    const line = `${a} ${b} A B <a@b> 1700000000 +0100`;
    for (const text of ['', `${line}\n`, `${line}\tcommit: x\n`, `${line}\n${line}\n`, `${a} ${long} <> 1 -0000\n`])
      assert.ok(isReflog(text), text);
    for (const text of [
      line,
      '\n',
      `${line}\n\n`,
      `${line} x\n`,
      `${line}\nx\n`,
      `x${line}\n`,
      `${a} ${b} A <a@b> x +0100\n`,
      `${a} ${b} A <a<b> 1 +0100\n`,
      `${a} ${b} A <a> 1 0100\n`,
      `${a} ${b} A <a> 1 +100\n`,
    ]) {
      assert.ok(!isReflog(text), text);
    }
  });
});

describe('names in a repository', () => {
  it('are each one part, and everything else is none', () => {
    const id = `ab/${'c'.repeat(38)}`;
    const parts: Readonly<Record<Part, readonly string[]>> = {
      head: ['HEAD'],
      ref: ['refs/heads/objects/x'],
      'packed refs': ['packed-refs'],
      reflog: ['logs/HEAD', 'logs/refs/stash', 'logs/refs/tags/x'],
      index: ['index'],
      configuration: ['config'],
      message: ['COMMIT_EDITMSG', 'MERGE_MSG', 'SQUASH_MSG'],
      'pseudo ref': ['ORIG_HEAD', 'AUTO_MERGE'],
      'loose object': [`objects/${id}`, `objects/ab/${'c'.repeat(62)}`],
      pack: ['objects/pack/pack-ab.pack'],
      derived: [
        ...[
          'FETCH_HEAD',
          'gc.log',
          'gc.pid',
          'info/refs',
          'objects/info/packs',
          'objects/info/commit-graph',
          'objects/info/commit-graphs/x',
        ],
        ...['idx', 'rev', 'bitmap', 'keep', 'mtimes'].map((end) => `objects/pack/pack-ab.${end}`),
        ...[
          'objects/pack/tmp_x',
          'objects/pack/multi-pack-index',
          'objects/pack/multi-pack-index-ab.bitmap',
          'objects/ab/tmp_obj_x',
        ],
      ],
      state: [
        ...[
          'MERGE_HEAD',
          'MERGE_MODE',
          'CHERRY_PICK_HEAD',
          'REVERT_HEAD',
          'MERGE_RR',
          'BISECT_LOG',
          'BISECT_ANCESTORS_OK',
        ],
        ...['rebase-merge', 'rebase-merge/x', 'rebase-apply/x', 'sequencer', 'sequencer/todo'],
      ],
      exclude: ['info/exclude'],
      description: ['description'],
      sample: ['hooks/pre-commit.sample'],
      shallow: ['shallow'],
      other: [
        ...[
          '',
          'head',
          'HEAD/x',
          'constructor',
          'config.worktree',
          'hooks/x',
          'hooks/a/b.sample',
          'logs/x',
          'logs/refs/notes/x',
          'refs/notes/x',
        ],
        ...[
          `objects/${id}x`,
          `objects/${id.slice(0, -1)}`,
          `objects/zz/${'c'.repeat(38)}`,
          'objects/pack/pack-zz.pack',
          'objects/pack/x.pack',
        ],
        ...[
          'objects/pack/pack-ab.promisor',
          'objects/info/alternates',
          'objects/info/commit-graphs/a/b',
          'xsequencer',
          'sequencerx',
          'BISECT_x',
          'info/attributes',
        ],
      ],
    };
    for (const [part, names] of Object.entries(parts)) for (const name of names) assert.equal(partOf(name), part, name);
    assert.deepEqual(['BISECT_LOG', 'BISECT_START', 'rebase-merge/a/b', 'MERGE_HEAD'].map(operationOf), [
      'BISECT',
      'BISECT',
      'rebase-merge',
      'MERGE_HEAD',
    ]);
  });

  it('are of directories that do nothing by being there, and of those that git makes with a new one', () => {
    const always = [
      'refs',
      'refs/heads',
      'refs/heads/a/b',
      'refs/tags',
      'refs/remotes/o',
      'logs',
      'logs/refs',
      'logs/refs/heads/a',
      'objects',
      'objects/ab',
      'objects/pack',
      'objects/info',
      'objects/info/commit-graphs',
    ];
    for (const name of always)
      assert.deepEqual([isPlainDirectory(name, false), isPlainDirectory(name, true)], [true, true], name);
    for (const name of ['', 'branches', 'hooks', 'info'])
      assert.deepEqual([isPlainDirectory(name, false), isPlainDirectory(name, true)], [false, true], name);
    for (const name of [
      'refs/notes',
      'logs/x',
      'objects/abc',
      'objects/AB',
      'objects/info/x',
      'modules',
      'hooks/x',
      'xobjects',
    ])
      assert.equal(isPlainDirectory(name, true), false, name);
  });

  it('are judged by what the whole change does to them', () => {
    const at = (isEstablished: boolean, kind: 'repository' | 'worktree' = 'repository') => ({
      kind,
      directory: '/r/.git',
      common: '/r/.git',
      isEstablished,
    });
    const of = (
      names: readonly (readonly [string, Parameters<typeof change>[1]])[],
      place = at(true),
      left: readonly string[] = [],
    ) =>
      judgeAll(
        names.map(([name, more]) => ({ change: change(`.git/${name}`, more), place, name })),
        (ref) => left.includes(ref),
      ).map(({ is }) => is);
    const deleted = { kind: 'deleted' } as const;
    const directory = { type: 'directory' } as const;
    const gone = { ...deleted, ...directory } as const;
    const mode = { kind: 'modified', content: false } as const;
    // The log of a branch that stays is kept; that of HEAD always.
    assert.deepEqual(
      of(
        [
          ['logs/refs/heads/a', deleted],
          ['logs/refs/heads/b', deleted],
          ['logs/HEAD', deleted],
        ],
        at(true),
        ['refs/heads/a'],
      ),
      ['sensitive', 'passed', 'sensitive'],
    );
    // Of an operation all goes, or nothing.
    assert.deepEqual(
      of([
        ['rebase-merge', gone],
        ['rebase-merge/todo', deleted],
      ]),
      ['passed', 'passed'],
    );
    assert.deepEqual(of([['rebase-merge/todo', deleted]]), ['sensitive']);
    assert.deepEqual(of([['MERGE_HEAD', deleted]]), ['passed']);
    assert.deepEqual(
      of([
        ['BISECT_LOG', deleted],
        ['BISECT_START', {}],
      ]),
      ['sensitive', 'sensitive'],
    );
    assert.deepEqual(
      of([
        ['rebase-merge', gone],
        ['rebase-merge/todo', {}],
      ]),
      ['passed', 'sensitive'],
    );
    // Directories that go, or change their mode.
    assert.deepEqual(
      of([
        ['objects/ab', gone],
        ['refs/heads/a', gone],
        ['logs/refs/tags/a', gone],
        ['refs/heads', gone],
        ['refs', gone],
        ['hooks', gone],
      ]),
      ['dropped', 'passed', 'passed', 'sensitive', 'sensitive', 'sensitive'],
    );
    assert.deepEqual(
      of([
        ['', { ...directory, ...mode }],
        ['objects', { ...directory, ...mode }],
        ['hooks', { ...directory, ...mode }],
      ]),
      ['dropped', 'dropped', 'sensitive'],
    );
    // Of a file only the mode.
    assert.deepEqual(
      of([
        ['HEAD', mode],
        ['config', mode],
        ['refs/heads/a', mode],
        ['hooks/x', mode],
      ]),
      ['dropped', 'sensitive', 'dropped', 'sensitive'],
    );
    // A working tree's own directory has fewer files that git knows.
    for (const name of ['HEAD', 'index', 'logs/HEAD', 'COMMIT_EDITMSG', 'ORIG_HEAD'])
      assert.deepEqual(of([[name, {}]], at(true, 'worktree')), ['read'], name);
    for (const name of ['config', 'refs/heads/a', 'packed-refs', 'shallow', 'description', 'info/exclude', 'gitdir'])
      assert.deepEqual(of([[name, {}]], at(false, 'worktree')), ['sensitive'], name);
    for (const name of ['description', 'shallow'])
      assert.deepEqual([of([[name, {}]])[0], of([[name, {}]], at(false))[0]], ['sensitive', 'read'], name);
    assert.deepEqual(
      of(
        [
          ['', gone],
          ['HEAD', deleted],
        ],
        at(false),
      ),
      ['sensitive', 'sensitive'],
    );
    assert.deepEqual(
      of([
        ['', { kind: 'modified', type: 'file' }],
        ['HEAD', {}],
      ]),
      ['sensitive', 'sensitive'],
    );
    assert.deepEqual(
      of(
        [
          ['', { kind: 'modified', ...directory, content: true }],
          ['HEAD', {}],
        ],
        at(true),
      ).at(-1),
      'read',
    );
  });

  it('are read up to a size of their own', () => {
    const of = (name: string, size: number, isEstablished = true) =>
      judgeAll(
        [
          {
            change: change(`.git/${name}`, { size }),
            place: { kind: 'repository', directory: '/r/.git', common: '/r/.git', isEstablished },
            name,
          },
        ],
        () => false,
      )[0]?.is;
    const sizes: readonly (readonly [string, number])[] = [
      ['HEAD', 2 ** 20],
      ['config', 2 ** 20],
      ['refs/heads/a', 2 ** 20],
      ['description', 4096],
    ];
    for (const [name, size] of sizes)
      assert.deepEqual([of(name, size, false), of(name, size + 1, false)], ['read', 'sensitive'], name);
    for (const name of ['index', 'packed-refs', 'logs/HEAD'])
      assert.deepEqual([of(name, 2 ** 20 + 1), of(name, 2 ** 40)], ['read', 'sensitive'], name);
    for (const name of [`objects/ab/${'c'.repeat(38)}`, 'objects/pack/pack-ab.pack'])
      assert.equal(of(name, 2 ** 40), 'read', name);
  });
});

it('a path belongs to the innermost repository that it is in the own directory of, and to no directory that looks like one there', () => {
  const shape = (directory: string) => ['HEAD', 'objects', 'refs'].map((name) => `${directory}/${name}`);
  const there = new Set([
    ...[
      '/w/.git',
      '/w/.git/modules/sub',
      '/w/.git/refs/heads/x',
      '/w/.git/modules',
      '/w/bare',
      '/w/bare/inner/.git',
    ].flatMap(shape),
    ...[
      '/w/.git/worktrees/a/commondir',
      '/w/.git/worktrees/a/HEAD',
      '/w/.git/worktrees/new/commondir',
      '/w/plain/HEAD',
    ],
    '/w/.git/refs/worktrees/b/commondir',
  ]);
  const placeOf = placesBy((path) => there.has(path));
  const rows: readonly (readonly [
    path: string,
    directory?: string,
    common?: string,
    kind?: string,
    isEstablished?: boolean,
  ])[] = [
    ['/w/file'],
    ['/w/.git'],
    ['/w/plain/x'],
    ['/w/worktrees/a/HEAD'],
    ['/w/.git/config', '/w/.git', '/w/.git', 'repository', true],
    ['/w/.git/refs/heads/x/HEAD', '/w/.git', '/w/.git', 'repository', true],
    ['/w/.git/modules/sub/config', '/w/.git/modules/sub', '/w/.git/modules/sub', 'repository', true],
    ['/w/.git/modules/none/config', '/w/.git', '/w/.git', 'repository', true],
    ['/w/.git/modules/x', '/w/.git', '/w/.git', 'repository', true],
    ['/w/.git/worktrees/a/index', '/w/.git/worktrees/a', '/w/.git', 'worktree', true],
    ['/w/.git/worktrees/new/index', '/w/.git/worktrees/new', '/w/.git', 'worktree', false],
    ['/w/.git/worktrees/none/index', '/w/.git', '/w/.git', 'repository', true],
    ['/w/.git/refs/worktrees/b/x', '/w/.git', '/w/.git', 'repository', true],
    ['/w/new/.git/hooks/x', '/w/new/.git', '/w/new/.git', 'repository', false],
    ['/w/new/.GIT/hooks/x', '/w/new/.GIT', '/w/new/.GIT', 'repository', false],
    ['/w/new/x.git/hooks/x'],
    ['/w/bare/hooks/x', '/w/bare', '/w/bare', 'repository', true],
    ['/w/bare/inner/.git/config', '/w/bare/inner/.git', '/w/bare/inner/.git', 'repository', true],
    ['/file'],
  ];
  // Twice, since answers are kept by directory.
  for (const [path, directory, common, kind, isEstablished] of [...rows, ...rows]) {
    assert.deepEqual(
      placeOf(path),
      directory === undefined ? undefined : { kind, directory, common, isEstablished },
      path,
    );
  }
});
