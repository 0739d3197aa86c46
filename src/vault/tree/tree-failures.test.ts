/**
 * Each call of the kernel fails once, in each verb (a short run draws some of the calls; CTX_TEST_SEED, CTX_SOAK): what says that it is done has done it, and what says that it failed
 * has left nothing half, and says why.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { compileOnce } from '../../../test/support/compiled-program.js';
import { randomFrom, testSeed } from '../../../test/support/random.js';
import { freshPlace, program } from './tree-fixture.js';
import { splitFields } from './tree-program.js';

const { at, write } = freshPlace();
const notSoMany = 99;
const { EIO: inputOutput, ENOSPC: noSpace } = constants.errno;

const digestOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** All that a person can see of a tree, by path. */
type Shown = Readonly<Record<string, string>>;
function seen(top: string, timed: boolean): Shown {
  const found: Record<string, string> = {};
  const look = (path: string) => {
    const status = lstatSync(join(top, path));
    const bytes = status.isFile() ? readFileSync(join(top, path), 'utf8') : '';
    const content = bytes.length > 100 ? `${bytes.length} bytes ${digestOf(bytes)}` : bytes;
    const target = status.isSymbolicLink() ? readlinkSync(join(top, path)) : '';
    const time = timed && !status.isDirectory() ? status.mtimeMs : '';
    found[path] = `${status.mode.toString(8)} ${time} ${content}${target}`;
    if (status.isDirectory()) for (const name of readdirSync(join(top, path)).sort()) look(join(path, name));
  };
  look('.');
  return found;
}

const paths = ['d', 'd/file', 'd/large', 'd/link', 'd/pipe', 'file', 'holes', 'second'];

function makeTrees(): void {
  for (const [name, text] of Object.entries({ 'd/file': 'new', 'd/large': 'x'.repeat(300_000), file: 'new too' }))
    write(`source/${name}`, text);
  symlinkSync('file', at('source/d/link'));
  assert.equal(spawnSync('mkfifo', [at('source/d/pipe')]).status, 0);
  linkSync(at('source/file'), at('source/second'));
  // One has a byte where the other has a hole.
  for (const name of ['source/holes', 'before/holes']) {
    write(name, '');
    truncateSync(at(name), 300_000);
  }
  const file = openSync(at('source/holes'), 'r+');
  writeSync(file, 'x', 150_000);
  closeSync(file);
  chmodSync(at('source/d/file'), 0o640);
  chmodSync(at('source/d'), 0o750);
  for (const name of ['d/file', 'd/large', 'file', 'holes']) utimesSync(at('source', name), 1, 1000);
  write('before/file', 'old');
  write('before/gone', 'old');
  utimesSync(at('before/file'), 1, 500);
  for (const number of '123456789') write(`many/d/${number}`);
  mark(['source/d/file', 'source/d', 'before/file', 'many/d', 'many/d/5']);
}

/** An attribute of the person's on each, where the filesystem has them. */
function mark(marked: readonly string[]): void {
  const code = 'import os, sys\nfor path in sys.argv[1:]: os.setxattr(path, "user.note", b"y")';
  spawnSync('python3', ['-c', code, ...marked.map((path) => at(path))]);
}

/** Says more than a person sees: attributes count. */
async function digested(top: string): Promise<readonly string[]> {
  const { code, told, why } = await run([program, 'digest', '--layer', top]);
  assert.equal(code, 0, why);
  return told;
}

interface Trial {
  readonly words: (home: string) => readonly string[];
  readonly input?: readonly string[];
  readonly prepare?: (home: string) => void;
  /** A call that fails always. */
  readonly refuses?: readonly string[];
  readonly error?: number;
  /** What it makes, or changes. */
  readonly made: string;
  /** Times are given at the end. */
  readonly later?: boolean;
}
const plan = [...paths.flatMap((path) => ['put', path]), 'remove', 'gone'];
const applied = (...more: readonly string[]): Trial => ({
  words: (home) => ['apply', '--upper', at('source'), '--to', join(home, 'made'), '--layer', at('before'), ...more],
  input: plan,
  // With its attributes: those of the person count as their bytes do.
  prepare: (home) => assert.equal(spawnSync('cp', ['-a', at('before'), join(home, 'made')]).status, 0),
  made: 'made',
});
const trials: Readonly<Record<string, Trial>> = {
  copy: { words: (home) => ['copy', at('source'), join(home, 'made'), '--out', join(home, 's')], made: 'made' },
  mirror: { words: (home) => ['mirror', at('source'), '--into', join(home, 'made')], input: paths, made: 'made' },
  'merge on another filesystem': {
    words: (home) => ['merge', '--into', join(home, 'made'), '--upper', at('source'), at('before')],
    refuses: ['linkat', '0', '0', String(constants.errno.EXDEV)],
    made: 'made',
  },
  'apply on a full disk': { ...applied(), error: noSpace },
  'apply --durable': applied('--durable'),
  'apply with later times': { ...applied('--durable', '--forward', '--after', '1700000000000000000'), later: true },
  'apply as an undo': applied('--undoes'),
  'apply of a whole directory': {
    words: (home) => ['apply', '--durable', '--upper', at('many'), '--to', join(home, 'made'), '--layer', at('before')],
    input: ['put', 'd/'],
    prepare: (home) => mkdirSync(join(home, 'made')),
    made: 'made',
  },
  merge: {
    words: (home) => ['merge', '--into', join(home, 'made'), '--upper', at('source'), at('before')],
    made: 'made',
  },
  delete: {
    words: (home) => ['delete', join(home, 'made/d')],
    prepare: (home) => cpSync(at('before'), join(home, 'made/d'), { recursive: true, preserveTimestamps: true }),
    made: 'made',
  },
};
/** What is only asked answers the same, or fails. */
const questions: Readonly<Record<string, readonly string[]>> = {
  diff: ['diff', '--upper', 'source', '--lower', 'before', '--stampless'],
  compare: ['compare', '--layer', 'source', '--to', 'same'],
  read: ['read', '--digests', '--layer', 'source'],
  digest: ['digest', '--layer', 'source'],
  names: ['names', '--layer', 'source'],
  held: ['held', '--layer', 'source'],
};
const lists: Readonly<Record<string, readonly string[]>> = { compare: paths, read: paths, held: paths, names: ['d/'] };

interface Ended {
  readonly code: number | null;
  readonly told: readonly string[];
  readonly why: string;
}
async function run(words: readonly string[], input: readonly string[] = []): Promise<Ended> {
  const [file = '', ...rest] = words;
  const child = spawn(file, rest, { cwd: at('.'), stdio: ['pipe', 'pipe', 'pipe'] });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  child.stdin.on('error', () => undefined);
  child.stdin.end(input.map((field) => `${field}\0`).join(''));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, told: splitFields(Buffer.concat(out)), why: Buffer.concat(err).toString('latin1') };
}

function compileFailCall(): string | undefined {
  const sources = ['test/support/fail-call.c'];
  const failed = compileOnce({ compiler: 'gcc', flags: ['-O1', '-D_GNU_SOURCE'], sources }, at('fail-call'));
  const traced = failed === undefined && spawnSync(at('fail-call'), ['0', '5', 'true']).status === notSoMany;
  return traced ? at('fail-call') : undefined;
}

function compileRefuseCall(words: readonly string[]): readonly string[] {
  const compilation = { compiler: 'gcc', flags: ['-O1', '-static'], sources: ['test/support/refuse-bits.c'] };
  assert.equal(compileOnce(compilation, at('refuse-bits')), undefined);
  return [at('refuse-bits'), ...words];
}

/** A long run lets every call fail, with each of the errors; a short one draws calls, which fail with the usual one. */
const isLong = process.env['CTX_SOAK'] === '1';
const { EDQUOT: quota, EMFILE: noDescriptors, ENOMEM: noMemory, EACCES: refused, ESTALE: stale } = constants.errno;
const errorsOf = (usual: number) =>
  isLong ? [...new Set([usual, noSpace, quota, noDescriptors, noMemory, refused, stale])] : [usual];
/** Fewer are not worth a draw. */
const fewCalls = 50;

/** `act` for each call of what `words` do, several at once, since they mostly wait. */
async function eachCall(words: readonly string[], input: readonly string[] | undefined, act: Act): Promise<void> {
  const counted = await run([at('fail-call'), '+0', '5', ...words], input);
  const count = Number(/(\d+) calls\n$/.exec(counted.why)?.[1]);
  assert.ok(count > 0, counted.why);
  const draw = randomFrom(testSeed);
  const numbers = Array.from({ length: count }, (_, index) => index + 1).filter(
    () => isLong || count < fewCalls || draw() < 0.3,
  );
  for (let from = 0; from < numbers.length; from += 8)
    await Promise.all(numbers.slice(from, from + 8).map(async (number) => act(`+${number}`)));
}
type Act = (number: string) => Promise<void>;

function inFreshHome(act: (number: string, home: string) => Promise<void>): Act {
  return async (number) => {
    const home = at(`home-${number}`);
    mkdirSync(home);
    await act(number, home);
    rmSync(home, { recursive: true });
  };
}

/** Each entry is as it was or as it was to be, and what was told is done. */
function checkHalf({ told, why }: Ended, now: Shown, before: Shown, after: Shown, what: string): void {
  for (const [path, shown] of Object.entries(now)) {
    // What has a place for a moment is swept later (tree-person).
    const isBeside = /^\w+\0(rename|remove)/.test(why) ? /\.ctx-\w+\.(old|new)$/ : /\.ctx-\w+\.old$/;
    if (path === '.' || isBeside.test(path) || shown.startsWith('4')) continue;
    assert.ok(shown === before[path] || shown === after[path], `${what}: ${path} is ${shown}`);
  }
  for (const path of told.filter((_, index) => told[index + 1] === 'done'))
    assert.equal(now[path], after[path], `${what}: ${path}`);
}

for (const [name, { words, input, prepare, refuses, made, error = inputOutput, later }] of Object.entries(trials)) {
  it(`${name}: a call that fails is told, or what is made is the same`, async (context) => {
    const failCall = compileFailCall();
    if (failCall === undefined) return context.skip('needs gcc, and a host that lets a program be traced');
    const host = refuses === undefined ? [] : compileRefuseCall(refuses);
    makeTrees();
    const [whole, counted] = [at('whole'), at('counted')];
    for (const home of [whole, counted]) {
      mkdirSync(home);
      prepare?.(home);
    }
    const look = (home: string, timed: boolean) => seen(join(home, made), timed);
    // Later times are given at the end.
    const before = prepare === undefined ? {} : look(whole, later !== true);
    assert.equal((await run([...host, program, ...words(whole)], input)).code, 0);
    const [after, half] = [look(whole, true), look(whole, later !== true)];
    const digest = await digested(join(whole, made));
    // A deletion takes the right that it is refused, and the mode is another one then.
    for (const code of errorsOf(error).filter((each) => name !== 'delete' || each !== refused)) {
      const trial = inFreshHome(async (number, home) => {
        prepare?.(home);
        const ended = await run([failCall, number, String(code), ...host, program, ...words(home)], input);
        const what = `${name}, call ${number}, ${code}: ${ended.code} ${ended.told.join(' ')} ${ended.why.replaceAll('\0', ' ')}`;
        if (ended.code === 0 || ended.code === notSoMany) {
          // Of layers that may go when they are merged it is not enough to tell.
          const problems = name.startsWith('merge') ? [] : ended.told.filter((word) => /^E[A-Z]+$/.test(word));
          if (problems.length > 0 || ended.told.includes('clash') || ended.told.includes('narrowed')) return;
          assert.deepEqual(look(home, true), after, what);
          // Attributes that may not be looked at are left out.
          if (code !== refused) assert.deepEqual(await digested(join(home, made)), digest, what);
          return;
        }
        assert.equal(ended.code, 1, what);
        assert.match(ended.why, /^E[A-Z]+\0[^\0]+\0[^\0]*\0$/, what);
        if (name.startsWith('apply')) checkHalf(ended, look(home, later !== true), before, half, what);
      });
      await eachCall([...host, program, ...words(counted)], input, trial);
      rmSync(counted, { recursive: true });
      mkdirSync(counted);
      prepare?.(counted);
    }
  });
}

for (const [name, words] of Object.entries(questions)) {
  it(`${name}: a call that fails is told, or the answer is the same`, async (context) => {
    const failCall = compileFailCall();
    if (failCall === undefined) return context.skip('needs gcc, and a host that lets a program be traced');
    makeTrees();
    assert.equal(spawnSync('cp', ['-a', at('source'), at('same')]).status, 0);
    const whole = await run([program, ...words], lists[name]);
    assert.equal(whole.code, 0, whole.why);
    for (const error of errorsOf(inputOutput))
      await eachCall([program, ...words], lists[name], async (number) => {
        const { code, told, why } = await run([failCall, number, String(error), program, ...words], lists[name]);
        const what = `${name}, call ${number}, ${error}: ${code} ${why.replaceAll('\0', ' ')}`;
        // What cannot be read is different: who asks must not hear that it is the same.
        const isSame = (word: string | undefined, index: number) => word === whole.told[index] || word === 'different';
        if (code === 0 || code === notSoMany)
          assert.ok(told.length === whole.told.length && told.every(isSame), `${what} ${told.join(' ')}`);
        else assert.match(why, /^E[A-Z]+\0[^\0]+\0[^\0]*\0$/, what);
      });
  });
}
