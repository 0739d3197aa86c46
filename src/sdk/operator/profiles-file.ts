/**
 * The operator's `profiles.toml`, beside `agents.toml`: a table for each profile. One of a known name replaces the lists it has
 * and keeps the others; a new name needs a command. What cannot be read or understood refuses the run.
 *
 *   [claude]
 *   hosts = ["api.anthropic.com", "registry.npmjs.org"]
 */
import { join } from 'node:path';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { controlTextBytes } from '../../base/limits/objects.js';
import { readSmallFile } from '../../base/small-file.js';
import { builtInProfiles, type Need, type Profile } from './profiles.js';

const lists = ['hosts', 'reads', 'environment', 'variables', 'copies', 'secrets'] as const;
const known: readonly string[] = ['summary', 'command', ...lists];

function refuse(file: string, reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'read the profiles', path: file, reason });
}

function texts(value: unknown, where: string, file: string): readonly string[] {
  if (Array.isArray(value) && value.every((each): each is string => typeof each === 'string' && each !== ''))
    return value;
  return refuse(file, `expected a list of strings for ${where}`);
}

/** A path is copied to the same place below another home: it must not lead out of either. */
function checkedCopy(path: string, file: string): string {
  const parts = path.split('/');
  if (!parts.some((part) => part === '' || part === '.' || part === '..')) return path;
  return refuse(file, `expected a path below the home, as .claude/settings.json; got '${path}'`);
}

function profileFrom(name: string, value: unknown, file: string): Profile {
  if (!/^[a-zA-Z0-9][a-zA-Z0-9._+-]{0,63}$/.test(name)) refuse(file, `expected a name, got '${name}'`);
  if (typeof value !== 'object' || value === null) return refuse(file, `expected a table [${name}]`);
  const table = value as Readonly<Record<string, unknown>>;
  const strange = Object.keys(table).find((key) => !known.includes(key));
  if (strange !== undefined) refuse(file, `expected ${known.join(', ')} in [${name}]; got ${strange}`);
  const before = builtInProfiles.find((each) => each.name === name);
  const why = `${file} says so`;
  const asNeeds = (key: string): readonly Need[] =>
    texts(table[key], `${key} of [${name}]`, file).map((what) => ({ what, why }));
  const needs = (key: Exclude<(typeof lists)[number], 'secrets'>): readonly Need[] =>
    table[key] === undefined ? (before?.[key] ?? []) : asNeeds(key);
  const secrets =
    table['secrets'] === undefined
      ? (before?.copies.filter(({ secret }) => secret === true) ?? [])
      : asNeeds('secrets').map((need): Need => ({ ...need, secret: true }));
  const copies = [...needs('copies').filter(({ secret }) => secret !== true), ...secrets];
  for (const { what } of copies) checkedCopy(what, file);
  const command = table['command'] === undefined ? (before?.command ?? []) : texts(table['command'], 'command', file);
  if (command.length === 0) refuse(file, `expected a command in [${name}]: it is not a profile that ctx knows`);
  return {
    name,
    summary: typeof table['summary'] === 'string' ? table['summary'] : (before?.summary ?? why),
    command,
    hosts: needs('hosts'),
    reads: needs('reads'),
    environment: needs('environment'),
    variables: needs('variables'),
    copies,
    keys: before?.keys,
  };
}

function textOf(path: string): string | undefined {
  try {
    return readSmallFile(path, controlTextBytes);
  } catch (error) {
    if (hasCode(error, 'ENOENT') || hasCode(error, 'ENOTDIR')) return undefined;
    throw fromSystemError(error, 'read', path);
  }
}

/** Those of the file first, then what it does not name. `directories` in the order they are looked at; one file is read. */
export async function readProfiles(directories: readonly string[]): Promise<readonly Profile[]> {
  for (const directory of directories) {
    const file = join(directory, 'profiles.toml');
    const text = textOf(file);
    if (text === undefined) continue;
    const { parse, TomlError } = await import('smol-toml');
    try {
      const own = Object.entries(parse(text)).map(([name, value]) => profileFrom(name, value, file));
      return [...own, ...builtInProfiles.filter(({ name }) => !own.some((each) => each.name === name))];
    } catch (error) {
      if (!(error instanceof TomlError)) throw error;
      return refuse(file, `expected TOML: ${error.message.split('\n')[0]}`);
    }
  }
  return builtInProfiles;
}
