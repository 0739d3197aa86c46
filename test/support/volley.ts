/**
 * Many attacks, two starts. Each is a shell script that prints `won` where it succeeds. All are run once without a
 * jail, where they have to succeed, and once in one, where none may. The two runs have a world each, made by the same
 * script: a directory with the project and whatever is beside it.
 */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { type AttackProgram, compileAttackProgram } from './attack-program.js';
import { snapshot } from './snapshot.js';
import { parseJson, type Stage } from './stage.js';

export interface VolleyOptions {
  /** A script that makes the world, run in its project. */
  readonly world?: string;
  readonly programs?: readonly AttackProgram[];
  /** Further words of `ctx exec`. */
  readonly options?: (world: string) => readonly string[];
  /** Given to both runs, as a caller would have it. */
  readonly environment?: (world: string) => Readonly<Record<string, string>>;
  /** Shell text before each script; a function is asked when the volley is fired. */
  readonly prelude?: string | (() => string);
  /** What is run instead of `ctx`, where it needs more than its words. */
  readonly program?: () => readonly string[];
  /** Called between the run without a jail and the one inside. */
  readonly between?: () => void;
}

export interface AttackOptions {
  readonly skip?: string | false;
  /** How often it prints `won` without a jail: once, unless it has variants. */
  readonly times?: number;
  /** Why the kernel may refuse it without a jail too; then it shows nothing and is skipped. */
  readonly refusedAnyway?: string;
  /** What else has to be true of what it said inside. */
  readonly inside?: (output: string) => void;
}

/** For a busy machine: what is refused ends at once. */
const secondsEach = 40;
const timeoutSeconds = 240;

export class Volley {
  readonly #stage: Stage;
  readonly #options: VolleyOptions;
  readonly #scripts: string[] = [];
  #outside: readonly string[] = [];
  #inside: readonly string[] = [];
  #envelope: Envelope | undefined;
  #world = '';
  #unchanged = false;

  constructor(stage: Stage, options: VolleyOptions) {
    this.#stage = stage;
    this.#options = options;
  }

  /** The world of the run inside. */
  get world(): string {
    return this.#world;
  }

  get envelope(): Envelope {
    assert.ok(this.#envelope);
    return this.#envelope;
  }

  /** Whether the jailed run left its world, its project included, as it was. */
  get unchanged(): boolean {
    return this.#unchanged;
  }

  /** One test. */
  attack(name: string, script: string, options: AttackOptions = {}): void {
    const { skip = false, times = 1, refusedAnyway, inside } = options;
    const number = this.#scripts.push(skip === false ? script : ':') - 1;
    test(name, { skip }, (context) => {
      const [without = '', within] = [this.#outside[number], this.#inside[number]];
      const wins = won(without);
      if (wins === 0 && refusedAnyway !== undefined) return context.skip(`${refusedAnyway}: ${without.trim()}`);
      assert.equal(wins, times, `without a jail this has to work: ${script}\n${without}`);
      assert.ok(within !== undefined, 'it was not run inside');
      assert.equal(won(within), 0, `it worked inside: ${script}\n${within}`);
      inside?.(within);
    });
  }

  async fire(): Promise<void> {
    const { options = () => [], environment = () => ({}), program = () => [this.#stage.program] } = this.#options;
    const plain = this.#makeWorld('plain');
    const without = await this.#stage.start(plain.project, ['sh', 'volley'], { env: environment(plain.world) })
      .finished;
    this.#outside = outputs(without.stdout);
    const { world, project } = this.#makeWorld('jailed');
    this.#world = world;
    const before = snapshot(world);
    const words = ['exec', '--json', ...options(world), '--', 'sh', 'volley'];
    this.#options.between?.();
    const running = this.#stage.start(project, [...program(), ...words], { env: environment(world), timeoutSeconds });
    const { stdout, stderr } = await running.finished;
    this.#envelope = parseJson(stdout, stderr) as Envelope;
    assert.equal(this.#envelope.exitCode, 0, stdout);
    this.#inside = outputs(this.#envelope.stdout?.text ?? '');
    try {
      assert.deepEqual(snapshot(world), before);
      this.#unchanged = true;
    } catch {
      this.#unchanged = false; // for a test of its own to say
    }
  }

  /** Once, for both worlds. */
  #compileInto(project: string, program: AttackProgram): void {
    const compiled = join(this.#stage.directory, program);
    if (!existsSync(compiled)) compileAttackProgram(this.#stage.directory, program);
    copyFileSync(compiled, join(project, program));
  }

  #makeWorld(name: string): { world: string; project: string } {
    const { world: script = ':', programs = [], prelude = '' } = this.#options;
    const world = this.#stage.makeDirectory(name);
    const project = this.#stage.makeDirectory(`${name}/project`);
    for (const program of programs) this.#compileInto(project, program);
    this.#stage.shell(project, `WORLD=${world}\n${script}`);
    const head = `WORLD=${world}\n${typeof prelude === 'string' ? prelude : prelude()}\n`;
    this.#scripts.forEach((text, number) => {
      writeFileSync(join(project, `volley-${number}`), `${head}${text}\n`);
    });
    // Each in a directory of its own would hide `..`; each in a shell of its own, with nothing to read and an end.
    const run = `timeout -s KILL ${secondsEach} sh volley-$number < /dev/null 2>&1`;
    const last = this.#scripts.length - 1;
    writeFileSync(
      join(project, 'volley'),
      `for number in $(seq 0 ${last}); do echo "${mark}$number"; ${run}; echo; done; exit 0\n`,
    );
    return { world, project };
  }
}

const mark = '=== attack ';

function outputs(text: string): string[] {
  const found: string[] = [];
  for (const part of text.split(mark).slice(1)) {
    const end = part.indexOf('\n');
    found[Number(part.slice(0, end))] = part.slice(end + 1);
  }
  return found;
}

function won(output: string): number {
  return output.split('\n').filter((line) => line === 'won').length;
}

/** To be called in a `describe`, after `useStage`: fired once, before the first of its tests. */
export function useVolley(stage: Stage, options: VolleyOptions = {}): Volley {
  const volley = new Volley(stage, options);
  before(() => volley.fire());
  return volley;
}
