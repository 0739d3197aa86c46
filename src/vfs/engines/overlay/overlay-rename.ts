/**
 * Renames in an overlay. What hides the lower entries is made before the one step that moves something, so that anyone
 * who looks in between sees the state before: an entry of the upper tree is shown with and without a mark beside it.
 */
import { ask, type Steps } from '../../answer.js';
import { failure } from '../../failure.js';
import type { FileSystem, Inode, RenameRule } from '../../filesystem.js';
import { checkName, type Name } from '../../names.js';
import type { CopyUp } from './copy-up.js';
import { refuseMark } from './marks.js';
import type { Found, OverlayNode, OverlayNodes } from './overlay-nodes.js';

interface Places {
  readonly upper: FileSystem;
  readonly nodes: OverlayNodes;
  readonly copy: CopyUp;
}

interface Renaming {
  readonly directory: Inode;
  readonly name: Name;
  readonly to: Inode;
  readonly newName: Name;
  readonly rule: RenameRule;
}

export function* overlayRename(
  { upper, nodes, copy }: Places,
  { directory, name, to, newName, rule }: Renaming,
  clear: (directory: Inode) => Steps<void>,
): Steps<void> {
  const [from, into] = [nodes.directory(directory, 'rename'), nodes.directory(to, 'rename')];
  checkName('rename', newName);
  refuseMark('rename', newName);
  const moved = yield* nodes.find(from, name);
  if (moved === undefined) throw failure('ENOENT', 'rename', name);
  const replaced = yield* nodes.find(into, newName);
  if (isWithin(moved.node, into)) throw failure('EINVAL', 'rename', name, 'it cannot be moved into itself');
  if (rule === 'exchange') {
    if (replaced === undefined) throw failure('ENOENT', 'rename', newName);
    if (isWithin(replaced.node, from)) throw failure('EINVAL', 'rename', newName, 'it cannot be moved into itself');
    if (!upper.capabilities.exchange) throw failure('ENOTSUP', 'rename', name, 'the upper tree cannot exchange names');
  } else if (replaced !== undefined) {
    if (rule === 'keep') throw failure('EEXIST', 'rename', newName);
    if (replaced.node === moved.node) return;
    yield* checkReplaced(nodes, moved.node, replaced.node, newName);
  }
  yield* copy.whole(moved.node);
  if (rule === 'exchange' && replaced !== undefined) yield* copy.whole(replaced.node);
  const [source, target] = [yield* copy.up(from), yield* copy.up(into)];
  if (rule !== 'exchange') yield* makeRoom(copy, target, newName, replaced, clear);
  // What comes from the lower tree would be seen again where it was, and under a directory that takes its place.
  if (moved.covers) yield* copy.hide(source, name);
  if (rule === 'exchange' && replaced?.covers === true) yield* copy.hide(target, newName);
  yield* ask(upper.rename(source, name, target, newName, rule));
  if (replaced !== undefined) {
    nodes.unnamed(replaced.node, into, newName);
    if (rule === 'exchange') nodes.moved(replaced.node, from, name);
  }
  nodes.moved(moved.node, into, newName);
}

/** A directory that is replaced shows nothing, but it may have marks in it, and they would go with it. */
function* makeRoom(
  copy: CopyUp,
  target: Inode,
  newName: Name,
  replaced: Found | undefined,
  clear: (directory: Inode) => Steps<void>,
): Steps<void> {
  if (replaced?.node.kind !== 'directory') return;
  if (replaced.covers) yield* copy.hide(target, newName);
  if (replaced.node.upper !== undefined) yield* clear(replaced.node.upper);
}

function* checkReplaced(nodes: OverlayNodes, moved: OverlayNode, replaced: OverlayNode, name: Name): Steps<void> {
  if (replaced.kind === 'directory') {
    if (moved.kind !== 'directory') throw failure('EISDIR', 'rename', name);
    if ((yield* nodes.list(replaced)).length > 0) throw failure('ENOTEMPTY', 'rename', name);
  } else if (moved.kind === 'directory') throw failure('ENOTDIR', 'rename', name);
}

function isWithin(moved: OverlayNode, directory: OverlayNode): boolean {
  if (moved.kind !== 'directory') return false;
  for (let at: OverlayNode | undefined = directory; at !== undefined; at = at.parent) if (at === moved) return true;
  return false;
}
