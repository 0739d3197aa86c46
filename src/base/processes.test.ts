/** Processes as /proc shows them, descriptors and masks that callers hand on, and who waits for whom. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { carryTerminal, openTerminalChannel, openTyped } from './carried-terminal.js';
import { lazily } from './lazily.js';
import {
  environmentOf,
  exactWords,
  familyOf,
  isStopped,
  memoryOf,
  ownerOf,
  type ProcessTable,
  readProcessTable,
  startOf,
  wordsOf,
} from './process-table.js';
import { Room, SharedTurns, Turns } from './turns.js';

const gone = 2 ** 22 + 1;

describe('a process', () => {
  it('is known by its start, its words, its environment and its owner, whatever its name is', async () => {
    const words = ['-c', 'read line', 'a ) T (b', 'last'];
    const child = spawn('/bin/sh', words, {
      env: { A: '1=2', B: '' },
      argv0: 'x) Z (y',
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    // It is a copy of this process until it is that program.
    while (wordsOf(pid)[0] !== 'x) Z (y') await new Promise((resolve) => setTimeout(resolve, 1));
    assert.deepEqual(wordsOf(pid), ['x) Z (y', ...words]);
    assert.deepEqual([environmentOf(pid)['A'], environmentOf(pid)['B'], ownerOf(pid)], ['1=2', '', process.getuid?.()]);
    assert.match(startOf(pid) ?? '', /^\d+$/);
    assert.deepEqual([isStopped(pid), memoryOf(pid) > 0, memoryOf(pid) % 1024], [false, true, 0]);
    const table = readProcessTable();
    assert.equal(table.get(pid)?.parent, process.pid);
    assert.ok(Math.abs(Date.parse(table.get(pid)?.since ?? '') - Date.now()) < 600_000);
    assert.ok(familyOf(table, process.pid).includes(pid) && !familyOf(table, pid).includes(process.pid));
    child.kill('SIGSTOP');
    while (!isStopped(pid)) await new Promise((resolve) => setTimeout(resolve, 1));
    assert.equal(startOf(pid) !== undefined, true);
    child.kill('SIGKILL');
    await once(child, 'close');
    assert.deepEqual([startOf(pid), ownerOf(pid), isStopped(pid)], [undefined, undefined, false]);
  });

  it('that is gone says nothing', () => {
    assert.deepEqual(
      [startOf(gone), ownerOf(gone), isStopped(gone), memoryOf(gone), wordsOf(gone), environmentOf(gone)],
      [undefined, undefined, false, 0, [], {}],
    );
  });

  it('is not called gone by one that has too many files open to look', () => {
    const script = `
      import { openSync } from 'node:fs';
      const { startOf } = await import(${JSON.stringify(new URL('./process-table.js', import.meta.url).href)});
      try {
        for (;;) openSync('/dev/null');
      } catch {}
      try {
        startOf(process.ppid);
      } catch (error) {
        process.exitCode = error.code === 'EMFILE' ? 7 : 1;
      }
    `;
    const words = ['-c', 'ulimit -n 64; exec "$0" --input-type=module -e "$1"', process.execPath, script];
    assert.equal(spawnSync('/bin/sh', words).status, 7);
  });

  it('that has ended counts as gone, though no one has taken its status yet', async () => {
    // It ends once its parent is no shell any more, which would take its status.
    const child = 'while read -r name < /proc/$$/comm && [ "$name" = sh ]; do :; done';
    const script = `${child} & echo $!; exec sleep 600`;
    const parent = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const [said] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(String(said));
      const isZombie = () => readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
      while (!isZombie()) await new Promise((resolve) => setTimeout(resolve, 1));
      assert.deepEqual(
        [startOf(pid), isStopped(pid), memoryOf(pid), wordsOf(pid), environmentOf(pid)],
        [undefined, false, 0, [], {}],
      );
    } finally {
      parent.kill('SIGKILL');
      await once(parent, 'close');
    }
  });

  it('has as its family all that it and its children started, each once', () => {
    const entry = (parent: number) => ({ parent, since: '' });
    const table: ProcessTable = new Map([
      [1, entry(0)],
      [9, entry(2)],
      [2, entry(1)],
      [3, entry(1)],
      [4, entry(2)],
      [5, entry(4)],
      [6, entry(6)],
    ]);
    const of = (pid: number) => [...familyOf(table, pid)].sort((a, b) => a - b);
    assert.deepEqual([of(2), of(1), of(5), of(6), of(7)], [[2, 4, 5, 9], [1, 2, 3, 4, 5, 9], [5], [6], []]);
  });
});

describe('what a caller hands on', () => {
  const at = (name: string) => fileURLToPath(new URL(`${name}.js`, import.meta.url));
  const inChild = (script: string, stdio: ('ignore' | 'pipe')[]) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', script], { stdio, encoding: 'utf8' });

  it('is closed above stderr, and nothing of Node’s own or of the streams', () => {
    const script = `import { closeInherited } from ${JSON.stringify(at('inherited'))};
      import { fstatSync, openSync } from 'node:fs';
      const isOpen = (fd) => { try { fstatSync(fd); return true; } catch { return false; } };
      const all = [0, 1, 2, openSync('/dev/null', 'r'), 40, 41];
      const before = all.map(isOpen);
      closeInherited();
      console.log(JSON.stringify([before, all.map(isOpen)]));
      setTimeout(() => console.log('goes on'), 1);`;
    // Node itself keeps those with low numbers from other programs.
    const words = ['-c', 'exec "$0" --input-type=module -e "$1" 40</dev/null 41</dev/null', process.execPath, script];
    const { stdout, status } = spawnSync('/bin/bash', words, { encoding: 'utf8' });
    const open = [true, true, true, true];
    assert.deepEqual(
      [status, stdout],
      [
        0,
        `${JSON.stringify([
          [...open, true, true],
          [...open, false, false],
        ])}\ngoes on\n`,
      ],
    );
  });

  it('takes no right from the owner by its mask, and keeps what it takes from others', () => {
    const masks = [0o777, 0o027, 0o700, 0, 0o022, 0o177];
    const script = `import { keepOwnRights } from ${JSON.stringify(at('own-umask'))};
      console.log(JSON.stringify(${JSON.stringify(masks)}.map((mask) => { process.umask(mask); keepOwnRights(); return process.umask(); })));`;
    assert.deepEqual(
      JSON.parse(inChild(script, ['ignore', 'pipe', 'ignore']).stdout),
      masks.map((mask) => mask & 0o077),
    );
  });

  it('is written whole to a pipe that does not wait', () => {
    const script = `import { writeWhole } from ${JSON.stringify(at('write-whole'))};
      writeWhole(1, Buffer.alloc(300_000, 'x'));
      try { writeWhole(99, Buffer.from('x')); } catch (error) { writeWhole(2, Buffer.from(error.code)); }
      writeWhole(99, Buffer.alloc(0));`;
    const { stdout, stderr, status } = inChild(script, ['ignore', 'pipe', 'pipe']);
    assert.deepEqual([stdout.length, stderr, status], [300_000, 'EBADF', 0]);
  });

  it('of a terminal is carried where somebody carries it, and its errors are told', () => {
    assert.deepEqual([openTerminalChannel(), openTyped()], [undefined, undefined]);
    carryTerminal({ terminal: () => 7, typed: () => 8 });
    assert.deepEqual([openTerminalChannel(), openTyped()], [7, 8]);
    carryTerminal({ terminal: () => -5, typed: () => 0 });
    assert.throws(openTerminalChannel, { code: 'EIO' });
    assert.equal(openTyped(), 0);
  });
});

/** After all that is waiting already. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  it('are one at a time, in the order of asking, and ended once', async () => {
    const turns = new Turns();
    const order: string[] = [];
    const take = async (name: string) => {
      const end = await turns.take();
      order.push(name);
      return end;
    };
    const [first, second, third] = [take('first'), take('second'), take('third')];
    await settled();
    assert.deepEqual(order, ['first']);
    (await first)();
    (await first)();
    await settled();
    assert.deepEqual(order, ['first', 'second']);
    (await second)();
    await third;
    assert.deepEqual(order, ['first', 'second', 'third']);
  });

  it('that are shared are beside each other, and never beside one that is alone', async () => {
    const turns = new SharedTurns();
    const running: string[] = [];
    const ends = new Map<string, (error?: Error) => void>();
    const work = (name: string) => () => {
      running.push(name);
      return new Promise<string>((resolve, reject) =>
        ends.set(name, (error) => {
          running.splice(running.indexOf(name), 1);
          if (error === undefined) resolve(name);
          else reject(error);
        }),
      );
    };
    const shared = [turns.shared(work('a')), turns.shared(work('b'))];
    const alone = turns.alone(work('c'));
    const later = turns.shared(work('d'));
    const last = turns.alone(work('e'));
    let isQuiet = false;
    void turns.quiet().then(() => {
      isQuiet = true;
    });
    const steps: readonly (readonly [string | undefined, readonly string[], boolean])[] = [
      [undefined, ['a', 'b'], false],
      ['a', ['b'], false],
      ['b', ['c'], false],
      ['c', ['d'], false],
      ['d', ['e'], false],
      ['e', [], true],
    ];
    for (const [name, expected, quiet] of steps) {
      if (name !== undefined) ends.get(name)?.(name === 'a' || name === 'c' ? new Error(name) : undefined);
      await settled();
      assert.deepEqual([[...running], isQuiet], [expected, quiet], name);
    }
    const results = await Promise.allSettled([...shared, alone, later, last]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    );
  });

  it('in a room are as many as it has places, in the order of asking', async () => {
    const room = new Room(2);
    const inside: number[] = [];
    const enter = async (number: number) => {
      const leave = await room.enter();
      inside.push(number);
      return leave;
    };
    const leaves = [1, 2, 3, 4].map(enter);
    await settled();
    assert.deepEqual(inside, [1, 2]);
    (await leaves[0])?.();
    await settled();
    assert.deepEqual(inside, [1, 2, 3]);
    for (const leave of leaves.slice(1)) (await leave)();
    const more = [5, 6, 7].map(enter);
    await settled();
    assert.deepEqual(inside, [1, 2, 3, 4, 5, 6]);
    (await more[0])?.();
    await settled();
    assert.equal(inside.length, 7);
  });

  it('of what is made when it is asked for are one, whatever it is', () => {
    let count = 0;
    const value = lazily(() => {
      count += 1;
      return undefined;
    });
    assert.equal(count, 0);
    assert.deepEqual([value(), value(), count], [undefined, undefined, 1]);
  });
});

const never = () => assert.fail('it is not looked at');

describe('the words of a call', () => {
  it('are as Node has them where each is UTF-8', () => {
    for (const given of [[], [''], ['exec', '', 'é', '\n']]) assert.equal(exactWords(given, never), given);
  });

  it('are bytes where one is not, each as it was given, also beside U+FFFD itself and empty ones', () => {
    const line = Buffer.concat([
      Buffer.from('/usr/bin/node\0ctx.cjs\0cat\0\0é\0a'),
      Buffer.from([0xff, 0xc3]),
      Buffer.from('\0\ufffd\0\0'),
    ]);
    const given = ['cat', '', 'é', 'a\ufffd\ufffd', '\ufffd', ''];
    assert.deepEqual(
      exactWords(given, () => line),
      ['cat', '', 'é', 'a\udcff\udcc3', '\ufffd', ''],
    );
    assert.deepEqual(
      exactWords(['\ufffd', ''], () => line),
      ['\ufffd', ''],
    );
  });

  it('are those that this process was started with', () => {
    const script = `import { exactWords } from ${JSON.stringify(new URL('./process-table.js', import.meta.url).href)};
      console.log(JSON.stringify(exactWords(process.argv.slice(1))));`;
    const line = `exec "$0" --input-type=module -e "$1" -- x "$(printf 'a\\377')" ''`;
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', line, process.execPath, script], { encoding: 'utf8' });
    assert.equal(stdout, '["x","a\\udcff",""]\n', stderr);
  });
});
