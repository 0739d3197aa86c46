/**
 * A person and a fork at work on one directory, in any order and at the same time, with make on both sides and apply, undo and
 * rollback between them. Make is the judge: in neither view is a product up to date that is not what its source says.
 *
 * CTX_TEST_SEED repeats a run; CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomFrom, testSeed } from '../support/random.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const rounds = process.env['CTX_SOAK'] === '1' ? 60 : 1;
const steps = process.env['CTX_SOAK'] === '1' ? 14 : 7;
const sources = ['a', 'b', 'd/c', 'd/e'];

interface World {
  readonly suffix: string;
  readonly start: string;
}

const makefile = (suffix: string) => {
  const all = sources.map((path) => path + suffix).join(' ');
  return `printf 'MAKEFLAGS += -r\\n%%${suffix}: %%\\n\\tcp $< $@\\nall: ${all}\\n' > Makefile; mkdir d
    for f in ${sources.join(' ')}; do echo 0 > $f; done; sleep 0.02; make -s all`;
};

/** What is built is known by git's rules, or by the name it has. */
const worlds: readonly World[] = [
  { suffix: '.o', start: makefile('.o') },
  {
    suffix: '.made',
    start: `git -c init.defaultBranch=main init -q; echo '*.made' > .gitignore; ${makefile('.made')}`,
  },
];

type Random = () => number;

const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

/** A few changes, each later than the clock's tick. */
function work(random: Random, { suffix }: World, name: string): string {
  const one = () => {
    const path = pick(random, sources);
    const product = pick(random, sources) + suffix;
    return pick(random, [
      `echo ${name}-${Math.floor(random() * 1e6)} > ${path}`,
      `echo ${name}-${Math.floor(random() * 1e6)} > ${path}`,
      `touch ${path}`,
      `cp ${path} t && echo ${name} >> t && mv t ${path}`,
      `rm -f ${product}`,
      `make -s ${product}`,
      'make -s all',
    ]);
  };
  return Array.from({ length: 1 + Math.floor(random() * 3) }, () => `${one()}; sleep 0.02`).join('; ');
}

/** Fails where make takes a product for what it is not. */
const judged = ({ suffix }: World) =>
  `for f in ${sources.join(' ')}; do if make -sq $f${suffix}; then cmp $f $f${suffix}; fi; done; true`;

class Two {
  readonly #said: string[] = [];

  constructor(
    readonly stage: Stage,
    readonly project: string,
    readonly world: World,
  ) {}

  async ctx(...words: string[]): Promise<number | null> {
    const { code } = await this.stage.ctx(this.project, words);
    this.#said.push(`ctx ${words.join(' ')}: ${code}`);
    assert.notEqual(code, 2, `${this.#said.join('\n')}`);
    return code;
  }

  outside(script: string): void {
    this.#said.push(`outside: ${script}`);
    this.stage.shell(this.project, script);
  }

  async inside(script: string, meanwhile?: () => void): Promise<void> {
    const waiting = meanwhile === undefined ? script : `echo ready; read line; ${script}`;
    const options = { stdio: 'pipe' as const };
    const running = this.stage.startCtx(this.project, ['exec', '--wait', '--', 'sh', '-c', waiting], options);
    if (meanwhile !== undefined) {
      await running.printed('ready');
      meanwhile();
    }
    running.child.stdin?.end('\n');
    const { code, stderr } = await running.finished;
    this.#said.push(`inside: ${script}`);
    assert.equal(code, 0, `${this.#said.join('\n')}\n${stderr}`);
  }

  async judge(): Promise<void> {
    const script = judged(this.world);
    const outside = this.stage.shell(this.project, script);
    const inside = await this.stage.inside(this.project, script);
    assert.deepEqual({ outside, inside }, { outside: '', inside: '' }, this.#said.join('\n'));
  }

  async step(random: Random): Promise<void> {
    const sides = ['--conflicts', pick(random, ['ours', 'theirs'])];
    const path = pick(random, sources);
    const kinds: readonly (() => Promise<unknown>)[] = [
      () => this.inside(work(random, this.world, 'fork')),
      () => this.inside(work(random, this.world, 'fork')),
      async () => this.outside(work(random, this.world, 'person')),
      async () => this.outside(work(random, this.world, 'person')),
      () => this.inside(work(random, this.world, 'fork'), () => this.outside(work(random, this.world, 'person'))),
      () => this.ctx('apply', ...sides),
      () => this.ctx('apply', ...sides, pick(random, [path, path + this.world.suffix])),
      () => this.ctx('apply', '--undo'),
      () => this.ctx('rollback'),
      () => this.ctx('rollback', '1', path),
    ];
    await pick(random, kinds)();
  }
}

forEitherUser((user) => {
  const stage = useWarmStage(user);

  for (const [at, world] of worlds.entries()) {
    const known = at === 0 ? 'their names' : "git's rules";
    test(`nothing old is up to date for a person and a fork at once, products known by ${known}, CTX_TEST_SEED=${testSeed}`, async () => {
      const random = randomFrom(testSeed + 2 * user.uid + at);
      for (let round = 0; round < rounds; round += 1) {
        const two = new Two(stage, stage.project(world.start), world);
        for (let step = 0; step < steps; step += 1) {
          await two.step(random);
          await two.judge();
        }
      }
    });
  }
});
