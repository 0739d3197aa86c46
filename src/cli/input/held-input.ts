/**
 * What a client's stdin holds, where that is a file: taken over when somebody is asked about the command, and given to the
 * command as it was then. A file that changes meanwhile changes nothing.
 */
import { inputDigestBytes } from '../../base/limits/decisions.js';

export class HeldInput {
  /** Resolves with the next bytes of the client's, none at their end. */
  readonly #next: () => Promise<Buffer>;
  readonly #chunks: Buffer[] = [];
  #taking: Promise<boolean> | undefined;
  #isWhole = false;

  constructor(next: () => Promise<Buffer>) {
    this.#next = next;
  }

  async take(): Promise<readonly Uint8Array[] | undefined> {
    this.#taking ??= this.#takeAll();
    return (await this.#taking) ? this.#chunks : undefined;
  }

  async #takeAll(): Promise<boolean> {
    for (let size = 0; size <= inputDigestBytes; ) {
      const chunk = await this.#next();
      if (chunk.length === 0) {
        this.#isWhole = true;
        return true;
      }
      // A view of what came with it otherwise.
      this.#chunks.push(Buffer.from(chunk));
      size += chunk.length;
    }
    return false;
  }

  /** To be called when the command runs. True where that was all; else the client has more. */
  async giveTo(command: { write(chunk: Buffer): Promise<void>; endInput(): void }): Promise<boolean> {
    for (const chunk of this.#chunks.splice(0)) await command.write(chunk);
    if (this.#isWhole) command.endInput();
    return this.#isWhole;
  }
}
