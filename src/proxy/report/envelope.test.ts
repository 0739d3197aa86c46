import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { exitCodeOfCommand } from './envelope.js';

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
});
