/** Files of a workspace by commands in its jail: both sides of each limit, and what becomes of a call that is cancelled. */
import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { sdkAnswerBytes, sdkFileBytes } from '../../base/limits/commands.js';
import { WorkspaceJail } from './workspace-jail.js';

type Onoutput = (stream: 'stdout' | 'stderr', chunk: Buffer) => void;
interface Asked {
  readonly argv: readonly string[];
  readonly signal: AbortSignal;
  readonly conversation: { readonly onOutput: Onoutput };
}

/** A jail whose commands say this much, and end so. */
function jailOf(
  says: { readonly stdout?: Buffer; readonly stderr?: string; readonly end?: object },
  seen: Asked[] = [],
) {
  const exec = async (asked: Asked) => {
    seen.push(asked);
    if (says.stdout !== undefined) asked.conversation.onOutput('stdout', says.stdout);
    if (says.stderr !== undefined) asked.conversation.onOutput('stderr', Buffer.from(says.stderr));
    return { exitCode: 0, timedOut: false, ...says.end };
  };
  const place = { directory: '/work', origin: '/work' };
  return new WorkspaceJail({} as never, place as never, { fork: 'main', exec } as never);
}

test('a list or a search says that it is cut exactly where there was more than is read, and its command is ended', async () => {
  for (const [length, isCut] of [
    [0, false],
    [sdkAnswerBytes - 1, false],
    [sdkAnswerBytes, false],
    [sdkAnswerBytes + 1, true],
  ] as const) {
    const seen: Asked[] = [];
    const jail = jailOf({ stdout: Buffer.alloc(length, 'x') }, seen);
    assert.equal((await jail.list('.')).truncated, isCut, `list of ${length}`);
    assert.equal((await jail.search('x')).truncated, isCut, `search of ${length}`);
    assert.deepEqual(
      seen.map(({ signal }) => signal.aborted),
      [isCut, isCut],
    );
  }
});

test('a file is read and written up to its limit, and refused beyond it before anything is run', async () => {
  const read = (length: number) => jailOf({ stdout: Buffer.alloc(length) }).read('f');
  assert.equal((await read(sdkFileBytes)).length, sdkFileBytes);
  await assert.rejects(read(sdkFileBytes + 1), { code: 'EFBIG' });
  const seen: Asked[] = [];
  await jailOf({}, seen).write('f', Buffer.alloc(sdkFileBytes));
  assert.equal(seen.length, 1);
  await assert.rejects(jailOf({}, seen).write('f', Buffer.alloc(sdkFileBytes + 1)), { code: 'EFBIG' });
  assert.equal(seen.length, 1);
});

test('a text with half of a character is not written', async () => {
  const seen: Asked[] = [];
  for (const half of ['a\ud83d', '\ude00b'])
    await assert.rejects(jailOf({}, seen).write('f', half), { code: 'EINVAL' });
  await jailOf({}, seen).write('f', '\ud83d\ude00');
  assert.equal(seen.length, 1);
});

test('an edit of what is not UTF-8 is refused, and nothing is written', async () => {
  const seen: Asked[] = [];
  const jail = jailOf({ stdout: Buffer.from([0x61, 0xff]) }, seen);
  await assert.rejects(jail.edit('f', { before: 'a', after: 'b' }), { code: 'EINVAL' });
  assert.equal(seen.length, 1);
});

test('a command that fails or takes too long is told by its reason', async () => {
  const failed = { exitCode: 1 };
  const missing = "head: cannot open 'f' for reading: No such file or directory";
  await assert.rejects(jailOf({ stderr: missing, end: failed }).read('f'), { code: 'ENOENT' });
  await assert.rejects(jailOf({ end: { timedOut: true, exitCode: null } }).read('f'), { code: 'ETIMEDOUT' });
  assert.deepEqual((await jailOf({ end: failed }).search('x')).matches, []);
  await assert.rejects(jailOf({ end: { exitCode: 2 } }).search('x'));
});

test('a call that is cancelled says so, and leaves nothing at the signal of its caller', async () => {
  const controller = new AbortController();
  for (const jail of [jailOf({ stdout: Buffer.from('x') }), jailOf({ end: { exitCode: 1 } })]) {
    await jail.read('f', { signal: controller.signal }).catch(() => undefined);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  }
  const seen: Asked[] = [];
  controller.abort();
  await assert.rejects(jailOf({}, seen).read('f', { signal: controller.signal }), { code: 'ECANCELED' });
  assert.ok(seen.every(({ signal }) => signal.aborted));
});
