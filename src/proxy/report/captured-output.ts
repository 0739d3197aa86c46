/** Output kept for the report, up to a limit: endless output costs counting and a bounded file, not memory. */
import { capturedOutputBytes } from '../../base/limits/commands.js';
import type { CapturedStream } from './envelope.js';
import { OutputFile } from './output-file.js';

export class CapturedOutput {
  readonly #limit: number;
  /** Where all of it goes, once it is more than the limit. */
  readonly #file: OutputFile | undefined;
  readonly #chunks: Buffer[] = [];
  #kept = 0;
  #total = 0;

  constructor(limit: number, file?: OutputFile) {
    this.#limit = limit;
    this.#file = file;
  }

  add(chunk: Buffer): void {
    if (this.#total + chunk.length > this.#limit && this.#file !== undefined) {
      if (this.#total <= this.#limit) for (const kept of this.#chunks) this.#file.write(kept);
      this.#file.write(chunk);
    }
    this.#total += chunk.length;
    const room = this.#limit - this.#kept;
    if (room <= 0) return;
    const part = chunk.subarray(0, room);
    this.#chunks.push(part);
    this.#kept += part.length;
  }

  finish(): CapturedStream {
    const bytes = Buffer.concat(this.#chunks);
    const text = bytes.toString('utf8');
    const exact = Buffer.from(text).equals(bytes);
    const file = this.#file?.finish();
    return {
      text,
      ...(exact ? {} : { base64: bytes.toString('base64') }),
      bytes: this.#total,
      dropped: this.#total - this.#kept,
      ...(file === undefined ? {} : { file }),
    };
  }

  /** Where no one will ask for it: its file stays, for anyone who looks. */
  close(): void {
    this.#file?.close();
  }
}

/** Both streams of a command; what is too much for a report is in `OUTPUTS.stdout` and `OUTPUTS.stderr`. */
export function capturedStreams(outputs: string): Readonly<Record<'stdout' | 'stderr', CapturedOutput>> {
  const stream = (name: string) => new CapturedOutput(capturedOutputBytes, new OutputFile(`${outputs}.${name}`));
  return { stdout: stream('stdout'), stderr: stream('stderr') };
}
