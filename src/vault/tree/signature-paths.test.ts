import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathsNamed } from './signature-paths.js';
import { Tree } from './tree.js';
import { freshPlace, program } from './tree-fixture.js';

const place = freshPlace();
/** Of the file, and of a record before what its path adds. */
const [headerBytes, recordBytes] = [32, 56];

test('signatures say where a name is, whatever its path has in common with its neighbours', async () => {
  const paths = [
    ...['HEAC', 'HEAD', 'HEAD.x', 'xHEAD', '.gis', '.git/HEAD', '.git/HEAE', '.gitignore', 'D', 't', 'AD'],
    ...[
      'a/HEAC',
      'a/HEAD',
      'a/b/.git',
      'a/b/HEAD',
      'a/b/c/xHEAD',
      'a/b/c/HEAD/HEAD',
      'a/b/c/HEAD/D',
      'z/.gi/t',
      'z/git',
    ],
  ];
  for (const path of paths) place.write(`root/${path}`);
  await new Tree({ program }).scan({ root: place.at('root'), signatures: place.at('signatures') });
  const found = pathsNamed(readFileSync(place.at('signatures')), new Set(['HEAD', '.git']));
  const expected = ['.git', '.git/HEAD', 'HEAD', 'a/HEAD', 'a/b/.git', 'a/b/HEAD', 'a/b/c/HEAD', 'a/b/c/HEAD/HEAD'];
  assert.deepEqual([...(found ?? [])].sort(), expected);
  assert.equal(pathsNamed(Buffer.from('something else'), new Set(['HEAD'])), undefined);
});

test('a file whose first record continues a path that is not there has another form', async () => {
  place.write('root/HEAD');
  await new Tree({ program }).scan({ root: place.at('root'), signatures: place.at('signatures') });
  const bytes = readFileSync(place.at('signatures'));
  assert.deepEqual(pathsNamed(bytes, new Set(['HEAD'])), ['HEAD']);
  const record = bytes.subarray(bytes.indexOf('HEAD') - recordBytes, bytes.indexOf('HEAD') + 'HEAD'.length);
  for (const shared of [1, 0xffff]) {
    record.writeUInt32LE(shared);
    assert.equal(pathsNamed(Buffer.concat([bytes.subarray(0, headerBytes), record]), new Set(['HEAD'])), undefined);
  }
});
