/**
 * A sorted map of bytes in pages. Changing it copies the pages of earlier generations that are touched, from the leaf
 * up to the root, and no others: the process that remembers a root has the whole map as it was then, for the price of
 * remembering one number.
 */
import { branchEntryBytes, emptyPage, findKey, leafEntryBytes, type Page, type PageNumber, pageBytes } from './page.js';

export interface PageStore {
  readonly generation: number;
  page(number: PageNumber): Page;
  newNumber(): PageNumber;
  /** It is new or has changed. */
  wrote(page: Page): void;
  /** No one refers to it any more: it is of this generation. */
  dropped(page: Page): void;
}

export class SortedTree {
  root: PageNumber;
  readonly #pages: PageStore;

  constructor(pages: PageStore, root: PageNumber) {
    this.#pages = pages;
    this.root = root;
  }

  get(key: string): Buffer | undefined {
    let page = this.#pages.page(this.root);
    while (!page.isLeaf) page = this.#pages.page(page.children[childIndex(page, key)] ?? 0);
    const index = findKey(page.keys, key);
    return page.keys[index] === key ? page.values[index] : undefined;
  }

  set(key: string, value: Buffer): void {
    const root = this.#own(this.#pages.page(this.root));
    const right = this.#set(root, key, value);
    this.root = root.number;
    if (right === undefined) return;
    const above = emptyPage(this.#pages.newNumber(), this.#pages.generation, false);
    for (const child of [root, right]) addChild(above, above.keys.length, child.keys[0] ?? '', child.number);
    this.#pages.wrote(above);
    this.root = above.number;
  }

  delete(key: string): void {
    if (this.get(key) === undefined) return;
    const root = this.#own(this.#pages.page(this.root));
    this.root = root.number;
    this.#delete(root, key);
    // A root with one child is not needed; one without any becomes a leaf again.
    for (let page = root; !page.isLeaf && page.keys.length <= 1; page = this.#pages.page(this.root)) {
      this.#pages.dropped(page);
      const [child] = page.children;
      if (child === undefined) {
        const leaf = emptyPage(this.#pages.newNumber(), this.#pages.generation, true);
        this.#pages.wrote(leaf);
        this.root = leaf.number;
        return;
      }
      this.root = child;
    }
  }

  /** Entries from `from` on, before `end`. The tree may not change meanwhile. */
  *range(from: string, end: string, at: PageNumber = this.root): Generator<readonly [string, Buffer]> {
    const page = this.#pages.page(at);
    if (!page.isLeaf) {
      for (let index = childIndex(page, from); index < page.keys.length; index += 1) {
        if (index > 0 && (page.keys[index] ?? '') >= end) return;
        yield* this.range(from, end, page.children[index] ?? 0);
      }
      return;
    }
    for (let index = findKey(page.keys, from); index < page.keys.length; index += 1) {
      const key = page.keys[index] ?? '';
      if (key >= end) return;
      yield [key, page.values[index] ?? Buffer.alloc(0)];
    }
  }

  /** Its own page of this generation, to be changed. */
  #own(page: Page): Page {
    if (page.generation === this.#pages.generation) {
      this.#pages.wrote(page);
      return page;
    }
    const copy: Page = {
      ...page,
      number: this.#pages.newNumber(),
      generation: this.#pages.generation,
      keys: [...page.keys],
      values: [...page.values],
      children: [...page.children],
    };
    this.#pages.wrote(copy);
    return copy;
  }

  /** Returns the right half where the page had to be split. */
  #set(page: Page, key: string, value: Buffer): Page | undefined {
    if (page.isLeaf) {
      const index = findKey(page.keys, key);
      if (page.keys[index] === key) {
        page.bytes += value.length - (page.values[index]?.length ?? 0);
        page.values[index] = value;
      } else {
        page.keys.splice(index, 0, key);
        page.values.splice(index, 0, value);
        page.bytes += leafEntryBytes(key, value);
      }
      return this.#split(page);
    }
    const index = childIndex(page, key);
    const child = this.#own(this.#pages.page(page.children[index] ?? 0));
    const right = this.#set(child, key, value);
    renameChild(page, index, child.keys[0] ?? '', child.number);
    if (right !== undefined) addChild(page, index + 1, right.keys[0] ?? '', right.number);
    return this.#split(page);
  }

  #split(page: Page): Page | undefined {
    if (page.bytes <= pageBytes || page.keys.length < 2) return undefined;
    const right = emptyPage(this.#pages.newNumber(), this.#pages.generation, page.isLeaf);
    const middle = page.keys.length >>> 1;
    right.keys.push(...page.keys.splice(middle));
    right.values.push(...page.values.splice(middle));
    right.children.push(...page.children.splice(middle));
    right.bytes += entriesBytes(right);
    page.bytes -= entriesBytes(right);
    this.#pages.wrote(right);
    return right;
  }

  /** Returns whether the page has become empty. */
  #delete(page: Page, key: string): boolean {
    if (page.isLeaf) {
      const index = findKey(page.keys, key);
      page.bytes -= leafEntryBytes(key, page.values[index] ?? Buffer.alloc(0));
      page.keys.splice(index, 1);
      page.values.splice(index, 1);
      return page.keys.length === 0;
    }
    const index = childIndex(page, key);
    const child = this.#own(this.#pages.page(page.children[index] ?? 0));
    if (!this.#delete(child, key)) {
      renameChild(page, index, child.keys[0] ?? '', child.number);
      return false;
    }
    this.#pages.dropped(child);
    page.bytes -= branchEntryBytes(page.keys[index] ?? '');
    page.keys.splice(index, 1);
    page.children.splice(index, 1);
    return page.keys.length === 0;
  }
}

/** The last child whose least key is not greater; the first where all are. */
export function childIndex(page: Page, key: string): number {
  const index = findKey(page.keys, key);
  return page.keys[index] === key ? index : Math.max(0, index - 1);
}

function addChild(page: Page, index: number, key: string, child: PageNumber): void {
  page.keys.splice(index, 0, key);
  page.children.splice(index, 0, child);
  page.bytes += branchEntryBytes(key);
}

function renameChild(page: Page, index: number, key: string, child: PageNumber): void {
  page.bytes += key.length - (page.keys[index]?.length ?? 0);
  page.keys[index] = key;
  page.children[index] = child;
}

function entriesBytes({ isLeaf, keys, values }: Page): number {
  return keys.reduce(
    (sum, key, index) => sum + (isLeaf ? leafEntryBytes(key, values[index] ?? Buffer.alloc(0)) : branchEntryBytes(key)),
    0,
  );
}
