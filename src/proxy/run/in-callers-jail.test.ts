/** A command of a tool: in the jail of whoever called it, or in one of its own, by what both may do and were approved for. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { BesideEnd } from '../agent-views.js';
import type { Spoken } from '../approval/await-approval.js';
import { makeRule } from '../approval/decision-rule.js';
import { addRule } from '../approval/rules-file.js';
import { placeOf } from '../host.js';
import { testHost } from '../host-fixture.js';
import { authorityFor } from './authority-for.js';
import type { ExecRequest } from './exec-request.js';
import { runInCallersJail } from './in-callers-jail.js';
import type { CallersJail } from './target.js';

const { host, project } = testHost();
addRule(host, makeRule('require_approval', '-', { command: ['make'] }));

const approvals: Readonly<Record<string, Spoken>> = {
  'approved for the session': { granted: true, scope: 'session', network: [] },
  'approved once': { granted: true, scope: 'once', network: [] },
  'approved with a network': { granted: true, scope: 'session', network: ['example.org:443'] },
};

it('it runs beside its caller where both may do the same, and neither was approved for what it finds', async () => {
  for (const asked of ['allowed by its words', ...Object.keys(approvals)]) {
    for (const isBound of [false, true]) {
      for (const isAsItWas of [false, true]) {
        const cwd = project();
        const approval = approvals[asked];
        const request = {
          ...{ cwd, environmentAdditions: [], weakened: [], streams: 'capture', stdin: 'nothing', wait: false },
          argv: approval === undefined ? ['true'] : ['make'],
          input: 'nothing',
          onApproval: async () => approval,
        } as const satisfies ExecRequest;
        const place = placeOf(host, cwd);
        const { digest } = await authorityFor(host, place, { ...request, argv: ['true'] });
        const ran: string[] = [];
        const caller = {
          ...{ place, isLive: false },
          resolved: { digest: isAsItWas ? digest : 'another', permission: { isBound } },
          note: () => {
            ran.push('beside');
            throw new Error('far enough');
          },
        } as unknown as CallersJail;
        await runInCallersJail(host, request, caller, async () => {
          ran.push('apart');
          return {} as BesideEnd;
        }).catch(({ message }: Error) => assert.equal(message, 'far enough'));
        const fits = isAsItWas && !isBound && ['allowed by its words', 'approved for the session'].includes(asked);
        const what = `${asked}, its caller ${isBound ? '' : 'not '}bound, ${isAsItWas ? 'as it was' : 'otherwise'}`;
        assert.deepEqual(ran, [fits ? 'beside' : 'apart'], what);
      }
    }
  }
});
