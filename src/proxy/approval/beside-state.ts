/**
 * What a command sees beside its fork and the person's directories, and commands in other workspaces write: its agent's home, and caches
 * that are shared. As a digest, for an approval: programs obey what is there.
 */
import { join } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { sha256 } from '../../base/sha256.js';
import { uniqueName } from '../../base/unique-name.js';
import type { CacheKeeping } from '../../vault/fork-trees.js';
import { storePaths } from '../../vault/store/layout.js';
import { agentHomeDirectory, isKeptPart } from '../grants/agent-home.js';
import type { ResolvedAuthority } from '../grants/authority-of.js';
import type { Host, Place } from '../host.js';
import { directoryContent, isOfCache } from './fork-state.js';

export interface SeenBeside {
  readonly host: Host;
  readonly place: Place;
  readonly resolved: Pick<ResolvedAuthority, 'agent' | 'authority'>;
  readonly request: { readonly home?: string | undefined; readonly cache?: CacheKeeping | undefined };
}

/** Undefined where there is nothing of the kind. What cannot be read is like no other state. */
export async function besideState({ host, place, resolved, request }: SeenBeside): Promise<string | undefined> {
  const { agent, authority } = resolved;
  const parts: Promise<string>[] = [];
  if (agent !== undefined && host.views !== undefined && request.home === undefined) {
    const home = agentHomeDirectory(host.root, authority.identity.uid, agent.name);
    // What the record writes there is no command's doing.
    parts.push(directoryContent(host.tree, home, (path) => !isKeptPart(path)));
  }
  if (request.cache === 'share') {
    const caches = join(storePaths(host.store.directory).caches, String(place.owner.uid));
    parts.push(directoryContent(host.tree, caches, isOfCache));
  }
  if (parts.length === 0) return undefined;
  const content = await Promise.all(parts).catch((error: unknown) => {
    if (error instanceof ErrnoError) return [uniqueName()];
    throw error;
  });
  return `sha256:${sha256(content.join('\0'))}`;
}
