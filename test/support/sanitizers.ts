/** Programs compiled so that a wrong step in memory, or undefined arithmetic, ends them with a message. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { compileOnce } from './compiled-program.js';
import { checkout } from './program.js';

const common = ['-std=gnu11', '-g', '-O1', '-pthread', '-D_GNU_SOURCE', '-fno-omit-frame-pointer', '-Inative'];
const optionsFile = join('test', 'fuzz', 'sanitizer-options.c');

/** Headers are looked for in `native/`. */
function compile(compiler: string, flags: readonly string[], sources: readonly string[], program: string): string {
  const headers = filesOf('native', '.h');
  const failed = compileOnce({ compiler, flags: [...common, ...flags], sources, included: headers }, program);
  if (failed !== undefined) throw new Error(failed);
  return program;
}

function filesOf(folder: string, ending: string): string[] {
  return readdirSync(join(checkout, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .sort()
    .map((file) => join(folder, file));
}

/** Whether this compiler can link what it needs: its runtime is a package of its own. */
function canCompile(compiler: string, flag: string): boolean {
  const source =
    'int main(int c, char **v) { return c + !v; } int LLVMFuzzerTestOneInput(const char *d, long s) { return !d + !s; }';
  const text = flag.includes('fuzzer') ? source.replace(/^int main.*?\} /, '') : source;
  return spawnSync(compiler, [flag, '-x', 'c', '-', '-o', '/dev/null'], { input: text }).status === 0;
}

export const cannotSanitize: string | undefined = canCompile('gcc', '-fsanitize=address,undefined')
  ? undefined
  : 'gcc has no sanitizers here (libasan, libubsan)';

const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all'];

/**
 * `native/NAME` as it is, sanitized. Not optimized: to compile it otherwise takes twice as long, longer than all that is run of it, and
 * nothing that is undefined is optimized away before it is looked at.
 */
export function compileSanitized(name: string, directory: string): string {
  const folder = join('native', name);
  const sources = [...filesOf(folder, '.c'), optionsFile];
  return compile('gcc', [...sanitizers, '-O0', `-I${folder}`], sources, join(directory, name));
}

export interface Fuzzer {
  readonly program: string;
  /** With coverage to guide it; without, changes are blind. */
  readonly guided: boolean;
}

export function compileFuzzer(sources: readonly string[], program: string): Fuzzer {
  if (canCompile('clang', '-fsanitize=fuzzer,address,undefined')) {
    const flags = ['-fsanitize=fuzzer,address,undefined', '-fno-sanitize-recover=all'];
    return { program: compile('clang', flags, sources, program), guided: true };
  }
  const driver = join('test', 'fuzz', 'blind-driver.c');
  return { program: compile('gcc', sanitizers, [...sources, driver, optionsFile], program), guided: false };
}

export function fuzz(fuzzer: Fuzzer, corpus: string, seconds: number, seed: number) {
  const words = fuzzer.guided
    ? [`-seed=${seed % 2 ** 32}`, `-max_total_time=${seconds}`, '-max_len=65536', '-print_final_stats=1', corpus]
    : [corpus, String(seed), String(seconds * 1000)];
  return spawnSync(fuzzer.program, words, { cwd: corpus, encoding: 'utf8', timeout: (seconds + 60) * 1000 });
}
