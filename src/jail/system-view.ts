/** What this host has of the system profile: looked up once, when a plan is made. */
import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import {
  isSystemConfiguration,
  partlyShownConfiguration,
  systemDirectories,
  systemFacts,
} from '../authority/system-profile.js';
import { fromSystemError, hasCode } from '../base/errno.js';
import type { Link, SharedPath } from './plan.js';

export interface SystemView {
  readonly shared: readonly SharedPath[];
  readonly links: readonly Link[];
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
    // A part that is closed, or is not a directory here, shows nothing: no command needs it to start.
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) return [];
    throw fromSystemError(error, 'readdir', directory);
  }
}

/** `/usr` and its links, the harmless part of `/etc`, facts about the machine. A link of `/etc` keeps its own text. `host` is where it is looked for. */
export function systemView(host = ''): SystemView {
  const parts = partlyShownConfiguration.flatMap((part) =>
    namesIn(`${host}/etc/${part}`).map((name) => `${part}/${name}`),
  );
  const etc = [...namesIn(`${host}/etc`), ...parts].filter(isSystemConfiguration).map((name) => `/etc/${name}`);
  const shared: SharedPath[] = [];
  const links: Link[] = [];
  for (const path of [...systemDirectories, ...etc, ...systemFacts]) {
    const kind = kindOf(`${host}${path}`);
    if (kind === 'link') links.push({ path, target: readlinkSync(`${host}${path}`) });
    else if (kind === 'other') shared.push({ source: path, target: path, access: 'read only' });
  }
  return { shared, links };
}
