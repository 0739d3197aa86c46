/** Objects that come home beside real stores of git: which come, in what form, and what keeps all of them where they are. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { deflateSync } from 'node:zlib';
import { looseObjectsAtOnce } from '../../base/limits/store.js';
import { freshPlace } from '../tree/tree-fixture.js';
import type { ObjectFormat } from './git-index-file.js';
import { kindsOf, type ObjectsRequest, prepareScratch, takeObjects } from './git-objects.js';
import { Git, sterile } from './git-program.js';

const { at } = freshPlace();
const git = Git.outside([]) ?? assert.fail('there is no git here');

interface Made {
  readonly id: string;
  readonly kind: string;
  readonly body: Buffer;
}

function objectOf(kind: string, body: Buffer | string, format: ObjectFormat = 'sha1'): Made {
  const bytes = Buffer.from(body);
  const id = createHash(format).update(`${kind} ${bytes.length}\0`).update(bytes).digest('hex');
  return { id, kind, body: bytes };
}
const blob = (text: string, format?: ObjectFormat) => objectOf('blob', text, format);
const tree = (entries: readonly (readonly [string, Made])[], format?: ObjectFormat) =>
  objectOf(
    'tree',
    Buffer.concat(
      entries.flatMap(([name, { id, kind }]) => [
        Buffer.from(`${kind === 'tree' ? '40000' : '100644'} ${name}\0`),
        Buffer.from(id, 'hex'),
      ]),
    ),
    format,
  );
const who = 'a <a@b> 1700000000 +0000';
const commit = (of: Made, parents: readonly Made[] = [], format?: ObjectFormat) => {
  const lines = [`tree ${of.id}`, ...parents.map(({ id }) => `parent ${id}`), `author ${who}`, `committer ${who}`];
  return objectOf('commit', `${lines.join('\n')}\n\ntext\n`, format);
};

const k = blob('known');
const kt = tree([['k', k]]);
const kc = commit(kt);
const f = blob('first');
const ft = tree([
  ['f', f],
  ['k', k],
]);
const fc = commit(ft, [kc]);
const g = blob('second');
const gt = tree([['g', g]]);
const gc = commit(gt, [fc]);

function writeLoose(store: string, { id, kind, body }: Made): void {
  const path = join(store, id.slice(0, 2), id.slice(2));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, deflateSync(Buffer.concat([Buffer.from(`${kind} ${body.length}\0`), body])));
}

const run = (words: readonly string[], store: string, input = '') =>
  execFileSync('git', words, {
    cwd: at(),
    env: { PATH: process.env['PATH'], ...sterile, GIT_DIR: at('scratch'), GIT_OBJECT_DIRECTORY: store },
    input,
    encoding: 'latin1',
    maxBuffer: 2 ** 24,
  });
const idsIn = (store: string) =>
  run(['cat-file', '--batch-all-objects', '--batch-check=%(objectname)'], store).split('\n').filter(Boolean);

interface World {
  readonly loose?: readonly Made[];
  readonly packs?: readonly (readonly Made[])[];
  /** The person's; nothing where it is null. */
  readonly known?: readonly Made[] | null;
  readonly shallow?: readonly Made[];
  readonly format?: ObjectFormat;
}

let count = 0;

/** The stores of a person and of a fork, of which packs are made by git. */
function stores({ loose = [], packs = [], known = [k, kt, kc], shallow, format = 'sha1' }: World): ObjectsRequest {
  const scratch = at('scratch');
  const objects = at('objects');
  for (const directory of [scratch, join(objects, 'pack')]) mkdirSync(directory, { recursive: true });
  if (known !== null) mkdirSync(at('known'));
  for (const each of known ?? []) writeLoose(at('known'), each);
  const request = {
    ...{ git, scratch, objects, format, known: known === null ? undefined : at('known') },
    loose: loose.map(({ id }) => id),
    shallow: shallow === undefined ? undefined : Buffer.from(shallow.map(({ id }) => `${id}\n`).join('')),
  };
  prepareScratch({ ...request, packs: [] });
  const names = packs.map((list) => {
    const store = at(`packed-${count++}`);
    mkdirSync(store);
    for (const each of list) writeLoose(store, each);
    const text = run(['pack-objects', '-q', join(store, 'made')], store, list.map(({ id }) => `${id}\n`).join(''));
    const name = `pack-${text.trim()}.pack`;
    cpSync(join(store, `made-${text.trim()}.pack`), join(objects, 'pack', name));
    return name;
  });
  for (const each of loose) writeLoose(objects, each);
  return { ...request, packs: names };
}

/** What a repository has that gets the files, and nothing else. */
async function taken(request: ObjectsRequest) {
  const { fault, directory, files } = await takeObjects(request);
  const home = at(`home-${count++}`);
  mkdirSync(home);
  for (const file of files) cpSync(join(directory, file), join(home, file), { recursive: true });
  return { fault, files, ids: idsIn(home) };
}

const idsOf = (list: readonly Made[]) => list.map(({ id }) => id).sort();
const first = [f, ft, fc];
const both = [...first, g, gt, gc];
const sha256 = (() => {
  const one = blob('x', 'sha256');
  const top = tree([['x', one]], 'sha256');
  return [one, top, commit(top, [], 'sha256')];
})();
const badTree = (name: string) => [f, tree([[name, f]])];

/** What there is; what comes of it, undefined where all of it stays. */
const rows: readonly (readonly [name: string, world: World, comes: readonly Made[] | undefined])[] = [
  ['nothing', {}, []],
  ['single ones', { loose: first }, first],
  ['a pack', { packs: [first] }, first],
  ['single ones that need a pack', { loose: [fc], packs: [[f, ft]] }, first],
  ['a pack that needs single ones', { loose: [f, ft], packs: [[fc]] }, first],
  ['packs that need later ones', { packs: [[fc], [ft], [f]] }, first],
  [
    'packs that need each other',
    {
      packs: [
        [gc, f],
        [gt, g, ft, fc],
      ],
    },
    both,
  ],
  ['single ones and a pack that need each other', { loose: [gc, f], packs: [[gt, g, ft, fc]] }, both],
  ['what needs nothing of a person that has nothing', { loose: [g], packs: [[gt, g]], known: null }, [g, gt]],
  ['what needs nothing of a person', { loose: [g, gt], known: [] }, [g, gt]],
  ['those of another format', { loose: sha256, known: [], format: 'sha256' }, sha256],
  ['a commit without its parents, by the word of a file', { loose: [g, gt, gc], shallow: [gc] }, [g, gt, gc]],
  ['a commit without its parents', { loose: [g, gt, gc] }, undefined],
  ['a commit of another one’s word', { loose: [g, gt, gc], shallow: [fc] }, undefined],
  ['a commit without its tree', { loose: [f, fc] }, undefined],
  ['a tree without its file', { loose: [ft, fc] }, undefined],
  ['a pack of which one needs what is not there', { packs: [first, [gc]] }, undefined],
  [
    'packs that need each other, and something else',
    {
      packs: [
        [gc, f],
        [gt, ft, fc],
      ],
    },
    undefined,
  ],
  ['what a person without it would need', { loose: first, known: null }, undefined],
  ['what another person would need', { packs: [first], known: [k, kt] }, undefined],
  ...['.git', '.GIT', '..', '.', '', 'a/b', 'git~1'].flatMap((name) => [
    [`a tree with an entry '${name}'`, { loose: badTree(name) }, undefined] as const,
    [`a pack with a tree with an entry '${name}'`, { packs: [badTree(name)] }, undefined] as const,
  ]),
  ['a commit that is none', { loose: [objectOf('commit', 'tree none\n')] }, undefined],
];

describe('objects of a fork', () => {
  for (const [name, world, comes] of rows)
    it(`${comes === undefined ? 'stay' : 'come'}: ${name}`, async () => {
      const { fault, files, ids } = await taken(stores(world));
      assert.deepEqual([ids, fault === undefined], [idsOf(comes ?? []), comes !== undefined], fault);
      assert.notEqual(fault, '');
      if (comes === undefined) assert.deepEqual(files, []);
    });

  it('are single ones at home, or one pack where they are many', async () => {
    const kindOf = async (many: number) => {
      const request = stores({ loose: first });
      // One that is named again is no other.
      const loose = Array.from({ length: many }, (_, index) => first[index % first.length]?.id ?? '');
      const { files, ids } = await taken({ ...request, loose });
      assert.deepEqual(ids, idsOf(first));
      return files.map((file) => file.replace(/[0-9a-f]{38,}/, '').replace(/^[0-9a-f]{2}/, '')).sort();
    };
    assert.deepEqual(await kindOf(looseObjectsAtOnce), ['/', '/', '/']);
    for (const name of readdirSync(at())) rmSync(at(name), { recursive: true });
    const files = await kindOf(looseObjectsAtOnce + 1);
    assert.deepEqual(new Set(files.map((file) => file.split('.')[0])), new Set(['pack/pack-']));
    assert.ok(files.includes('pack/pack-.idx') && files.includes('pack/pack-.pack'), files.join(' '));
  });

  it('that are damaged stay, with the rest', async () => {
    const request = stores({ loose: first });
    writeFileSync(join(request.objects, f.id.slice(0, 2), f.id.slice(2)), 'damaged');
    const { fault, files } = await taken(request);
    assert.deepEqual([typeof fault, files], ['string', []]);
  });

  it('are asked for their kind in both stores, and are not looked for elsewhere', async () => {
    const request = stores({ loose: first });
    await takeObjects(request);
    writeLoose(request.objects, g);
    const kinds = await kindsOf(request, [kc, k, ft, fc, g].map(({ id }) => id).concat('HEAD', 'f'.repeat(40)));
    assert.deepEqual(
      [...kinds],
      [kc, k, ft, fc].map(({ id, kind }) => [id, kind]),
    );
    assert.equal((await kindsOf(request, [])).size, 0);
  });
});
