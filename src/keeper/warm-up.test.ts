/** What a keeper does before it serves: it tries a copy of itself, and runs calls of which nothing is left. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../test/support/process.js';
import { keeperTrialMilliseconds } from '../base/limits/commands.js';
import { copiesWork, inCopy, learnPages } from './copy-trial.js';
import type { KeeperLibrary } from './keeper-library.js';

/** A library that says so, and writes down what it was asked. */
function libraryOf(answers: { readonly try?: number; readonly tried?: number; readonly expectPages?: number }) {
  const asked: string[] = [];
  const note =
    (name: string, answer: number) =>
    (...words: readonly number[]) => {
      asked.push([name, ...words].join(' '));
      return answer;
    };
  const library = {
    try: note('try', answers.try ?? 0),
    tried: note('tried', answers.tried ?? 0),
    end: note('end', 0),
    expectPages: note('expect', answers.expectPages ?? 0),
    learnPages: note('learn', 0),
  } as unknown as KeeperLibrary;
  return { library, asked };
}

describe('a copy on trial', () => {
  const own = Object.getOwnPropertyDescriptor(process, 'pid');
  after(() => {
    if (own !== undefined) Object.defineProperty(process, 'pid', own);
  });

  it('works where it says so in time, and everything else is no keeper', async () => {
    const { library, asked } = libraryOf({ try: 77, tried: 42 });
    await copiesWork(library);
    assert.deepEqual(asked, ['try', `tried 77 ${keeperTrialMilliseconds}`]);
    for (const tried of [0, 1, 41, 43, -62, -10])
      await assert.rejects(copiesWork(libraryOf({ try: 77, tried }).library), { code: 'ENOTSUP' }, `${tried}`);
    const none = libraryOf({ try: -11, tried: 42 });
    await assert.rejects(copiesWork(none.library), { code: 'ENOTSUP' });
    assert.deepEqual(none.asked, ['try'], 'nobody is waited for');
    const inside = libraryOf({ try: 0, tried: 42 });
    await copiesWork(inside.library);
    assert.equal(inside.asked[1], 'end 42', 'this is the copy, which can all that is asked of it');
  });

  it('works whenever the keeper has collected, whichever of V8’s threads were woken last', async () => {
    const urls = ['./copy-trial.js', './keeper-library.js', '../base/native-program.js'].map(
      (path) => new URL(path, import.meta.url).href,
    );
    // Node 26 wakes one of four at each collection.
    const script = `Promise.all(${JSON.stringify(urls)}.map((url) => import(url)))
      .then(async ([{ copiesWork }, { loadKeeperLibrary }, { nativeProgram }]) => {
        const library = loadKeeperLibrary(nativeProgram('keeper.node'));
        for (let times = 0; times < 4; times++) {
          gc({ type: 'minor' });
          await copiesWork(library);
        }
        process.exit(0);
      })`;
    const words = ['--single-threaded', '--expose-gc', '--eval', script];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'inherit', 'inherit'] });
    const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
    assert.equal(code, 0);
  });

  it('does what is to be done there alone, and ends whatever becomes of it', async () => {
    for (const act of [() => Promise.resolve(), () => Promise.reject(new Error('no'))]) {
      const { library, asked } = libraryOf({ try: 0 });
      let acted = 0;
      await inCopy(library, () => {
        acted += 1;
        return act();
      });
      assert.deepEqual([acted, asked[1]], [1, 'end 42']);
      const learning = libraryOf({ try: 0 });
      await learnPages(learning.library, act);
      assert.deepEqual(learning.asked.slice(0, 4), ['expect', 'try', 'learn', 'end 42']);
    }
    const no = () => assert.fail('it is not the copy');
    for (const [copy, expected] of [
      [77, ['try', `tried 77 ${keeperTrialMilliseconds}`]],
      [-11, ['try']],
    ] as const) {
      const { library, asked } = libraryOf({ try: copy });
      await inCopy(library, no);
      assert.deepEqual(asked, expected);
    }
    const unexpected = libraryOf({ expectPages: -12 });
    await learnPages(unexpected.library, no);
    assert.deepEqual(unexpected.asked, ['expect']);
  });
});

const script = `
const fs = require('node:fs');
const { spawn } = require('node:child_process');
const [module, answer, mode] = process.argv.slice(1);
const seen = { calls: [] };
const { env } = process;
const look = () => ({
  cwd: process.cwd(), umask: process.umask(), home: env.HOME, data: env.CTX_DATA, root: env.CTX_ROOT,
  configuration: env.XDG_CONFIG_HOME,
});
const listeners = () =>
  Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)]));
const call = async (given, onHost) => {
  seen.calls.push({ given, ...look() });
  process.stdout.write('heard of nobody');
  process.stderr.write('heard of nobody');
  process.on('SIGHUP', () => undefined);
  process.on('SIGTERM', () => undefined);
  onHost({ release: () => { seen.released = (seen.released ?? 0) + 1; } });
  onHost({});
  fs.writeFileSync('left', 'x');
  if (mode === 'stop') {
    fs.writeFileSync(answer, process.cwd());
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  }
  if (mode === 'throw') throw new Error('thrown');
  setTimeout(() => { seen.timer = true; }, 80);
  spawn('sleep', ['0.1'], { stdio: 'ignore' }).once('exit', () => { seen.child = true; });
  return 1;
};
import(module).then(async ({ warmUp }) => {
  process.umask(0o027);
  process.on('SIGUSR2', () => undefined);
  const before = listeners();
  const rehearse = async () => {
    seen.rehearsed = { ...look(), timer: seen.timer, child: seen.child, same: process.stdout === process.stdout };
    process.stdout.write('heard');
  };
  await warmUp([[call, 'one', 'two'], [call]], rehearse).catch((error) => { seen.thrown = error.message; });
  const { SIGTERM = 0, SIGHUP = 0, SIGUSR2 } = listeners();
  seen.after = { umask: process.umask(), cwd: process.cwd(), listeners: [SIGTERM, SIGHUP, SIGUSR2, before.SIGUSR2] };
  process.stdout.write(' again');
  fs.writeFileSync(answer, JSON.stringify(seen));
});
`;

describe('the first calls of a keeper', () => {
  let place = '';
  before(() => {
    place = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-warm-up-')));
  });
  after(() => rmSync(place, { recursive: true }));

  function start(mode: string) {
    const words = ['-e', script, new URL('./warm-up.js', import.meta.url).href, join(place, 'answer'), mode];
    const child = spawn(process.execPath, words, {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { TMPDIR: place, PATH: process.env['PATH'] },
    });
    let output = '';
    child.stdout.on('data', (part: Buffer) => {
      output += part.toString();
    });
    const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
    return { child, closed, said: () => output };
  }
  const scratch = () => readdirSync(place).filter((name) => name.startsWith('ctx-keeper-'));

  it('run in places of their own, are heard by nobody, and leave nothing behind', async () => {
    const { closed, said } = start('');
    assert.equal(await closed, 0);
    const { calls, rehearsed, after: left, released, thrown } = JSON.parse(readFileSync(join(place, 'answer'), 'utf8'));
    assert.equal(thrown, undefined);
    const [own] = calls as readonly { readonly home: string }[];
    const home = own?.home ?? '';
    assert.ok(home.startsWith(`${place}/ctx-keeper-`));
    const places = {
      cwd: `${home}/project`,
      umask: 0o077,
      home,
      data: `${home}/store`,
      root: `${home}/ctx`,
      configuration: home,
    };
    assert.deepEqual(calls, [
      { given: ['one', 'two'], ...places },
      { given: [], ...places },
    ]);
    assert.equal(released, 2);
    assert.deepEqual(rehearsed, { ...places, timer: true, child: true, same: true }, 'when nothing is under way');
    assert.deepEqual(left, { umask: 0o027, cwd: '/', listeners: [0, 0, 1, 1] });
    assert.equal(said(), 'heard again');
    assert.deepEqual(scratch(), []);
  });

  it('remove what was left by one that was killed in them, and nothing of one that may be in them', async () => {
    const [old, young, other] = ['ctx-keeper-aaaaaa', 'ctx-keeper-bbbbbb', 'ctx-keeper-other'].map((name) =>
      join(place, name),
    );
    for (const directory of [old, young, other]) mkdirSync(join(directory ?? '', 'store'), { recursive: true });
    for (const directory of [old, other]) utimesSync(directory ?? '', 1, 1);
    assert.equal(await start('').closed, 0);
    assert.deepEqual(scratch(), ['ctx-keeper-bbbbbb', 'ctx-keeper-other']);
    for (const directory of [young, other]) rmSync(directory ?? '', { recursive: true });
  });

  const unlisted = process.geteuid?.() === 0 ? 'root may list every directory' : false;
  it('run where the directory for what is temporary may not be listed', { skip: unlisted }, async () => {
    chmodSync(place, 0o300);
    try {
      await start('').closed;
    } finally {
      chmodSync(place, 0o700);
    }
    const { thrown, rehearsed } = JSON.parse(readFileSync(join(place, 'answer'), 'utf8'));
    assert.deepEqual([thrown, rehearsed?.child], [undefined, true]);
    assert.deepEqual(scratch(), []);
  });

  it('leave nothing behind either where one of them throws', async () => {
    const { closed, said } = start('throw');
    assert.equal(await closed, 0);
    const { thrown, after: left, rehearsed } = JSON.parse(readFileSync(join(place, 'answer'), 'utf8'));
    assert.deepEqual([thrown, rehearsed, left.cwd, left.umask], ['thrown', undefined, '/', 0o027]);
    assert.equal(said(), ' again');
    assert.deepEqual(scratch(), []);
  });

  it('are ended by SIGTERM, which removes their places', async () => {
    rmSync(join(place, 'answer'), { force: true });
    const { child, closed } = start('stop');
    await until(() => existsSync(join(place, 'answer')), 'it runs');
    child.kill('SIGTERM');
    assert.equal(await closed, 0);
    assert.deepEqual(scratch(), []);
  });
});
