/**
 * Each call of the kernel fails once, in each verb: what says that it is done has done it, and what says that it failed
 * has left nothing half, and says why.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { compileOnce } from '../../../test/support/compiled-program.js';
import { freshPlace, program } from './tree-fixture.js';
import { splitFields } from './tree-program.js';

const { at, write } = freshPlace();
const notSoMany = 99;
const { EIO: inputOutput, ENOSPC: noSpace } = constants.errno;

/** All that a person can see of a tree, by path. */
function seen(top: string): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  const look = (path: string) => {
    const status = lstatSync(join(top, path));
    const bytes = status.isFile() ? readFileSync(join(top, path), 'utf8') : '';
    const content = bytes.length > 100 ? `${bytes.length} bytes ${bytes.slice(-3)}` : bytes;
    const target = status.isSymbolicLink() ? readlinkSync(join(top, path)) : '';
    found[path] = `${status.mode.toString(8)} ${status.isDirectory() ? '' : status.mtimeMs} ${content}${target}`;
    if (status.isDirectory()) for (const name of readdirSync(join(top, path)).sort()) look(join(path, name));
  };
  look('.');
  return found;
}

const paths = ['d', 'd/file', 'd/large', 'd/link', 'd/pipe', 'file', 'second'];

function makeTrees(): void {
  for (const [name, text] of Object.entries({ 'd/file': 'new', 'd/large': 'x'.repeat(300_000), file: 'new too' }))
    write(`source/${name}`, text);
  symlinkSync('file', at('source/d/link'));
  assert.equal(spawnSync('mkfifo', [at('source/d/pipe')]).status, 0);
  linkSync(at('source/file'), at('source/second'));
  chmodSync(at('source/d/file'), 0o640);
  chmodSync(at('source/d'), 0o750);
  for (const name of ['d/file', 'd/large', 'file']) utimesSync(at('source', name), 1, 1000);
  write('before/file', 'old');
  write('before/gone', 'old');
  utimesSync(at('before/file'), 1, 500);
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
}
const plan = [...paths.flatMap((path) => ['put', path]), 'remove', 'gone'];
const applied = (...more: readonly string[]): Trial => ({
  words: (home) => ['apply', '--upper', at('source'), '--to', join(home, 'made'), '--layer', at('before'), ...more],
  input: plan,
  prepare: (home) => cpSync(at('before'), join(home, 'made'), { recursive: true, preserveTimestamps: true }),
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

/** `act` for each call, until there are no more; several at once, since they mostly wait. */
async function eachCall(act: (number: string, home: string) => Promise<number | null>): Promise<void> {
  for (let from = 1, isOver = false; !isOver; from += 8) {
    const codes = await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const home = at(`home-${from + index}`);
        mkdirSync(home);
        const code = await act(`+${from + index}`, home);
        rmSync(home, { recursive: true });
        return code;
      }),
    );
    isOver = codes.includes(notSoMany);
    assert.ok(from > 1 || codes[0] !== notSoMany, 'calls are counted');
  }
}

for (const [name, { words, input, prepare, refuses, made, error = inputOutput }] of Object.entries(trials)) {
  it(`${name}: a call that fails is told, or what is made is the same`, async (context) => {
    const failCall = compileFailCall();
    if (failCall === undefined) return context.skip('needs gcc, and a host that lets a program be traced');
    const host = refuses === undefined ? [] : compileRefuseCall(refuses);
    makeTrees();
    const whole = at('whole');
    mkdirSync(whole);
    prepare?.(whole);
    const before = prepare === undefined ? {} : seen(join(whole, made));
    assert.equal((await run([...host, program, ...words(whole)], input)).code, 0);
    const after = seen(join(whole, made));
    await eachCall(async (number, home) => {
      prepare?.(home);
      const { code, told, why } = await run([failCall, number, String(error), ...host, program, ...words(home)], input);
      const what = `${name}, call ${number}, ${error}: ${code} ${told.join(' ')} ${why.replaceAll('\0', ' ')}`;
      // Of layers that may go when they are merged it is not enough to tell.
      const problems = name.startsWith('merge') ? [] : told.filter((word) => /^E[A-Z]+$/.test(word));
      if (code === 0 || code === notSoMany) {
        if (problems.length === 0 && !told.includes('clash')) assert.deepEqual(seen(join(home, made)), after, what);
        return code;
      }
      assert.equal(code, 1, what);
      assert.match(why, /^E[A-Z]+\0[^\0]+\0[^\0]*\0$/, what);
      if (!name.startsWith('apply')) return code;
      // Each is as it was or as it was to be, and what was told is done.
      const now = seen(join(home, made));
      for (const [path, shown] of Object.entries(now)) {
        // What has a place for a moment is swept later (tree-person).
        const isBeside = /^\w+\0(rename|remove)/.test(why) ? /\.ctx-\w+\.(old|new)$/ : /\.ctx-\w+\.old$/;
        if (path === '.' || isBeside.test(path)) continue;
        const directory = lstatSync(join(home, made, path)).isDirectory();
        assert.ok(directory || shown === before[path] || shown === after[path], `${what}: ${path} is ${shown}`);
      }
      for (const path of told.filter((_, index) => told[index + 1] === 'done'))
        assert.equal(now[path], after[path], `${what}: ${path}`);
      return code;
    });
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
    await eachCall(async (number) => {
      const { code, told, why } = await run([failCall, number, String(inputOutput), program, ...words], lists[name]);
      const what = `${name}, call ${number} fails: ${code} ${why.replaceAll('\0', ' ')}`;
      // What cannot be read is different: who asks must not hear that it is the same.
      const isSame = (word: string | undefined, index: number) => word === whole.told[index] || word === 'different';
      if (code === 0 || code === notSoMany)
        assert.ok(told.length === whole.told.length && told.every(isSame), `${what} ${told.join(' ')}`);
      else assert.match(why, /^E[A-Z]+\0[^\0]+\0[^\0]*\0$/, what);
      return code;
    });
  });
}
