/** `ctx hook`: the harness's hook itself, and its entry in the harness's settings. */
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { ExitCode } from '../base/errno.js';
import type { HookHost } from '../hook/hook-host.js';
import { changeSettings, type SettingsPlace } from '../hook/settings-file.js';
import { hasOtherHooks, hookCommand, installed, uninstalled } from '../hook/settings-text.js';
import { decideCalls, isDecision, refuseHook } from './hook-calls.js';
import { printJson } from './output.js';
import type { Arguments, Run } from './verb.js';

function settingsPlace(call: Arguments): SettingsPlace {
  if (call.flag('user') && call.flag('project')) refuseHook('expected --project or --user, not both');
  if (!call.flag('user')) {
    const project = process.cwd();
    return { path: join(project, '.claude', 'settings.json'), within: project };
  }
  const named = process.env['CLAUDE_CONFIG_DIR'];
  const directory = named !== undefined && isAbsolute(named) ? named : join(homedir(), '.claude');
  return { path: join(directory, 'settings.json') };
}

/** The options of this call as the hook is to have them; paths made absolute, since it runs elsewhere. */
function handedOn(call: Arguments): readonly string[] {
  const bash = call.value('bash');
  const agent = call.value('agent');
  const paths = ['read', 'write'].flatMap((name) => call.values(name).flatMap((path) => [`--${name}`, resolve(path)]));
  return [
    ...(bash === undefined ? [] : ['--bash', bash]),
    ...(agent === undefined ? [] : ['--agent', agent]),
    ...(call.flag('approve') ? ['--approve'] : []),
    ...['tool', 'net'].flatMap((name) => call.values(name).flatMap((value) => [`--${name}`, value])),
    ...paths,
  ];
}

const twoHooks =
  'other hooks run before tool calls, too: some versions of Claude Code then run the command as it was written. ' +
  'Ask it to run `echo $CTX_JAIL`: 1 is the jail. If not, install with --bash deny';

async function change(call: Arguments, host: () => Promise<HookHost>): Promise<number> {
  const installing = call.words[0] === 'install';
  const command = installing ? hookCommand((await host()).program, handedOn(call)) : '';
  const { path, changed, text } = changeSettings(settingsPlace(call), (before, file) => {
    if (installing) return installed(before, command, file);
    return before === undefined ? undefined : uninstalled(before, file);
  });
  const rewrites = installing && call.value('bash') !== 'deny';
  const warnings = rewrites && text !== undefined && hasOtherHooks(text, path) ? [twoHooks] : [];
  if (call.flag('json')) printJson({ path, changed, installed: installing, warnings });
  else {
    const done = installing ? 'installed in' : 'removed from';
    process.stdout.write(changed ? `${done} ${path}\n` : `nothing to do: ${path}\n`);
    for (const warning of warnings) process.stderr.write(`ctx: ${warning}\n`);
  }
  return ExitCode.ok;
}

export const run: Run = async (call, _host, hookHost, caller) => {
  if (isDecision(call)) return decideCalls(call, hookHost, caller);
  const [what, harness] = call.words;
  if ((what === 'install' || what === 'uninstall') && harness === 'claude-code') return change(call, hookHost);
  return refuseHook('expected claude-code, json, install claude-code or uninstall claude-code');
};
