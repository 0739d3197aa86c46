/**
 * Damaged plans given to the jail program. Always as an ordinary user, never as root: a plan that has lost its mount
 * namespace would otherwise do its mounts on this machine. The worst a damaged plan can run here is `/bin/true`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { frame, request } from '../../src/jail/frame.js';
import { jailPlan } from '../../src/jail/plan.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { systemView } from '../../src/jail/system-view.js';
import { decodePlan } from './decode-plan.js';
import { seeded } from './seeded.js';

/** CTX_TEST_JAIL is another build of the same program: with sanitizers. */
const built = process.env['CTX_TEST_JAIL'] ?? fileURLToPath(new URL('../../../native/jail', import.meta.url));
const isRoot = process.getuid?.() === 0;
const uid = isRoot ? 65534 : (process.getuid?.() ?? 0);
const gid = isRoot ? 65534 : (process.getgid?.() ?? 0);

/** The program is in the store, since an ordinary user may not be able to reach the checkout. */
const store = mkdtempSync(join(tmpdir(), 'ctx-plan-reader-'));
after(() => rmSync(store, { recursive: true, force: true }));
const program = join(store, 'jail');
copyFileSync(built, program);
chmodSync(program, 0o755);
for (const name of ['layer', 'upper', 'work', 'home']) mkdirSync(join(store, name));
for (const name of ['.', 'layer', 'upper', 'work', 'home']) chownSync(join(store, name), uid, gid);

/** Without the filter: a damaged one may refuse what the process needs to say why it failed. */
const layers = {
  weakened: ['seccomp'],
  architecture: process.arch === 'arm64' ? 'arm64' : 'x64',
  processes: 1024,
} as const;

function sound(argv: readonly string[]): Buffer {
  const { shared, links } = systemView();
  return planBytes(
    jailPlan({
      ...layers,
      identity: { kind: 'self', uid, gid },
      person: { uid, gid, name: 'user', group: 'user', home: '/home/user' },
      hostName: 'ctx',
      base: store,
      overlays: [{ target: '/workspace', lower: ['layer'], upper: 'upper', work: 'work' }],
      shared: [...shared, { source: join(store, 'home'), target: '/home/user', access: 'read write' }],
      links,
      hidden: [],
      directory: '/workspace',
      environment: { PATH: '/usr/bin:/bin' },
      argv,
    }),
  );
}

interface End {
  readonly code: number | null;
  readonly signal: string | null;
  readonly reports: readonly string[];
}

function give(plan: Buffer): Promise<End> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe', 'ignore'],
      env: {},
      timeout: 10_000,
      killSignal: 'SIGKILL',
      ...(isRoot ? { uid, gid } : {}),
    });
    const [, , , input, output] = child.stdio as unknown as readonly Duplex[];
    let reports = '';
    output?.on('data', (chunk: Buffer) => {
      reports += chunk.toString('latin1');
    });
    // It may end before it has read all.
    input?.on('error', () => undefined);
    input?.write(frame(0, request.jail, plan));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, reports: reports.split('\0').slice(0, -1) }));
  });
}

function isPlan(bytes: Buffer): boolean {
  try {
    decodePlan(bytes);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** Refused before anything was done, by the reader itself (EINVAL is 22, E2BIG 7). */
function assertUnread({ code, signal, reports }: End): void {
  assert.equal(signal, null);
  assert.equal(code, 125);
  assert.equal(reports.length, 1);
  assert.match(reports[0] ?? '', /^0 failed 0 start (22|7) ./);
}

/** Whatever a readable plan says: a failure is the first thing reported and nothing ran, or all of it was done. */
function assertOrderly({ code, signal, reports }: End): 'done' | 'failed' {
  assert.equal(signal, null, 'the program crashed or hung');
  const [first = '', ...rest] = reports;
  if (first === '0 started') {
    assert.equal(code, 0);
    assert.match(rest.join('\n'), /^0 exited \d+ \d+ \d+ \d+$/);
    return 'done';
  }
  assert.equal(code, 125);
  assert.match(first, /^0 failed \d+ [a-z-]+ \d+ ./);
  assert.ok(rest.every((report) => report.startsWith('0 failed ')));
  return 'failed';
}

const plan = sound(['/bin/true']);
const flips = fc.array(fc.record({ at: fc.nat({ max: plan.length - 1 }), bit: fc.nat({ max: 7 }) }), {
  minLength: 1,
  maxLength: 4,
});

/** Where one flip does most: the head of the plan and of each operation, and the length of each string. */
const structure: readonly number[] = (() => {
  const places = Array.from({ length: 16 }, (_, index) => index);
  let at = 16;
  for (const { strings } of decodePlan(plan)) {
    for (let index = 0; index < 4; index += 1) places.push(at + index);
    at += 16;
    for (const text of strings) {
      for (let index = 0; index < 4; index += 1) places.push(at + index);
      at += 4 + Buffer.byteLength(text) + 1;
    }
  }
  return places;
})();

function flipped(changes: readonly { readonly at: number; readonly bit: number }[]): Buffer {
  const bytes = Buffer.from(plan);
  for (const { at, bit } of changes) bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
  return bytes;
}

const identityCode = 19;
const identityAt = decodePlan(plan).findIndex(({ code }) => code === identityCode);

/** The plan without these operations: their bytes cut out, the rest counted anew. */
function planWithout(...indexes: readonly number[]): Buffer {
  const operations = decodePlan(plan);
  const head = Buffer.from(plan.subarray(0, 16));
  const kept: Buffer[] = [];
  let at = 16;
  operations.forEach(({ strings }, index) => {
    const end = at + 16 + strings.reduce((sum, text) => sum + 4 + Buffer.byteLength(text) + 1, 0);
    if (!indexes.includes(index)) kept.push(plan.subarray(at, end));
    at = end;
  });
  head.writeUInt32LE(kept.length, 12);
  return Buffer.concat([head, ...kept]);
}

describe('the reader of plans in the jail program', () => {
  it('takes a sound plan, or says which step this host refuses', async () => {
    const end = await give(plan);
    if (assertOrderly(end) === 'done') assert.match(end.reports.at(-1) ?? '', /^0 exited 0 /);
  });

  it('refuses a plan that is cut short anywhere', () =>
    fc.assert(
      fc.asyncProperty(fc.nat({ max: plan.length - 1 }), async (length) => {
        assertUnread(await give(plan.subarray(0, length)));
      }),
      seeded(60),
    ));

  it('refuses a plan that is followed by anything', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 64 }), async (more) => {
        assertUnread(await give(Buffer.concat([plan, more])));
      }),
      seeded(10),
    ));

  it('refuses what is no plan at all, with and without the head of one', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), fc.boolean(), async (noise, withHead) => {
        const bytes = Buffer.concat([plan.subarray(0, withHead ? 12 : 0), noise]);
        fc.pre(!isPlan(bytes));
        assertUnread(await give(bytes));
      }),
      seeded(60),
    ));

  it('refuses more than it has room for', async () => {
    const huge = Buffer.concat([plan, Buffer.alloc(5 << 20)]);
    const { code, signal, reports } = await give(huge);
    assert.deepEqual([code, signal], [125, null]);
    assert.match(reports[0] ?? '', /^0 failed 0 start (7|22) ./);
  });

  it('never crashes, hangs, or half obeys when bits of the structure are flipped', () =>
    fc.assert(
      fc.asyncProperty(fc.constantFrom(...structure), fc.nat({ max: 7 }), async (at, bit) => {
        const bytes = flipped([{ at, bit }]);
        const end = await give(bytes);
        if (isPlan(bytes)) assertOrderly(end);
        else assertUnread(end);
      }),
      seeded(120),
    ));

  it('never crashes, hangs, or half obeys when bits anywhere are flipped', () =>
    fc.assert(
      fc.asyncProperty(flips, async (changes) => {
        const bytes = flipped(changes);
        const end = await give(bytes);
        if (isPlan(bytes)) assertOrderly(end);
        else assertUnread(end);
      }),
      seeded(120),
    ));

  it('never runs a command that the plan gives no identity, whatever else is wrong with it', () =>
    fc.assert(
      fc.asyncProperty(fc.nat({ max: decodePlan(plan).length }), async (left) => {
        assert.equal(assertOrderly(await give(planWithout(identityAt, left))), 'failed');
      }),
      seeded(20),
    ));
});
