import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { coldStartEnvironment, measure, quantile, table } from './measure.js';

describe('measuring', () => {
  it('runs every subject once a round, in turning order, after warming up', async () => {
    const order: string[] = [];
    const subject = (name: string) => ({ name, run: () => order.push(name) });
    await measure({ title: 't', anchor: 'a', subjects: [subject('a'), subject('b')], rounds: 2, warmUpRounds: 1 });
    assert.equal(order.join(''), 'baabba');
  });

  it('waits for asynchronous subjects and gives ratios against the anchor', async () => {
    const wait = (duration: number) => () => new Promise((resolve) => setTimeout(resolve, duration));
    const report = await measure({
      title: 'waiting',
      anchor: 'short',
      subjects: [
        { name: 'short', run: wait(5) },
        { name: 'long', run: wait(25) },
      ],
      rounds: 3,
      warmUpRounds: 0,
    });
    const [short, long] = report.results;
    assert.equal(short?.ratio, 1);
    // A busy machine may take long for the short one, too: what is sure is that the long one was waited for.
    assert.ok((long?.minimum ?? 0) >= 24);
    assert.equal(long?.ratio, (long?.median ?? 0) / (short?.median ?? 1));
    assert.match(table(report), /short \(anchor\).* 1\.00x/);
    assert.match(table(report), /3 interleaved rounds; \d+ processors/);
    assert.match(table(report), /^load \d+\.\d before, \d+\.\d after$/m);
  });

  it('refuses an anchor that is not among the subjects', async () => {
    await assert.rejects(measure({ title: 't', anchor: 'x', subjects: [], rounds: 1 }), /anchor 'x' is not a subject/);
  });

  it('takes quantiles between values', () => {
    assert.equal(quantile([3, 1, 2], 0.5), 2);
    assert.equal(quantile([1, 2], 0.5), 1.5);
    assert.equal(quantile([4, 2, 9], 0), 2);
  });

  it('starts processes without what slows Node on some machines only', () => {
    const environment = coldStartEnvironment();
    assert.equal('NODE_EXTRA_CA_CERTS' in environment, false);
    assert.equal('NODE_OPTIONS' in environment, false);
  });
});
