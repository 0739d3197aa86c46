/**
 * Trees of the VFS in a jail: where one may be and what it may show, decided before anything is started; then a server
 * for each, outside of the jail, which ends with it.
 */
import { closeSync } from 'node:fs';
import { contains, isNormalPath, normalPathRule } from '../../authority/absolute-path.js';
import { systemDirectories } from '../../authority/system-profile.js';
import { ErrnoError } from '../../base/errno.js';
import { terminationGraceMilliseconds } from '../../base/limits/commands.js';
import type { JailIdentity } from '../../jail/plan.js';
import { planLimits } from '../../jail/plan-bytes.js';
import type { AskedTree, TreeServing } from '../asked-tree.js';
import type { Host } from '../host.js';
import type { EnforcedView } from './enforced-plan.js';

export interface TreeServers {
  readonly channels: readonly number[];
  /**
   * The jail is being killed. A process that waits for an answer cannot be: a server that owes one goes, too, after a
   * grace.
   */
  jailKilled(): void;
  /** `handedOver`: whether the channels are the jail's by now. */
  end(handedOver: boolean): Promise<void>;
}

/** Of the jail itself: nothing else may be there, or above. */
const reserved = ['/proc', '/sys', '/dev', '/etc', '/run', '/var/tmp', '/ctx', ...systemDirectories];

export function treeText({ specification, target, writable, grants }: AskedTree): string {
  const guarded = grants === undefined ? '' : `:grants=${grants}`;
  return `${specification}=${target}${writable ? ':rw' : ''}${guarded}`;
}

function refuse(tree: AskedTree, reason: string, remedy = 'choose a path where nothing is, such as /mnt/data'): never {
  throw new ErrnoError('EINVAL', { operation: '--mount', path: treeText(tree), reason, remedy });
}

function overlaps(one: string, other: string): boolean {
  return contains(one, other) || contains(other, one);
}

/** Places of the fork's own in which a mount point can be made: nothing of the person's is touched by that. */
function ownPlaces({ jail }: EnforcedView): readonly string[] {
  const ofFork = jail.shared.filter(({ ofFork, access }) => ofFork === true && access === 'read write');
  return ['/tmp', ...(jail.temporary ?? []), ...ofFork.map(({ target }) => target)];
}

function checkTarget(view: EnforcedView, tree: AskedTree, others: readonly AskedTree[]): void {
  const { target } = tree;
  const { jail } = view;
  if (!isNormalPath(target) || target === '/') refuse(tree, `expected ${normalPathRule}, and not /, after the =`);
  const system = reserved.find((path) => overlaps(path, target));
  if (system !== undefined) refuse(tree, `the jail uses ${system} itself`);
  const own = [...jail.hidden, ...view.masked].find((path) => overlaps(path, target));
  if (own !== undefined) refuse(tree, `${own} is hidden from every command`);
  const writable = ownPlaces(view);
  const { overlays, shared, caches = [], repeated = [] } = jail;
  const shown = [...overlays, ...shared, ...caches, ...repeated].map(({ target: place }) => place);
  const covered = [...writable, ...shown, ...jail.links.map(({ path }) => path)].find((place) =>
    contains(target, place),
  );
  if (covered !== undefined) refuse(tree, `it would cover ${covered}, which is shown to the command`);
  const above = [...shown, ...jail.links.map(({ path }) => path)].find(
    (place) => contains(place, target) && !writable.includes(place),
  );
  if (above !== undefined) refuse(tree, `it is inside ${above}, which is shown to the command`);
  const other = others.find((each) => each !== tree && overlaps(each.target, target));
  if (other !== undefined)
    refuse(tree, `it overlaps with ${treeText(other)}`, 'choose targets that are not inside each other');
}

/** What no command may see is not shown by a server that may see it, either. */
function checkBacking(host: Host, { jail }: EnforcedView, tree: AskedTree): void {
  const hidden = [...host.hidden, ...jail.hidden].find((path) =>
    tree.backings.some(
      (backing) => contains(path, backing.path) || (backing.kind === 'directory' && contains(backing.path, path)),
    ),
  );
  if (hidden === undefined) return;
  refuse(tree, `it would show ${hidden}, which is hidden from every command`, 'name a directory that does not have it');
}

/** Grants are the person's to give: they are not read from what the command may write to, or it would give itself more. */
function checkGrants({ jail }: EnforcedView, tree: AskedTree, others: readonly AskedTree[]): void {
  const { grants } = tree;
  if (grants === undefined) return;
  const written = [
    ...jail.shared.filter(({ access }) => access === 'read write').map(({ source }) => source),
    ...others.filter(({ writable }) => writable).flatMap(({ backings }) => backings.map(({ path }) => path)),
  ];
  const place = written.find((path) => contains(path, grants));
  if (place === undefined) return;
  refuse(
    tree,
    `the command could change its own grants: it may write to ${place}`,
    'keep the file of grants elsewhere',
  );
}

/** The view with the trees in it. EINVAL where one cannot be where it shall, or shows what must stay hidden. */
export function withTrees<View extends EnforcedView>(host: Host, view: View, trees: readonly AskedTree[]): View {
  if (trees.length === 0) return view;
  const [first] = trees.slice(planLimits.channels);
  if (first !== undefined) refuse(first, `expected at most ${planLimits.channels} mounts`, 'mount fewer');
  for (const tree of trees) {
    checkTarget(view, tree, trees);
    checkBacking(host, view, tree);
    checkGrants(view, tree, trees);
  }
  const served = trees.map(({ target, writable }) => ({ target, writable }));
  return { ...view, jail: { ...view.jail, served } };
}

type Startable = Pick<AskedTree, 'start'>;

async function startServers(identity: JailIdentity, trees: readonly Startable[]): Promise<TreeServers> {
  const servers: TreeServing[] = [];
  let grace: NodeJS.Timeout | undefined;
  // Channels first, as many as the plan has.
  const handed = () => [
    ...servers.map(({ channel }) => channel),
    ...servers.flatMap(({ sockets }) => (sockets === undefined ? [] : [sockets])),
  ];
  const jailKilled = () => {
    grace ??= setTimeout(() => {
      for (const server of servers) server.kill();
    }, terminationGraceMilliseconds);
  };
  const end = async (handedOver: boolean) => {
    clearTimeout(grace);
    // One whose channel ends has nothing to serve, and ends.
    if (!handedOver) for (const descriptor of handed()) closeSync(descriptor);
    await Promise.all(servers.map((server) => server.ended()));
  };
  const started = await Promise.allSettled(trees.map((tree) => tree.start(identity)));
  for (const one of started) if (one.status === 'fulfilled') servers.push(one.value);
  const failed = started.find((one) => one.status === 'rejected');
  if (failed !== undefined) {
    await end(false);
    throw failed.reason;
  }
  return { channels: handed(), jailKilled, end };
}

/** Undefined where there is nothing to serve. */
export function serversOf(
  { jail }: EnforcedView,
  trees: readonly Startable[] = [],
): (() => Promise<TreeServers>) | undefined {
  return trees.length === 0 ? undefined : () => startServers(jail.identity, trees);
}
