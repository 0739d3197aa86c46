/** A command as the proxy is asked for it: what the call says, what the workspace says, and callbacks that cannot throw into it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JailOptions, WorkspaceOptions } from '../options.js';
import { type CommandPlace, commandOf } from './command.js';
import { GuardedCallbacks } from './guarded-callbacks.js';

const place = (options: WorkspaceOptions = {}) =>
  ({ host: {}, place: { directory: '/work/here', origin: '/work' }, options }) as unknown as CommandPlace;
const request = (options: JailOptions = {}, own: WorkspaceOptions = {}, callbacks = new GuardedCallbacks()) =>
  commandOf(place(own), ['true'], options, callbacks) as unknown as Readonly<Record<string, unknown>>;

test('every callback of the caller’s is guarded: one that throws or rejects ends the command, and throws nothing into it', async () => {
  const names = ['onApproval', 'onProgress', 'onOutput', 'onReady', 'onLimit', 'onStarted'];
  for (const name of names) {
    for (const failing of [
      () => {
        throw new Error('the caller’s mistake');
      },
      () => Promise.reject(new Error('the caller’s mistake')),
    ]) {
      const callbacks = new GuardedCallbacks();
      const ofWorkspace = name === 'onProgress' ? { [name]: failing } : {};
      const ofCall = name === 'onProgress' ? {} : { [name]: failing };
      const asked = request(ofCall, ofWorkspace, callbacks);
      const jail = { done: new Promise(() => undefined), signal: () => undefined, kill: () => undefined };
      await (asked[name] as (given: unknown) => unknown)(jail);
      assert.ok((asked['signal'] as AbortSignal).aborted, name);
      assert.throws(() => callbacks.end(), { code: 'ECANCELED', operation: name });
    }
    if (name !== 'onStarted') assert.equal(request()[name], undefined, name);
  }
});

test('what the call says comes before what the workspace says, and variables are added', async () => {
  const answer = (id: string) => async () => ({ granted: false, scope: 'once', network: [], id }) as never;
  const own: WorkspaceOptions = { approvalMilliseconds: 1, onApproval: answer('workspace'), environment: ['A=1'] };
  const plain = request({}, own);
  const said = request({ approvalMilliseconds: 2, onApproval: answer('call'), environment: ['B=2'] }, own);
  assert.deepEqual([plain['approvalMilliseconds'], said['approvalMilliseconds']], [1, 2]);
  const asked = async (of: Readonly<Record<string, unknown>>) =>
    ((await (of['onApproval'] as () => Promise<unknown>)()) as { id: string }).id;
  assert.deepEqual([await asked(plain), await asked(said)], ['workspace', 'call']);
  assert.deepEqual([plain['environmentAdditions'], said['environmentAdditions']], [['A=1'], ['A=1', 'B=2']]);
  assert.deepEqual([plain['streams'], request({ streams: 'inherit' })['streams']], ['capture', 'inherit']);
  assert.deepEqual([plain['cwd'], plain['argv']], ['/work/here', ['true']]);
});

test('the signal of the call ends the command, also one that came before', () => {
  const controller = new AbortController();
  const asked = request({ signal: controller.signal });
  assert.equal((asked['signal'] as AbortSignal).aborted, false);
  controller.abort();
  assert.equal((asked['signal'] as AbortSignal).aborted, true);
  assert.equal((request({ signal: controller.signal })['signal'] as AbortSignal).aborted, true);
});
