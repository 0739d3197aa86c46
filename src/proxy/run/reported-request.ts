/** A request as the envelope says it. Pure. */

import { secretNames } from '../grants/injected-secrets.js';
import type { Requested } from '../report/envelope.js';
import type { ExecRequest } from './exec-request.js';

export function requestedOf(request: Omit<ExecRequest, 'wait'>, live: boolean): Requested {
  const { argv, shell, cwd, agent, fork, timeoutMilliseconds, environmentAdditions, user, projectDefaults } = request;
  return {
    argv,
    shell: shell ?? null,
    cwd,
    agent: agent ?? null,
    fork: fork ?? null,
    readonly: request.readonly === true,
    live,
    timeoutMilliseconds: timeoutMilliseconds ?? null,
    reads: [...(request.reads ?? []), ...(projectDefaults?.reads ?? []).map(({ target }) => target)],
    writes: request.writes ?? [],
    liveWrites: request.liveWrites ?? [],
    siblings: request.siblings === true,
    network: request.network ?? [],
    privateHosts: request.privateHosts ?? [],
    injected: secretNames(request.secrets),
    environment: environmentAdditions.map((addition) => addition.split('=', 1)[0] ?? ''),
    project: projectDefaults?.digest ?? null,
    quota: request.quota ?? {},
    user: user === undefined ? null : { uid: user.uid, gid: user.gid ?? user.uid },
  };
}
