/**
 * The operator's mounts, from the `[agent.container]` stanza of `agents.toml`, already parsed into an object:
 *
 *     [agent.container]
 *     surface_mode = "additive"
 *     mounts = [{ source = "/srv/data", target = "/data", mode = "ro", options = ["nosuid"] }]
 *
 * `mode` is ro where it is left out, `surface_mode` additive. A table or member we do not know is refused: a misspelt or
 * misplaced `surface_mode` must not go unread. Paths may start with variables of the closed set; one that is not set
 * drops its mount.
 */
import { ErrnoError } from '../base/errno.js';
import { viewMounts } from '../base/limits/objects.js';
import { type Mount, makeMount } from './mount.js';
import { parseSurfaceMode, type SurfaceMode } from './surface-mounts.js';
import { quoted, refuse } from './syntax.js';
import { type DroppedTemplate, expandPath, type PathEnvironment } from './tooling-paths.js';

export interface OperatorMounts {
  readonly mode: SurfaceMode;
  readonly mounts: readonly Mount[];
  readonly dropped: readonly DroppedTemplate[];
}

const operation = 'parse operator mounts';
type Table = Readonly<Record<string, unknown>>;

/** `file` is named in refusals only. */
export function operatorMounts(document: unknown, file: string, environment: PathEnvironment): OperatorMounts {
  const fail = (where: string, reason: string): never => refuse(operation, `${file}: ${where}: ${reason}`);
  const table = (value: unknown, where: string, members: readonly string[]): Table => {
    if (value === undefined) return {};
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return fail(where, 'expected a table');
    const surplus = Object.keys(value).find((key) => !members.includes(key));
    if (surplus !== undefined) fail(where, `expected ${members.join(', ')}, got ${quoted(surplus)}`);
    return value as Table;
  };
  const within = <T>(where: string, act: () => T): T => {
    try {
      return act();
    } catch (error) {
      if (error instanceof ErrnoError) return fail(where, error.reason);
      throw error;
    }
  };
  const text = (value: unknown, where: string): string =>
    typeof value === 'string' ? value : fail(where, 'expected a string');
  const list = (value: unknown, where: string): readonly unknown[] => {
    if (value === undefined) return [];
    return Array.isArray(value) ? value : fail(where, 'expected an array');
  };

  const agent = table(table(document, 'top level', ['agent'])['agent'], 'agent', ['container']);
  const container = table(agent['container'], 'agent.container', ['surface_mode', 'mounts']);
  const modeText = text(container['surface_mode'] ?? 'additive', 'agent.container.surface_mode');
  const mode = within('agent.container.surface_mode', () => parseSurfaceMode(modeText));
  const entries = list(container['mounts'], 'agent.container.mounts');
  if (entries.length > viewMounts) fail('agent.container.mounts', `expected at most ${viewMounts}`);
  const targets = new Set<string>();
  const dropped: DroppedTemplate[] = [];
  const mounts = entries.flatMap((entry, index): Mount[] => {
    const where = `agent.container.mounts[${index}]`;
    const parts = table(entry, where, ['source', 'target', 'mode', 'options']);
    const options = list(parts['options'], `${where}.options`).map((option) => text(option, `${where}.options`));
    const path = (value: unknown, member: string): string | DroppedTemplate => {
      const written = text(value, `${where}.${member}`);
      if (!written.includes('$')) return written;
      const engine = member === 'source' ? (/^[a-z][a-z0-9]*:/.exec(written)?.[0] ?? '') : '';
      const expanded = within(`${where}.${member}`, () => expandPath(written.slice(engine.length), environment));
      return typeof expanded === 'string' ? `${engine}${expanded}` : expanded;
    };
    const source = path(parts['source'], 'source');
    const target = path(parts['target'] ?? parts['source'], 'target');
    const modeWord = text(parts['mode'] ?? 'ro', `${where}.mode`);
    if (typeof source !== 'string' || typeof target !== 'string') {
      const reasons = [source, target].filter((each) => typeof each !== 'string');
      dropped.push(...reasons.slice(0, 1));
      return [];
    }
    if (targets.has(target)) fail(`${where}.target`, 'expected each target once; this one is already used');
    targets.add(target);
    return [within(where, () => makeMount({ source, target, mode: modeWord, options }))];
  });
  return Object.freeze({ mode, mounts: Object.freeze(mounts), dropped: Object.freeze(dropped) });
}
