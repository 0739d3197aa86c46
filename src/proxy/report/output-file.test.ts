import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { outputFilesKept } from '../../base/limits/commands.js';
import { dropOldOutputs, OutputFile } from './output-file.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-outputs-'));
after(() => rmSync(base, { recursive: true }));

describe('output in a file', () => {
  it('is made with its first byte, for its user alone, with the directory', () => {
    const path = join(base, 'deep/er/one.stdout');
    const output = new OutputFile(path);
    output.write(Buffer.alloc(0));
    assert.deepEqual([existsSync(join(base, 'deep')), output.finish()], [false, undefined]);
    const written = new OutputFile(path);
    written.write(Buffer.from('one '));
    written.write(Buffer.from('two'));
    assert.deepEqual(written.finish(), { path, bytes: 7 });
    assert.deepEqual(written.finish(), { path, bytes: 7 }, 'once more');
    assert.equal(readFileSync(path, 'utf8'), 'one two');
    assert.deepEqual([statSync(path).mode & 0o777, statSync(join(base, 'deep/er')).mode & 0o777], [0o600, 0o700]);
  });

  it('is as long as it may be, and no longer', () => {
    for (const [chunks, kept] of [
      [['1234'], '1234'],
      [['12345'], '12345'],
      [['123456'], '12345'],
      [['123', '45', '6'], '12345'],
      [['123', '4567', '8'], '12345'],
    ] as const) {
      const path = join(base, `most-${chunks.join('-')}`);
      const output = new OutputFile(path, 5);
      for (const chunk of chunks) output.write(Buffer.from(chunk));
      assert.deepEqual([output.finish(), readFileSync(path, 'utf8')], [{ path, bytes: kept.length }, kept]);
    }
  });

  it('replaces the oldest where there are as many as are kept, and never one of the same name', () => {
    const directory = join(base, 'many');
    mkdirSync(directory);
    const names = Array.from({ length: outputFilesKept }, (_, index) => `old-${index}`);
    for (const [index, name] of [...names].reverse().entries()) {
      writeFileSync(join(directory, name), name);
      utimesSync(join(directory, name), 1000 - index, 1000 - index);
    }
    const output = new OutputFile(join(directory, 'new'));
    output.write(Buffer.from('x'));
    output.write(Buffer.from('y'));
    output.close();
    assert.deepEqual(readdirSync(directory).sort(), ['new', ...names.slice(1)].sort());
    const again = new OutputFile(join(directory, 'new'));
    again.write(Buffer.from('z'));
    assert.equal(again.finish(), undefined);
    assert.equal(readFileSync(join(directory, 'new'), 'utf8'), 'xy');
  });

  it('is none where it cannot be written, and what writes it goes on', () => {
    writeFileSync(join(base, 'no directory'), '');
    const script = `
const { OutputFile } = await import(${JSON.stringify(new URL('output-file.js', import.meta.url).href)});
for (const path of process.argv.slice(1)) {
  const output = new OutputFile(path);
  for (let count = 0; count < 3; count += 1) output.write(Buffer.alloc(2000));
  console.log(output.finish());
}`;
    const paths = [join(base, 'no directory', 'in it'), join(base, 'alone', 'above ulimit -f')];
    const words = [
      '-c',
      'ulimit -f 4; exec "$0" "$@"',
      process.execPath,
      '--input-type=module',
      '-e',
      script,
      ...paths,
    ];
    const { stdout, stderr } = spawnSync('sh', words, { encoding: 'utf8' });
    assert.deepEqual([stdout, stderr], ['undefined\nundefined\n', '']);
    assert.equal(existsSync(join(base, 'alone', 'above ulimit -f')), false);
  });

  it('goes where it is older than that, and stays where it is as old', () => {
    const directory = join(base, 'ages');
    dropOldOutputs(directory, 5_000);
    mkdirSync(directory);
    for (const seconds of [4, 5, 6]) {
      writeFileSync(join(directory, String(seconds)), '');
      utimesSync(join(directory, String(seconds)), seconds, seconds);
    }
    dropOldOutputs(directory, 5_000);
    assert.deepEqual(readdirSync(directory).sort(), ['5', '6']);
    writeFileSync(join(base, 'file'), '');
    assert.throws(() => dropOldOutputs(join(base, 'file'), 1), { code: 'ENOTDIR', operation: 'look for output' });
  });
});
