/**
 * The same view without a fork: the workspace itself, written directly, and a private home that ends with the command. Pure.
 */
import type { SharedPath } from '../../jail/plan.js';
import type { Owner } from '../../vault/vault.js';
import type { EnforcedView } from '../grants/enforced-plan.js';

/**
 * Root's command is shifted, and to write as the workspace's owner its owners are shifted with it. Never where that is
 * root: it could leave a setuid file of root.
 */
export function writesAsOwner({ uid, gid, shift }: Owner): boolean {
  return shift > 0 && uid !== 0 && gid !== 0;
}

/** `base` is a directory that the jail can start from; the view's own is that of a vault. */
export function liveView(view: EnforcedView, owner: Owner, base: string): EnforcedView {
  const { jail } = view;
  const asOwner = writesAsOwner(owner);
  const workspace = jail.overlays.map(
    ({ target }): SharedPath => ({
      source: target,
      target,
      access: 'read write',
      ...(asOwner ? { asOwner } : {}),
    }),
  );
  const ofFork = jail.shared.filter((path) => path.ofFork === true).map(({ target }) => target);
  const temporary = [...(jail.temporary ?? []), ...ofFork];
  const shared = [...workspace, ...jail.shared.filter(({ ofFork }) => ofFork !== true)];
  return { ...view, jail: { ...jail, base, overlays: [], shared, temporary } };
}
