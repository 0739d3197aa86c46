/** Where a suite plays: a home, a store and projects of one user, in a directory that is gone afterwards. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { endKeeper, keepCompany, keeperOff, keeperOn, storesBelow } from './keeper.js';
import { assertNothingLeft } from './leftovers.js';
import { type Finished, type Running, type StartOptions, slowness, start } from './process.js';
import { ctxProgramFor, temporaryRoot } from './program.js';
import { isRoot, spawnIdentity, type TestUser } from './users.js';
import { findsKeeper } from './warm-calls.js';

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** `CTX_TEST_KEEPER=on npm test -- e2e/`: every suite with keepers of its own; calls have to answer as those without. */
const withKeepers = process.env['CTX_TEST_KEEPER'] === 'on';
/**
 * `CTX_TEST_KEEPER=off`, and a run that takes long: every call starts Node, those of warm stages, too. So on an emulated
 * processor: a caller waits for half a second there before it does without a keeper.
 */
export const withWarmStages =
  process.env['CTX_TEST_KEEPER'] === undefined && process.env['CTX_SOAK'] !== '1' && slowness === 1;

/** A script that prepares a million files takes minutes on a busy machine. */
const shellMilliseconds = (process.env['CTX_SOAK'] === '1' ? 600_000 : 120_000) * slowness;

export class Stage {
  readonly user: TestUser;
  #directory = '';
  #program = '';
  #projects = 0;
  #company: { end(): void } | undefined;
  #isWarm = false;

  constructor(user: TestUser) {
    this.user = user;
  }

  get directory(): string {
    return this.#directory;
  }

  get program(): string {
    return this.#program;
  }

  get home(): string {
    return join(this.#directory, 'home');
  }

  /** CTX_DATA, where a call does not name another. */
  get store(): string {
    return join(this.#directory, 'store');
  }

  set(): void {
    this.#directory = realpathSync(mkdtempSync(join(temporaryRoot(), 'ctx-test-')));
    chmodSync(this.#directory, 0o755);
    if (isRoot) chownSync(this.#directory, this.user.uid, this.user.gid);
    this.makeDirectory('home');
    this.#letEverythingRun();
    if (withKeepers) this.#company = keepCompany(this.user);
    this.#program = ctxProgramFor(this.user, this.#directory);
  }

  /** From now on calls that are waited for (`ctx` and what uses it) are run by a keeper, where one can be started. */
  async warm(): Promise<void> {
    if (!withWarmStages) return;
    this.#company = keepCompany(this.user);
    this.#isWarm = await findsKeeper(this);
  }

  /** Suites of the jail must not be saved by the judgement of commands; those of the judgement take this away. */
  #letEverythingRun(): void {
    const match = { class: 'host_escape_risk' };
    const rules = { version: 1, rules: [{ action: 'allow_with_checkpoint', agent: '*', match }] };
    for (const name of ['store', 'store/ctx']) this.makeDirectory(name);
    chmodSync(this.store, 0o700);
    writeFileSync(this.rules, JSON.stringify(rules));
    if (isRoot) chownSync(this.rules, this.user.uid, this.user.gid);
  }

  /** The operator's rules, unless a call names another store. */
  get rules(): string {
    return join(this.store, 'ctx', 'rules.json');
  }

  async strike(): Promise<void> {
    this.#company?.end();
    if (withKeepers || this.#isWarm) {
      for (const store of storesBelow(this.#directory)) await endKeeper(store);
    }
    try {
      await assertNothingLeft(this.#directory);
    } finally {
      // What a jail left may have any mode; root needs no permission.
      if (!isRoot) spawnSync('chmod', ['-R', 'u+rwX', this.#directory]);
      // Node's own removal knows no path that is longer than the kernel takes. What a verb threw away may be emptied by a process
      // of its own at the same time: the process that comes second finds a directory gone that it was about to enter, and begins again.
      for (let tries = 0; existsSync(this.#directory) && tries < 20; tries++) spawnSync('rm', ['-rf', this.#directory]);
      assert.ok(!existsSync(this.#directory), `${this.#directory} cannot be removed`);
    }
  }

  get environment(): Record<string, string> {
    const path = `${dirname(process.execPath)}:${systemPath}`;
    const keeper = withKeepers ? keeperOn : keeperOff;
    return { PATH: path, HOME: this.home, CTX_DATA: this.store, LANG: 'C.UTF-8', ...keeper };
  }

  makeDirectory(name: string): string {
    const path = join(this.#directory, name);
    mkdirSync(path, { recursive: true, mode: 0o755 });
    if (isRoot) chownSync(path, this.user.uid, this.user.gid);
    return path;
  }

  /** An own directory for one test; `script` fills it, as the user. */
  project(script = ':'): string {
    const path = this.makeDirectory(`project-${this.#projects++}`);
    this.shell(path, script);
    return path;
  }

  /** A shell script as the user, outside of every jail; it has to succeed. */
  shell(cwd: string, script: string): string {
    const options = { cwd, env: this.environment, timeout: shellMilliseconds, ...spawnIdentity(this.user) };
    const { status, stdout, stderr } = spawnSync('/bin/sh', ['-euc', script], options);
    assert.equal(status, 0, `${script}\n${stderr}`);
    return stdout.toString();
  }

  /** Any program as the user, outside of every jail. */
  start(cwd: string, argv: readonly string[], options: StartOptions = {}): Running {
    const env = { ...this.environment, ...options.env };
    return start(argv, { cwd, ...spawnIdentity(this.user), ...options, env });
  }

  /** Starts Node also where the stage is warm: who holds a process looks at its number, or sends it signals. */
  startCtx(cwd: string, words: readonly string[], options: StartOptions = {}): Running {
    return this.start(cwd, [this.#program, ...words], options);
  }

  ctx(cwd: string, words: readonly string[], options: StartOptions = {}): Promise<Finished> {
    // Another store would be left a keeper of its own.
    const isHere = [undefined, this.store].includes(options.env?.['CTX_DATA']);
    const keeper = this.#isWarm && isHere ? keeperOn : {};
    return this.startCtx(cwd, words, { ...options, env: { ...keeper, ...options.env } }).finished;
  }

  /** `ctx exec --json` of a command that could be run; its envelope. */
  async exec(cwd: string, argv: readonly string[], options: StartOptions = {}): Promise<Envelope> {
    const { stdout, stderr } = await this.ctx(cwd, ['exec', '--json', '--wait', '--', ...argv], options);
    const value = parseJson(stdout, stderr) as Envelope;
    assert.equal(value.version, 1, `${stdout}${stderr}`);
    return value;
  }

  /** A shell script inside; its stdout. It has to end with `exitCode`. */
  async inside(cwd: string, script: string, exitCode = 0, options: StartOptions = {}): Promise<string> {
    const envelope = await this.exec(cwd, ['sh', '-c', script], options);
    assert.equal(envelope.exitCode, exitCode, `${script}\n${envelope.stdout?.text}${envelope.stderr?.text}`);
    return envelope.stdout?.text ?? '';
  }

  /** A verb that answers with JSON; the answer, and the exit code it has to have. */
  async json(
    cwd: string,
    words: readonly string[],
    exitCode = 0,
    options: StartOptions = {},
  ): Promise<Record<string, unknown>> {
    const { code, stdout, stderr } = await this.ctx(cwd, [...words, '--json'], options);
    assert.equal(code, exitCode, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
    return parseJson(stdout, stderr) as Record<string, unknown>;
  }
}

/** One document on one line: more would be a second answer. */
export function parseJson(stdout: string, stderr = ''): unknown {
  assert.match(
    stdout,
    /^[^\n]+\n$/,
    `expected one line of JSON, got ${JSON.stringify(stdout.slice(0, 500))} ${stderr}`,
  );
  return JSON.parse(stdout);
}

/** To be called in a `describe`: the stage is set before its tests, and struck, with all its checks, after them. */
export function useStage(user: TestUser): Stage {
  return staged(user, async (stage) => stage.set());
}

/** For suites of what verbs say and do. Those of processes, streams and limits are about a call that starts Node. */
export function useWarmStage(user: TestUser): Stage {
  return staged(user, async (stage) => {
    stage.set();
    await stage.warm();
  });
}

function staged(user: TestUser, set: (stage: Stage) => Promise<void>): Stage {
  const stage = new Stage(user);
  before(() => set(stage));
  after(() => stage.strike());
  return stage;
}
