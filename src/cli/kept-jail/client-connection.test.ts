/** What a client of a kept jail is answered: which calls are for it, and what becomes of input, signals and questions. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { until } from '../../../test/support/process.js';
import { ErrnoError } from '../../base/errno.js';
import { encodeFrame, encodeRequest, type RunningCommand, wireKind } from '../../sdk/jail-wire.js';
import { grantWords } from '../input/kept-jail-grants.js';
import { parseArguments } from '../input/parse-arguments.js';
import { execVerb } from '../verbs/exec-verb.js';
import { verbs } from '../verbs.js';
import { ClientConnection } from './client-connection.js';
import { Client, type Exec, envelope, offered as offeredWith } from './client-fixture.js';

const grants = grantWords(parseArguments(execVerb, ['--', 'true']), {}, 'project');
const offered = (given: Partial<Parameters<typeof offeredWith>[0]> = {}) => offeredWith({ verbs, grants, ...given });

interface Said {
  readonly words: readonly string[];
  readonly directory?: string;
  readonly build?: string;
}

const requestOf = ({ words, directory = '/work', build = 'build' }: Said) =>
  encodeRequest({ directory, build, words, environment: {} });

async function asked(said: Said, given: Parameters<typeof offered>[0] = {}) {
  const { served, seen } = offered(given);
  const client = new Client();
  const connection = new ClientConnection(client as unknown as Socket, served);
  client.say(wireKind.request, requestOf(said));
  await connection.answered;
  return { client, seen, isRefused: client.of(wireKind.refused).length > 0 };
}

describe('a call of a client', () => {
  it('is for the kept jail where all that counts is the same, and for Node where one thing is not', async () => {
    const run = ['exec', '--', 'true'];
    const rows: readonly (readonly [
      name: string,
      said: Said,
      given: Parameters<typeof offered>[0],
      seen: readonly string[],
    ])[] = [
      ['a command', { words: run }, {}, ['exec']],
      ['below it', { words: run, directory: '/work/below' }, {}, ['exec']],
      ['of this fork', { words: ['exec', '--fork', 'main', '--', 'true'] }, {}, ['exec']],
      ['read-only', { words: ['exec', '--readonly', '--', 'true'] }, {}, ['exec']],
      ['help of the command', { words: ['exec', '--', 'true', '--help'] }, {}, ['exec']],
      ['by jail exec', { words: ['jail', 'exec', '--', 'true'] }, {}, ['exec']],
      ['by jail exec, whatever its grants', { words: ['jail', 'exec', '--', 'true'] }, { grants: 'other' }, ['exec']],
      ['of another user', { words: run }, { isOwn: false }, []],
      ['a stop of another user', { words: ['jail', 'stop'] }, { isOwn: false }, []],
      ['a stop', { words: ['jail', 'stop'] }, {}, ['stop']],
      ['of another build', { words: run, build: 'other' }, {}, []],
      ['another verb of another build', { words: ['approvals', 'list'], build: 'other' }, {}, []],
      ['of a damaged installation', { words: run }, { isIntact: false }, []],
      ['by jail exec, of a damaged installation', { words: ['jail', 'exec', '--', 'true'] }, { isIntact: false }, []],
      ['another verb of a damaged installation', { words: ['approvals', 'list'] }, { isIntact: false }, []],
      ['a stop of a damaged installation', { words: ['jail', 'stop'] }, { isIntact: false }, ['stop']],
      ['a stop of another build', { words: ['jail', 'stop'], build: 'other' }, {}, ['stop']],
      ['no verb', { words: ['unknown'] }, {}, []],
      ['nothing', { words: [] }, {}, []],
      ['help', { words: ['exec', '--help'] }, {}, []],
      ['short help', { words: ['exec', '-h'] }, {}, []],
      ['of another fork', { words: ['exec', '--fork', 'other', '--', 'true'] }, {}, []],
      ['another fork by jail exec', { words: ['jail', 'exec', '--fork', 'other', '--', 'true'] }, {}, []],
      ['alone', { words: ['exec', '--alone', '--', 'true'] }, {}, []],
      ['live', { words: ['exec', '--live', '--', 'true'] }, {}, []],
      ['of other grants', { words: ['exec', '--net', 'h', '--', 'true'] }, {}, []],
      ['without the defaults of the project', { words: ['exec', '--no-project', '--', 'true'] }, {}, []],
      ['of another store', { words: run }, { standsFor: false }, []],
      ['another verb', { words: ['approvals', 'list'] }, {}, ['relay approvals list']],
      ['another verb that it does not take', { words: ['approvals', 'list'] }, { takes: false }, []],
      ['another verb that is misspelt', { words: ['approvals', 'list', '--unknown'] }, {}, []],
    ];
    for (const [name, said, given, seen] of rows) {
      const answer = await asked(said, given);
      assert.deepEqual([answer.seen, answer.isRefused], [seen, seen.length === 0], name);
    }
  });

  it('with a mount is for it only where it was started', async () => {
    const words = ['exec', '--mount', 'memory:=/m', '--', 'true'];
    const grants = grantWords(parseArguments(execVerb, words.slice(1)), {}, 'project');
    assert.deepEqual((await asked({ words }, { grants })).seen, ['exec']);
    assert.deepEqual((await asked({ words, directory: '/work/below' }, { grants })).seen, []);
  });

  it('that is none ends the connection, and a second one on it is not heard', async () => {
    const { served, seen } = offered();
    for (const bytes of [encodeFrame(wireKind.request, Buffer.from('nonsense')), Buffer.from([0, 0, 0, 0, 0])]) {
      const client = new Client();
      new ClientConnection(client as unknown as Socket, served);
      client.emit('data', bytes);
      assert.ok(client.destroyed);
    }
    const client = new Client();
    const connection = new ClientConnection(client as unknown as Socket, served);
    for (const _ of [1, 2]) client.say(wireKind.request, requestOf({ words: ['exec', '--', 'true'] }));
    await connection.answered;
    assert.deepEqual(seen, ['exec']);
  });

  it('ends with the code of its command, and a refusal with its own, in the form that was asked for', async () => {
    const { client } = await asked({ words: ['exec', '--', 'true'] });
    assert.deepEqual([...client.of(wireKind.exit)], [Buffer.from([3])]);
    for (const [code, operation, exit] of [
      ['ENOENT', 'exec', 127],
      ['EACCES', 'exec', 126],
      ['ENOEXEC', 'exec', 126],
      ['ECANCELED', 'approval', 128 + constants.signals.SIGINT],
    ] as const) {
      for (const json of [true, false]) {
        const exec: Exec = async () => {
          throw new ErrnoError(code, { operation, reason: 'the reason' });
        };
        // What the command is called with asks us for nothing.
        const words = ['exec', ...(json ? ['--json'] : []), '--', 'true', '--json'];
        const refused = (await asked({ words }, { exec })).client;
        assert.deepEqual([...refused.of(wireKind.exit)], [Buffer.from([exit])], code);
        assert.match(refused.text(json ? wireKind.output : wireKind.error), /the reason/);
        assert.equal(refused.text(json ? wireKind.error : wireKind.output), '');
      }
    }
  });

  it('is refused, and the kept jail goes on, where this process has too many files open', async () => {
    const exec: Exec = async () => {
      throw Object.assign(new Error('EMFILE: too many open files, scandir'), { code: 'EMFILE', syscall: 'scandir' });
    };
    const { client } = await asked({ words: ['exec', '--', 'true'] }, { exec });
    assert.deepEqual([...client.of(wireKind.exit)], [Buffer.from([1])]);
    assert.match(client.text(wireKind.error), /too many open files/);
  });
});

/** A command that runs until it is told to end, and what was done to it meanwhile. */
function running() {
  const done: (readonly unknown[])[] = [];
  let end: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  const command = {
    done: ended,
    signal: (name: string) => void done.push(['signal', name]),
    kill: () => void done.push(['kill']),
    write: async (chunk: Buffer) => void done.push(['write', chunk.toString()]),
    endInput: () => void done.push(['end of input']),
    resize: (size: unknown) => void done.push(['resize', size]),
  } as unknown as RunningCommand;
  let given: Record<string, unknown> | undefined;
  const exec: Exec = async (asks) => {
    given = asks;
    (asks['onStarted'] as (started: RunningCommand) => void)(command);
    await ended;
    return envelope;
  };
  return { done, exec, end: () => end(), given: () => given };
}

async function started(words: readonly string[] = ['exec', '--', 'cat']) {
  const command = running();
  const client = new Client();
  const { served } = offered({ exec: command.exec });
  const connection = new ClientConnection(client as unknown as Socket, served);
  client.say(wireKind.request, requestOf({ words }));
  await until(() => command.given() !== undefined, 'it is started');
  return { ...command, client, connection };
}

describe('a command of a client', () => {
  it('gets its input piece by piece, each where it was asked for, and its end', async () => {
    const { client, done, end, connection } = await started();
    await until(() => client.of(wireKind.more).length === 1, 'it asks for more');
    client.say(wireKind.input, Buffer.from('one'));
    await until(() => client.of(wireKind.more).length === 2, 'it asks for more');
    client.say(wireKind.input);
    client.say(wireKind.size, Buffer.from([24, 0, 80, 0]));
    client.say(wireKind.size, Buffer.from([24]));
    assert.deepEqual(done, [['write', 'one'], ['end of input'], ['resize', { rows: 24, columns: 80 }]]);
    end();
    await connection.answered;
    assert.equal(client.of(wireKind.more).length, 2);
  });

  it('is asked, told and killed by signals, but for those that are its own each time', async () => {
    const { client, done, end, connection } = await started();
    const send = (name: keyof typeof constants.signals) =>
      client.say(wireKind.signal, Buffer.from([constants.signals[name]]));
    for (const name of ['SIGUSR1', 'SIGUSR2', 'SIGUSR1', 'SIGINT', 'SIGUSR1', 'SIGINT', 'SIGINT'] as const) send(name);
    client.say(wireKind.signal, Buffer.from([0]));
    client.say(wireKind.signal);
    const own = ['SIGUSR1', 'SIGUSR2', 'SIGUSR1', 'SIGINT', 'SIGUSR1', 'SIGTERM', 'SIGKILL'];
    assert.deepEqual(
      done,
      own.map((name) => ['signal', name]),
    );
    end();
    await connection.answered;
    client.emit('close');
    assert.equal(done.length, own.length, 'what has ended is told nothing');
  });

  it('is told that its client has gone, and killed where that does not end it', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    for (const isTold of ['by the end of the connection', 'by a signal'] as const) {
      const command = running();
      const client = new Client();
      const { served } = offered({ exec: command.exec });
      new ClientConnection(client as unknown as Socket, served);
      client.say(wireKind.request, requestOf({ words: ['exec', '--', 'cat'] }));
      for (let turn = 0; turn < 20 && command.given() === undefined; turn += 1) await Promise.resolve();
      if (isTold === 'by a signal') client.say(wireKind.signal, Buffer.from([constants.signals.SIGHUP]));
      else client.emit('close');
      assert.deepEqual(command.done, [['signal', 'SIGHUP']], isTold);
      t.mock.timers.tick(3_600_000);
      assert.deepEqual(command.done, [['signal', 'SIGHUP'], ['kill']], isTold);
      command.end();
    }
  });

  it('that is not there yet is cancelled by a signal, or by the end of its client', async () => {
    for (const way of ['signal', 'close'] as const) {
      let signal: AbortSignal | undefined;
      const exec: Exec = async (asks) => {
        signal = asks['signal'] as AbortSignal;
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
        throw new ErrnoError('ECANCELED', { operation: 'approval', reason: 'interrupted' });
      };
      const client = new Client();
      const connection = new ClientConnection(client as unknown as Socket, offered({ exec }).served);
      client.say(wireKind.request, requestOf({ words: ['exec', '--', 'true'] }));
      await until(() => signal !== undefined, 'it is asked');
      client.say(wireKind.signal, Buffer.from([constants.signals.SIGUSR1]));
      assert.equal(signal?.aborted, false);
      if (way === 'close') client.emit('close');
      else client.say(wireKind.signal, Buffer.from([constants.signals.SIGINT]));
      await connection.answered;
      assert.equal(signal?.aborted, true, way);
    }
  });

  it('reads nothing and prints no piece of its output where its report is JSON', async () => {
    const { given, end, client, connection } = await started(['exec', '--json', '--', 'cat']);
    assert.deepEqual([given()?.['input'], given()?.['conversation']], ['nothing', undefined]);
    // Or the client would run it a second time where the process that keeps the jail is killed.
    assert.deepEqual(client.heard, [{ kind: wireKind.output, payload: Buffer.alloc(0) }], 'it hears that it runs');
    end();
    await connection.answered;
    assert.equal(client.of(wireKind.more).length, 0);
    assert.deepEqual(JSON.parse(client.text(wireKind.output)), envelope);
  });

  it('has what the call says of it', async () => {
    const words = [
      'exec',
      '--readonly',
      '--cwd',
      'sub',
      '--env',
      'A=1',
      '--timeout',
      '2s',
      '--approval-wait',
      '3s',
      '--',
      'a',
      'b',
    ];
    const { given, end, connection } = await started(words);
    const { argv, cwd, environmentAdditions, readonly, timeoutMilliseconds, approvalMilliseconds } = given() ?? {};
    assert.deepEqual(
      [argv, cwd, environmentAdditions, readonly, timeoutMilliseconds, approvalMilliseconds],
      [['a', 'b'], '/work/sub', ['A=1'], true, 2_000, 3_000],
    );
    end();
    await connection.answered;
  });
});
