/** What this host has of the system profile and of other read-only paths: looked up once, when a plan is made. */
import { lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isSystemConfiguration, partlyShownConfiguration, systemDirectories } from '../authority/system-profile.js';
import { fromSystemError, hasCode } from '../base/errno.js';
import type { Link, SharedPath } from './plan.js';

export interface Found {
  readonly shared: readonly SharedPath[];
  readonly links: readonly Link[];
  /** Paths that do not exist here; the operator may want to know. */
  readonly skipped: readonly string[];
}

type Kind = 'link' | 'other' | 'missing';

function kindOf(path: string): Kind {
  try {
    const about = lstatSync(path, { throwIfNoEntry: false });
    if (about === undefined) return 'missing';
    return about.isSymbolicLink() ? 'link' : 'other';
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) return 'missing';
    throw fromSystemError(error, 'lstat', path);
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw fromSystemError(error, 'readdir', directory);
  }
}

/**
 * A read-only path as the jail shows it: mounted where it really is, with a link at the name it was given. Sources are
 * resolved here, once; the launcher refuses a source in which a link has appeared since.
 */
export function readOnlyPaths(paths: readonly string[]): Found {
  const shared = new Map<string, SharedPath>();
  const links = new Map<string, Link>();
  const skipped: string[] = [];
  for (const path of paths) {
    let real: string;
    try {
      real = realpathSync.native(path);
      const named = join(realpathSync.native(dirname(path)), basename(path));
      if (named !== real) links.set(named, { path: named, target: real });
    } catch (error) {
      if (!hasCode(error, 'ENOENT') && !hasCode(error, 'ENOTDIR') && !hasCode(error, 'EACCES')) {
        throw fromSystemError(error, 'realpath', path);
      }
      skipped.push(path);
      continue;
    }
    shared.set(real, { source: real, target: real, access: 'read only' });
  }
  return { shared: [...shared.values()], links: [...links.values()], skipped };
}

/** `/usr` and its links, and the harmless part of `/etc`. A link of `/etc` keeps its own text. */
export function systemView(): Found {
  const parts = partlyShownConfiguration.flatMap((part) => namesIn(`/etc/${part}`).map((name) => `${part}/${name}`));
  const etc = [...namesIn('/etc'), ...parts].filter(isSystemConfiguration).map((name) => `/etc/${name}`);
  const shared: SharedPath[] = [];
  const links: Link[] = [];
  for (const path of [...systemDirectories, ...etc]) {
    const kind = kindOf(path);
    if (kind === 'link') links.push({ path, target: readlinkSync(path) });
    else if (kind === 'other') shared.push({ source: path, target: path, access: 'read only' });
  }
  return { shared, links, skipped: [] };
}
