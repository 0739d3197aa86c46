/** The hook's entry in a harness's settings: `ctx hook install`. */
import { isAbsolute, join } from 'node:path';
import type { HookHost } from '../hook/hook-host.js';
import { changeSettings, type SettingsPlace } from '../hook/settings-file.js';
import { hasOtherHooks, hookCommand, installed, uninstalled } from '../hook/settings-text.js';

export type { SettingsPlace };

export interface ChangedSettings {
  readonly path: string;
  readonly changed: boolean;
  /** What may keep the hook from being obeyed. */
  readonly warnings: readonly string[];
}

export function projectSettings(directory: string): SettingsPlace {
  return { path: join(directory, '.claude', 'settings.json'), within: directory };
}

export function userSettings(home: string, environment: Readonly<Record<string, string | undefined>>): SettingsPlace {
  const named = environment['CLAUDE_CONFIG_DIR'];
  const directory = named !== undefined && isAbsolute(named) ? named : join(home, '.claude');
  return { path: join(directory, 'settings.json') };
}

const twoHooks =
  'other hooks run before tool calls, too: some versions of Claude Code then run the command as it was written. ' +
  'Ask it to run `echo $CTX_JAIL`: 1 is the jail. If not, install with --bash deny';

/** `options` are those of `ctx hook claude-code`, with absolute paths: it runs elsewhere. */
export function installHook(
  { program }: Pick<HookHost, 'program'>,
  place: SettingsPlace,
  options: readonly string[] = [],
): ChangedSettings {
  const command = hookCommand(program, options);
  const { path, changed, text } = changeSettings(place, (before, file) => installed(before, command, file));
  const denies = options.some((word, index) => word === '--bash' && options[index + 1] === 'deny');
  const warnings = !denies && text !== undefined && hasOtherHooks(text, path) ? [twoHooks] : [];
  return { path, changed, warnings };
}

export function uninstallHook(place: SettingsPlace): ChangedSettings {
  const { path, changed } = changeSettings(place, (before, file) =>
    before === undefined ? undefined : uninstalled(before, file),
  );
  return { path, changed, warnings: [] };
}
