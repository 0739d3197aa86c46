import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Host } from '../host.js';
import { answerApproval } from './answer-approval.js';
import type { Asked } from './approval.js';

it('what can be no answer to a request is refused before anything is written', () => {
  const asked = { onceOnly: false, words: ['make'] } as unknown as Asked;
  const said = { granted: true, by: 'me', why: '', network: [] } as const;
  // Whatever came past the refusal would ask this host for its store.
  const host = {} as Host;
  const refused = (of: Partial<Asked>, answer: object) =>
    assert.throws(() => answerApproval(host, { ...asked, ...of }, { ...said, scope: 'once', ...answer }), {
      code: 'EINVAL',
    });
  for (const scope of ['session', 'rule'] as const) refused({ onceOnly: true }, { scope });
  refused({ words: [] }, { scope: 'rule' });
  refused({}, { scope: 'rule', network: ['example.org:443'] });
  refused({}, { network: ['no host'] });
  // With words that a rule can have, and a network that is granted once, or for the session.
  for (const scope of ['once', 'session'] as const) {
    const network = ['example.org:443'];
    assert.throws(() => answerApproval(host, asked, { ...said, scope, network }), TypeError);
  }
  for (const passes of [{ scope: 'once' }, { scope: 'rule', granted: false }] as const)
    assert.throws(() => answerApproval(host, { ...asked, onceOnly: true }, { ...said, ...passes }), TypeError);
});
