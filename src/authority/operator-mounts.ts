/**
 * The operator's mounts, from the `[agent.container]` stanza of `agents.toml`, already parsed into an object:
 *
 *     [agent.container]
 *     surface_mode = "additive"
 *     mounts = [{ source = "/srv/data", target = "/data", mode = "ro", options = ["nosuid"] }]
 *
 * `mode` is ro where it is left out, `surface_mode` additive. A member we do not know is refused: a misspelt
 * `surface_mode` must not go unread.
 */
import { ErrnoError } from '../base/errno.js';
import { viewMounts } from '../base/limits.js';
import { type Mount, makeMount } from './mount.js';
import { parseSurfaceMode, type SurfaceMode } from './surface-mounts.js';
import { quoted, refuse } from './syntax.js';

export interface OperatorMounts {
  readonly mode: SurfaceMode;
  readonly mounts: readonly Mount[];
}

const operation = 'parse operator mounts';
type Table = Readonly<Record<string, unknown>>;

/** `file` is named in refusals only. */
export function operatorMounts(document: unknown, file: string): OperatorMounts {
  const fail = (where: string, reason: string): never => refuse(operation, `${file}: ${where}: ${reason}`);
  const table = (value: unknown, where: string, members?: readonly string[]): Table => {
    if (value === undefined) return {};
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(where, 'expected a table');
    const surplus = members && Object.keys(value).find((key) => !members.includes(key));
    if (surplus !== undefined) fail(where, `expected members ${members?.join(', ')}, got ${quoted(surplus)}`);
    return value as Table;
  };
  const text = (value: unknown, where: string): string =>
    typeof value === 'string' ? value : fail(where, 'expected a string');
  const list = (value: unknown, where: string): readonly unknown[] => {
    if (value === undefined) return [];
    return Array.isArray(value) ? value : fail(where, 'expected an array');
  };

  const agent = table(table(document, 'document')['agent'], 'agent');
  const container = table(agent['container'], 'agent.container', ['surface_mode', 'mounts']);
  const mode = parseSurfaceMode(text(container['surface_mode'] ?? 'additive', 'agent.container.surface_mode'));
  const entries = list(container['mounts'], 'agent.container.mounts');
  if (entries.length > viewMounts) fail('agent.container.mounts', `expected at most ${viewMounts}`);
  const targets = new Set<string>();
  const mounts = entries.map((entry, index) => {
    const where = `agent.container.mounts[${index}]`;
    const parts = table(entry, where, ['source', 'target', 'mode', 'options']);
    const options = list(parts['options'], `${where}.options`).map((option) => text(option, `${where}.options`));
    const fields = {
      source: text(parts['source'], `${where}.source`),
      target: text(parts['target'] ?? parts['source'], `${where}.target`),
      mode: text(parts['mode'] ?? 'ro', `${where}.mode`),
      options,
    };
    if (targets.has(fields.target)) fail(`${where}.target`, 'expected a target not yet named');
    targets.add(fields.target);
    try {
      return makeMount(fields);
    } catch (error) {
      if (error instanceof ErrnoError) return fail(where, error.reason);
      throw error;
    }
  });
  return Object.freeze({ mode, mounts: Object.freeze(mounts) });
}
