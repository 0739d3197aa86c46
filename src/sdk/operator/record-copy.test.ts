import assert from 'node:assert/strict';
import {
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { RecordCopy } from './record-copy.js';

let base = '';
const copies: RecordCopy[] = [];
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'ctx-record-copy-'));
  mkdirSync(join(base, 'chain'));
  for (const name of ['lock', '1.jsonl', '2.jsonl']) writeFileSync(join(base, 'chain', name), name, { mode: 0o600 });
  mkdirSync(join(base, 'victim'));
  writeFileSync(join(base, 'victim/file'), 'precious');
});
afterEach(() => {
  for (const copy of copies.splice(0)) copy.close();
  rmSync(base, { recursive: true });
});
const copyTo = (path: string) => {
  const copy = new RecordCopy(join(base, path));
  copies.push(copy);
  return copy;
};
const add = (copy: RecordCopy, chain: string) => copy.addChain(join(base, 'chain'), chain);
const modeOf = (path: string) => (statSync(join(base, path)).mode & 0o777).toString(8);

describe('a copy of the record', () => {
  it('has the files of its chains but their locks, closed to others, in a new directory or an empty one', () => {
    mkdirSync(join(base, 'empty'), { mode: 0o755 });
    for (const place of ['new', 'empty']) {
      const copy = copyTo(place);
      for (const chain of ['person', 'agent/a', 'agent/b']) add(copy, chain);
      copy.addText('root.pub', 'key\n');
      copy.addFile(join(base, 'victim/file'), 'file');
      const files = readdirSync(join(base, place), { recursive: true, encoding: 'utf8' }).sort();
      const chains = ['agent/a', 'agent/b', 'person'].flatMap((each) => [each, `${each}/1.jsonl`, `${each}/2.jsonl`]);
      assert.deepEqual(files, ['agent', ...chains, 'file', 'root.pub'].sort());
      assert.equal(readFileSync(join(base, place, 'agent/b/2.jsonl'), 'utf8'), '2.jsonl');
      assert.deepEqual([modeOf(`${place}/agent`), modeOf(`${place}/agent/a`)], ['700', '700']);
      assert.equal(modeOf(`${place}/person/1.jsonl`), '600');
    }
    assert.throws(() => copyTo('new'), { code: 'EEXIST' });
  });

  it('is written through no link that is put there meanwhile, and over no file', () => {
    const copy = copyTo('copy');
    const plant = (name: string, target: string) => symlinkSync(join(base, 'victim', target), join(base, 'copy', name));
    for (const name of ['root.pub', 'file']) plant(name, 'file');
    plant('root.jsonl', 'none');
    for (const name of ['person', 'agent']) plant(name, '');
    mkdirSync(join(base, 'copy/host'));
    symlinkSync(join(base, 'victim/file'), join(base, 'copy/host/2.jsonl'));
    assert.throws(() => copy.addText('root.pub', 'key\n'), { code: 'EEXIST' });
    assert.throws(() => copy.addFile(join(base, 'chain/1.jsonl'), 'file'), { code: 'EEXIST' });
    assert.throws(() => copy.addText('root.jsonl', 'key\n'), { code: 'EEXIST' });
    for (const chain of ['person', 'agent/a', 'host']) assert.throws(() => add(copy, chain), chain);
    assert.deepEqual(readdirSync(join(base, 'victim')), ['file']);
    assert.equal(readFileSync(join(base, 'victim/file'), 'utf8'), 'precious');
  });

  it('is in no directory that another user put there', { skip: process.getuid?.() !== 0 && 'needs root' }, () => {
    const copy = copyTo('copy');
    mkdirSync(join(base, 'copy/person'));
    chownSync(join(base, 'copy/person'), 54_321, 54_321);
    assert.throws(() => add(copy, 'person'), { code: 'EEXIST' });
    assert.deepEqual(readdirSync(join(base, 'copy/person')), []);
  });

  it('stays in the directory that it was begun in, whatever is at its path by then', () => {
    const copy = copyTo('copy');
    rmSync(join(base, 'copy'), { recursive: true });
    symlinkSync(join(base, 'victim'), join(base, 'copy'));
    assert.throws(() => add(copy, 'person'), { code: 'ENOENT' });
    assert.deepEqual(readdirSync(join(base, 'victim')), ['file']);
  });
});
