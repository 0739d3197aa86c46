import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, describe, it } from 'node:test';
import { until } from '../../../test/support/process.js';
import { nativeProgram } from '../../base/native-program.js';
import type { OpenFork } from '../../vault/vault.js';
import { type LimitEvent, LimitEvents } from '../report/limit-events.js';
import { type LimitWatch, vaultWatchOf, type WatchRequest, watchLimits } from './watch-limits.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-limits-'));
after(() => rmSync(base, { recursive: true }));
const treeProgram = nativeProgram('tree');
const kibibyte = 1024;
let count = 0;

/** Ended also where a test has failed: each has a program that counts. */
const watching = new Set<LimitWatch>();
afterEach(async () => {
  for (const limits of watching) await limits.stop();
  watching.clear();
});

/** A directory of its own that is watched, with files of so many bytes. */
function watched(more: Partial<WatchRequest>, sizes: readonly number[] = []) {
  const root = join(base, String(count++));
  mkdirSync(root);
  let files = 0;
  const write = (bytes: number) => writeFileSync(join(root, String(files++)), Buffer.alloc(bytes, 1));
  sizes.forEach(write);
  const ended: string[] = [];
  const told: LimitEvent[] = [];
  const events = new LimitEvents(
    () => new Date(),
    (event) => told.push(event),
  );
  const request: WatchRequest = {
    ...{ quota: {}, events, group: undefined, treeProgram, roots: [root] },
    end: () => void ended.push('ended'),
    ...more,
  };
  const watch = async () => {
    const limits = await watchLimits(request);
    watching.add(limits);
    return limits;
  };
  return { root, write, ended, told, watch };
}

const limitsOf = (told: readonly LimitEvent[]) => told.map(({ limit, percent }) => `${limit} ${percent}`);

describe('the limits of a command', () => {
  it('are looked at where they are set: nothing is told of others, nor ended for them', async () => {
    const { watch, write, ended, told } = watched({}, [kibibyte]);
    const limits = await watch();
    write(1024 * kibibyte);
    limits.held({ bytes: 1e12, files: 1e9, hidden: false });
    await limits.stop();
    assert.deepEqual([limits.reached, ended, told], [[], [], []]);
  });

  it('refuse a command whose fork is full already, by bytes or by files', async () => {
    for (const [quota, isRefused] of [
      [{ disk: 4 * kibibyte }, true],
      [{ disk: 1024 * kibibyte }, false],
      [{ inodes: 1 }, true],
      [{ inodes: 2 }, true],
      [{ inodes: 3 }, false],
      [{ disk: 1024 * kibibyte, inodes: 2 }, true],
    ] as const) {
      const { watch, ended, told } = watched({ quota }, [4 * kibibyte, 1]);
      if (isRefused) {
        const { disk, inodes } = { disk: undefined, inodes: undefined, ...quota };
        const most = [disk === undefined ? '' : `${disk} bytes`, inodes === undefined ? '' : `${inodes} files`];
        const reason = new RegExp(
          `in 2 files already, and may hold ${most.filter((text) => text !== '').join(' and ')}$`,
        );
        await assert.rejects(watch(), { code: 'EDQUOT', reason }, JSON.stringify(quota));
      } else await (await watch()).stop();
      assert.deepEqual([ended, told], [[], []], 'nothing is judged before the command runs');
    }
  });

  it('end a command once each is reached, and say so once', async () => {
    for (const [quota, says, event] of [
      [
        { disk: 64 * kibibyte },
        /^disk limit reached: the fork holds \d+ of 65536 bytes; the command was ended$/,
        'disk',
      ],
      [{ inodes: 4 }, /^file limit reached: the fork holds \d+ of 4 files; the command was ended$/, 'inodes'],
    ] as const) {
      const { watch, write, ended, told } = watched({ quota });
      const limits = await watch();
      for (let file = 0; file < 4; file += 1) write(32 * kibibyte);
      await until(() => ended.length > 0, 'it was ended', 60);
      write(32 * kibibyte);
      await limits.stop();
      assert.deepEqual([ended, limits.reached.length], [['ended'], 1]);
      assert.match(limits.reached[0] ?? '', says);
      assert.ok(limitsOf(told).includes(`${event} 100`));
      assert.ok(told.every(({ limit }) => limit === event));
    }
  });

  it('warn of four fifths, and end nothing then', async () => {
    for (const [inodes, files, seen] of [
      [10, 7, []],
      [10, 8, ['inodes 80']],
      [10, 9, ['inodes 80']],
      [10, 10, ['inodes 100']],
    ] as const) {
      const { watch, write, ended, told } = watched({ quota: { inodes } });
      const limits = await watch();
      for (let file = 0; file < files; file += 1) write(0);
      await limits.stop();
      assert.ok(
        seen.length === 0 ? told.length === 0 : limitsOf(told).includes(seen[0] ?? ''),
        `${files} ${limitsOf(told)}`,
      );
      if (files < 10) assert.deepEqual([limits.reached, ended], [[], []]);
      else assert.equal(limits.reached.length, 1, 'also what a quick command wrote between two looks');
    }
  });

  it('count what is deleted and held by a process of it', async () => {
    const { watch, ended } = watched({ quota: { disk: 64 * kibibyte } });
    const limits = await watch();
    limits.held({ bytes: 16 * kibibyte, files: 1, hidden: false });
    assert.deepEqual([limits.reached, ended], [[], []]);
    limits.held({ bytes: 128 * kibibyte, files: 1, hidden: false });
    assert.equal(ended.length, 1);
    await limits.stop();
    assert.match(limits.reached.join('\n'), /^disk limit reached: .* the command was ended$/);
  });

  it('are told of what the kernel holds, in the moment it ends, too', async () => {
    const use = { memory: { used: 0, held: false }, pids: { used: 0, held: false } };
    const group = { usage: () => structuredClone(use) };
    const { watch, told } = watched({ quota: { memory: 100, pids: 10 }, group } as unknown as Partial<WatchRequest>);
    const limits = await watch();
    use.memory.used = 80;
    await until(() => told.length > 0, 'it was looked at', 60);
    assert.deepEqual(limitsOf(told), ['memory 80']);
    use.pids = { used: 3, held: true };
    await limits.stop();
    assert.deepEqual(limitsOf(told), ['memory 80', 'pids 100']);
    use.memory.used = 100;
    const quiet = watched({ quota: {}, group } as unknown as Partial<WatchRequest>);
    await (await quiet.watch()).stop();
    assert.deepEqual(quiet.told, [], 'no one set a limit');
  });
});

describe('the limits of a vault', () => {
  const rest = join(base, 'rest');
  mkdirSync(rest);
  for (let file = 0; file < 9; file += 1) writeFileSync(join(rest, String(file)), Buffer.alloc(4 * kibibyte, 1));

  it('refuse a command where it holds too much already, and no other', async () => {
    for (const [limits, isRefused] of [
      [{ maxFiles: 8 }, true],
      [{ maxFiles: 9 }, false],
      [{ maxBytes: 8 * kibibyte }, true],
      [{ maxBytes: 1024 * kibibyte }, false],
      [{ maxFileBytes: 2 }, true],
      [{ maxFileBytes: 3 }, false],
    ] as const) {
      const { watch, ended } = watched({ vault: { limits, places: [rest] } }, [3]);
      if (isRefused) await assert.rejects(watch(), { code: 'EDQUOT', operation: 'exec' }, JSON.stringify(limits));
      else await (await watch()).stop();
      assert.deepEqual(ended, []);
    }
  });

  it('count the fork with the rest, also when a quick command has ended', async () => {
    const { root, write, watch, told } = watched({}, [1]);
    const vault = { limits: { maxFiles: 13 }, places: [rest, root] };
    const own = watched({ vault, roots: [root] });
    for (const seen of [[], ['vaultFiles 80']]) {
      await (await own.watch()).stop();
      assert.deepEqual(limitsOf(own.told), seen);
      write(1);
    }
    assert.deepEqual([told, own.ended, await watch().then(({ reached }) => reached)], [[], [], []]);
  });

  it('count the fork with the rest, each once, and end the command when there is more than may be', async () => {
    const own = watched({}, [1]);
    const vault = { limits: { maxFiles: 13 }, places: [rest, own.root] };
    const { watch, ended, told } = watched({ vault, roots: [own.root] });
    const limits = await watch();
    assert.deepEqual(told, []);
    // Nine of the rest, and one of this fork.
    own.write(1);
    await until(() => told.length > 0, 'it was looked at', 60);
    own.write(1);
    own.write(1);
    assert.deepEqual([limitsOf(told), ended], [['vaultFiles 80'], []]);
    own.write(1);
    await until(() => ended.length > 0, 'it was ended', 60);
    own.write(1);
    await limits.stop();
    assert.deepEqual([limits.reached.length, ended.length], [1, 1]);
    assert.match(
      limits.reached[0] ?? '',
      /^limit of the vault reached: 1\d files, of at most 13; the command was ended$/,
    );
    assert.deepEqual(limitsOf(told), ['vaultFiles 80', 'vaultFiles 100']);
  });

  it('are watched only where a person has set some', () => {
    const paths = { layers: '/l', forks: '/f' };
    const fork = (limits: object | undefined) => ({ paths, vault: { limits } }) as unknown as OpenFork;
    assert.equal(vaultWatchOf(fork(undefined)), undefined);
    assert.deepEqual(vaultWatchOf(fork({ maxFiles: 1 })), { limits: { maxFiles: 1 }, places: ['/l', '/f'] });
  });
});
