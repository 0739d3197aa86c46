import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { pipeRestBytes } from '../base/limits/commands.js';
import { AskedCommands, type RunningCommand, type ServedCommand } from './asked-commands.js';
import { CommandStreams } from './command-streams.js';
import { frame, request } from './frame.js';
import { planBytes } from './plan-bytes.js';

/** A stream that does what it is told to, and says so. */
class Told extends EventEmitter {
  readonly calls: string[] = [];
  readonly written: Buffer[] = [];
  destroyed = false;
  #said(name: string): this {
    this.calls.push(name);
    return this;
  }
  pause = () => this.#said('pause');
  resume = () => this.#said('resume');
  unref = () => this.#said('unref');
  destroySoon = () => this.#said('destroySoon');
  destroy() {
    this.destroyed = true;
    return this.#said('destroy');
  }
  write(chunk: Buffer, done: () => void) {
    this.written.push(chunk);
    setImmediate(done);
    return true;
  }
  get socket(): Socket {
    return this as unknown as Socket;
  }
}

const plan = [{ do: 'command', argv: ['true'] }] as const;
const silent: ServedCommand = { plan, input: 'nothing', onOutput: () => undefined };

function asked() {
  const sent: Buffer[] = [];
  const commands = new AskedCommands((bytes) => void sent.push(bytes));
  const say = (id: number, ...lines: readonly string[]) => {
    for (const line of lines) {
      const [what = '', ...rest] = line.split(' ');
      commands.take({ id, what, rest: rest.join(' ') });
    }
  };
  return { sent, commands, say };
}

/** Settled by now or not; after what is due has been done. */
async function state(promise: Promise<unknown>): Promise<string> {
  let found = 'waits';
  promise.then(
    () => {
      found = 'done';
    },
    (error: Error & { code?: string }) => {
      found = error.code ?? error.message;
    },
  );
  for (let turn = 0; turn < 12; turn += 1) await nextTurn();
  return found;
}

const payload = (...parts: readonly number[]) => {
  const bytes = Buffer.alloc(2 * parts.length);
  for (const [index, part] of parts.entries()) bytes.writeUInt16LE(part, 2 * index);
  return bytes;
};

describe('what a jail is asked', () => {
  it('is a frame: its length, a number, a kind, and what belongs to it', () => {
    assert.deepEqual(
      frame(0x01020304, 0x0a0b0c0d, Buffer.from('xyz')),
      Buffer.from([11, 0, 0, 0, 4, 3, 2, 1, 0x0d, 0x0c, 0x0b, 0x0a, 0x78, 0x79, 0x7a]),
    );
    assert.deepEqual(frame(1, 2), Buffer.from([8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]));
    // As native/jail/owner/serve.h numbers them.
    assert.deepEqual(Object.keys(request), [
      'jail',
      'command',
      'commandWithInput',
      'commandWithTerminal',
      'signal',
      'resize',
      'release',
      'overlays',
    ]);
    assert.deepEqual(Object.values(request), [1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('has a number of its own each time, and the kind of its input', () => {
    const { sent, commands } = asked();
    const bytes = planBytes(plan);
    commands.start(silent, 7);
    commands.start({ ...silent, input: 'pipe' }, 7);
    const running = commands.start({ ...silent, input: { rows: 24, columns: 300 } }, 7);
    running.resize({ rows: 1, columns: 258 });
    running.signal('SIGUSR1');
    running.kill();
    void commands.ask(request.release).catch(() => undefined);
    void commands.ask(request.overlays, Buffer.from('o')).catch(() => undefined);
    assert.equal(running.pid, 7);
    const { SIGUSR1, SIGKILL } = constants.signals;
    assert.deepEqual(sent, [
      frame(1, request.command, bytes),
      frame(2, request.commandWithInput, bytes),
      frame(3, request.commandWithTerminal, Buffer.concat([payload(24, 300), bytes])),
      frame(3, request.resize, payload(1, 258)),
      frame(3, request.signal, payload(SIGUSR1, 0)),
      frame(3, request.signal, payload(SIGKILL, 0)),
      frame(4, request.release),
      frame(5, request.overlays, Buffer.from('o')),
    ]);
  });

  it('is answered by its number: one word, or why not', async () => {
    const { commands, say } = asked();
    const all = [request.release, request.release, request.release].map((kind) => commands.ask(kind));
    say(9, 'released');
    say(2, 'failed 0 request 16 busy');
    say(3, 'released');
    assert.deepEqual(await Promise.all(all.map(state)), ['waits', 'EBUSY', 'done']);
    say(1, 'released');
    say(1, 'failed 0 request 16 busy');
    assert.equal(await state(all[0] as Promise<void>), 'done');
  });

  it('is ended where this process has no descriptor for one of its streams, and refused once it has ended', async () => {
    const { sent, commands, say } = asked();
    const running = commands.start({ ...silent, input: 'pipe' }, 7);
    const output = new Told();
    say(1, 'started');
    commands.handOver(1, 1, output.socket);
    const [written, done] = [running.write(Buffer.from('x')), running.done];
    assert.deepEqual(await Promise.all([state(written), state(done)]), ['waits', 'waits']);
    commands.handOver(1, 0, undefined);
    assert.deepEqual(sent.at(-1), frame(1, request.signal, payload(constants.signals.SIGKILL, 0)));
    assert.deepEqual([await state(written), await state(done), output.destroyed], ['done', 'waits', true]);
    const late = new Told();
    commands.handOver(1, 2, late.socket);
    assert.ok(late.destroyed);
    say(1, 'exited 256');
    assert.equal(await state(done), 'EMFILE');
    commands.handOver(1, 2, undefined); // of one that is over
  });

  it('is lost with the jail, as is all that is asked later', async () => {
    const { sent, commands } = asked();
    const one = commands.ask(request.release);
    const running = commands.start({ ...silent, input: 'pipe' }, 7);
    const input = new Told();
    commands.handOver(2, 0, input.socket);
    const before = sent.length;
    const cause = new Error('why');
    const states = Promise.all([state(one), state(running.done)]);
    commands.lose('the jail has ended', cause);
    assert.deepEqual([await states, input.calls], [['EPIPE', 'EPIPE'], ['destroy']]);
    await assert.rejects(one, { code: 'EPIPE', operation: 'jail', reason: 'the jail has ended', cause });
    assert.equal(await state(commands.ask(request.release)), 'EPIPE');
    assert.equal(await state(commands.start(silent, 7).done), 'EPIPE');
    running.signal('SIGTERM');
    assert.equal(sent.length, before, 'no one is asked any more');
    const late = new Told();
    commands.handOver(2, 1, late.socket);
    assert.deepEqual(late.calls, ['destroy']);
  });
});

describe('a command that was asked for', () => {
  const outputs = (commands: AskedCommands, id: number, ...streams: readonly number[]) =>
    streams.map((stream) => {
      const told = new Told();
      commands.handOver(id, stream, told.socket);
      return told;
    });

  it('has started when that is said, and ended with all that was reported of it', async () => {
    const { commands, say } = asked();
    const held: unknown[] = [];
    const running = commands.start({ ...silent, onHeld: (each) => void held.push(each) }, 7);
    const [stdout] = outputs(commands, 1, 1, 2);
    assert.deepEqual([await state(running.started), await state(running.done)], ['waits', 'waits']);
    say(2, 'started', 'exited 0 1 2 3');
    assert.equal(await state(running.started), 'waits', 'of another');
    say(1, 'started');
    say(1, 'held 5 1 0', 'refused 7 1 2 3', 'crowded 4 5');
    assert.deepEqual([await state(running.started), await state(running.done)], ['done', 'waits']);
    say(1, 'exited 512 1 2 3');
    const outcome = await running.done;
    assert.deepEqual(
      [outcome.exitCode, outcome.refusedCalls.length, outcome.crowded?.threads, held],
      [2, 1, 4, [{ bytes: 5, files: 1, hidden: false }]],
    );
    // What it left behind may go on writing.
    assert.deepEqual(stdout?.calls, ['resume', 'unref']);
    assert.equal(stdout?.listenerCount('data'), 0);
    const late = new Told();
    commands.handOver(1, 1, late.socket);
    assert.deepEqual(late.calls, ['destroy'], 'it is forgotten');
  });

  it('has not ended before its streams were handed over, whatever is said first', async () => {
    for (const [input, all] of [
      ['nothing', [1, 2]],
      ['pipe', [0, 1, 2]],
      [{ rows: 1, columns: 1 }, [0, 1]],
    ] as const) {
      const { commands, say } = asked();
      const { done } = commands.start({ ...silent, input }, 7);
      say(1, 'started', 'exited 0 1 2 3');
      for (const stream of all) {
        assert.equal(await state(done), 'waits');
        outputs(commands, 1, stream);
      }
      assert.equal(await state(done), 'done');
    }
  });

  it('that cannot be asked for is refused, and the end of the jail is told to nobody for it', async () => {
    const { commands, sent } = asked();
    const unheard: unknown[] = [];
    const listen = (reason: unknown) => void unheard.push(reason);
    process.on('unhandledRejection', listen);
    const wrong = { ...silent, plan: [{ do: 'command', argv: ['a\0b'] }] } as const;
    assert.throws(() => commands.start(wrong, undefined), { code: 'EINVAL' });
    commands.lose('gone');
    await nextTurn();
    process.off('unhandledRejection', listen);
    assert.deepEqual([unheard, sent], [[], []]);
  });

  it('that could not start has no streams any more', async () => {
    const { commands, say } = asked();
    const { done } = commands.start({ ...silent, input: 'pipe' }, 7);
    const [input, stdout] = outputs(commands, 1, 0, 1);
    say(1, 'failed 3 command 2 nothing-here');
    assert.equal(await state(done), 'ENOENT');
    assert.deepEqual([input?.calls, stdout?.calls], [['destroy'], ['destroy']]);
  });

  it('reads what it is given, in order, once it is there, and the end after it', async () => {
    const { commands } = asked();
    const running: RunningCommand = commands.start({ ...silent, input: 'pipe' }, 7);
    const first = running.write(Buffer.from('one'));
    const [input] = outputs(commands, 1, 0, 1);
    assert.deepEqual([await state(first), input?.written], ['waits', []]);
    outputs(commands, 1, 2);
    assert.equal(await state(first), 'done');
    assert.equal(await state(running.write(Buffer.from('two'))), 'done');
    assert.deepEqual(input?.written.map(String), ['one', 'two']);
    running.endInput();
    await nextTurn();
    assert.deepEqual(input?.calls, ['destroySoon']);
    input?.destroy();
    assert.equal(await state(running.write(Buffer.from('three'))), 'done');
    assert.equal(input?.written.length, 2, 'nothing happens to what comes later');
  });

  it('that reads nothing takes what it is given', async () => {
    const { commands } = asked();
    const running = commands.start(silent, 7);
    outputs(commands, 1, 1, 2);
    assert.equal(await state(running.write(Buffer.from('one'))), 'done');
    running.endInput();
    await nextTurn();
  });
});

describe('the output of a command', () => {
  it('is told by its stream, and no more of it is read while a reader is slow', async () => {
    const said: string[] = [];
    let go: () => void = () => undefined;
    const slow = new Promise<void>((resolve) => {
      go = resolve;
    });
    const streams = new CommandStreams(2, (stream, chunk) => {
      said.push(`${stream} ${chunk}`);
      return String(chunk) === 'slow' ? slow : undefined;
    });
    const [stdout, stderr] = [new Told(), new Told()];
    streams.add(1, stdout.socket);
    streams.add(2, stderr.socket);
    stdout.emit('data', Buffer.from('quick'));
    assert.deepEqual(stdout.calls, []);
    stderr.emit('data', Buffer.from('slow'));
    assert.deepEqual([said, stdout.calls, stderr.calls], [['stdout quick', 'stderr slow'], [], ['pause']]);
    const settled = streams.settle();
    assert.equal(await state(settled), 'waits', 'what is being taken is waited for');
    go();
    assert.equal(await state(settled), 'done');
    assert.deepEqual(stderr.calls, ['pause', 'resume', 'resume', 'unref']);
    stdout.emit('error', new Error('a broken pipe'));
  });

  it('is waited for as long as more of it comes, and not for ever', async () => {
    for (const [size, left] of [
      [1, 5],
      [pipeRestBytes, 0],
    ] as const) {
      const streams = new CommandStreams(1, () => undefined);
      const stdout = new Told();
      streams.add(1, stdout.socket);
      let chunks = 0;
      const go = () => {
        if (stdout.listenerCount('data') === 0) return;
        stdout.emit('data', Buffer.alloc(size));
        chunks += 1;
        if (chunks < 5 || left === 0) setImmediate(go);
      };
      setImmediate(go);
      await streams.settle();
      assert.ok(left === 0 ? chunks <= 8 : chunks === left, `${chunks} of ${size}`);
    }
  });

  it('and its input are closed at its end', async () => {
    const streams = new CommandStreams(2, () => undefined);
    const [input, stdout] = [new Told(), new Told()];
    streams.add(0, input.socket);
    streams.add(1, stdout.socket);
    input.emit('data', Buffer.from('never listened to'));
    assert.equal(input.listenerCount('data'), 0);
    await streams.settle();
    assert.deepEqual([input.calls, stdout.calls], [['destroy'], ['resume', 'unref']]);
    streams.destroy();
    assert.equal(stdout.destroyed, true);
  });
});
