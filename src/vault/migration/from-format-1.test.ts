import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { hasCode } from '../../base/errno.js';
import { planFromFormat1 } from './from-format-1.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-format-1-'));
after(() => rmSync(base, { recursive: true, force: true }));
const id = '0123456789abcdef';
const whole = { format: 1, origin: '/w', created: '2026-01-01', layers: ['0', '1'], nextLayer: 3, clashes: ['a'] };
let count = 0;

/** What is written about a vault with this in its file, and these layers on the disk; EIO where it is refused. */
function planOf(meta: unknown, layers: readonly string[] = ['0', '1']) {
  const store = join(base, String(count++));
  const vault = join(store, 'vault', id);
  for (const layer of layers) mkdirSync(join(vault, 'layer', layer), { recursive: true });
  mkdirSync(join(vault, 'fork/main/upper'), { recursive: true });
  writeFileSync(join(vault, 'meta.json'), JSON.stringify(meta));
  let steps: ReturnType<typeof planFromFormat1>;
  try {
    steps = planFromFormat1(store, join(store, 'aside'));
  } catch (error) {
    assert.ok(hasCode(error, 'EIO'), String(error));
    return 'EIO';
  }
  const written = (end: string) => {
    const step = steps.find((each) => each.step === 'write' && each.path.endsWith(end));
    return step?.step === 'write' ? JSON.parse(step.text) : undefined;
  };
  const vaultText = written('meta.json') as { readonly trunk: readonly string[] };
  const { state } = written('state-1.json') as {
    readonly state: { readonly base: readonly string[]; readonly clashes: readonly string[] };
  };
  const aside = steps.flatMap((step) => (step.step === 'move' && step.to.includes('/aside/') ? [step.from] : []));
  assert.deepEqual(state.base, vaultText.trunk);
  // A place for what is kept aside is made where anything is.
  const places = steps.flatMap((step) =>
    step.step === 'make' && step.path.endsWith(`aside/${id}`) ? [step.path] : [],
  );
  assert.equal(places.length, aside.length > 0 ? 1 : 0);
  return { trunk: vaultText.trunk, clashes: state.clashes, aside: aside.map((path) => path.slice(vault.length + 1)) };
}

describe('a vault of format 1', () => {
  it('has the layer that its fork was becoming where that came as far as its rename, and else what it had', () => {
    const had = { trunk: ['m0', 'm1'], clashes: ['a'], aside: [] as string[] };
    assert.deepEqual(planOf(whole), had);
    assert.deepEqual(planOf({ ...whole, folding: '2' }), had, 'not renamed yet');
    assert.deepEqual(planOf({ ...whole, folding: '2' }, ['0', '1', '2']), {
      trunk: ['m0', 'm1', 'm2'],
      clashes: [],
      aside: [],
    });
    assert.deepEqual(planOf({ ...whole, folding: '1' }), had, 'noted already');
    assert.deepEqual(planOf(whole, ['0', '1', '7']), { ...had, aside: ['layer/7'] }, 'of no one');
  });

  it('is refused where a layer is missing, and where its file says anything else', () => {
    assert.equal(planOf(whole, ['0']), 'EIO');
    assert.equal(planOf(whole, ['1']), 'EIO');
    for (const change of [
      { format: 3 },
      { origin: 'w' },
      { origin: 7 },
      { created: null },
      { layers: [] },
      { layers: '01' },
      { layers: ['0', '0'] },
      { layers: ['0', '..'] },
      { layers: ['0', '01'] },
      { layers: ['0', 1] },
      { clashes: null },
      { clashes: [1] },
      { folding: '../x' },
      { folding: 2 },
    ])
      assert.equal(planOf({ ...whole, ...change }), 'EIO', JSON.stringify(change));
    for (const text of [null, [], 'x', {}]) assert.equal(planOf(text), 'EIO', JSON.stringify(text));
  });
});
