/** Trees to mount, by the request and by the Authority, read before anything else is done: what is wrong with one leaves nothing behind. */
import { ErrnoError } from '../../base/errno.js';
import type { WrittenTree } from '../asked-tree.js';
import type { ResolvedAuthority } from '../grants/authority-of.js';
import type { Host } from '../host.js';
import type { ExecRequest } from './exec-request.js';

type TreeRequest = Pick<ExecRequest, 'agent' | 'cwd' | 'mounts' | 'trees'>;

function asked(host: Host, trees: readonly (string | WrittenTree)[], directory: string, agent: string | undefined) {
  if (host.askTrees === undefined) {
    throw new ErrnoError('ENOTSUP', { operation: '--mount', reason: 'mounts of trees are not available here' });
  }
  return host.askTrees(trees, directory, agent);
}

export async function withMounts<Request extends TreeRequest>(host: Host, request: Request): Promise<Request> {
  const { mounts = [], cwd, agent } = request;
  return mounts.length === 0 ? request : { ...request, trees: await asked(host, mounts, cwd, agent) };
}

/** With those that the agent's files and the operator's name. A command beside its caller has none: they are the caller's. */
export async function withTreesOf<Request extends TreeRequest & Pick<ExecRequest, 'isBeside'>>(
  host: Host,
  request: Request,
  { authority }: Pick<ResolvedAuthority, 'authority'>,
): Promise<Request> {
  const entries = authority.view.entries.filter(({ of }) => of === 'tree');
  if (entries.length === 0 || request.isBeside === true) return request;
  const trees = entries.map(
    ({ source, target, access }): WrittenTree => ({ specification: source, target, writable: access === 'write' }),
  );
  return { ...request, trees: [...(request.trees ?? []), ...(await asked(host, trees, '/', request.agent))] };
}
