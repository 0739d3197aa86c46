/**
 * The operator's `agents.toml`: the one in the root of the objects, else the one in `$XDG_CONFIG_HOME/ctxfs`. One file is
 * read, never both: what is in force stands in one place. A file that cannot be read or parsed refuses the command.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OperatorMounts, operatorMounts } from '../../authority/operator-mounts.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { controlTextCharacters } from '../../base/limits.js';

const none: OperatorMounts = Object.freeze({ mode: 'additive', mounts: Object.freeze([]) });

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
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

/** `directories` in the order they are looked at. */
export async function readOperatorFile(directories: readonly string[]): Promise<OperatorMounts> {
  for (const directory of directories) {
    const file = join(directory, 'agents.toml');
    const text = textOf(file);
    if (text !== undefined) return operatorMounts(await parsed(text, file), file);
  }
  return none;
}
