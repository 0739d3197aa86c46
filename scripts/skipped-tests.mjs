/**
 * A reporter for Node's test runner: its own `spec`, with a line for each reason that tests were skipped for, and how many were.
 * The lines come before the runner's closing lines.
 */
import { Readable } from 'node:stream';
import { spec } from 'node:test/reporters';

const closing = /^tests \d+$/;

async function* withSkips(events) {
  const reasons = new Map();
  for await (const event of events) {
    const { type, data } = event;
    if (type === 'test:pass' && data.skip !== undefined) {
      const reason = typeof data.skip === 'string' && data.skip !== '' ? data.skip : 'no reason given';
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    }
    if (type === 'test:diagnostic' && data.file === undefined && closing.test(data.message)) {
      for (const [reason, count] of [...reasons].sort(([, one], [, other]) => other - one)) {
        yield { type, data: { ...data, message: `not run: ${reason} (${count})` } };
      }
    }
    yield event;
  }
}

export default async function* toldSkips(events) {
  yield* Readable.from(withSkips(events)).pipe(new spec());
}
