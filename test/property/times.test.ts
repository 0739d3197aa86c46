/**
 * Random work in a fork and the same outside: equal trees, and times in the same order after apply, with make as the judge of what
 * is up to date.
 *
 * CTX_TEST_SEED repeats a run; CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomFrom, testSeed } from '../support/random.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const rounds = process.env['CTX_SOAK'] === '1' ? 200 : 1;
const operations = 10;
const sources = ['a', 'b', 'd/c', 'd/e'];
const products = sources.map((path) => `${path}.out`);
const files = [...sources, ...products];

const start = `printf '%%.out: %%\\n\\tcp $< $@\\nall: ${products.join(' ')}\\n' > Makefile; mkdir d
  for f in ${sources.join(' ')}; do echo 0 > $f; done; make -s all`;

/** One step that changes times, and its script. A pause longer than the clock's tick, so that the order is that of the steps. */
function stepOf(random: () => number, at: number): string {
  const pick = (list: readonly string[]) => list[Math.floor(random() * list.length)] ?? '';
  const path = pick(sources);
  const kinds = [
    `echo ${at} > ${path}`,
    `touch ${path}`,
    `cp ${path} t && echo ${at} >> t && mv t ${path}`,
    `rm ${pick(products)} 2>/dev/null || true`,
    `make -s ${pick(products)}`,
    `echo ${at} > ${path}; sleep 0.02; make -s all; sleep 0.02; echo 0 > ${path}`,
  ];
  return `${pick(kinds)}; sleep 0.02`;
}

const contents = `for f in ${files.join(' ')}; do echo $f; cat $f 2>/dev/null || echo gone; done`;
/** Pairs of files that make compares: whether the product is older, or not there. */
const order = `for f in ${sources.join(' ')}; do test -e $f.out -a ! $f -nt $f.out && echo "$f up to date" || echo "$f to be built"; done`;
const judged = `for f in ${products.join(' ')}; do make -sq $f && echo "$f up to date" || echo "$f to be built"; done`;

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test(`what make says of a fork it says after apply, and of no old product that it is up to date, CTX_TEST_SEED=${testSeed}`, async () => {
    const random = randomFrom(testSeed + user.uid);
    for (let round = 0; round < rounds; round += 1) {
      const [outside, project] = [stage.project(start), stage.project(start)];
      const script = Array.from({ length: operations }, (_, at) => stepOf(random, at + 1)).join('\n');
      stage.shell(outside, script);
      await stage.inside(project, script);
      const ask = `${contents}; ${order}; ${judged}`;
      const expected = stage.shell(outside, ask);
      assert.equal(await stage.inside(project, ask), expected, script);
      await stage.ctx(project, ['apply']);
      assert.equal(stage.shell(project, ask), expected, script);
      assert.equal(await stage.inside(project, ask), expected, script);
      // Built by now, then taken back: what make builds after it is what the sources say.
      stage.shell(project, 'make -s all');
      const { code } = await stage.ctx(project, ['apply', '--undo']);
      if (code === 0) stage.shell(project, 'make -s all');
      const same = `for f in ${sources.join(' ')}; do cmp $f $f.out; done`;
      stage.shell(project, same);
      // An edit in the fork, a build outside, an apply: nothing old is up to date.
      await stage.inside(project, `echo ${round} fork > a; echo ${round} fork > d/c`);
      stage.shell(project, 'touch a d/c; make -s all');
      await stage.ctx(project, ['apply', '--conflicts', 'theirs']);
      stage.shell(project, `make -s all; ${same}`);
    }
  });
});
