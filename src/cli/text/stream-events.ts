/** A command's output as lines of JSON while it runs: text where it is UTF-8, and its bytes where it is not. Pure. */

export type OutputEvent = {
  readonly version: 1;
  readonly event: 'output';
  readonly stream: 'stdout' | 'stderr';
} & ({ readonly text: string } | { readonly base64: string });

/** Bytes at the end that begin a character whose rest has yet to come. */
function beginningOfCharacter(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0b1100_0000) === 0b1000_0000) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

export class StreamEvents {
  readonly #held = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

  /** Nothing where all that came is the beginning of a character. */
  take(stream: 'stdout' | 'stderr', chunk: Buffer): readonly OutputEvent[] {
    const bytes = Buffer.concat([this.#held[stream], chunk]);
    const whole = bytes.length - beginningOfCharacter(bytes);
    this.#held[stream] = Buffer.from(bytes.subarray(whole));
    return this.#told(stream, bytes.subarray(0, whole));
  }

  /** What was held back for a rest that did not come. */
  end(): readonly OutputEvent[] {
    return (['stdout', 'stderr'] as const).flatMap((stream) => this.#told(stream, this.#held[stream]));
  }

  #told(stream: 'stdout' | 'stderr', bytes: Buffer): readonly OutputEvent[] {
    if (bytes.length === 0) return [];
    const text = bytes.toString('utf8');
    const said = Buffer.from(text).equals(bytes) ? { text } : { base64: bytes.toString('base64') };
    return [{ version: 1, event: 'output', stream, ...said }];
  }
}
