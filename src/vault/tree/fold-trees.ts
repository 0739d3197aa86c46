/**
 * Directories that are new, or gone, as a whole: of a list of changes in walk order, each becomes one change with how many it stands for.
 * So that a list of a million new files is one of their directories, and is never in memory. What is not like any other entry
 * (`isPlain`) is a change of its own, and so are the directories that hold it. Pure.
 */
import { heldOfTree } from '../../base/limits/store.js';
import { tooDeep } from './too-deep.js';
import type { Change, FoldedChange } from './tree-jobs.js';

export interface Folding {
  /** A directory with fewer entries stays a list of them. */
  readonly least: number;
  /** Changes that may be held: E2BIG where there are more. */
  readonly most: number;
  /** Whether an entry needs no look of its own once its directory is written, or removed, with all that is in it. */
  isPlain(change: Change): boolean;
  isProduct(path: string): boolean;
}

interface Frame {
  readonly change: Change;
  /** What is in it so far; undefined: too many to be held as long as nothing else is among them. */
  items: FoldedChange[] | undefined;
  entries: number;
  products: boolean;
  isPlain: boolean;
}

const isWhole = ({ kind, type, unlisted }: Change) =>
  type === 'directory' && kind !== 'modified' && unlisted === undefined;

export class TreeFolder {
  readonly #folding: Folding;
  /** Directories that are known to hold something that is not plain: they are never let go. */
  readonly #mixed: ReadonlySet<string>;
  readonly #found: FoldedChange[] = [];
  readonly #frames: Frame[] = [];
  /** Directories of which entries were let go that are changes of their own after all: the list has to be read again. */
  readonly lost = new Set<string>();
  #held = 0;

  constructor(folding: Folding, mixed: ReadonlySet<string> = new Set()) {
    this.#folding = folding;
    this.#mixed = mixed;
  }

  take(change: Change): void {
    while (this.#frames.length > 0 && !this.#isInside(change)) this.#close();
    const above = this.#frames.at(-1);
    // One whose entries are not listed is never a part of something else: nobody has looked at what is in it.
    const isKnown = change.unlisted === undefined && (above === undefined || above.change.kind === change.kind);
    const isPlain = isKnown && this.#folding.isPlain(change);
    if (isWhole(change)) {
      const isMixed = !isPlain || this.#mixed.has(change.path);
      this.#frames.push({ change, items: [], entries: 0, products: false, isPlain: !isMixed });
      return;
    }
    if (above !== undefined && this.#folding.isProduct(change.path)) above.products = true;
    if (above !== undefined && !isPlain) this.#mix(above);
    this.#add([change], 1);
  }

  /** After the last one. */
  end(): readonly FoldedChange[] {
    while (this.#frames.length > 0) this.#close();
    return this.#found;
  }

  #isInside({ path }: Change): boolean {
    const directory = this.#frames.at(-1)?.change.path ?? '';
    return path.length > directory.length && path.charAt(directory.length) === '/' && path.startsWith(directory);
  }

  #mix(frame: Frame): void {
    frame.isPlain = false;
    if (frame.items !== undefined) return;
    this.lost.add(frame.change.path);
    frame.items = [];
  }

  #add(items: readonly FoldedChange[], entries: number): void {
    const above = this.#frames.at(-1);
    if (above === undefined) {
      for (const item of items) this.#found.push(item);
      this.#hold(items.length, items[0]?.path ?? '');
      return;
    }
    above.entries += entries;
    if (above.items === undefined) return;
    for (const item of items) above.items.push(item);
    this.#hold(items.length, above.change.path);
    if (!above.isPlain || above.items.length < heldOfTree) return;
    this.#held -= above.items.length;
    above.items = undefined;
  }

  #hold(count: number, path: string): void {
    this.#held += count;
    if (this.#held > this.#folding.most) throw tooDeep('ctx apply', path, this.#held);
  }

  #close(): void {
    const frame = this.#frames.pop();
    if (frame === undefined) return;
    const { change, items = [], entries, products, isPlain } = frame;
    const above = this.#frames.at(-1);
    if (above !== undefined && products) above.products = true;
    if (above !== undefined && !isPlain) this.#mix(above);
    this.#held -= items.length;
    if (!isPlain || (entries < this.#folding.least && frame.items !== undefined)) {
      this.#add([change, ...items], entries + 1);
      return;
    }
    this.#add([{ ...change, tree: { entries, products } }], entries + 1);
  }
}
