/** What a workspace was opened with as the proxy takes it, with the defaults of its project: what the caller says comes first. */
import { projectGrants } from '../proxy/grants/project-grants.js';
import type { SecretHost } from '../proxy/grants/secret-values.js';
import type { Place } from '../proxy/host.js';
import type { ExecRequest } from '../proxy/run/exec-request.js';
import type { WorkspaceOptions } from './options.js';

type Widened = WorkspaceOptions & Pick<ExecRequest, 'projectDefaults'>;

/** Names of hosts and headers have no case. */
const isSame = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();

/**
 * What an agent may do is in its own files, and a project does not add to it. Lists are added to those of the caller; a limit, a
 * variable or a header that the caller names is the caller's.
 */
function withProject(host: SecretHost, origin: string, options: WorkspaceOptions): Widened {
  const { project = false, ...asked } = options;
  if (!project || asked.agent !== undefined) return asked;
  const { digest, defaults, warnings } = projectGrants(host, origin);
  const projectDefaults = { digest, warnings, reads: defaults.reads };
  if (digest === null) return { ...asked, projectDefaults };
  const own = asked.secrets ?? [];
  const isOwn = (header: string, name: string) =>
    own.some((secret) => isSame(secret.host, name) && isSame(secret.header, header));
  return {
    ...asked,
    projectDefaults,
    network: [...new Set([...(asked.network ?? []), ...defaults.network])],
    secrets: [...own, ...defaults.secrets.filter(({ header, host: name }) => !isOwn(header, name))],
    environment: [...defaults.environment, ...(asked.environment ?? [])],
    user: asked.user ?? defaults.user,
    quota: { ...defaults.quota, ...asked.quota },
  };
}

/** As the proxy takes them. */
export function requestOf(
  host: SecretHost,
  { directory, origin }: Pick<Place, 'directory' | 'origin'>,
  options: WorkspaceOptions,
): Omit<ExecRequest, 'argv' | 'streams'> {
  const { environment = [], weakened = [], wait = false, ...grants } = withProject(host, origin, options);
  return { ...grants, cwd: directory, environmentAdditions: environment, weakened, wait };
}
