import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { describe, it } from 'node:test';
import { networkLookups } from '../base/limits/network.js';
import { addressesInHosts, type ResolveName, resolveByHost, sharedResolve } from './resolve-name.js';

const forever = new AbortController().signal;
/** Resolves nothing until it is aborted, and counts. */
function silent() {
  const state = { started: [] as string[], aborted: 0 };
  const resolve: ResolveName = (host, signal) =>
    new Promise((_resolve, reject) => {
      state.started.push(host);
      signal.addEventListener('abort', () => {
        state.aborted += 1;
        reject(new Error('aborted'));
      });
    });
  return { state, resolve };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a name of this machine', () => {
  it('is asked of no server, whatever is before it', async () => {
    for (const host of ['localhost', 'a.localhost', 'a.b.localhost']) {
      const found = await resolveByHost(host, AbortSignal.abort());
      assert.ok(found.length > 0 && found.every((address) => ['127.0.0.1', '::1'].includes(address)), `${found}`);
    }
    for (const host of ['notlocalhost', 'localhost.example']) {
      await assert.rejects(resolveByHost(host, AbortSignal.abort()), { code: 'ECANCELED' }, host);
    }
  });
});

describe('a name in /etc/hosts', () => {
  it('has every address that a line gives it, in any case of letters', () => {
    const text =
      '127.0.0.1 localhost\n10.1.2.3\tRegistry.corp registry # 10.9.9.9 registry\n::1 registry.corp\nnonsense x\n';
    assert.deepEqual(addressesInHosts(text, 'registry.corp'), ['10.1.2.3', '::1']);
    assert.deepEqual(addressesInHosts(text, 'registry'), ['10.1.2.3']);
    assert.deepEqual(addressesInHosts(text, 'x'), []);
    assert.deepEqual(addressesInHosts(text, 'corp'), []);
    const comments = '10.1.1.1 a # b 10.2.2.2 c\n#10.3.3.3 d\n # 10.4.4.4 e\n10.5.5.5 f#g\n';
    const found = [...'abcdefg'].map((name) => addressesInHosts(comments, name).join());
    assert.deepEqual(found, ['10.1.1.1', '', '', '', '', '10.5.5.5', '']);
  });
});

describe('a lookup', () => {
  it('has the addresses of one kind where the other has none, and fails where both do', async (context) => {
    const none = () => Promise.reject(Object.assign(new Error('queryA ENODATA'), { code: 'ENODATA' }));
    const [four, six] = [async () => ['192.0.2.1', '192.0.2.2'], async () => ['2001:db8::1']];
    for (const [resolve4, resolve6, expected] of [
      [four, six, ['192.0.2.1', '192.0.2.2', '2001:db8::1']],
      [four, none, ['192.0.2.1', '192.0.2.2']],
      [none, six, ['2001:db8::1']],
      [none, none, 'ENODATA'],
      [async () => [], none, 'ENODATA'],
      [async () => [], async () => [], []],
    ] as const) {
      context.mock.method(Resolver.prototype, 'resolve4', resolve4);
      context.mock.method(Resolver.prototype, 'resolve6', resolve6);
      const found = await resolveByHost('name.invalid', forever).catch(({ code }) => code);
      assert.deepEqual(found, expected);
      context.mock.restoreAll();
    }
  });

  it('is one for all who ask for a name at once', async () => {
    let count = 0;
    const resolve = sharedResolve(async () => {
      count += 1;
      await settled();
      return ['192.0.2.1'];
    });
    const found = await Promise.all(Array.from({ length: 50 }, () => resolve('a.example', forever)));
    assert.equal(count, 1);
    assert.deepEqual(new Set(found.flat()), new Set(['192.0.2.1']));
    await resolve('a.example', forever);
    assert.equal(count, 2, 'an answer is not kept: the next asker may get another');
  });

  it('that failed is not repeated at once', async () => {
    let count = 0;
    const resolve = sharedResolve(async () => {
      count += 1;
      throw new Error('no server');
    });
    for (let i = 0; i < 24; i++) await assert.rejects(resolve('a.example', forever), /no server/);
    assert.equal(count, 1);
  });

  it('ends when its last asker has gone, and not before', async () => {
    const { state, resolve } = silent();
    const shared = sharedResolve(resolve);
    const [one, other] = [new AbortController(), new AbortController()];
    const first = assert.rejects(shared('a.example', one.signal), { code: 'ECANCELED' });
    const second = assert.rejects(shared('a.example', other.signal), { code: 'ECANCELED' });
    one.abort();
    await first;
    assert.equal(state.aborted, 0);
    other.abort();
    await second;
    assert.equal(state.aborted, 1);
    const again = new AbortController();
    const third = assert.rejects(shared('a.example', again.signal), { code: 'ECANCELED' });
    await settled();
    assert.equal(state.started.length, 2, 'a new one is started for whoever comes later');
    again.abort();
    await third;
  });

  it('waits for its turn where many names are looked up, and one that leaves the line holds nobody up', async () => {
    const { state, resolve } = silent();
    const shared = sharedResolve(resolve);
    const asked = Array.from({ length: networkLookups + 2 }, (_, i) => {
      const controller = new AbortController();
      return { controller, gone: assert.rejects(shared(`${i}.example`, controller.signal), { code: 'ECANCELED' }) };
    });
    await settled();
    assert.equal(state.started.length, networkLookups);
    asked[networkLookups]?.controller.abort();
    await asked[networkLookups]?.gone;
    asked[0]?.controller.abort();
    await asked[0]?.gone;
    await settled();
    assert.equal(state.started.at(-1), `${networkLookups + 1}.example`);
    for (const { controller, gone } of asked) {
      controller.abort();
      await gone;
    }
  });
});
