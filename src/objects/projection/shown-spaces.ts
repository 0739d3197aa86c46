/** Shared spaces, or parts of them, that an agent's mount file shows. */
import { contains } from '../../authority/absolute-path.js';
import type { Mount } from '../../authority/mount.js';
import { permittedMounts } from '../../authority/mount-permission.js';
import { ErrnoError } from '../../base/errno.js';
import type { ObjectRoots } from '../layout.js';
import { lineOf } from './agent-viewer.js';
import type { Catalogue } from './catalogue.js';

export interface ShownSpace {
  readonly name: string;
  /** The part of it that is mounted; empty: all of it. */
  readonly part: string;
  readonly target: string;
}

export function spacesIn(mounts: readonly Mount[]): readonly ShownSpace[] {
  return mounts.flatMap(({ source, target }) => {
    const [, name, part = ''] = /^\/ctx\/shared\/([^/]+)(?:\/([^/]+))?$/.exec(source) ?? [];
    return name === undefined ? [] : [{ name, part, target }];
  });
}

/**
 * As its files say now, and those of the agents it descends from, with the directories of this machine as targets: for a person who looks
 * at the agent's view from outside. None where one of those files is wrong.
 */
export function spacesOnHost(roots: ObjectRoots, agent: string, catalogue: Catalogue): readonly ShownSpace[] {
  const isShownBy = (mounts: readonly Mount[], { source }: Mount) =>
    mounts.some((each) => contains(each.source, source));
  try {
    const [own = [], ...above] = lineOf(roots, agent).map(
      ({ policy, identity, mounts }) => permittedMounts(policy, identity.label.type, mounts).mounts,
    );
    const shown = own.filter((mount) => above.every((mounts) => isShownBy(mounts, mount)));
    return spacesIn(shown).map((space) => {
      const { directory } = catalogue.spaceFiles(space.name);
      return { ...space, target: space.part === '' ? directory : `${directory}/${space.part}` };
    });
  } catch (error) {
    if (error instanceof ErrnoError) return [];
    throw error;
  }
}
