/** A second reader of plans, written from the comment in native/jail/plan.h and from nothing else. */

export interface DecodedOperation {
  readonly code: number;
  readonly flags: number;
  readonly number: bigint;
  readonly strings: readonly string[];
}

function demand(condition: boolean, what: string): asserts condition {
  if (!condition) throw new RangeError(`not a plan: ${what}`);
}

/** Throws a RangeError for anything that is not exactly one plan. Knows the format, not how many strings a code wants. */
export function decodePlan(bytes: Buffer): readonly DecodedOperation[] {
  demand(bytes.subarray(0, 8).equals(Buffer.from('CTXJAIL\0', 'latin1')), 'its first word');
  demand(bytes.readUInt32LE(8) === 1, 'its version');
  const operations: DecodedOperation[] = [];
  let at = 16;
  for (let left = bytes.readUInt32LE(12); left > 0; left -= 1) {
    const code = bytes.readUInt16LE(at);
    const strings: string[] = [];
    const flags = bytes.readUInt32LE(at + 4);
    const number = bytes.readBigUInt64LE(at + 8);
    const count = bytes.readUInt16LE(at + 2);
    at += 16;
    while (strings.length < count) {
      const end = at + 4 + bytes.readUInt32LE(at);
      demand(bytes.readUInt8(end) === 0, 'the end of a string');
      const content = bytes.subarray(at + 4, end);
      demand(!content.includes(0), 'a NUL in a string');
      strings.push(content.toString('utf8'));
      at = end + 1;
    }
    operations.push({ code, flags, number, strings });
  }
  demand(at === bytes.length, 'what follows it');
  return operations;
}
