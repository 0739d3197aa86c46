/** An approval holds for what was asked: whatever of it is otherwise is another request. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import type { AskedTree } from '../asked-tree.js';
import { type Bound, type BoundRequest, bindingOf, directoriesOf, shownOf } from './approval-binding.js';
import { noFork } from './fork-state.js';

const plain: BoundRequest = { argv: ['curl', 'x'], environmentAdditions: [], input: 'nothing' };
const tree = (specification: string, writable: boolean) => ({ specification, target: '/mnt', writable }) as AskedTree;
const secret = { host: 'example.org', header: 'Authorization', template: '$TOKEN' };

function bound(request: BoundRequest, more: { readonly requester?: string; readonly digest?: string } = {}): Bound {
  return {
    host: {
      environment: {},
      home: '/home/user',
      ...(more.requester === undefined ? {} : { requester: more.requester }),
    },
    place: { origin: '/project', directory: '/project', owner: { uid: 1000 } },
    resolved: { authority: { toolPath: [] }, digest: more.digest ?? 'one', search: ['/bin'], roots: [], live: [] },
    request,
  } as unknown as Bound;
}

/** Each is otherwise in one thing. */
const others: Readonly<Record<string, BoundRequest>> = {
  argv: { ...plain, argv: ['curl', 'y'] },
  'two words for one': { ...plain, argv: ['curl x'] },
  'a variable': { ...plain, environmentAdditions: ['A=b'] },
  'another value': { ...plain, environmentAdditions: ['A=c'] },
  'a secret': { ...plain, secrets: [secret] },
  'a secret for another port': { ...plain, secrets: [{ ...secret, port: 8443 }] },
  'a secret in another header': { ...plain, secrets: [{ ...secret, header: 'X-Key' }] },
  'another stored secret': { ...plain, secrets: [{ ...secret, template: '$OTHER' }] },
  'a secret of the caller’s': { ...plain, secrets: [{ ...secret, template: undefined, value: 'x' }] },
  'the directory itself': { ...plain, live: true },
  'an apply': { ...plain, verb: 'apply' },
  'an apply of a step': { ...plain, verb: 'apply', steps: ['write a'] },
  'an apply of another step': { ...plain, verb: 'apply', steps: ['write b'] },
  input: { ...plain, input: Buffer.from('one') },
  'another input': { ...plain, input: Buffer.from('two') },
  'an input that is not known': { ...plain, input: 'unknown' },
  'a fork': { ...plain, fork: 'other' },
  'read-only': { ...plain, readonly: true },
  'no Landlock': { ...plain, weakened: ['landlock'] },
  'no seccomp': { ...plain, weakened: ['seccomp'] },
  'a cache': { ...plain, cache: 'fork' as NonNullable<BoundRequest['cache']> },
  'a home': { ...plain, home: 'work' },
  'another home': { ...plain, home: 'play' },
  'a tree': { ...plain, trees: [tree('memory:', false)] },
  'a private host': { ...plain, privateHosts: ['example.org:80'] },
  'another private host': { ...plain, privateHosts: ['example.org:81'] },
  'a tree to write to': { ...plain, trees: [tree('memory:', true)] },
};

describe('what an approval holds for', () => {
  const known = { fork: 'state', directories: 'state' };

  it('is everything that was asked: each request that is otherwise in one thing is another one', async () => {
    const asked = [bound(plain), bound(plain, { requester: 'mcp' }), bound(plain, { digest: 'two' })];
    const bounds = [...asked, ...Object.values(others).map((request) => bound(request))];
    const all = await Promise.all(bounds.map((each) => bindingOf(each, known)));
    assert.equal(new Set(all.map(({ lasting }) => lasting)).size, bounds.length);
    assert.equal(new Set(all.map(({ digest }) => digest)).size, bounds.length);
    const again = await bindingOf(bound(plain), known);
    assert.deepEqual(again, all[0]);
  });

  it('is of where and for whom it was asked: each place, agent and value that is passed on is another one', async () => {
    const { host, place, resolved, request } = bound(plain);
    const agent = { identity: { uid: 5 }, environment: { A: 'b' } };
    const ofAgent = (given: object) => ({ ...resolved, agent: { ...agent, ...given } });
    const all: readonly object[] = [
      {},
      { place: { ...place, directory: '/project/sub' } },
      { place: { ...place, owner: { uid: 0 } } },
      { host: { ...host, home: '/home/other' } },
      { host: { ...host, environment: { LANG: 'C' } } },
      { resolved: { ...resolved, search: ['/sbin'] } },
      { resolved: ofAgent({}) },
      { resolved: ofAgent({ identity: { uid: 6 } }) },
      { resolved: ofAgent({ environment: { A: 'c' } }) },
      { resolved: { ...ofAgent({}), authority: { toolPath: ['/ctx/tool'] } } },
    ];
    const found = await Promise.all(
      all.map((more) => bindingOf({ host, place, resolved, request, ...more } as Bound, known)),
    );
    assert.equal(new Set(found.map(({ lasting }) => lasting)).size, all.length);
  });

  it('on the directory itself is of no fork, which is not even looked at', async () => {
    const live = bound({ ...plain, live: true });
    const here = await bindingOf(live, { directories: 'state' });
    assert.equal(here.digest, (await bindingOf(live, { fork: noFork, directories: 'state' })).digest);
    // This host has no store to look into.
    await assert.rejects(bindingOf(bound(plain), { directories: 'state' }), TypeError);
  });

  it('for once also the fork and the directories as they are; for longer not', async () => {
    const [first, fork, directories] = await Promise.all(
      [known, { ...known, fork: 'other' }, { ...known, directories: 'other' }].map((state) =>
        bindingOf(bound(plain), state),
      ),
    );
    assert.equal(new Set([first?.digest, fork?.digest, directories?.digest]).size, 3);
    assert.deepEqual([fork?.lasting, directories?.lasting], [first?.lasting, first?.lasting]);
  });

  it('is of every directory of the person that a command sees: a state of each is looked at', async (context) => {
    const store = mkdtempSync(join(tmpdir(), 'ctx-binding-'));
    context.after(() => rmSync(store, { recursive: true }));
    const { host, place, resolved, request } = bound(plain);
    const lookedAt = async (more: object, asked: Partial<BoundRequest> = {}) => {
      const seen: string[] = [];
      const scan = async ({ root }: { readonly root: string }) => {
        seen.push(root);
        throw new ErrnoError('EIO', { operation: 'scan', reason: 'nothing is read here' });
      };
      const own = { ...host, store: { directory: store, device: 0n, inode: 0n }, tree: { scan } };
      await directoriesOf({
        host: own,
        place,
        resolved: { ...resolved, ...more },
        request: { ...request, ...asked },
      } as unknown as Bound);
      return seen.sort();
    };
    assert.deepEqual(await lookedAt({}), ['/project']);
    assert.deepEqual(await lookedAt({ roots: ['/root'] }), ['/project', '/root']);
    assert.deepEqual(await lookedAt({ live: ['/live'] }), ['/live', '/project']);
    const all = { roots: ['/one', '/two', '/project'], live: ['/live', '/two'] };
    assert.deepEqual(await lookedAt(all), ['/live', '/one', '/project', '/two']);
    assert.deepEqual(await lookedAt(all, { apart: { hidesFork: true } }), ['/live', '/two'], 'a tool sees these alone');
  });

  it('is shown to the person, but for what is as by default', async () => {
    const shown = async (request: BoundRequest) => {
      const one = bound(request);
      return shownOf(one, await bindingOf(one, known));
    };
    assert.deepEqual(await shown(plain), []);
    const unshown = ['argv', 'two words for one', 'the directory itself'];
    for (const [what, request] of Object.entries(others)) {
      if (unshown.includes(what) || request.verb !== undefined) continue; // shown as what it is, above these lines
      assert.equal((await shown(request)).length, 1, what);
    }
    const values: Readonly<Record<string, RegExp>> = {
      'a variable': /A=b/,
      'a secret': /example\.org:443 authorization: \$TOKEN$/,
      'a secret of the caller’s': /example\.org:443 authorization$/,
      input: /3 bytes.*one/,
      'an input that is not known': /not known.*once/,
      'a fork': /^fork: other$/,
      'read-only': /^read-only/,
      'no Landlock': /landlock/,
      'a cache': /^cache: fork$/,
      'a home': /^home: work$/,
      'a tree': /memory:.*\/mnt/,
    };
    for (const [what, value] of Object.entries(values)) {
      assert.match((await shown(others[what] ?? plain))[0] ?? '', value, what);
    }
  });
});
