/**
 * A reporter for Node's test runner: its own `spec`, with a line for each reason that tests were skipped for and how many were, and
 * with those that `more` gives. They come before the runner's closing lines.
 */
import { Readable } from 'node:stream';
import { spec } from 'node:test/reporters';

const closing = /^tests \d+$/;

async function* withLines(events, more) {
  const reasons = new Map();
  for await (const event of events) {
    const { type, data } = event;
    if (type === 'test:pass' && data.skip !== undefined) {
      const reason = typeof data.skip === 'string' && data.skip !== '' ? data.skip : 'no reason given';
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    if (type === 'test:diagnostic' && data.file === undefined && closing.test(data.message)) {
      const skips = [...reasons].sort(([, one], [, other]) => other - one);
      const lines = skips.map(([reason, count]) => `not run: ${reason} (${count})`);
      for (const message of [...lines, ...more()]) yield { type, data: { ...data, message } };
    }
    yield event;
  }
}

export function specWith(more) {
  return async function* reporter(events) {
    yield* Readable.from(withLines(events, more)).pipe(new spec());
  };
}
