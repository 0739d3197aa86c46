import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ExitCode } from '../../base/errno.js';
import { type Envelope, exitCodeOfCommand } from './envelope.js';

describe('the exit code that passes through', () => {
  it("is the command's own", () => {
    fc.assert(
      fc.property(fc.nat({ max: 255 }), (exitCode) => {
        assert.equal(exitCodeOfCommand({ exitCode, signal: null }, constants.signals), exitCode);
      }),
    );
  });

  it('is 128 and the signal where a signal ended it, as shells have it', () => {
    assert.equal(exitCodeOfCommand({ exitCode: null, signal: 'SIGINT' }, constants.signals), 130);
    assert.equal(exitCodeOfCommand({ exitCode: null, signal: 'SIGKILL' }, constants.signals), 137);
    assert.equal(exitCodeOfCommand({ exitCode: null, signal: 'SIGSEGV' }, constants.signals), 139);
  });

  it('is never success for a command that did not end by itself', () => {
    assert.equal(exitCodeOfCommand({ exitCode: null, signal: null }, constants.signals), 137);
    assert.equal(exitCodeOfCommand({ exitCode: null, signal: 'SIGRTMIN' }, constants.signals), 137);
  });

  it('is a failure for what would be a success, where a limit was reached or output is lost', () => {
    const limitError = { code: 'EDQUOT', reason: 'full' } as const;
    const outputError = { code: 'EPIPE', reason: 'lost' } as unknown as NonNullable<Envelope['outputError']>;
    const code = (exitCode: number, more: object) =>
      exitCodeOfCommand({ exitCode, signal: null, ...more }, constants.signals);
    for (const [more, ofSuccess] of [
      [{ limitError }, ExitCode.denied],
      [{ outputError }, ExitCode.failed],
      [{ limitError, outputError }, ExitCode.denied],
    ] as const) {
      assert.deepEqual([code(0, more), code(1, more), code(3, more)], [ofSuccess, 1, 3]);
      assert.notEqual(ofSuccess as number, 0);
    }
  });
});
