/** An answer to a command that waits, where somebody else was quicker: theirs holds, and the exit code says so. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { approvalsOf } from '../../proxy/approval/answer-approval.js';
import type { ApprovalAnswer } from '../../proxy/approval/approval.js';
import { testHost } from '../../proxy/host-fixture.js';
import type { Caller } from '../caller.js';
import { parseArguments } from '../input/parse-arguments.js';
import { verbs } from '../verbs.js';
import { deny, grant } from './approvals.js';

it('ends with success where the answer that holds says the same, and else without', async () => {
  const { host } = testHost();
  const approvals = approvalsOf(host);
  for (const [name, run] of Object.entries({ grant, deny }))
    for (const granted of [true, false]) {
      const now = host.now().getTime();
      const { asked, leave } = approvals.ask({
        ...{ askedAt: now, expiresAt: now + 60_000, agent: null, argv: ['true'], directory: '/', origin: '/' },
        ...{ categories: [], reason: '', rule: '', connected: false, words: [], shown: [], onceOnly: false },
        ...{ digest: '', lasting: '' },
      });
      const theirs: ApprovalAnswer = { version: 1, at: now, granted, scope: 'once', by: 'x', why: '', network: [] };
      // The time of an answer is asked for when the request was seen to wait.
      let looks = 0;
      const other = {
        ...host,
        now: () => {
          looks += 1;
          if (looks > 1) approvals.answer(asked.id, theirs);
          return new Date(now);
        },
      };
      const verb = verbs.find((each) => each.name === `approvals ${name}`) ?? assert.fail();
      let said = '';
      const caller = { environment: {}, stdout: { write: (text: string) => (said += text) } } as unknown as Caller;
      const code = await run(parseArguments(verb, [asked.id]), async () => other, assert.fail, caller);
      const isSame = granted === (name === 'grant');
      assert.deepEqual([code, /^granted /.test(said)], [isSame ? 0 : 1, granted], `${name}, and they ${granted}`);
      leave();
    }
});
