/** The catalogue as the disk has it: read when it is asked, so that every change is seen at once. Links are not followed. */
import {
  type BigIntStats,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseLabel } from '../../authority/label.js';
import { isObjectName } from '../../authority/name.js';
import { parsePolicy } from '../../authority/policy.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { controlFiles } from '../control-file.js';
import type { ObjectRoots } from '../layout.js';
import { liveText } from '../live-status.js';
import {
  type Catalogue,
  type ControlText,
  type FoundObject,
  kindOf,
  modelFiles,
  type ObjectPlace,
} from './catalogue.js';
import { mergedCatalogue } from './merged-catalogue.js';

const executeBits = 0o111;

function statOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES') || hasCode(error, 'ENAMETOOLONG')) return undefined;
    throw fromSystemError(error, 'stat', path);
  }
}

/** Of a regular file, and of nothing that a link leads to. */
export function readRegular(path: string): Buffer {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (!fstatSync(descriptor).isFile()) {
      throw new ErrnoError('EINVAL', { operation: 'read', path, reason: 'expected a regular file' });
    }
    return readFileSync(descriptor);
  } catch (error) {
    throw error instanceof ErrnoError ? error : fromSystemError(error, 'read', path);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

export function controlText(path: string): ControlText | undefined {
  const about = statOf(path);
  if (about?.isFile() !== true) return undefined;
  return { size: Number(about.size), modified: about.mtimeNs, read: () => readRegular(path) };
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR') || hasCode(error, 'EACCES')) return [];
    throw fromSystemError(error, 'readdir', directory);
  }
}

function factsOf(about: BigIntStats): FoundObject['facts'] {
  const file = { uid: Number(about.uid), gid: Number(about.gid), mode: Number(about.mode & 0o7777n) };
  return { exists: true, visible: true, file };
}

/** The value of a control file that a decision is about, or what is wrong with it: one that is there and cannot be read is not an absent one. */
function parsed<T>(path: string, shown: string, parse: (text: string, file: string) => T) {
  try {
    const about = lstatSync(path, { throwIfNoEntry: false });
    if (about === undefined) return {};
    if (!about.isFile()) return { problem: `${shown}: expected a regular file` };
    return { value: parse(readRegular(path).toString('utf8'), shown) };
  } catch (error) {
    if (hasCode(error, 'ENOTDIR') || hasCode(error, 'ENAMETOOLONG')) return {};
    const { reason } = error instanceof ErrnoError ? error : fromSystemError(error, 'read', path);
    return { problem: reason };
  }
}

/** With root's own for every user, where there are any. */
export function catalogueOf({ root, system }: ObjectRoots): Catalogue {
  return system === undefined ? diskCatalogue(root) : mergedCatalogue(diskCatalogue(root), diskCatalogue(system));
}

export function diskCatalogue(root: string): Catalogue {
  const at = (place: ObjectPlace, name: string) => join(root, place, name);
  const controls = (place: ObjectPlace) => {
    const kind = kindOf(place);
    return kind === 'model' ? modelFiles : Object.keys(controlFiles(kind));
  };
  const isDescribed = (place: ObjectPlace, name: string) =>
    isObjectName(name) && statOf(at(place, `${name}.d`))?.isDirectory() === true;
  const described = (place: ObjectPlace) =>
    namesIn(join(root, place))
      .filter((entry) => entry.endsWith('.d'))
      .map((entry) => entry.slice(0, -2))
      .filter((name) => isDescribed(place, name));
  const executable = (place: ObjectPlace, name: string) => {
    const about = statOf(at(place, name));
    return about?.isFile() === true && (Number(about.mode) & executeBits) !== 0 ? about : undefined;
  };
  const policyOf = (place: ObjectPlace, name: string) => {
    const { value, problem } = parsed(at(place, `${name}.d/policy`), `${place}/${name}.d/policy`, parsePolicy);
    return { policy: value, problem };
  };
  return {
    policy: policyOf,
    tools: (place) =>
      namesIn(join(root, place)).filter((name) => isObjectName(name) && executable(place, name) !== undefined),
    tool: (place, name) => {
      const about = executable(place, name);
      if (about === undefined) return undefined;
      const { policy, problem } = policyOf(place, name);
      const identity = `${about.dev}:${about.ino}`;
      return {
        facts: { ...factsOf(about), ...(policy === undefined ? {} : { policy }) },
        problem,
        program: at(place, name),
        identity,
      };
    },
    described,
    isDescribed,
    agent: (place, name) => {
      const about = statOf(at(place, `${name}.d`));
      if (about?.isDirectory() !== true) return undefined;
      const shown = `${place}/${name}.d/label`;
      const { value: label, problem } = parsed(at(place, `${name}.d/label`), shown, (text) =>
        parseLabel(text.trimEnd()),
      );
      return { facts: { ...factsOf(about), ...(label === undefined ? {} : { label }) }, problem };
    },
    providers: (place) =>
      namesIn(join(root, place)).filter(
        (name) => isObjectName(name) && statOf(at(place, name))?.isDirectory() === true,
      ),
    model: (place, name) => {
      const about = isObjectName(name) ? statOf(at(place, `${name}.d`)) : undefined;
      if (about?.isDirectory() !== true) return undefined;
      const { policy, problem } = policyOf(place, name);
      return { facts: { ...factsOf(about), ...(policy === undefined ? {} : { policy }) }, problem };
    },
    spaces: () => namesIn(join(root, 'shared')).filter((name) => isObjectName(name)),
    space: (name) => {
      const about = statOf(at('shared', name));
      return about?.isDirectory() === true ? { facts: factsOf(about) } : undefined;
    },
    // A name that is not UTF-8 could not be told from another.
    spaceFiles: (name) => ({
      directory: at('shared', name),
      names: namesIn(at('shared', name)).filter((each) => !each.includes('\ufffd')),
    }),
    controls: (place, name) => {
      const there = new Set(namesIn(at(place, `${name}.d`)));
      return controls(place).filter((file) => there.has(file));
    },
    control: (place, name, file) => {
      const directory = at(place, `${name}.d`);
      const found = controlText(join(directory, file));
      if (found === undefined || kindOf(place) !== 'agent' || (file !== 'status' && file !== 'pid')) return found;
      const bytes = Buffer.from(liveText(directory, file, found.read().toString('utf8')));
      return { size: bytes.length, modified: found.modified, read: () => bytes };
    },
  };
}
