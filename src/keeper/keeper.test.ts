/** A keeper with a library that is none: which calls it takes, which it refuses, and when it ends. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { nativeProgram } from '../base/native-program.js';
import { Keeper, type KeeperFacts, type TakenCall } from './keeper.js';
import { type KeeperLibrary, loadKeeperLibrary } from './keeper-library.js';
import { parseKeeperRequest } from './keeper-request.js';
import { livingKeepers } from './living-keepers.js';
import { Company } from './possible-callers.js';
import { readProcessTraits } from './process-traits.js';

const scratch = mkdtempSync(join(tmpdir(), 'ctx-keeper-test-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

const notRoot = process.geteuid?.() === 0 ? false : 'needs root, to make a mount namespace';

const { dev, ino } = statSync('/proc/self/exe', { bigint: true });
const ownNode = `${dev}:${ino}`;

interface Asked {
  readonly words?: readonly string[];
  readonly node?: string;
  readonly traits?: string;
  readonly environment?: readonly string[];
  readonly terminals?: number;
  readonly caller?: number;
}

function requestOf(asked: Asked): Buffer {
  const { words = ['ctx.cjs', 'status'], node = ownNode, traits = 't', environment = [], terminals = 0 } = asked;
  const head = Buffer.alloc(5);
  head.writeInt32LE(asked.caller ?? process.pid);
  head.writeUInt8(terminals, 4);
  const strings = ['1', node, traits, String(words.length), ...words, ...environment];
  return Buffer.concat([head, Buffer.from(strings.map((each) => `${each}\0`).join(''))]);
}

/** 1, 2, 3 and so on. */
function counter(): () => number {
  let count = 0;
  return () => {
    count += 1;
    return count;
  };
}

interface Scene {
  /** What `next` answers, one after the other: a request, nothing, or an error. Then nothing for ever. */
  readonly coming?: readonly (Buffer | 0 | -1)[];
  readonly facts?: Partial<KeeperFacts>;
  readonly library?: Partial<KeeperLibrary>;
  /** Done before each look for requests. */
  readonly before?: (look: number, place: { readonly directory: string }) => void;
}

/** Runs the keeper until it ends, at the latest after ten looks; with what it asked of the library. */
function kept({ coming = [], facts = {}, library = {}, before }: Scene) {
  const directory = mkdtempSync(join(scratch, 'place-'));
  const [descriptor, lock] = [openSync(directory, 'r'), openSync(join(directory, 'lock'), 'w')];
  writeFileSync(join(directory, 'socket'), '');
  const done: string[] = [];
  let looks = 0;
  const note = (name: string, answer: number) => () => {
    done.push(name);
    return answer;
  };
  const fake: Partial<KeeperLibrary> = {
    listen: () => 0,
    close: note('close', 0),
    next: (bytes) => {
      const come = coming[looks] ?? 0;
      looks += 1;
      before?.(looks, { directory });
      if (looks > 10) return -1;
      if (typeof come === 'number') return come;
      come.copy(bytes);
      return come.length;
    },
    refuse: note('refuse', 0),
    make: () => 5,
    drop: note('drop', 0),
    give: note('give', 0),
    running: () => 0,
    followed: () => 0,
    priority: () => 0,
    alike: () => 1,
    ...library,
  };
  const keeper = new Keeper(
    fake as KeeperLibrary,
    { directory, descriptor, lock },
    { program: 'ctx.cjs', traits: 't', environment: [], build: () => 'b', isIntact: () => true, ...facts },
  );
  let call: TakenCall | undefined;
  let prepared = 0;
  let held = 0;
  try {
    call = keeper.serve(() => {
      prepared += 1;
    });
  } finally {
    for (const each of [descriptor, lock]) {
      try {
        closeSync(each);
        held += 1;
      } catch {} // a copy has closed them
    }
  }
  return { call, prepared, held, done, looks, hasSocket: existsSync(join(directory, 'socket')) };
}

describe('a call that a keeper is asked for', () => {
  const answered = (asked: Asked | Buffer, scene: Scene = {}) =>
    kept({ ...scene, coming: [Buffer.isBuffer(asked) ? asked : requestOf(asked)] }).done[0];

  it('is given to a copy where everything of it is as the keeper has it, and refused otherwise', () => {
    assert.equal(answered({}), 'give');
    assert.equal(answered({ words: ['ctx.cjs', 'exec', '--', 'true'], environment: ['HOME=/x'] }), 'give');
    for (const [name, asked] of Object.entries<Asked | Buffer>({
      'another Node': { node: '1:1' },
      'other traits': { traits: 'x' },
      'a verb that it does not serve': { words: ['ctx.cjs', 'mcp'] },
      'no verb': { words: ['ctx.cjs'] },
      'a terminal that it would read': { words: ['ctx.cjs', 'exec', '--', 'cat'], terminals: 1 },
      'a variable that Node reads when it starts': { environment: ['NODE_PATH=/x'] },
      'no request': Buffer.from('nonsense'),
    })) {
      assert.equal(answered(asked), 'refuse', name);
    }
    assert.equal(answered({}, { facts: { environment: ['TZ=UTC'] } }), 'refuse');
    assert.equal(answered({ environment: ['TZ=UTC'] }, { facts: { environment: ['A=1', 'TZ=UTC'] } }), 'give');
    assert.equal(answered({}, { library: { make: () => -11 } }), 'refuse', 'no copy could be made');
    const looked = counter();
    assert.equal(
      answered({}, { facts: { isIntact: () => looked() > 1 } }),
      'refuse',
      'a file of the build is another one',
    );
  });

  it('is given where the copy is as the caller is, by either way to look', () => {
    const alike = () => 0;
    assert.equal(answered({}, { library: { alike, make: () => process.pid } }), 'give');
    const { done } = kept({ coming: [requestOf({ caller: 1 })], library: { alike, make: () => process.pid } });
    if (process.ppid !== 1)
      assert.deepEqual(done.slice(0, 2), ['refuse', 'close'], 'the copy itself is as the keeper is');
    const other = kept({ coming: [requestOf({})], library: { alike, make: () => 2 ** 30 } });
    assert.deepEqual(other.done.slice(0, 2), ['refuse', 'drop'], 'a copy that is not as the keeper is now goes');
  });

  it('is given to a copy that keeps signals from itself while it prepares, and refused to a caller that keeps them', () => {
    const blocking = spawn('env', ['--block-signal=USR1', 'sleep', '600'], { stdio: 'ignore' });
    const busy = blocking.pid ?? 0;
    const masked = () => readProcessTraits(busy, 0).get('SigBlk') !== readProcessTraits('self', 0).get('SigBlk');
    try {
      while (!masked()) execFileSync('sleep', ['0.01']);
      const library = { alike: () => 0, make: () => busy };
      assert.equal(answered({}, { library }), 'give');
      assert.equal(answered({ caller: busy }, { library }), 'refuse');
      assert.equal(answered({ caller: busy }, { library: { ...library, make: () => process.pid } }), 'refuse');
    } finally {
      blocking.kill();
    }
  });

  it('is taken by the copy with its words, and by none that was given nothing', () => {
    const request = requestOf({ words: ['/x/ctx.cjs', 'exec', '', '--'], terminals: 8 + 2 });
    const ended: number[] = [];
    const copied = (given: KeeperLibrary['await']) =>
      kept({
        library: {
          make: () => 0,
          await: given,
          become: (bytes, from, to) => (from < to || bytes.length > 0 ? 77 : 0),
          end: (code) => {
            ended.push(code);
            throw new Error('ended');
          },
        },
      });
    const { call, prepared, held } = copied((bytes) => request.copy(bytes));
    assert.equal(held, 0, 'a copy holds neither the lock nor the place of its keeper');
    assert.equal(kept({ coming: [-1] }).held, 2);
    assert.deepEqual(call, { program: '/x/ctx.cjs', given: ['exec', '', '--'], process: 77, carries: true });
    assert.equal(prepared, 1);
    for (const size of [0, -5, 3]) assert.throws(() => copied(() => size), /ended/);
    assert.deepEqual(ended, [0, 0, 0]);
  });
});

describe('a keeper ends', () => {
  it('when it is asked to, and leaves no socket', () => {
    const { looks, done, hasSocket } = kept({ coming: [0, -1] });
    assert.deepEqual([looks, done, hasSocket], [2, ['close', 'drop'], false]);
  });

  it('when what it was started for is no longer there, and for no other reason', () => {
    const calm = kept({ coming: [0, 0, 0, 0, 0] });
    assert.equal(calm.looks, 11);
    const [builds, readings, intact] = [counter(), counter(), counter()];
    const endings: Readonly<Record<string, Scene>> = {
      'another build': { facts: { build: () => `${builds() > 3}` } },
      'a build that cannot be read': {
        facts: {
          build: () => {
            if (readings() > 3) throw new Error('gone');
            return 'b';
          },
        },
      },
      'a file that was changed': { facts: { isIntact: () => intact() < 3 } },
      'a store that has gone': {
        before: (look, { directory }) => look === 3 && rmSync(directory, { recursive: true }),
      },
      'another store in its place': {
        before: (look, { directory }) => {
          if (look !== 3) return;
          rmSync(directory, { recursive: true });
          mkdirSync(`${directory}.new`);
          mkdirSync(directory);
        },
      },
    };
    for (const [name, scene] of Object.entries(endings)) {
      const { looks, done } = kept(scene);
      assert.ok(looks > 1 && looks < 6, `${name}: ${looks}`);
      assert.deepEqual(done, ['close', 'drop'], name);
    }
  });

  it('after the calls that run, and takes none meanwhile', () => {
    const running = counter();
    const { done, looks } = kept({
      coming: [-1, requestOf({}), 0],
      library: { running: () => Math.max(0, 3 - running()) },
    });
    assert.deepEqual(done, ['close', 'refuse', 'drop']);
    assert.ok(looks < 5);
  });

  it('when it has run nothing for ten minutes, whatever it was asked meanwhile', () => {
    const { hrtime } = process;
    let minutes = 0;
    const later = (time?: [number, number]) => {
      const [seconds, nanoseconds] = hrtime(time);
      return [seconds + 60 * minutes, nanoseconds] as [number, number];
    };
    process.hrtime = Object.assign(later, { bigint: hrtime.bigint });
    const before = () => {
      minutes += 4;
    };
    const coming = (asked: Asked) => Array.from({ length: 9 }, () => requestOf(asked));
    const runsOne = counter();
    try {
      assert.equal(kept({ coming: coming({ traits: 'x' }), before }).looks, 3);
      const library = { running: () => Number(runsOne() < 20) };
      assert.equal(kept({ coming: coming({}), before, library }).looks, 11);
    } finally {
      process.hrtime = hrtime;
    }
  });

  it('without having begun where it cannot listen', () => {
    assert.throws(() => kept({ library: { listen: () => -98 } }), /errno 98/);
  });
});

describe('a request', () => {
  it('has at least one word, and as many as it says', () => {
    const counted = (count: string, ...words: readonly string[]) => {
      const strings = ['1', 'n', 't', count, ...words].map((each) => `${each}\0`).join('');
      return parseKeeperRequest(Buffer.concat([Buffer.alloc(5), Buffer.from(strings)]))?.words;
    };
    assert.deepEqual([counted('1', 'a', 'A=1'), counted('2', 'a', 'A=1')], [['a'], ['a', 'A=1']]);
    for (const count of ['0', '-1', '1.5', '2', 'NaN', '']) assert.equal(counted(count, 'a'), undefined, count);
    for (const length of [0, 4, 5]) assert.equal(parseKeeperRequest(Buffer.alloc(length)), undefined);
  });

  it('has words that are not UTF-8 byte for byte, as a start of Node has them', () => {
    const bytes = Buffer.concat([
      Buffer.alloc(5),
      Buffer.from('1\0n\0t\x002\0a'),
      Buffer.of(0xff),
      Buffer.from('\0\ufffd\0'),
    ]);
    assert.deepEqual(parseKeeperRequest(bytes)?.words, ['a\udcff', '\ufffd']);
  });
});

describe('keepers of a store', () => {
  it('are those whose locks name a process that is one', async () => {
    const store = mkdtempSync(join(scratch, 'store-'));
    assert.deepEqual(livingKeepers(store), []);
    const named = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60000)', '/x/keeper.cjs'], { stdio: 'ignore' });
    await new Promise((resolve) => named.once('spawn', resolve));
    const since = '2024-02-29T00:00:00.000Z';
    const locks: Readonly<Record<string, string>> = {
      living: JSON.stringify({ pid: named.pid, since }),
      another: JSON.stringify({ pid: process.pid, since }),
      gone: JSON.stringify({ pid: 2 ** 30, since }),
      'no process': JSON.stringify({ since }),
      'no time': JSON.stringify({ pid: named.pid }),
      zero: JSON.stringify({ pid: 0, since }),
      empty: '',
      nonsense: '{',
    };
    for (const [key, text] of Object.entries(locks)) {
      mkdirSync(join(store, 'keeper', key), { recursive: true });
      writeFileSync(join(store, 'keeper', key, 'lock'), text);
    }
    mkdirSync(join(store, 'keeper', 'without'));
    try {
      for (let looks = 0; looks < 100 && livingKeepers(store).length === 0; looks += 1)
        await new Promise((resolve) => setTimeout(resolve, 5));
      assert.deepEqual(livingKeepers(store), [{ pid: named.pid, since }]);
    } finally {
      named.kill('SIGKILL');
    }
  });

  it('have company where another process of their user is in the same place', () => {
    const company = new Company();
    assert.equal(company.isThere(), true, 'whatever started this test');
    assert.equal(company.isThere(), true);
  });

  it('have none in a process of another user, in one of their kind or its programs, or where nothing else is', {
    skip: notRoot,
  }, () => {
    // In a mount namespace of its own, where nothing is but what it starts. It is called as a keeper is.
    const directory = mkdtempSync(join(tmpdir(), 'ctx-company-'));
    const script = join(directory, 'keeper.cjs');
    const companies = JSON.stringify(new URL('./possible-callers.js', import.meta.url).href);
    writeFileSync(join(directory, 'serve'), 'setTimeout(() => {}, 60000);');
    writeFileSync(
      script,
      `import(${companies}).then(async ({ Company }) => {
        const { spawn } = require('node:child_process');
        const company = new Company();
        const said = [company.isThere()];
        const anyone = ['sleep', '60'];
        // With the words of the program that a copy has ready.
        const waiting = [process.execPath, 'serve'];
        for (const [[program, word], options] of [
          [anyone, { uid: 65534, gid: 65534 }],
          [anyone, { argv0: '/x/keeper.cjs' }],
          [waiting, { argv0: '/x/tree' }],
          [waiting, {}],
          [anyone, {}],
        ]) {
          const child = spawn(program, [word], { stdio: 'ignore', cwd: ${JSON.stringify(directory)}, ...options });
          await new Promise((resolve) => child.once('spawn', resolve));
          said.push(company.isThere());
          child.kill('SIGKILL');
          await new Promise((resolve) => child.once('close', resolve));
        }
        said.push(company.isThere());
        console.log(said.join(' '));
      });`,
    );
    try {
      const told = execFileSync('unshare', ['-m', process.execPath, script], { encoding: 'utf8' });
      assert.equal(told, 'false false false false true true false\n');
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('have copies that are as the process of their call, and draw numbers of their own', () => {
    const urlOf = (name: string) => JSON.stringify(new URL(name, import.meta.url).href);
    const script = `Promise.all([${urlOf('./prepared-copy.js')}, ${urlOf('./keeper-library.js')}].map((url) => import(url)))
      .then(([{ prepareCopy }, { loadKeeperLibrary }]) => {
        const fs = require('node:fs');
        const library = loadKeeperLibrary(${JSON.stringify(nativeProgram('keeper.node'))});
        const wordFile = fs.openSync('/dev/null', 'r');
        const isOpen = () => fs.existsSync('/proc/self/fd/' + wordFile);
        for (let count = 0; count < 4; count++) {
          const copy = library.try();
          if (copy === 0) {
            const ready = [];
            prepareCopy(library, wordFile, () => {
              ready.push('started');
              if (count === 3) throw new Error('no room');
            });
            const said = { drawn: Math.random(), flags: process.execArgv, ready, isOpen: isOpen() };
            fs.writeSync(1, JSON.stringify({ copy: said }) + '\\n');
            process.exit(7);
          }
          fs.writeSync(1, JSON.stringify({ code: library.tried(copy, 60_000), isOpen: isOpen() }) + '\\n');
        }
        process.exit(0);
      });`;
    const output = execFileSync(process.execPath, ['--single-threaded', '-e', script], { encoding: 'utf8' });
    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const copies = lines.flatMap(({ copy }) => copy ?? []);
    assert.equal(new Set(copies.map(({ drawn }) => drawn)).size, 4, output);
    for (const { flags, ready, isOpen } of copies) assert.deepEqual([flags, ready, isOpen], [[], ['started'], false]);
    const keeper = lines.filter(({ copy }) => copy === undefined);
    assert.deepEqual(
      keeper,
      Array.from({ length: 4 }, () => ({ code: 7, isOpen: true })),
    );
  });

  it('do not start without their library', () => {
    assert.throws(() => loadKeeperLibrary('/nonexistent/keeper.node'), { code: 'ENOSYS' });
  });
});
