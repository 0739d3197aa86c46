/**
 * The view of a tool that has a jail of its own on its caller's fork: its program, and nothing that its caller could have put there for it
 * to find. Home and `/tmp` are empty and end with it, caches are not shown; the fork itself only where it is granted. Pure.
 */
import type { SharedPath } from '../../jail/plan.js';
import type { EnforcedView } from './enforced-plan.js';

export interface ApartTool {
  readonly program: SharedPath;
  /** None of the fork's files. */
  readonly hidesFork: boolean;
  /** Its home is the tool's own, of the store, and stays. */
  readonly keepsHome?: boolean | undefined;
}

export function apartView<View extends EnforcedView>(view: View, { program, hidesFork, keepsHome }: ApartTool): View {
  const { jail } = view;
  const isLost = ({ ofFork, target }: SharedPath) =>
    ofFork === true && !(keepsHome === true && target === jail.person.home);
  const ofFork = jail.shared.filter(isLost).map(({ target }) => target);
  const shared = [...jail.shared.filter((path) => !isLost(path)), program];
  const roots = jail.overlays.map(({ target }) => target);
  return {
    ...view,
    masked: hidesFork ? [...view.masked, ...roots] : view.masked,
    jail: {
      ...jail,
      shared,
      caches: [],
      temporary: [...(jail.temporary ?? []), ...ofFork],
      directory: hidesFork ? '/tmp' : jail.directory,
    },
  };
}
