import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Change, TreeContent } from '../tree/tree.js';
import type { TextChange } from './changes.js';
import { diffText } from './diff-text.js';

const plain = { paint: (_colour: string, text: string) => text, escaped: false };
const terminal = { ...plain, escaped: true };

function content(type: TreeContent['type'], bytes: string | Buffer = '', more: Partial<TreeContent> = {}): TreeContent {
  const given = Buffer.from(bytes);
  return { type, mode: type === 'missing' ? 0 : 0o644, size: given.length, digest: '', bytes: given, ...more };
}
const nothing = content('missing');

function change(path: string, before: TreeContent, after: TreeContent, more: Partial<Change> = {}): TextChange {
  const there = after.type === 'missing' ? before : after;
  const kind = before.type === 'missing' ? 'added' : after.type === 'missing' ? 'deleted' : 'modified';
  const type = there.type === 'missing' ? 'file' : there.type;
  const { mode, size } = there;
  return { change: { kind, type, mode, size, content: true, stamp: '', path, ...more }, before, after };
}

describe('the diff of a change', () => {
  it('shows bytes that are no UTF-8, exactly in a pipe and escaped on a terminal', () => {
    const text = change(
      'a',
      content('file', Buffer.from('caf\xe9\n', 'latin1')),
      content('file', Buffer.from('caf\xe8\n', 'latin1')),
    );
    assert.match(diffText(text, plain), /\n-caf\udce9\n\+caf\udce8\n$/);
    assert.match(diffText(text, terminal), /\n-caf\\xe9\n\+caf\\xe8\n$/);
  });

  it('says sizes and digests of what is binary, or too large', () => {
    const [old, now] = [Buffer.from('a\0b'), Buffer.from('a\0c\n')];
    const [one, two] = ['a'.repeat(64), 'b'.repeat(64)];
    assert.equal(
      diffText(change('x', content('file', old, { digest: one }), content('file', now, { digest: two })), plain),
      `diff --git a/x b/x\nindex 0000000..0000000 100644\nBinary files a/x and b/x differ\n  3 bytes, BLAKE3 ${one} -> 4 bytes, BLAKE3 ${two}\n`,
    );
    const large = content('file', 'abc', { size: 5_000_000, digest: 'd'.repeat(64) });
    assert.match(
      diffText(change('x', content('file', 'x'), large), plain),
      /too large to be compared here \(--full\): 1 bytes, BLAKE3 not computed -> 5000000 bytes, BLAKE3 d{64}\n$/,
    );
    // However much of it is the same: what lies behind what was read is not shown as nothing.
    assert.match(
      diffText(change('x', large, { ...large, size: 5_000_001 }), plain),
      /5000000 bytes.* -> 5000001 bytes/,
    );
  });

  it('is refused by git apply for what it does not hold, and taken for the rest', () => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-diff-text-'));
    const text = [
      change('bytes', nothing, content('file', 'a\0b')),
      change('large', content('file', 'x'), content('file', 'abc', { size: 5_000_000 })),
      change('text', nothing, content('file', 'x\n')),
    ].map((each) => diffText(each, plain));
    const apply = (...words: readonly string[]) =>
      spawnSync('git', ['apply', ...words], { cwd: directory, input: text.join(''), encoding: 'utf8' });
    writeFileSync(join(directory, 'large'), 'x');
    const { status, stderr } = apply();
    assert.notEqual(status, 0);
    assert.match(stderr, /cannot apply binary patch to 'bytes'/);
    assert.equal(apply('--exclude=bytes').status, 1);
    assert.equal(apply('--exclude=bytes', '--exclude=large').status, 0);
    assert.deepEqual(readdirSync(directory), ['large', 'text']);
    rmSync(directory, { recursive: true });
  });

  it('has a line for everything that git does not know', () => {
    const directory = content('directory', '', { mode: 0o755 });
    const cases: readonly (readonly [TextChange, string])[] = [
      [change('d', nothing, directory), 'Directory d: added, mode 755\n'],
      [change('d', directory, nothing), 'Directory d: deleted\n'],
      [change('d', directory, { ...directory, mode: 0o700 }, { content: false }), 'Directory d: mode 755 -> 700\n'],
      [change('p', nothing, content('fifo')), 'Fifo p: added, mode 644\n'],
      [change('s', nothing, content('socket')), 'Socket s: added, mode 644\n'],
      [
        change('f', content('file', 'x'), content('file', 'x'), { content: false }),
        'f: owner or special mode bits changed (mode 644)\n',
      ],
    ];
    for (const [text, said] of cases) assert.equal(diffText(text, plain), said);
  });

  it('shows a mode as git does, also with other content', () => {
    const [old, now] = [content('file', 'a\n'), content('file', 'b\n', { mode: 0o755 })];
    const modes = 'diff --git a/r b/r\nold mode 100644\nnew mode 100755\n';
    assert.equal(diffText(change('r', old, { ...old, mode: 0o755 }, { content: false }), plain), modes);
    assert.equal(diffText(change('r', old, now), plain), `${modes}--- a/r\n+++ b/r\n@@ -1,1 +1,1 @@\n-a\n+b\n`);
  });

  it('shows that something of another kind took the place, what was there included', () => {
    const text = diffText(change('a', content('file', 'secret\n'), content('fifo')), plain);
    assert.match(text, /^diff --git a\/a b\/a\ndeleted file mode 100644\n[\s\S]*\n-secret\nFifo a: added, mode 644\n$/);
    const link = diffText(change('a', content('file', 'x\n'), content('symlink', '/etc/passwd')), plain);
    assert.match(link, /-x\ndiff --git a\/a b\/a\nnew file mode 120000\n[\s\S]*\+\/etc\/passwd\n\\ No newline/);
  });

  it('quotes a name that a person could not trust as git does', () => {
    const text = diffText(change('exe\u202egpj"\n', nothing, content('file', 'x\n')), plain);
    assert.match(text, /^diff --git "a\/exe\\342\\200\\256gpj\\"\\n" "b\/exe\\342\\200\\256gpj\\"\\n"\n/);
    assert.doesNotMatch(text, /\u202e/);
    assert.match(diffText(change('größe', nothing, content('file', 'x\n')), plain), /^diff --git a\/größe b\/größe\n/);
  });
});

it('a path of another directory is named in full, and one that a line could not hold as git quotes it', () => {
  const named = (path: string) => diffText(change(path, nothing, content('file', 'x\n')), plain).split('\n')[0];
  const rows: readonly (readonly [string, string])[] = [
    ['a', 'diff --git a/a b/a'],
    ['d/', 'diff --git a/d/ b/d/'],
    ['/more/x', 'diff --git a/more/x b/more/x'],
    ['a b', 'diff --git a/a b b/a b'],
    ['a"b', 'diff --git "a/a\\"b" "b/a\\"b"'],
    ['a\nb\t\r\\', 'diff --git "a/a\\nb\\t\\r\\\\" "b/a\\nb\\t\\r\\\\"'],
    ['a\x1b\x7f', 'diff --git "a/a\\033\\177" "b/a\\033\\177"'],
  ];
  for (const [path, line] of rows) assert.equal(named(path), line);
});
