import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import type { Caller } from '../caller.js';
import { complain, errorJson, errorText, hasColour, type Paint } from './output.js';

const plain: Paint = (_colour, text) => text;
const terminal = { isTTY: true } as NodeJS.WriteStream;
const file = { isTTY: false } as NodeJS.WriteStream;

describe('colour', () => {
  it('is for terminals that can, unless a person says otherwise', () => {
    const cases: readonly (readonly [NodeJS.WriteStream, NodeJS.ProcessEnv, boolean])[] = [
      [terminal, {}, true],
      [file, {}, false],
      [terminal, { TERM: 'dumb' }, false],
      [terminal, { NO_COLOR: '1' }, false],
      [terminal, { NO_COLOR: '' }, true],
      [file, { FORCE_COLOR: '1' }, true],
      [file, { FORCE_COLOR: '0' }, false],
      [file, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    ];
    for (const [stream, environment, expected] of cases) {
      assert.equal(hasColour(stream, environment), expected, JSON.stringify([stream.isTTY, environment]));
    }
  });
});

describe('an error as people read it', () => {
  it('says what failed, where, why, and what to do', () => {
    const error = new ErrnoError('EBUSY', {
      operation: 'open the fork',
      path: '/w',
      reason: 'process 7 is using it: npm test',
      remedy: 'wait for it to end, or pass --wait',
    });
    assert.equal(
      errorText(error, plain),
      'ctx: open the fork /w: process 7 is using it: npm test (EBUSY)\n  try: wait for it to end, or pass --wait\n',
    );
  });

  it('quotes a path that ends in a colon', () => {
    const error = new ErrnoError('EINVAL', { operation: 'vfs', path: 'tape:', reason: "unknown engine 'tape'" });
    assert.equal(errorText(error, plain), "ctx: vfs 'tape:': unknown engine 'tape' (EINVAL)\n");
  });

  it('leaves out what there is not', () => {
    const error = new ErrnoError('EIO', { operation: 'jail', reason: 'it ended' });
    assert.equal(errorText(error, plain), 'ctx: jail: it ended (EIO)\n');
    const usage = new ErrnoError('EINVAL', { operation: 'ctx exec', reason: 'unexpected operand' });
    assert.equal(errorText(usage, plain), 'ctx: exec: unexpected operand (EINVAL)\n');
  });

  it('is never more than its two lines, and moves no cursor, whatever it is about', () => {
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(text, text, text, (path, reason, remedy) => {
        const shown = errorText(new ErrnoError('EIO', { operation: 'x', path, reason, remedy }), plain);
        assert.equal(shown.split('\n').length, 3);
        assert.doesNotMatch(shown, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
      }),
      seeded(300),
    );
  });
});

describe('an error that nobody foresaw', () => {
  const complained = (error: unknown) => {
    const said: string[] = [];
    const stream = { write: (text: string) => said.push(text) > 0 };
    const code = complain(error, false, { stdout: stream, stderr: stream, environment: {} } as unknown as Caller);
    return [code, said.join('')] as const;
  };
  const system = (code: string) =>
    Object.assign(new Error(`${code}: what it means, mkdir '/store/x'`), { code, syscall: 'mkdir', path: '/store/x' });

  it('of a full, failing or closed disk is said as what it is', () => {
    const remedies: Readonly<Record<string, string>> = {
      ENOSPC: '  try: make room on the filesystem of that path\n',
      EDQUOT:
        '  try: remove files of yours on the filesystem of that path: the most that you may have there is reached (quota)\n',
      EFBIG: '  try: raise the limit of file sizes (ulimit -f)\n',
    };
    for (const code of ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS', 'EACCES', 'EPERM']) {
      const [exitCode, text] = complained(system(code));
      assert.equal(text, `ctx: write /store/x: mkdir failed: what it means (${code})\n${remedies[code] ?? ''}`);
      assert.notEqual(exitCode, ExitCode.internal);
    }
  });

  it('of another kind is a defect', () => {
    for (const error of [system('ENOENT'), new TypeError('x')]) {
      const [exitCode, text] = complained(error);
      assert.match(text, /^ctx: this is a bug in ctx/);
      assert.equal(exitCode, ExitCode.internal);
    }
  });
});

describe('an error as machines read it', () => {
  it('has its code, its parts and the exit code, exactly', () => {
    const error = new ErrnoError('EACCES', { operation: 'open', path: '/w\n', reason: 'closed' });
    assert.deepEqual(JSON.parse(JSON.stringify(errorJson(error))), {
      version: 1,
      error: { code: 'EACCES', operation: 'open', path: '/w\n', reason: 'closed', exitCode: 13 },
    });
    assert.match(JSON.stringify(errorJson(error, 126)), /"exitCode":126/, 'of a command that was not executed');
  });
});
