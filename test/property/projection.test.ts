/**
 * What an agent sees of random objects, policies, paths and modes, compared with the rules of Policy v0 as one would read them aloud: the
 * model here goes over texts and strings, and shares no code with the projection but the parsers.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { agentViewer } from '../../src/objects/projection/agent-viewer.js';
import { diskCatalogue } from '../../src/objects/projection/disk-catalogue.js';
import type { ViewNode } from '../../src/objects/projection/nodes.js';
import type { ShownSpace } from '../../src/objects/projection/shown-spaces.js';
import { viewRoot } from '../../src/objects/projection/view-root.js';
import { agentTexts } from '../../src/objects/spec.js';
import { seeded } from './seeded.js';

const uid = 1000;
const gid = 100;
const names = ['read', 'write', 'lint'];
const spaces = ['pa', 'pb'];
const places = ['tool', `home/${uid}/tool`, 'home/2000/tool', 'shared/pa/tool', 'shared/pb/tool'];
const models = ['local/echo', 'local/plan', 'tool/echo'];
const modelPlaces = ['model', `home/${uid}/model`, 'home/2000/model'];
const mountable = ['pa', 'pb', 'pa/data', 'pb/data', 'pa/tool', 'absent'];
const paths = [...places.map((place) => `/ctx/${place}`), '/opt/tools', '/ctx/shared/../tool', '/ctx'];

interface World {
  /** `place/name` -> mode of the executable file, and the text of its policy where it has one. */
  readonly tools: Readonly<Record<string, { readonly mode: number; readonly policy: string | undefined }>>;
  readonly spaces: Readonly<Record<string, number>>;
  readonly own: readonly string[];
  readonly parent: readonly string[] | undefined;
  readonly path: readonly string[];
  readonly expired: boolean;
  /** `place/PROVIDER/NAME` -> mode of its directory, and the text of its policy where it has one. */
  readonly models: Readonly<Record<string, { readonly mode: number; readonly policy: string | undefined }>>;
  /** What the `model` files name. */
  readonly named: readonly string[];
  readonly namedByParent: readonly string[];
  /** Of `/ctx/shared`, each mounted at `/m/PATH`. */
  readonly mounts: readonly string[];
}

/** Most of what can be said, so that it is mode, path and policy of an object that decide, and not the same lack each time. */
const rules = fc
  .subarray(
    [
      ...names.map((name) => `tool:${name} execute`),
      ...spaces.map((name) => `shared:${name} read`),
      ...models.map((name) => `model:${name} use`),
      ...['agent:coder read', 'agent:boss read', 'agent:absent read', 'shared:pa write'],
    ],
    { minLength: 7 },
  )
  .chain((all) => fc.oneof({ weight: 5, arbitrary: fc.constant(all) }, { weight: 1, arbitrary: fc.subarray(all) }));
const objectPolicy = fc.option(
  fc
    .array(
      fc
        .tuple(fc.constantFrom('coder_t', 'boss_t'), fc.constantFrom(...names))
        .map(([type, name]) => `allow ${type} tool:${name} execute`),
      { maxLength: 6 },
    )
    .map((lines) => `${lines.join('\n')}\n`),
  { nil: undefined, freq: 1 },
);
const mode = fc.constantFrom(0o755, 0o755, 0o755, 0o755, 0o644, 0o700, 0o050, 0o001, 0o711);
const world: fc.Arbitrary<World> = fc.record({
  tools: fc.dictionary(
    fc.tuple(fc.constantFrom(...places), fc.constantFrom(...names)).map((parts) => parts.join('/')),
    fc.record({
      mode,
      policy: fc.oneof({ weight: 5, arbitrary: objectPolicy }, { weight: 1, arbitrary: fc.constant('deny all\n') }),
    }),
    { minKeys: 4, maxKeys: 12 },
  ),
  spaces: fc.record({ pa: fc.constantFrom(0o755, 0o700), pb: fc.constantFrom(0o755, 0o711) }),
  own: rules,
  parent: fc.option(rules, { nil: undefined }),
  path: fc.shuffledSubarray(paths),
  expired: fc.nat({ max: 7 }).map((value) => value === 0),
  models: fc.dictionary(
    fc.tuple(fc.constantFrom(...modelPlaces), fc.constantFrom(...models)).map((parts) => parts.join('/')),
    fc.record({
      mode,
      policy: fc.option(
        fc
          .subarray(['coder_t', 'boss_t'])
          .map((types) => types.map((type) => `allow ${type} model:local/echo use\n`).join('')),
        { nil: undefined, freq: 2 },
      ),
    }),
    { maxKeys: 5 },
  ),
  named: fc.subarray(models, { minLength: 1 }),
  namedByParent: fc.subarray(models, { minLength: 2 }),
  mounts: fc.subarray(mountable),
});

/** Of root's files and this agent, in its group or not: everybody's bits. */
function others(bits: number, wanted: number): boolean {
  return (bits & wanted) === wanted;
}

/** Everything that is visible, as sorted paths. */
function naive({ tools, spaces: modes, own, parent, path, expired, ...made }: World): string[] {
  const allows = (text: string) => !expired && own.includes(text) && (parent === undefined || parent.includes(text));
  const reads = (space: string) => allows(`shared:${space} read`) && others(modes[space] ?? 0, 4);
  const searched = path
    .filter((each) => places.includes(each.slice('/ctx/'.length)) && each.startsWith('/ctx/'))
    .map((each) => each.slice('/ctx/'.length))
    .filter((place) => !place.startsWith('home/') || place === `home/${uid}/tool`)
    .filter((place) => !place.startsWith('shared/') || reads(place.split('/')[1] ?? ''));
  const seen = ['model', 'agent', 'tool', 'home', `home/${uid}`, 'shared'];
  seen.push(...['agent', 'tool', 'model'].map((kind) => `home/${uid}/${kind}`));
  for (const space of spaces) {
    if (!reads(space)) continue;
    seen.push(`shared/${space}`, `shared/${space}/tool`);
    // Every space has a file and a directory beside its tools.
    if (made.mounts.includes(space)) seen.push(`shared/${space}/data`, `shared/${space}/note`);
    else if (made.mounts.includes(`${space}/data`)) seen.push(`shared/${space}/data`);
  }
  const types = parent === undefined ? ['coder_t'] : ['coder_t', 'boss_t'];
  for (const [at, { mode: bits, policy }] of Object.entries(made.models)) {
    const [, place = '', model = ''] = /^(.*model)\/([^/]+\/[^/]+)$/.exec(at) ?? [];
    const isNamed = made.named.includes(model) && (parent === undefined || made.namedByParent.includes(model));
    const agrees =
      policy === undefined || types.every((type) => policy.split('\n').includes(`allow ${type} model:${model} use`));
    if (place === 'home/2000/model' || !isNamed || !allows(`model:${model} use`) || !others(bits, 1) || !agrees)
      continue;
    seen.push(at, `${at}.d`, ...(policy === undefined ? [] : [`${at}.d/policy`]));
    const provider = at.slice(0, at.lastIndexOf('/'));
    if (!seen.includes(provider)) seen.push(provider);
  }
  for (const name of names) {
    const hit = searched.find((place) => ((tools[`${place}/${name}`]?.mode ?? 0) & 0o111) !== 0);
    if (hit === undefined) continue;
    const { mode: bits = 0, policy } = tools[`${hit}/${name}`] ?? {};
    const agrees =
      policy === undefined || types.every((type) => policy.split('\n').includes(`allow ${type} tool:${name} execute`));
    if (allows(`tool:${name} execute`) && others(bits, 1) && agrees && policy !== 'deny all\n') {
      seen.push(`${hit}/${name}`, `${hit}/${name}.d`, ...(policy === undefined ? [] : [`${hit}/${name}.d/policy`]));
    }
  }
  for (const agent of parent === undefined ? ['coder'] : ['coder', 'boss']) {
    if (allows(`agent:${agent} read`)) seen.push(`agent/${agent}`, `agent/${agent}.d`);
  }
  return seen.sort();
}

function put(root: string, path: string, text: string, bits = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text, { mode: bits });
}

function putAgent(root: string, name: string, lines: readonly string[], more: Readonly<Record<string, unknown>>): void {
  const policy = lines.map((line) => `allow ${name}_t ${line}`);
  const texts = agentTexts(name, { uid, policy, ...more }, { uid, gid });
  for (const [file, text] of texts) put(root, `agent/${name}.d/${file}`, text);
}

function write(root: string, made: World): void {
  for (const space of spaces) {
    mkdirSync(join(root, 'shared', space), { recursive: true, mode: made.spaces[space] ?? 0 });
    mkdirSync(join(root, 'shared', space, 'data'));
    put(root, `shared/${space}/note`, '');
  }
  for (const [path, { mode: bits, policy }] of Object.entries(made.models)) {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    mkdirSync(join(root, `${path}.d`), { mode: bits });
    if (policy !== undefined) put(root, `${path}.d/policy`, policy);
  }
  for (const [path, { mode: bits, policy }] of Object.entries(made.tools)) {
    put(root, path, '', bits);
    if (policy !== undefined) put(root, `${path}.d/policy`, policy);
  }
  const expiry = made.expired ? { expiresAt: 5 } : {};
  putAgent(root, 'coder', made.own, { path: made.path, expiry });
  put(root, 'agent/coder.d/model', made.named.map((name) => `${name}\n`).join(''));
  if (made.parent === undefined) return;
  putAgent(root, 'boss', made.parent, { path: paths.filter((path) => !path.includes('..')) });
  put(root, 'agent/boss.d/model', made.namedByParent.map((name) => `${name}\n`).join(''));
  put(root, 'agent/coder.d/parent', 'agent:boss\n');
}

function listed(node: ViewNode, at: string): string[] {
  const own = at === '' ? [] : [at];
  if (node.kind !== 'directory') return own;
  if (/^agent\/.*\.d$/.test(at)) return own;
  return [
    ...own,
    ...node.names().flatMap((name) => {
      const child = node.child(name);
      assert.ok(child !== undefined, `${at}/${name} is listed and not found`);
      return listed(child, at === '' ? name : `${at}/${name}`);
    }),
  ];
}

function found(node: ViewNode, path: string): boolean {
  let at: ViewNode | undefined = node;
  for (const name of path.split('/')) at = at?.kind === 'directory' ? at.child(name) : undefined;
  return at !== undefined;
}

describe('what an agent sees', () => {
  it('is what its rules say, in listings and by name, and nothing else', {
    skip: process.getuid?.() === 0 ? false : 'the model is of files of another user than the agent',
  }, () => {
    const client = { size: 0, modified: 0n, read: () => Buffer.alloc(0) };
    fc.assert(
      fc.property(world, (made) => {
        const root = mkdtempSync(join(tmpdir(), 'ctx-projection-'));
        try {
          const usable = { ...made, path: made.path.filter((path) => !path.includes('..')) };
          write(root, usable);
          const viewing = agentViewer({ root, uid }, 'coder', () => 10);
          const catalogue = diskCatalogue(root);
          const shown = made.mounts.map((source): ShownSpace => {
            const [name = '', part = ''] = source.split('/');
            return { name, part, target: `/m/${source}` };
          });
          const top = viewRoot({ catalogue, viewer: () => viewing.viewer(), uid, client, spaces: () => shown });
          const wanted = naive(usable);
          assert.deepEqual(listed(top, '').sort(), wanted);
          const possible = places.flatMap((place) =>
            names.flatMap((name) => [`${place}/${name}`, `${place}/${name}.d`]),
          );
          possible.push(...modelPlaces.flatMap((place) => models.map((name) => `${place}/${name}`)));
          possible.push(...spaces.flatMap((space) => [`shared/${space}/data`, `shared/${space}/note`]));
          for (const path of possible) assert.equal(found(top, path), wanted.includes(path), path);
          // What is taken away is gone with the next look.
          put(root, 'agent/coder.d/policy', '');
          assert.deepEqual(listed(top, '').sort(), naive({ ...usable, own: [] }));
        } finally {
          rmSync(root, { recursive: true, force: true });
        }
      }),
      seeded(40),
    );
  });
});
