/** What a stack of layers shows at a path, whatever was asked for before. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { it } from 'node:test';
import { freshPlace, tree } from './tree-fixture.js';

const { at, write } = freshPlace();
const mark = (path: string, name: string, value: string) =>
  assert.equal(spawnSync('setfattr', ['-n', `user.overlay.${name}`, '-v', value, at(path)]).status, 0);

/** The bytes of each file; what is no file by its type. */
async function shown(layers: readonly string[], paths: readonly string[]): Promise<readonly string[]> {
  const found = await tree.read({ layers: layers.map((layer) => at(layer)), paths });
  return found.map(({ type, bytes }) => (type === 'file' ? bytes.toString() : type));
}

it('a path is found where it is, behind every other that begins or ends like it', async () => {
  const directories = ['a', 'ab', 'abc', 'a.b', 'a-b', 'a/b', 'a/bc', 'a/b/c', 'ab/c', 'b', 'b/c', 'a/a', 'a/a/a'];
  const layers = ['upper', 'lower'];
  for (const [index, directory] of directories.entries()) {
    write(`${layers[index % 2]}/${directory}/f`, directory);
    write(`${layers[(index + 1) % 2]}/${directory}/${index}`, String(index));
  }
  // Each right behind each: a walk goes on from where the one before it ended.
  const paths = directories.flatMap((one) => directories.flatMap((other) => [`${one}/f`, `${other}/f`]));
  assert.deepEqual(
    await shown(layers, paths),
    paths.map((path) => path.slice(0, -2)),
  );
});

it('a mark of a directory hides all that is below it, or the names that are marked in it, and nothing else', async () => {
  for (const [name, kept, named] of [
    ['plain', 'lower', 'lower'],
    ['opaque', 'missing', 'missing'],
    ['named', 'lower', 'missing'],
  ] as const) {
    for (const place of ['d', 'd/deep']) {
      const [upper, lower] = [`upper-${name}/${place}`, `lower-${name}/${place}`];
      mkdirSync(at(upper), { recursive: true });
      for (const file of ['kept', 'named', 'in/kept']) write(`${lower}/${file}`, 'lower');
      write(`${upper}/own`, 'upper');
      if (name !== 'plain') mark(upper, 'opaque', name === 'opaque' ? 'y' : 'x');
      if (name === 'named') {
        write(`${upper}/named`, '');
        mark(`${upper}/named`, 'whiteout', 'y');
      }
      const paths = ['own', 'kept', 'in/kept', 'named', 'none'].map((path) => `${place}/${path}`);
      const layers = [`upper-${name}`, `lower-${name}`];
      assert.deepEqual(await shown(layers, paths), ['upper', kept, kept, named, 'missing'], `${name} ${place}`);
    }
  }
});
