/**
 * What a command of a kept jail left running goes on being answered after its command has ended: it is refused what it was refused, its
 * renames are prepared, and nothing of that is told of a command that runs by then.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { it } from 'node:test';
import { request } from '../../src/jail/frame.js';
import { planBytes } from '../../src/jail/plan-bytes.js';
import { AskedJail } from '../support/asked-jail.js';
import { bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';

const jail = bareJail();
const options: PlanOptions = { weakened: ['landlock'] };
const bytesOf = (script: string) => planBytes(jail.keptPlans(['sh', '-c', script], options).command);
const rounds = 3;

it('calls of what was left are answered as before, and counted for nobody', async () => {
  const made = Array.from({ length: rounds }, (_, round) => join(jail.base, 'layer', `d${round}`, 'inner'));
  assert.equal(spawnSync('mkdir', ['-p', ...made], bareUser).status, 0);
  const kept = new AskedJail(jail, jail.keptPlans([], options).jail, { mode: 'serve' });
  try {
    await kept.reported(/^0 started$/);
    for (let round = 0; round < rounds; round += 1) {
      const [leaving, next] = [2 * round + 1, 2 * round + 2];
      const place = `/home/user/${round}`;
      const left = `until test -e ${place}-go; do sleep 0.02; done
        unshare -m true 2> ${place}-refused; mv -nT d${round} e${round} && : > ${place}-moved; : > ${place}-done`;
      kept.ask(leaving, request.command, bytesOf(`unshare -m true; (${left}) > /dev/null 2>&1 &`));
      await kept.reported(new RegExp(`^${leaving} exited 0 `));
      kept.ask(
        next,
        request.command,
        bytesOf(`: > ${place}-go; until test -e ${place}-done; do sleep 0.02; done
          grep -q 'not permitted' ${place}-refused && test -e ${place}-moved && test -d e${round}/inner`),
      );
      assert.match(await kept.reported(new RegExp(`^${next} exited `)), /^\d+ exited 0 /);
      const told = (id: number) => kept.said.filter((report) => new RegExp(`^${id} (refused|renamed) `).test(report));
      assert.equal(told(leaving).length, 1, 'its own was told');
      assert.deepEqual(told(next), []);
    }
  } finally {
    await kept.end();
  }
});
