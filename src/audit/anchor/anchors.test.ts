/** Each kind of anchor by itself: what was committed is read again by another, and what fails is said. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Anchor, type AnchorPoint, extended, nothingExtended } from '../anchor.js';
import { commandAnchor, runAnchor } from './command-anchor.js';
import { fileAnchor } from './file-anchor.js';
import { defaultTpm, tpmAnchor } from './tpm-anchor.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-anchors-'));
const path = process.env['PATH'] ?? '';
after(() => {
  process.env['PATH'] = path;
  rmSync(base, { recursive: true, force: true });
});

const points: readonly AnchorPoint[] = [3, 4].map((counter) => ({
  counter,
  seq: 10 * counter,
  head: `${counter}`.repeat(64),
  root: 'f'.repeat(64),
}));

function program(name: string, text: string): string {
  const file = join(base, name);
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

/** Keeps what it is given in the file that is its first word. */
const keeper = program(
  'keeper',
  'case $2 in commit) cat >>"$1";; read) cat "$1" 2>/dev/null || true;; *) exit 7;; esac',
);

const kept: Readonly<Record<string, (file: string) => Anchor>> = {
  'a file': (file) => fileAnchor(file),
  'a program': (file) => commandAnchor([keeper, file]),
};

for (const [what, make] of Object.entries(kept)) {
  describe(`an anchor that is ${what}`, () => {
    it('is empty at first, counts from one, and keeps every point in order', () => {
      const file = join(base, `points of ${what}`);
      assert.deepEqual(make(file).read(), { kind: 'empty' });
      assert.equal(make(file).next(), 1);
      for (const [index, point] of points.entries()) {
        make(file).commit(point);
        assert.deepEqual(make(file).read(), { kind: 'points', points: points.slice(0, index + 1) });
        assert.equal(make(file).next(), point.counter + 1);
      }
      const lines = readFileSync(file, 'utf8').split('\n');
      assert.deepEqual(
        lines.map((line) => line && JSON.parse(line)),
        [...points, ''],
      );
    });

    it('is not built upon where a line of it is not a point', () => {
      const good = JSON.stringify(points[0]);
      const { counter: _counter, ...less } = points[0] as AnchorPoint;
      for (const bad of ['{', '[]', '7', JSON.stringify(less), JSON.stringify({ ...points[0], counter: -1 })]) {
        const file = join(base, 'bad');
        writeFileSync(file, `${good}\n${bad}\n`);
        for (const act of [() => make(file).read(), () => make(file).next()]) {
          assert.throws(
            act,
            (error: Error & { code?: string }) => error.code === 'EIO' && /line 2/.test(error.message),
            bad,
          );
        }
      }
    });
  });
}

describe('an anchor in a file', () => {
  it('is for its owner alone, in a directory that is, and is called by its path unless it has a name', () => {
    const file = join(base, 'new', 'deep', 'root.jsonl');
    fileAnchor(file).commit(points[0] as AnchorPoint);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    for (const directory of ['new', 'new/deep']) assert.equal(statSync(join(base, directory)).mode & 0o777, 0o700);
    assert.deepEqual([fileAnchor(file).name, fileAnchor(file, 'root').name], [`file:${file}`, 'root']);
  });

  it('that cannot be read or written is not an empty one', () => {
    const directory = join(base, 'directory');
    mkdirSync(directory);
    const below = join(base, 'points of a file', 'below');
    for (const act of [
      () => fileAnchor(directory).read(),
      () => fileAnchor(directory).next(),
      () => fileAnchor(directory).commit(points[0] as AnchorPoint),
      () => fileAnchor(below).commit(points[0] as AnchorPoint),
      () => fileAnchor('/proc/nothing/here/points').commit(points[0] as AnchorPoint),
    ]) {
      assert.throws(act, { operation: 'anchor' });
    }
  });
});

describe('an anchor that is a program', () => {
  it('is called by its words, and has failed where it ends with another code than zero, or cannot be started', () => {
    assert.equal(commandAnchor(['log', 'a b']).name, 'command:log a b');
    const failing = program('failing', 'cat >/dev/null; echo "why it failed" >&2; exit 3');
    for (const act of [
      () => commandAnchor([failing]).read(),
      () => commandAnchor([failing]).commit(points[0] as AnchorPoint),
    ]) {
      assert.throws(act, { code: 'EIO', path: failing, reason: 'ended with 3: why it failed' });
    }
    const long = program('long', 'head -c 3000 /dev/zero | tr "\\0" x >&2; exit 1');
    assert.throws(() => runAnchor([long]), { reason: `ended with 1: ${'x'.repeat(500)}` });
    assert.throws(() => runAnchor([join(base, 'none')]), { code: 'EIO', reason: /ENOENT/ });
    assert.equal(runAnchor(['cat'], 'what it is given'), 'what it is given');
  });
});

/**
 * Two indices in a directory, as the tools of a TPM have them. A counter has no value, nor has a head, before its first
 * use. The tools name an index without its leading zero, and in capital letters.
 */
const tool = String.raw`
state=${base}/tpm; kind=$state/$1.kind; value=$state/$1.value; name=$(basename "$0")
echo "$name $*" >>"$state/calls"
case $name in
tpm2_getcap) for each in "$state"/*.kind; do
    test -e "$each" && echo "- 0x$(basename "$each" .kind | cut -c4- | tr a-f A-F)"; done; true;;
tpm2_nvdefine) echo >"$kind";;
tpm2_nvincrement)
  echo $(($(cat "$value" 2>/dev/null || echo 0) + $(cat "$state/step" 2>/dev/null || echo 1))) >"$value.new"
  mv "$value.new" "$value";;
tpm2_nvextend) test -e "$value" || head -c 32 /dev/zero >"$value"
  hex=$(cat "$value" "$5" | sha256sum | cut -c1-64 | sed 's/../\\x&/g'); printf "$hex" >"$value";;
tpm2_nvread) test -e "$value" || { echo "NV Index used before being initialized" >&2; exit 1; }
  if test "$5" = 8; then printf "$(printf %016x "$(cat "$value")" | sed 's/../\\x&/g')" >"$7"
  else head -c "$5" "$value" >"$7"; fi;;
esac`;

describe('an anchor in a TPM', () => {
  const state = join(base, 'tpm');
  const bin = join(base, 'bin');
  const calls = join(state, 'calls');
  const step = join(state, 'step');
  mkdirSync(state);
  mkdirSync(bin);
  for (const name of ['getcap', 'nvdefine', 'nvincrement', 'nvextend', 'nvread']) {
    const file = join(bin, `tpm2_${name}`);
    writeFileSync(file, `#!/bin/bash${tool}\n`);
    chmodSync(file, 0o755);
  }
  const using = <T>(act: () => T): T => {
    process.env['PATH'] = `${bin}:${path}`;
    try {
      return act();
    } finally {
      process.env['PATH'] = path;
    }
  };
  const anchor = (tcti?: string) => tpmAnchor({ ...defaultTpm, tcti });

  it('is empty before it has its two indices, which are made once, and goes on from there', () => {
    assert.equal(anchor().name, 'tpm:0x01500c70:0x01500c71');
    assert.deepEqual(
      using(() => anchor().read()),
      { kind: 'empty' },
    );
    assert.equal(
      using(() => anchor().next()),
      2,
      'a counter begins with one',
    );
    assert.deepEqual(
      using(() => anchor().read()),
      { kind: 'extended', counter: 1, value: nothingExtended },
    );
    let value = nothingExtended;
    for (const counter of [2, 3]) {
      assert.equal(
        using(() => anchor().next()),
        counter,
      );
      const head = `0${counter}`.repeat(32);
      using(() => anchor().commit({ counter, seq: 5, head, root: '' }));
      value = extended(value, head);
      assert.deepEqual(
        using(() => anchor().read()),
        { kind: 'extended', counter, value },
      );
    }
    const made = readFileSync(calls, 'utf8')
      .split('\n')
      .filter((line) => line.includes('nvdefine'));
    assert.deepEqual(
      made.map((line) => line.replace(/ -C.* -a /, ' ')),
      [
        'tpm2_nvdefine 0x01500c70 ownerread|ownerwrite|authread|authwrite|no_da|nt=counter',
        'tpm2_nvdefine 0x01500c71 ownerread|ownerwrite|authread|authwrite|no_da|nt=extend',
      ],
    );
    assert.ok(made[1]?.includes(' -g sha256 '));
  });

  it('is refused where another counts in it, too, or half of it is gone', () => {
    writeFileSync(step, '2');
    const point = { counter: 4, seq: 5, head: '00'.repeat(32), root: '' };
    assert.throws(() => using(() => anchor().commit(point)), { code: 'EBUSY', path: '0x01500c70' });
    rmSync(step);
    rmSync(join(state, '0x01500c71.kind'));
    assert.deepEqual(
      using(() => anchor().read()),
      { kind: 'empty' },
    );
  });

  it('is reached in the way that was set up, in every call', () => {
    writeFileSync(calls, '');
    using(() => anchor('swtpm:port=1').read());
    using(() => anchor('swtpm:port=1').next());
    const lines = readFileSync(calls, 'utf8').trimEnd().split('\n');
    assert.ok(lines.length > 2);
    for (const line of lines) assert.match(line, / -T swtpm:port=1$/);
  });

  it('is not taken for an empty one where the tools fail', () => {
    assert.throws(() => anchor().read(), { code: 'EIO' });
    writeFileSync(join(state, '0x01500c71.kind'), '');
    rmSync(join(state, '0x01500c71.value'));
    assert.equal(using(() => anchor().read()).kind, 'extended');
    mkdirSync(join(state, '0x01500c71.value'));
    assert.throws(() => using(() => anchor().read()), { code: 'EIO' });
  });
});
