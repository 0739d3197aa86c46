import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Blake3 } from '../../base/blake3.js';
import { freshPlace, tree } from './tree-fixture.js';

const { at, write } = freshPlace();
const most = 1024 * 1024;

async function digest(path: string): Promise<string> {
  const [found] = await tree.digest({ layers: [path], most });
  assert.match(found ?? '', /^[0-9a-f]{64}$/);
  return found ?? '';
}

/** What docs and code say a digest is of, written down a second time; of trees without attributes. */
function bytesOf(path: string): Buffer {
  const { mode, uid, gid, size } = lstatSync(path);
  const status = Buffer.from(`${mode}\0${uid}\0${gid}\0`);
  const type = mode & 0o170000;
  if (type === 0o120000) return Buffer.concat([status, Buffer.from(`${size}\0${readlinkSync(path)}`)]);
  if (type === 0o100000) return Buffer.concat([status, Buffer.from(`0\0${size}\0`), readFileSync(path)]);
  const names = readdirSync(path).sort();
  const entries = names.flatMap((name) => [Buffer.from(`${name}\0`), bytesOf(join(path, name))]);
  return Buffer.concat([status, Buffer.from(`0\0${names.length}\0`), ...entries]);
}

function makeTree(): string {
  write('layer/empty', '');
  write('layer/src/a.ts', 'a');
  write('layer/src/large', 'x'.repeat(70_000));
  write('layer/B', 'b'.repeat(1024));
  symlinkSync('src/a.ts', at('layer/link'));
  mkdirSync(at('layer/none'));
  return at('layer');
}

describe('the digest of a layer', () => {
  it('is of names, types, modes, owners, contents and link targets, in order', async () => {
    const layer = makeTree();
    assert.equal(await digest(layer), new Blake3().hex(bytesOf(layer)));
  });

  it('changes with everything that counts, and comes back with it', async () => {
    const layer = makeTree();
    const file = at('layer/src/a.ts');
    const pointTo = (target: string) => {
      rmSync(at('layer/link'));
      symlinkSync(target, at('layer/link'));
    };
    const attribute = (value: string) => {
      const number = process.arch === 'arm64' ? 5 : 188;
      const code = `exit(syscall(${number}, $ARGV[0], $ARGV[1], $ARGV[2], length($ARGV[2]), 0) == 0 ? 0 : 1)`;
      assert.equal(spawnSync('perl', ['-e', code, file, 'user.note', value]).status, 0);
    };
    const changes: Readonly<Record<string, readonly [() => void, () => void]>> = {
      content: [() => writeFileSync(file, 'b'), () => writeFileSync(file, 'a')],
      mode: [() => chmodSync(file, 0o600), () => chmodSync(file, 0o644)],
      'mode of the top': [() => chmodSync(layer, 0o700), () => chmodSync(layer, 0o755)],
      name: [() => renameSync(file, `${file}x`), () => renameSync(`${file}x`, file)],
      place: [() => renameSync(file, at('layer/a.ts')), () => renameSync(at('layer/a.ts'), file)],
      'another entry': [() => mkdirSync(at('layer/more')), () => rmSync(at('layer/more'), { recursive: true })],
      'link target': [() => pointTo('src/b.ts'), () => pointTo('src/a.ts')],
      type: [
        () => {
          rmSync(file);
          mkdirSync(file);
        },
        () => {
          rmSync(file, { recursive: true });
          writeFileSync(file, 'a');
        },
      ],
    };
    chmodSync(layer, 0o755);
    chmodSync(file, 0o644);
    const plain = await digest(layer);
    for (const [what, [change, back]] of Object.entries(changes)) {
      change();
      assert.notEqual(await digest(layer), plain, what);
      back();
      chmodSync(file, 0o644);
      assert.equal(await digest(layer), plain, `${what}, and back`);
    }
    attribute('one');
    const noted = await digest(layer);
    attribute('two');
    assert.equal(new Set([plain, noted, await digest(layer)]).size, 3, 'attributes');
  });

  it('changes with what hides something below, and not with notes of the overlay', async () => {
    const layer = makeTree();
    const plain = await digest(layer);
    const marked = async (name: string, path: string) => {
      assert.equal(spawnSync('setfattr', ['-n', name, '-v', 'y', at(path)]).status, 0, name);
      const found = await digest(layer);
      assert.equal(spawnSync('setfattr', ['-x', name, at(path)]).status, 0, name);
      return found;
    };
    for (const [name, path] of [
      ['user.overlay.opaque', 'layer/src'],
      ['user.overlay.opaque', 'layer'],
      ['user.overlay.whiteout', 'layer/empty'],
      ['user.ctxfs.note', 'layer/B'],
    ] as const) {
      assert.notEqual(await marked(name, path), plain, `${name} at ${path}`);
    }
    for (const name of ['user.overlay.origin', 'user.overlay.impure']) {
      assert.equal(await marked(name, 'layer/src'), plain, name);
    }
  });

  it('does not change with times and hard links', async () => {
    const layer = makeTree();
    const before = await digest(layer);
    utimesSync(at('layer/B'), 1, 1);
    linkSync(at('layer/B'), at('outside'));
    assert.equal(await digest(layer), before);
  });

  it('is not made of a layer that holds too much, at once', async () => {
    const layer = makeTree();
    write('sparse/file', '');
    truncateSync(at('sparse/file'), 2 ** 40);
    const [large, small] = await tree.digest({ layers: [at('sparse'), layer], most });
    assert.equal(large, undefined);
    assert.equal(small, await digest(layer));
  });

  it('follows no link out of it', async () => {
    write('secret/file', 'one');
    mkdirSync(at('layer'));
    symlinkSync(at('secret'), at('layer/door'));
    const before = await digest(at('layer'));
    write('secret/file', 'two');
    assert.equal(await digest(at('layer')), before);
  });
});
