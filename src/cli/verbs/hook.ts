/** `ctx hook`: the harness's hook itself, and its entry in the harness's settings. */
import { homedir } from 'node:os';
import { ExitCode } from '../../base/errno.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { givenPath } from '../../sdk/given-path.js';
import type { HookHost } from '../../sdk/hook.js';
import {
  installHook,
  projectSettings,
  type SettingsPlace,
  uninstallHook,
  userSettings,
} from '../../sdk/hook-settings.js';
import { print, printError, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';
import { decideCalls, isDecision, refuseHook } from './hook-calls.js';

function settingsPlace(call: Arguments): SettingsPlace {
  if (call.flag('user') && call.flag('project')) refuseHook('expected --project or --user, not both');
  return call.flag('user') ? userSettings(homedir(), process.env) : projectSettings(currentDirectory());
}

/** The options of this call as the hook is to have them; paths made absolute, since it runs elsewhere. */
function handedOn(call: Arguments): readonly string[] {
  const bash = call.value('bash');
  const agent = call.value('agent');
  const paths = ['read', 'write'].flatMap((name) =>
    call.values(name).flatMap((path) => [`--${name}`, givenPath(currentDirectory(), path)]),
  );
  return [
    ...(bash === undefined ? [] : ['--bash', bash]),
    ...(agent === undefined ? [] : ['--agent', agent]),
    ...(call.flag('approve') ? ['--approve'] : []),
    ...['tool', 'net'].flatMap((name) => call.values(name).flatMap((value) => [`--${name}`, value])),
    ...paths,
  ];
}

/** One that is not there, or cannot be read, would deny every call: that is told before it is installed. */
async function checkAgent(call: Arguments, host: HookHost): Promise<void> {
  const agent = call.value('agent');
  if (agent === undefined) return;
  const directory = currentDirectory();
  await host.authorityOf({ directory, agent, reads: [], writes: [], network: [], environment: process.env });
}

async function change(call: Arguments, host: () => Promise<HookHost>): Promise<number> {
  const installing = call.words[0] === 'install';
  const place = settingsPlace(call);
  if (installing) await checkAgent(call, await host());
  const { path, changed, warnings } = installing
    ? installHook(await host(), place, handedOn(call))
    : uninstallHook(place);
  if (call.flag('json')) printJson({ version: 1, path, changed, installed: installing, warnings });
  else {
    const done = installing ? 'installed in' : 'removed from';
    print(changed ? `${done} ${path}\n` : `nothing to do: ${path}\n`);
    for (const warning of warnings) printError(`ctx: ${warning}\n`);
  }
  return ExitCode.ok;
}

export const run: Run = async (call, _host, hookHost, caller) => {
  if (isDecision(call)) return decideCalls(call, hookHost, caller);
  const [what, harness] = call.words;
  if ((what === 'install' || what === 'uninstall') && harness === 'claude-code') return change(call, hookHost);
  return refuseHook('expected claude-code, json, install claude-code or uninstall claude-code');
};
