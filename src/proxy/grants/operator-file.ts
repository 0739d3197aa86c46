/**
 * The operator's `agents.toml`: the one in the root of the objects, else the one in `$XDG_CONFIG_HOME/ctxfs`. One file is
 * read, never both: what is in force stands in one place. A file that cannot be read or parsed refuses the command. What
 * of its mounts is not given, or takes away, is said.
 */
import { join } from 'node:path';
import { kindOfSource, type Mount } from '../../authority/mount.js';
import { type OperatorMounts, operatorMounts } from '../../authority/operator-mounts.js';
import { accessTo, decidingEntry, type Surface, surfaceEntries } from '../../authority/surface.js';
import { mergeMounts, surfaceMountOptions } from '../../authority/surface-mounts.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { controlTextBytes, controlTextCharacters } from '../../base/limits/objects.js';
import { readSmallFile } from '../../base/small-file.js';
import { visible } from '../../base/visible-text.js';
import { parseWholeSpecification } from '../../vfs/specification.js';
import type { Host } from '../host.js';
import { checkedPlace, variablesOf } from './surface-at.js';

function textOf(path: string): string | undefined {
  try {
    return readSmallFile(path, controlTextBytes);
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
    throw fromSystemError(error, 'read', path);
  }
}

async function parsed(text: string, file: string): Promise<unknown> {
  if (text.length > controlTextCharacters) {
    throw new ErrnoError('EINVAL', {
      operation: 'parse operator mounts',
      path: file,
      reason: `expected at most ${controlTextCharacters} characters`,
    });
  }
  // Few have the file: who has none does not pay for its parser.
  const { parse, TomlError } = await import('smol-toml');
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = error.message.split('\n')[0];
    const reason = `${file}:${error.line}:${error.column}: expected TOML: ${message}`;
    throw new ErrnoError('EINVAL', { operation: 'parse operator mounts', reason, cause: error });
  }
}

type OperatorFile = OperatorMounts & { readonly file: string };

/** Undefined where there is none. Directories are looked at in their order. */
export async function readOperatorFile(host: Host): Promise<OperatorFile | undefined> {
  for (const directory of host.operatorDirectories) {
    const file = join(directory, 'agents.toml');
    const text = textOf(file);
    if (text !== undefined) return { file, ...operatorMounts(await parsed(text, file), file, variablesOf(host)) };
  }
  return undefined;
}

/** Host mounts with canonical sources; what is missing is said and left out. `what` names whose they are. */
export function presentMounts(mounts: readonly Mount[], what: string, warnings: string[]): readonly Mount[] {
  return mounts.flatMap((mount) => {
    checkedPlace(mount.target, `the target of a mount of ${what}`);
    const of = kindOfSource(mount.source);
    if (of !== 'host') {
      if (of === 'tree') parseWholeSpecification(mount.source);
      return [mount];
    }
    const source = canonicalPath(mount.source);
    if (source !== undefined) return [{ ...mount, source: checkedPlace(source, `the source of a mount of ${what}`) }];
    warnings.push(`skipped the mount of ${visible(mount.source)} in ${visible(what)}: there is no such path`);
    return [];
  });
}

/** What an operator's line takes away from a writable part of the surface: the line is in force, and the report says so. */
function coverWarning(surface: Surface, { source, target, mode }: Mount): readonly string[] {
  if (mode === 'rw' || accessTo(surface, target) !== 'write') return [];
  const part = decidingEntry(surface, target)?.path ?? target;
  const what = source === target ? 'is read-only' : `shows ${visible(source)}, read-only`;
  return [`${visible(target)} ${what}, by the operator's mount: it cannot be written, though ${visible(part)} can`];
}

/** The operator's mounts beside a surface. */
export async function operatorMountsAt(host: Host, surface: Surface, warnings: string[]): Promise<readonly Mount[]> {
  const operator = await readOperatorFile(host);
  if (operator === undefined) return [];
  for (const { template, reason } of operator.dropped) {
    warnings.push(`dropped ${visible(template)} in ${visible(operator.file)}: ${reason}`);
  }
  // Not `surfaceMounts`: a path of the surface may hold what a line of a mount file cannot, such as a newline.
  const own = surfaceEntries(surface).map(
    ({ path, access }): Mount => ({
      source: path,
      target: path,
      mode: access === 'write' ? 'rw' : 'ro',
      options: surfaceMountOptions,
    }),
  );
  const wanted = presentMounts(operator.mounts, operator.file, warnings);
  const merged = mergeMounts(own, wanted, operator.mode);
  for (const { mount, reason } of merged.dropped) {
    warnings.push(`dropped the operator's mount of ${visible(mount.source)} at ${visible(mount.target)}: ${reason}`);
  }
  const kept = wanted.filter((mount) => merged.mounts.includes(mount));
  for (const mount of kept) warnings.push(...coverWarning(surface, mount));
  return kept;
}
