/** What a request says of trees to mount, read before anything else is done: what is wrong with it leaves nothing behind. */
import { ErrnoError } from '../../base/errno.js';
import type { Host } from '../host.js';
import type { ExecRequest } from './exec-request.js';

export async function withMounts<Request extends Pick<ExecRequest, 'cwd' | 'mounts' | 'trees'>>(
  host: Host,
  request: Request,
): Promise<Request> {
  const { mounts = [], cwd } = request;
  if (mounts.length === 0) return request;
  if (host.askTrees === undefined) {
    throw new ErrnoError('ENOTSUP', { operation: '--mount', reason: 'this host serves no trees' });
  }
  return { ...request, trees: await host.askTrees(mounts, cwd) };
}
