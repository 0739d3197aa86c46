/**
 * The hook against the kernel: over random trees with links, `..`, `//`, case, unicode and long names, whatever the hook
 * grants is what the surface grants where the kernel really goes, and what it denies has a reading that is not granted.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { noNetwork } from '../../src/authority/network.js';
import { accessTo, makeSurface, type Surface } from '../../src/authority/surface.js';
import { decideCall } from '../../src/hook/decide-call.js';
import { surfaceGrants } from '../../src/hook/grants.js';
import { HostResolver } from '../../src/hook/resolve-path.js';
import { seeded } from './seeded.js';

const names = ['a', 'A', 'b', 'ab', 'é', 'e\u0301', 'x'.repeat(255), 'spa ce'] as const;
const name = fc.constantFrom(...names);
const place = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const step = fc.oneof({ weight: 6, arbitrary: name }, { weight: 3, arbitrary: fc.constantFrom('..', '.', '', 'new') });
const target = fc.array(step, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'));

type Made =
  | { readonly kind: 'directory'; readonly at: string }
  | { readonly kind: 'file'; readonly at: string }
  | { readonly kind: 'link'; readonly at: string; readonly to: string; readonly absolute: boolean };

const made: fc.Arbitrary<Made> = fc.oneof(
  fc.record({ kind: fc.constant('directory' as const), at: place }),
  fc.record({ kind: fc.constant('file' as const), at: place }),
  fc.record({ kind: fc.constant('link' as const), at: place, to: target, absolute: fc.boolean() }),
);

const world = fc.record({
  made: fc.array(made, { maxLength: 14 }),
  cwd: place,
  reads: fc.array(place, { maxLength: 3 }),
  writes: fc.array(place, { maxLength: 2 }),
  hidden: fc.array(place, { maxLength: 1 }),
  paths: fc.array(
    fc.record({ path: target, absolute: fc.boolean(), access: fc.constantFrom('read' as const, 'write' as const) }),
    { minLength: 5, maxLength: 20 },
  ),
});

/** What cannot be made where something else is already is left out. */
function make(root: string, things: readonly Made[]): void {
  for (const thing of things) {
    const path = join(root, thing.at);
    try {
      mkdirSync(posix.dirname(path), { recursive: true });
      if (thing.kind === 'directory') mkdirSync(path, { recursive: true });
      else if (thing.kind === 'file') writeFileSync(path, '');
      else symlinkSync(thing.absolute ? join(root, thing.to) : thing.to, path);
    } catch (error) {
      assert.ok((error as NodeJS.ErrnoException).code, String(error));
    }
  }
}

/** Where the kernel goes when it opens the path, making the file where that is asked; undefined where it does not. */
function openedAt(path: string, access: 'read' | 'write'): string | undefined {
  const flags = access === 'read' ? constants.O_RDONLY : constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL;
  for (const attempt of access === 'read'
    ? [flags]
    : [flags, constants.O_WRONLY, constants.O_WRONLY | constants.O_CREAT]) {
    let descriptor: number;
    try {
      descriptor = openSync(path, attempt | constants.O_NONBLOCK);
    } catch {
      continue; // the next way, or none: the kernel refuses the path itself
    }
    const found = readlinkSync(`/proc/self/fd/${descriptor}`);
    closeSync(descriptor);
    if (attempt !== constants.O_WRONLY && access === 'write') unlinkSync(found);
    return found;
  }
  return undefined;
}

function surfaceIn(root: string, given: { cwd: string; reads: string[]; writes: string[]; hidden: string[] }): Surface {
  const within = (paths: readonly string[]) => paths.map((path) => join(root, path));
  return makeSurface({
    cwd: join(root, given.cwd),
    additionalReads: within(given.reads),
    additionalWrites: within(given.writes),
    hidden: within(given.hidden),
  });
}

describe('the hook and the kernel', () => {
  it('agree on where a path leads, and the hook grants only what the surface grants there', async () => {
    const seen = { allowed: 0, denied: 0, opened: 0 };
    await fc.assert(
      fc.asyncProperty(world, async (given) => {
        const root = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-hook-world-')));
        try {
          make(root, given.made);
          const surface = surfaceIn(root, given);
          const cwd = join(root, given.cwd);
          const grants = surfaceGrants(surface, { network: noNetwork, toolFault: () => 'no' });
          const form = { program: '/ctx', options: [], shell: 'sh' };
          for (const { path, absolute, access } of given.paths) {
            const asked = absolute ? `${root}/${path}` : path;
            const { resolve } = new HostResolver();
            const verdict = await decideCall(
              { grants, resolve, commands: 'deny', form },
              { tool: 'T', cwd, action: { kind: 'paths', uses: [{ path: asked, access, tree: false }] } },
            );
            const raw = asked.startsWith('/') ? asked : `${cwd}/${asked}`;
            // Whatever a harness makes of the text, the kernel goes where the surface grants.
            if (verdict.decision === 'allow') {
              seen.allowed += 1;
              for (const text of [raw, posix.normalize(raw), raw.normalize('NFC'), posix.resolve(cwd, asked.trim())]) {
                const found = openedAt(text, access);
                if (found === undefined) continue;
                seen.opened += 1;
                const has = accessTo(surface, found);
                assert.ok(has === 'write' || has === access, `${asked} ${access} opened ${found}, which has ${has}`);
              }
              continue;
            }
            // And it denies no plain path that is granted: absolute, canonical, as it is.
            seen.denied += 1;
            const found = openedAt(raw, access);
            if (found === undefined || found !== asked || found !== found.normalize('NFC')) continue;
            const has = accessTo(surface, found);
            assert.ok(has !== 'write' && has !== access, `${asked} ${access} is granted, but: ${verdict.reason}`);
          }
        } finally {
          rmSync(root, { recursive: true, force: true });
        }
      }),
      seeded(150),
    );
    assert.ok(seen.allowed > 50 && seen.denied > 50 && seen.opened > 20, JSON.stringify(seen));
  });

  it('grants by whole components', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 6 }), async (suffix) => {
        const surface = makeSurface({ cwd: '/nowhere/project' });
        const grants = surfaceGrants(surface, { network: noNetwork, toolFault: () => 'no' });
        const form = { program: '/ctx', options: [], shell: 'sh' };
        const verdict = await decideCall(
          { grants, resolve: new HostResolver().resolve, commands: 'deny', form },
          {
            tool: 'T',
            cwd: '/nowhere/project',
            action: { kind: 'paths', uses: [{ path: `/nowhere/project${suffix}`, access: 'read', tree: false }] },
          },
        );
        const inside = /^\s*(?:\/|$)/u.test(suffix) && !suffix.includes('..');
        if (!inside) assert.equal(verdict.decision, 'deny', suffix);
      }),
      seeded(300),
    );
  });
});
