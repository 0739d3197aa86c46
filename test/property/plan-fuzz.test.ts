/**
 * The reader of plans under a coverage-guided fuzzer, with sanitizers. It starts from the plans that were read and agreed to.
 * CTX_SOAK=1 lets it run for minutes; CTX_TEST_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Operation, Plan } from '../../src/jail/operation.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { checkout } from '../support/program.js';
import { cannotSanitize, compileFuzzer, fuzz } from '../support/sanitizers.js';
import { seeded } from './seeded.js';

const { seed } = seeded(1);
const seconds = process.env['CTX_SOAK'] === '1' ? 300 : 4;
const base = mkdtempSync(join(tmpdir(), 'ctx-fuzz-'));
after(() => rmSync(base, { recursive: true }));

/** As the vectors write them: numbers in octal or hexadecimal. */
function revived(key: string, value: unknown): unknown {
  if (key === 'mode') return Number.parseInt(String(value), 8);
  return key === 'value' || key === 'rights' ? BigInt(String(value)) : value;
}

function goldenPlans(): readonly Plan[] {
  const directory = join(checkout, 'test/vectors');
  return readdirSync(directory)
    .filter((name) => name.startsWith('jail-plan-'))
    .map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8'), revived) as Plan);
}

/** Each golden plan, and what of it a kept jail, a command in one, and its overlays would be. */
function corpus(name: string): string {
  const directory = join(base, name);
  mkdirSync(directory);
  const ofKept = (plan: Plan) =>
    plan.slice(
      0,
      plan.findIndex((operation) => operation.do === 'limit'),
    );
  const ofCommand = (plan: Plan) => plan.slice(plan.findIndex((operation) => operation.do === 'limit'));
  const isOverlay = (operation: Operation) => operation.do === 'overlay';
  const plans = goldenPlans().flatMap((plan) => [plan, ofKept(plan), ofCommand(plan), plan.filter(isOverlay)]);
  for (const [index, plan] of plans.entries()) writeFileSync(join(directory, `plan-${index}`), planBytes(plan));
  return directory;
}

describe('the reader of plans under a fuzzer', { skip: cannotSanitize }, () => {
  it('takes no step beyond its bytes and breaks none of its promises', (context) => {
    const fuzzer = compileFuzzer(['test/fuzz/plan-reader.c', 'native/jail/plan.c'], join(base, 'fuzzer'));
    const { status, signal, stderr } = fuzz(fuzzer, corpus('of-sound'), seconds, seed);
    assert.deepEqual([status, signal], [0, null], stderr.slice(-4000));
    context.diagnostic(
      `${fuzzer.guided ? 'guided' : 'blind, since clang is not installed'}: ${/\d+ runs/.exec(stderr)?.[0]}`,
    );
  });

  it('would be found out, had it forgotten to look at the length of a string', () => {
    const source = readFileSync(join(checkout, 'native/jail/plan.c'), 'utf8');
    const trusting = source.replace('|| length >= cursor->left', '');
    assert.notEqual(trusting, source);
    const copy = join(base, 'plan.c');
    writeFileSync(copy, trusting.replace('"plan.h"', '"jail/plan.h"'));
    const fuzzer = compileFuzzer(['test/fuzz/plan-reader.c', copy], join(base, 'trusting'));
    const { status, stderr } = fuzz(fuzzer, corpus('of-trusting'), 20, seed);
    assert.notEqual(status, 0);
    assert.match(stderr, /AddressSanitizer|runtime error|deadly signal/);
  });
});
