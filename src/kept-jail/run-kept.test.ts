import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { capturedOutputBytes } from '../base/limits/commands.js';
import { nativeProgram } from '../base/native-program.js';
import type { RunningCommand, ServedCommand } from '../jail/asked-commands.js';
import type { ConnectionEvent } from '../network/events.js';
import { type ConnectionListener, ConnectionRouter } from '../proxy/report/connection-records.js';
import { LimitEvents } from '../proxy/report/limit-events.js';
import type { VaultLimits } from '../vault/store/vault-meta.js';
import type { Tree } from '../vault/tree/tree.js';
import type { OpenFork } from '../vault/vault.js';
import { watchBackground } from './background-limits.js';
import { type KeptRunRequest, runKept } from './run-kept.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-run-kept-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const treeProgram = nativeProgram('tree');

const event = (host: string, count: number): ConnectionEvent => ({
  ...{ host, port: 443, address: null, protocol: 'connect', verdict: 'allowed', reason: null, count },
  ...{ bytesIn: 10 * count, bytesOut: 3 * count, milliseconds: 2 * count },
});

/** A jail whose command does `act` and ends with 0, unless it is killed; and what was asked of it. */
function stage(act: (command: ServedCommand) => void | Promise<void>, asked: Partial<KeptRunRequest> = {}) {
  const started: ServedCommand[] = [];
  const killed: string[] = [];
  const keptJail: ConnectionListener = { opened: () => undefined, ended: () => undefined };
  const router = new ConnectionRouter(keptJail);
  let connections: readonly ConnectionEvent[] = [];
  const start = (command: ServedCommand): RunningCommand => {
    started.push(command);
    let kill: () => void = () => undefined;
    const wasKilled = new Promise<void>((resolve) => {
      kill = resolve;
    });
    const done = Promise.race([Promise.resolve(act(command)), wasKilled]).then(() => ({ exitCode: 0, signal: null }));
    const kills = () => {
      killed.push('killed');
      kill();
    };
    const ends = { kill: kills, signal: () => kill() };
    return { ...ends, pid: 1, started: Promise.resolve(), done } as unknown as RunningCommand;
  };
  const request = {
    view: { jail: { ...view, shared: [] } },
    authority: { quota: {} },
    outputs: join(directory, `outputs-${Math.random()}`),
    events: new LimitEvents(() => new Date(0)),
    treeProgram,
    counted: [directory],
    jail: { start },
    network: {
      connections: () => connections,
      attribute: (listener: ConnectionListener) => router.attribute(listener),
    },
    group: undefined,
    conversation: undefined,
    ...asked,
  } as unknown as KeptRunRequest;
  const listener = () => {
    const heard: string[] = [];
    const hears: ConnectionListener = { opened: (each) => heard.push(each.host), ended: () => undefined };
    return { heard, hears };
  };
  const run = (hears: ConnectionListener = listener().hears) => runKept({ ...request, onConnection: hears });
  const connected = (...events: readonly ConnectionEvent[]) => {
    connections = events;
    for (const each of events) router.opened(each);
  };
  return { run, started, killed, listener, connected };
}

const view = {
  identity: { kind: 'self', uid: 1000, gid: 1000 },
  weakened: ['landlock', 'seccomp'],
  architecture: 'x64',
  processes: 10,
  overlays: [],
  hidden: [],
  directory: '/work',
  environment: {},
  argv: ['true'],
};

describe('a command of a kept jail', () => {
  it('has its output in the report up to a limit, and all of it in a file', async () => {
    const most = capturedOutputBytes;
    for (const [bytes, isKept] of [
      [most, false],
      [most + 1, true],
    ] as const) {
      const { run } = stage(({ onOutput }) => {
        onOutput('stdout', Buffer.alloc(bytes, 'x'));
        onOutput('stderr', Buffer.from('said'));
      });
      const { stdout, stderr, outcome, timedOut } = await run();
      assert.deepEqual(
        [stdout?.text.length, stdout?.bytes, stdout?.file?.bytes],
        [most, bytes, isKept ? bytes : undefined],
      );
      if (stdout?.file !== undefined) assert.equal(readFileSync(stdout.file.path).length, bytes);
      assert.deepEqual([stderr?.text, outcome.exitCode, timedOut], ['said', 0, false]);
    }
  });

  it('takes as long as it takes, and not as long as we look at the fork', async () => {
    const slow = join(directory, 'slow-tree');
    writeFileSync(slow, `#!/bin/sh\nsleep 0.3\nexec '${treeProgram}' "$@"\n`, { mode: 0o755 });
    const { run } = stage(() => sleep(20), {
      authority: { quota: { inodes: 1000 } } as unknown as KeptRunRequest['authority'],
      treeProgram: slow,
    });
    const begun = performance.now();
    const { durationMilliseconds } = await run();
    const whole = performance.now() - begun;
    // Twice: before it, and when it has ended.
    assert.ok(durationMilliseconds >= 19 && durationMilliseconds < whole - 590, `${durationMilliseconds} of ${whole}`);
  });

  it('speaks to its caller alone where it has one', async () => {
    const heard: string[] = [];
    const conversation = {
      input: 'pipe',
      onOutput: (stream: string, chunk: Buffer) => heard.push(`${stream} ${chunk}`),
    };
    const { run, started } = stage(({ onOutput }) => void onOutput('stdout', Buffer.from('x')), {
      conversation: conversation as unknown as KeptRunRequest['conversation'],
    });
    const { stdout, stderr } = await run();
    assert.deepEqual([stdout, stderr, heard, started[0]?.input], [null, null, ['stdout x'], 'pipe']);
    const quiet = stage(() => undefined);
    await quiet.run();
    assert.equal(quiet.started[0]?.input, 'nothing');
  });

  it('is told of the connections that were made while it ran, and reports what was added', async () => {
    const { run, listener, connected } = stage(() => connected(event('a', 5), event('b', 1), event('c', 2)));
    connected(event('a', 3), event('b', 1));
    const { heard, hears } = listener();
    const { connections } = await run(hears);
    assert.deepEqual(connections, [event('a', 2), event('c', 2)]);
    assert.deepEqual(heard, ['a', 'b', 'c']);
    connected(event('a', 6));
    assert.equal(heard.length, 3, 'what comes after it is not its own');
  });

  it('is not started where the fork is full, and then no later connection is its own', async () => {
    writeFileSync(join(directory, 'file'), Buffer.alloc(8192, 1));
    const { run, started, listener, connected } = stage(() => undefined, {
      authority: { quota: { inodes: 1 } } as unknown as KeptRunRequest['authority'],
    });
    const { heard, hears } = listener();
    await assert.rejects(run(hears), { code: 'EDQUOT' });
    connected(event('a', 1));
    assert.deepEqual([heard, started], [[], []]);
  });

  it('is ended when it goes beyond its limit, and its time is over', async () => {
    const room = mkdtempSync(join(directory, 'room-'));
    const writes = async () => {
      for (let count = 0; count < 20; count += 1) writeFileSync(join(room, `${count}`), '');
      await new Promise((resolve) => setTimeout(resolve, 20_000).unref());
    };
    const full = stage(writes, {
      authority: { quota: { inodes: 10 } } as unknown as KeptRunRequest['authority'],
      counted: [room],
    });
    const { limitError, limitsReached } = await full.run();
    assert.deepEqual([full.killed, limitError?.code], [['killed'], 'EDQUOT']);
    assert.match(
      limitsReached.join('\n'),
      /^file limit reached: the fork holds \d+ of 10 files; the command was ended$/,
    );
    const slow = stage(() => new Promise(() => undefined), { timeoutMilliseconds: 20 });
    assert.equal((await slow.run()).timedOut, true);
  });
});

describe('what runs between commands of a kept jail', () => {
  /** A fork whose private home holds so many files. */
  function background(quota: object, files: number, limits?: VaultLimits) {
    const room = mkdtempSync(join(directory, 'fork-'));
    const place = { caches: join(room, 'caches'), home: join(room, 'home'), temporary: join(room, 'tmp') };
    for (const made of [place.home, place.temporary, join(room, 'layers')]) mkdirSync(made);
    for (let count = 0; count < files; count += 1) writeFileSync(join(place.home, `${count}`), '');
    const ended: string[] = [];
    const owner = { uid: process.geteuid?.(), gid: process.getegid?.() };
    const [paths, vault] = [
      { layers: join(room, 'layers'), forks: join(room, 'home') },
      { roots: {}, limits },
    ];
    const fork = { place, owner, meta: { deltas: [], live: 'live' }, paths, vault } as unknown as OpenFork;
    const watch = (program = treeProgram) =>
      watchBackground(
        { now: () => new Date(0), tree: { program } as Tree },
        { quota, fork, end: (reason: string) => ended.push(reason) },
      );
    return { ended, watch, home: place.home };
  }

  it('is ended where a limit is reached, before it is looked at or later', async () => {
    const free = background({}, 3);
    await (await free.watch())?.stop();
    const within = background({ inodes: 20 }, 3);
    await (await within.watch())?.stop();
    assert.deepEqual([free.ended, within.ended], [[], []]);
    const full = background({ inodes: 4 }, 4);
    assert.equal(await full.watch(), undefined);
    assert.match(full.ended.join('\n'), /^the fork and its private home hold \d+ bytes in \d files already/);
    const later = background({ inodes: 20 }, 3);
    const watch = await later.watch();
    for (let count = 0; count < 30; count += 1) writeFileSync(join(later.home, `later ${count}`), '');
    await watch?.stop();
    assert.match(watch?.reached.join('\n') ?? '', /^file limit reached/);
  });

  it('is ended where a limit of the vault is reached, whatever else is limited', async () => {
    for (const quota of [{}, { inodes: 1_000 }, { disk: 1 << 30 }, { inodes: 1_000, disk: 1 << 30 }]) {
      for (const limits of [{ maxFiles: 20 }, { maxBytes: 1 << 20 }, { maxFileBytes: 1 << 20 }]) {
        const { ended, watch, home } = background(quota, 3, limits);
        const watching = await watch();
        writeFileSync(join(home, 'large'), Buffer.alloc((1 << 20) + 1, 'x'));
        for (let count = 0; count < 30; count += 1) writeFileSync(join(home, `later ${count}`), '');
        await watching?.stop();
        assert.match(
          watching?.reached.join('\n') ?? '',
          /^limit of the vault reached: /,
          JSON.stringify([quota, limits]),
        );
        assert.ok(ended.every((reason) => reason.startsWith('limit of the vault reached: ')));
      }
    }
  });

  it('is ended where it cannot be counted', async () => {
    const { ended, watch } = background({ inodes: 20 }, 3);
    await assert.rejects(watch('/nonexistent/tree'));
    assert.equal(ended.length, 1);
  });
});
