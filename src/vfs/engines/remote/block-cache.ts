/** Blocks of remote files that were read, the least used ones go first. A block is of one version of a file, so it is never wrong. */

export class BlockCache {
  readonly #most: number;
  readonly #blocks = new Map<string, Promise<Buffer>>();
  readonly #sizes = new Map<string, number>();
  #bytes = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Those who ask for a block that is on its way wait for the same one. */
  get(key: string, fetch: () => Promise<Buffer>): Promise<Buffer> {
    const known = this.#blocks.get(key);
    if (known !== undefined) {
      this.#blocks.delete(key);
      this.#blocks.set(key, known);
      return known;
    }
    const block = fetch();
    this.#blocks.set(key, block);
    block.then(
      (bytes) => this.#arrived(key, bytes.length),
      () => this.#blocks.delete(key),
    );
    return block;
  }

  #arrived(key: string, size: number): void {
    this.#sizes.set(key, size);
    this.#bytes += size;
    for (const oldest of this.#blocks.keys()) {
      if (this.#bytes <= this.#most) return;
      const oldSize = this.#sizes.get(oldest);
      if (oldSize === undefined) continue; // on its way
      this.#blocks.delete(oldest);
      this.#sizes.delete(oldest);
      this.#bytes -= oldSize;
    }
  }
}
