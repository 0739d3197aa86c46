/** Values at paths, found by their deepest ancestor: a tree of components, so a look-up costs the path's depth. */
import { componentsOf } from './absolute-path.js';

interface Node<V> {
  readonly children: Map<string, Node<V>>;
  value: V | undefined;
}

function emptyNode<V>(): Node<V> {
  return { children: new Map(), value: undefined };
}

export class PathIndex<V extends object | string | number> {
  readonly #root: Node<V> = emptyNode();

  /** Later entries replace earlier ones at the same path. */
  constructor(entries: Iterable<readonly [path: string, value: V]>) {
    for (const [path, value] of entries) {
      let node = this.#root;
      for (const component of componentsOf(path)) {
        const child: Node<V> = node.children.get(component) ?? emptyNode();
        node.children.set(component, child);
        node = child;
      }
      node.value = value;
    }
    Object.freeze(this);
  }

  /** The value at `path` or at its nearest ancestor that has one. */
  deepest(path: string): V | undefined {
    let node: Node<V> | undefined = this.#root;
    let found = node.value;
    // Scanned in place: this is on the way of every guarded file operation.
    for (let start = 1; start < path.length; ) {
      let end = path.indexOf('/', start);
      if (end < 0) end = path.length;
      node = node.children.get(path.slice(start, end));
      if (node === undefined) return found;
      if (node.value !== undefined) found = node.value;
      start = end + 1;
    }
    return found;
  }

  /** The values strictly inside `path`. */
  beneath(path: string): V[] {
    let node: Node<V> | undefined = this.#root;
    for (const component of componentsOf(path)) {
      node = node.children.get(component);
      if (node === undefined) return [];
    }
    const values: V[] = [];
    // A stack, not recursion: a path may have two thousand components.
    const pending = [...node.children.values()];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      if (next.value !== undefined) values.push(next.value);
      for (const child of next.children.values()) pending.push(child);
    }
    return values;
  }
}
