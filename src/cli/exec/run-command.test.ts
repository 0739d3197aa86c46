/** What signals, refusals and the choice of a report do to a command of the command line. */
import assert from 'node:assert/strict';
import { afterEach, describe, it, mock } from 'node:test';
import { ErrnoError } from '../../base/errno.js';
import { terminationGraceMilliseconds } from '../../base/limits/commands.js';
import type { Started } from '../../sdk/options.js';
import { parseArguments } from '../input/parse-arguments.js';
import { execVerb } from '../verbs/exec-verb.js';
import { exitCodeOfRefusal, showCommand, streamOf, wantsReport } from './run-command.js';

const names = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;
type Name = (typeof names)[number];

/** A command as it is shown, with the signals that arrive here and those that it gets. */
function shown(words: readonly string[] = []) {
  const before = new Map(names.map((name) => [name, new Set(process.listeners(name))]));
  const call = parseArguments(execVerb, [...words, '--', 'true']);
  const host = () => Promise.reject(new Error('no host is needed'));
  const { options } = showCommand(call, { host, report: false, text: () => '' });
  const added = (name: Name) => process.listeners(name).filter((each) => before.get(name)?.has(each) !== true);
  const got: string[] = [];
  const started: Started = { signal: (name) => void got.push(name), kill: () => void got.push('killed') };
  return {
    options,
    got,
    start: () => options.onStarted?.(started),
    arrive: (name: Name) => {
      for (const listener of added(name)) (listener as (name: string) => void)(name);
    },
    end: () => {
      for (const name of names) for (const listener of added(name)) process.off(name, listener);
    },
  };
}

describe('a signal', () => {
  let ended: (() => void) | undefined;
  afterEach(() => {
    ended?.();
    mock.timers.reset();
  });
  const command = (words: readonly string[] = []) => {
    const made = shown(words);
    ended = made.end;
    return made;
  };

  it('that comes before the command keeps it from starting', () => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
      const { options, arrive, got, end } = command();
      arrive('SIGUSR1');
      assert.equal(options.signal?.aborted, false);
      arrive(name);
      assert.deepEqual([options.signal?.aborted, got], [true, []]);
      end();
    }
  });

  it('is the command’s; the second asks it to end, and the third ends it', () => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) {
      const { start, arrive, got, options, end } = command();
      start();
      for (let count = 0; count < 4; count += 1) arrive(name);
      assert.deepEqual([got, options.signal?.aborted], [[name, 'SIGTERM', 'killed', 'killed'], false]);
      end();
    }
  });

  it('of its own for users is handed on each time', () => {
    const { start, arrive, got } = command();
    start();
    for (const name of ['SIGUSR1', 'SIGUSR2', 'SIGUSR1'] as const) arrive(name);
    arrive('SIGINT');
    assert.deepEqual(got, ['SIGUSR1', 'SIGUSR2', 'SIGUSR1', 'SIGINT']);
  });

  it('of a lost terminal ends it after a grace', () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    const { start, arrive, got } = command();
    start();
    arrive('SIGHUP');
    mock.timers.tick(terminationGraceMilliseconds - 1);
    assert.deepEqual(got, ['SIGHUP']);
    mock.timers.tick(1);
    assert.deepEqual(got, ['SIGHUP', 'killed']);
    arrive('SIGINT');
    mock.timers.tick(2 * terminationGraceMilliseconds);
    assert.deepEqual(got, ['SIGHUP', 'killed', 'SIGTERM']);
  });

  it('leaves the options of the call to the command', () => {
    const { options } = command(['--timeout', '2s', '--approval-wait', '3s']);
    assert.deepEqual(
      [options.timeoutMilliseconds, options.approvalMilliseconds, options.streams],
      [2000, 3000, 'inherit'],
    );
    assert.equal(command(['--json']).options.streams, 'capture');
  });
});

it('a refusal ends as shells have it where it is about the program, and as every verb does otherwise', () => {
  const refusal = (
    code: 'ENOENT' | 'EACCES' | 'ENOEXEC' | 'ENOTDIR' | 'ELOOP' | 'ENAMETOOLONG' | 'ECANCELED' | 'EINVAL',
    operation: string,
  ) => exitCodeOfRefusal(new ErrnoError(code, { operation, reason: '' }));
  assert.deepEqual(
    (['ENOENT', 'EACCES', 'ENOEXEC', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ECANCELED', 'EINVAL'] as const).map(
      (code) => [refusal(code, 'exec'), refusal(code, 'other')],
    ),
    [
      [127, undefined],
      [126, undefined],
      [126, undefined],
      [126, undefined],
      [126, undefined],
      [126, undefined],
      [130, 130],
      [undefined, undefined],
    ],
  );
  assert.equal(exitCodeOfRefusal(new Error('x')), undefined);
});

it('a report is for a terminal, unless it is asked for or not wanted', () => {
  const rows: readonly (readonly [
    chosen: string | undefined,
    variable: string | undefined,
    terminal: boolean,
    wanted: boolean,
  ])[] = [
    [undefined, undefined, true, true],
    [undefined, undefined, false, false],
    [undefined, 'always', false, true],
    [undefined, 'never', true, false],
    ['auto', 'always', false, false],
    ['auto', 'never', true, true],
    ['always', 'never', false, true],
    ['never', 'always', true, false],
  ];
  for (const [chosen, variable, terminal, wanted] of rows) {
    assert.equal(wantsReport(chosen, { CTX_REPORT: variable }, terminal), wanted, `${chosen} ${variable} ${terminal}`);
  }
  assert.throws(() => wantsReport(undefined, { CTX_REPORT: 'x' }, true), { code: 'EINVAL' });
});

it('output that comes in pieces is one event a piece, and what is left of a letter is told at the end', async () => {
  const told: unknown[] = [];
  const stream = streamOf(
    parseArguments(execVerb, ['--json', '--stream', '--', 'true']),
    (line) => void told.push(line),
  );
  await stream?.onOutput?.('stdout', Buffer.from('a\xc3', 'latin1'));
  await stream?.onOutput?.('stderr', Buffer.from('e'));
  await stream?.end();
  const event = (name: string, text: string) => ({ version: 1, event: 'output', stream: name, text });
  assert.deepEqual(told, [
    event('stdout', 'a'),
    event('stderr', 'e'),
    { version: 1, event: 'output', stream: 'stdout', base64: 'ww==' },
  ]);
  assert.equal(
    streamOf(parseArguments(execVerb, ['--json', '--', 'true']), () => undefined),
    undefined,
  );
  assert.throws(() => streamOf(parseArguments(execVerb, ['--stream', '--', 'true']), () => undefined), {
    code: 'EINVAL',
  });
});
