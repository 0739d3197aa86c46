/**
 * Calls of `ctx` for tests, each with the store, directory, streams and environment that it would have of its own, and all of them in
 * one process: to start Node costs more than most verbs do.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** As docs and scripts know them; every other error is 1. */
const exitCodes: Readonly<Record<string, number>> = {
  ...{ EINVAL: 2, E2BIG: 2, ENAMETOOLONG: 2 },
  ...{ EACCES: 13, EDQUOT: 13, EPERM: 13 },
  ...{ EAGAIN: 69, EBUSY: 69, ENOSYS: 69, ENOTCONN: 69, ENOTSUP: 69 },
};

export interface CallOptions {
  /** What it reads; without it, nothing. */
  readonly input?: string;
  /** Where it is called; without one, in the project. */
  readonly directory?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly words: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The file that is its stdin. */
  readonly input: string;
}

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * A call, its exit code or the error that it ends with, and what it prints: a text, a pattern, or the members of what `--json` prints;
 * then what it says on stderr. A call without options is written as one text.
 */
export type Row = readonly [
  words: string | readonly string[],
  end: number | string,
  printed?: string | RegExp | Readonly<Record<string, unknown>>,
  said?: string | RegExp,
  options?: CallOptions,
];

function matches(text: string, wanted: string | RegExp, all: string): void {
  if (typeof wanted === 'string') assert.equal(text, wanted, all);
  else assert.match(text, wanted, all);
}

export class Calls {
  /** Of the test: gone when it ends. */
  readonly directory: string;
  readonly store: string;
  readonly home: string;
  #project = '';
  #process: ChildProcess | undefined;

  readonly #beside: Calls | undefined;

  /** `beside`: another process with the same store, home and project, whose calls run at the same time. */
  constructor(beside?: Calls) {
    this.#beside = beside;
    if (beside !== undefined) {
      [this.directory, this.home, this.store] = [beside.directory, beside.home, beside.store];
      this.#project = beside.project;
      return;
    }
    this.directory = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-calls-')));
    // Root's commands run as another user, who has to get to the project.
    chmodSync(this.directory, 0o755);
    this.home = join(this.directory, 'home');
    this.store = join(this.directory, 'store');
    mkdirSync(this.home, { mode: 0o755 });
    mkdirSync(this.store, { mode: 0o700 });
    this.enter('project');
  }

  /** Where calls are made, unless they say otherwise. */
  get project(): string {
    return this.#project;
  }

  /** From now on they are made in another project. */
  enter(name: string): void {
    this.#project = join(this.directory, name);
    mkdirSync(this.#project, { mode: 0o755 });
  }

  async #started(): Promise<ChildProcess> {
    if (this.#process !== undefined) return this.#process;
    const [input, ...outputs] = ['stdin', 'stdout', 'stderr'].map((name) => openSync(this.#stream(name), 'a+'));
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: this.home,
      CTX_DATA: this.store,
      CTX_KEEPER: 'off',
      LANG: 'C.UTF-8',
      ...(process.env['NODE_V8_COVERAGE'] === undefined ? {} : { NODE_V8_COVERAGE: process.env['NODE_V8_COVERAGE'] }),
    };
    const program = fileURLToPath(new URL('./calls-program.js', import.meta.url));
    const child = fork(program, [], { env, cwd: this.project, stdio: [input, ...outputs, 'ipc'] });
    for (const each of [input, ...outputs]) if (each !== undefined) closeSync(each);
    this.#process = child;
    await once(child, 'message');
    return child;
  }

  #stream(name: string): string {
    return join(this.directory, this.#beside === undefined ? name : `${name}-beside`);
  }

  #take(name: string): string {
    const text = readFileSync(this.#stream(name), 'utf8');
    truncateSync(this.#stream(name));
    return text;
  }

  /** Of a file of the project, or below it; undefined where there is none. */
  file(name: string): string | undefined {
    const path = join(this.project, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  }

  write(name: string, text: string): void {
    const path = join(this.project, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }

  async run(words: readonly string[], { input, directory, environment = {} }: CallOptions = {}): Promise<Answer> {
    const child = await this.#started();
    const from = input === undefined ? '/dev/null' : this.#stream('stdin');
    if (input !== undefined) writeFileSync(from, input);
    const asked: Asked = { words, directory: directory ?? this.project, environment, input: from };
    const code = await new Promise<number>((resolve) => {
      const end = (found: number) => {
        child.off('message', answered).off('exit', ended);
        resolve(found);
      };
      const answered = (message: { readonly code: number }) => end(message.code);
      const ended = () => end(-1);
      child.on('message', answered).on('exit', ended).send(asked);
    });
    return { code, stdout: this.#take('stdout'), stderr: this.#take('stderr') };
  }

  /** What differs from run to run is replaced by what it is. */
  plain(text: string): string {
    const known: readonly (readonly [RegExp, string])[] = [
      [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?/g, 'TIME'],
      [/\bsha256:[0-9a-f]{64}\b/g, 'DIGEST'],
      [/\b[0-9a-z]+-[0-9a-z]{8}-[0-9a-z]{7,}\b/g, 'RUN'],
      [/\b[0-9a-f]{16}\b/g, 'ID'],
      [/"(stamp)":"[^"]*"/g, '"$1":""'],
      [/"temporary":\{"bytes":\d+/g, '"temporary":{"bytes":0'],
      // What was thrown away is emptied by a process of its own.
      [/"freeing":\d+/g, '"freeing":0'],
      [/^ {2}freeing .*\n/gm, ''],
    ];
    return known.reduce(
      (left, [found, by]) => left.replace(found, by),
      text.replaceAll(this.#project, 'HERE').replaceAll(this.directory, '~'),
    );
  }

  async check([called, end, printed = '', said = '', options = {}]: Row): Promise<Answer> {
    const given = typeof called === 'string' ? called.split(' ') : called;
    const at = given.indexOf('--');
    const isJson = typeof printed === 'object' && !(printed instanceof RegExp);
    const words = !isJson ? given : at < 0 ? [...given, '--json'] : given.toSpliced(at, 0, '--json');
    const answer = await this.run(words, options);
    const [stdout, stderr] = [this.plain(answer.stdout), this.plain(answer.stderr)];
    const all = `ctx ${words.join(' ')}\n${answer.code}\n${stdout}${stderr}`;
    assert.equal(answer.code, typeof end === 'number' ? end : (exitCodes[end] ?? 1), all);
    if (isJson) {
      assert.match(stdout, /^[^\n]+\n$/, all);
      assert.deepEqual(JSON.parse(stdout), JSON.parse(JSON.stringify({ version: 1, ...printed })), all);
    } else matches(stdout, printed, all);
    if (typeof end === 'number') matches(stderr, said, all);
    else if (!isJson) assert.equal(/ \(([A-Z0-9]+)\)(?:\n|$)/.exec(stderr)?.[1], end, all);
    return answer;
  }

  async all(rows: readonly Row[]): Promise<void> {
    for (const row of rows) await this.check(row);
  }

  async end(): Promise<void> {
    const child = this.#process;
    if (child !== undefined && child.exitCode === null) {
      // Mounts of a test that failed.
      if (this.#beside === undefined) await this.run(['stop', '--all']);
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    }
    if (this.#beside === undefined) rmSync(this.directory, { recursive: true, force: true });
  }
}
