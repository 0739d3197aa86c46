/**
 * C of the tests, compiled once: what came out is kept in `dist/test-programs/` by the content of everything that
 * went in. Many suites use the same program, and to compile those of a whole run takes as long as hundreds of calls.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { hasCode } from '../../src/base/errno.js';
import { checkout } from './program.js';

const place = join(checkout, 'dist', 'test-programs');
/** Of one name: a suite may compile a program and a broken form of it. */
const mostKept = 4;

export interface Compilation {
  readonly compiler: string;
  readonly flags: readonly string[];
  /** From the checkout. */
  readonly sources: readonly string[];
  /** Files of the checkout that the sources include. */
  readonly included?: readonly string[];
}

function digestOf({ compiler, flags, sources, included = [] }: Compilation): string {
  const hash = createHash('sha256');
  const add = (text: string | Buffer) => hash.update(`${text.length}\n`).update(text);
  add(spawnSync(compiler, ['--version']).stdout ?? '');
  add(flags.join('\0'));
  for (const path of [...sources, ...included]) add(readFileSync(resolve(checkout, path)));
  return hash.digest('hex').slice(0, 32);
}

function keep(program: string, kept: string): void {
  const own = `${kept}.${process.pid}`;
  try {
    mkdirSync(place, { recursive: true });
    const older = readdirSync(place).filter((name) => name.startsWith(`${basename(program)}-`));
    for (const name of older.slice(mostKept - 1)) rmSync(join(place, name), { force: true });
    copyFileSync(program, own);
    renameSync(own, kept);
  } catch (error) {
    // Another user's checkout: this one compiles each time.
    if (!hasCode(error, 'EACCES') && !hasCode(error, 'EROFS')) throw error;
  }
}

/** False where none is kept, or was thrown away by a suite that runs at the same time. */
function takeKept(kept: string, program: string): boolean {
  try {
    copyFileSync(kept, program);
    return true;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/** What the compiler says where it cannot; undefined where `program` is there. */
export function compileOnce(compilation: Compilation, program: string): string | undefined {
  const { compiler, flags, sources } = compilation;
  const kept = join(place, `${basename(program)}-${digestOf(compilation)}`);
  if (!takeKept(kept, program)) {
    const words = [...flags, '-o', program, ...sources];
    const { status, stderr, error } = spawnSync(compiler, words, { cwd: checkout, encoding: 'utf8' });
    if (status !== 0) return `${compiler} could not compile ${program}: ${error ?? stderr}`;
    keep(program, kept);
  }
  chmodSync(program, 0o755);
  return undefined;
}
