/**
 * Small programs side by side on one fork end as they do side by side in one directory. What they do to what they share does not
 * depend on the order: they count under a lock, append lines, make what may be there, and have a directory of their own each.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inKeptJail } from '../support/kept-jail.js';
import { randomFrom, testSeed } from '../support/random.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const rounds = isSoak ? 40 : 1;
const programs = isSoak ? 8 : 4;
const steps = isSoak ? 60 : 20;

type Random = () => number;

function step(random: Random, own: string): string {
  const pick = (count: number) => Math.floor(random() * count);
  const name = `${own}/${'abc'[pick(3)]}`;
  const other = `${own}/${'abc'[pick(3)]}`;
  const choices = [
    `echo ${pick(100)} > ${name}`,
    `echo ${pick(100)} >> ${name}`,
    `rm -rf ${name}`,
    `mkdir -p ${name}/d; echo ${pick(9)} > ${name}/d/e`,
    `mv ${name} ${other}`,
    `ln -sf ${pick(9)} ${own}/link`,
    // A closed directory is open to root outside, and to nobody inside.
    `test -f ${name} && chmod ${['600', '644', '755'][pick(3)]} ${name}`,
    `flock lock sh -c 'echo $(($(cat count) + ${pick(5)})) > count.new; mv count.new count'`,
    `echo line ${pick(1000)} >> log`,
    `mkdir -p shared/${pick(4)}/${pick(4)}; : > shared/${pick(4)}-${own}`,
    `cp fixed/${pick(3)} ${own}/copy; cat fixed/* > /dev/null`,
    `flock lock sh -c 'sed -i s/x/x${own}/ base/${pick(2)}' `,
    `rm -f base/${2 + pick(3)}`,
  ];
  return choices[pick(choices.length)] ?? ':';
}

const world = `mkdir base fixed; for i in 0 1 2; do echo fixed$i > fixed/$i; done; for i in 0 1 2 3 4; do echo x$i > base/$i; done; echo 0 > count; : > lock; : > log
  for p in $(seq 0 ${programs - 1}); do mkdir p$p; echo own > p$p/a; done`;

/** Everything that has to be equal; lines and marks come in any order. */
const summary = `sort log; cat count; for f in base/*; do echo $f; fold -w1 $f | sort | tr -d '\\n'; echo; done
  find p* shared -printf '%p %y %m %l\\n' 2> /dev/null | sort; find p* -type f | sort | xargs cat`;

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test(`random programs side by side, CTX_TEST_SEED=${testSeed}`, async () => {
    const random = randomFrom(testSeed);
    for (let round = 0; round < rounds; round += 1) {
      const scripts = Array.from({ length: programs }, (_, program) =>
        Array.from({ length: steps }, () => `(${step(random, `p${program}`)}) 2> /dev/null`).join('\n'),
      );
      const outside = stage.project(world);
      await Promise.all(scripts.map((script) => stage.start(outside, ['sh', '-c', script]).finished));
      const expected = stage.shell(outside, summary);
      const inside = stage.project(world);
      await inKeptJail(
        stage,
        async () => {
          // Two in the kept jail, and the others in jails of their own.
          const run = (script: string, index: number) =>
            stage.ctx(inside, ['exec', ...(index < 2 ? [] : ['--read', outside]), '--', 'sh', '-c', script]);
          for (const { code, stderr } of await Promise.all(scripts.map(run))) assert.ok(code !== 69, stderr);
          assert.equal((await stage.ctx(inside, ['exec', '--', 'sh', '-c', summary])).stdout, expected);
        },
        { project: inside },
      );
      const { code, stderr } = await stage.ctx(inside, ['apply']);
      assert.equal(code, 0, stderr);
      assert.equal(stage.shell(inside, summary), expected);
    }
  });
});
