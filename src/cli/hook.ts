/** `ctx hook`: the harness's hook itself, and its entry in the harness's settings. */
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { protocolNames, protocolOf, runHook } from '../hook/hook.js';
import type { HookHost } from '../hook/hook-host.js';
import type { SettingsPlace } from '../hook/settings-file.js';
import type { Arguments, Run } from './verb.js';

function refuse(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'ctx hook', reason, remedy: 'ctx hook --help shows the usage' });
}

/** Where the harness was started, and not where it has gone since: a task does not move by going elsewhere. */
function startOf(protocol: string): string {
  const named = process.env['CLAUDE_PROJECT_DIR'];
  return protocol === 'claude-code' && named !== undefined && isAbsolute(named) ? named : process.cwd();
}

function decide(call: Arguments, name: (typeof protocolNames)[number], host: () => Promise<HookHost>): Promise<number> {
  return runHook({
    protocol: protocolOf(name, call.flag('approve')),
    commands: call.value('bash') === 'deny' ? 'deny' : 'rewrite',
    granted: {
      directory: startOf(name),
      reads: call.values('read'),
      writes: call.values('write'),
      tools: call.values('tool'),
    },
    host,
  });
}

function settingsPlace(call: Arguments): SettingsPlace {
  if (call.flag('user') && call.flag('project')) refuse('expected --project or --user, not both');
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
  const paths = ['read', 'write'].flatMap((name) => call.values(name).flatMap((path) => [`--${name}`, resolve(path)]));
  return [
    ...(bash === undefined ? [] : ['--bash', bash]),
    ...(call.flag('approve') ? ['--approve'] : []),
    ...call.values('tool').flatMap((tool) => ['--tool', tool]),
    ...paths,
  ];
}

const twoHooks =
  'other hooks run before tool calls, too: some versions of Claude Code then run the command as it was written. ' +
  'Ask it to run `echo $CTX_JAIL`: 1 is the jail. If not, install with --bash deny';

async function install(call: Arguments, host: () => Promise<HookHost>): Promise<number> {
  const [{ changeSettings }, settings, { printJson }] = await Promise.all([
    import('../hook/settings-file.js'),
    import('../hook/settings-text.js'),
    import('./output.js'),
  ]);
  const installing = call.words[0] === 'install';
  const command = installing ? settings.hookCommand((await host()).program, handedOn(call)) : '';
  const { path, changed, text } = changeSettings(settingsPlace(call), (before, file) => {
    if (installing) return settings.installed(before, command, file);
    return before === undefined ? undefined : settings.uninstalled(before, file);
  });
  const warnings =
    installing && call.value('bash') !== 'deny' && text !== undefined && settings.hasOtherHooks(text, path)
      ? [twoHooks]
      : [];
  if (call.flag('json')) printJson({ path, changed, installed: installing, warnings });
  else {
    const done = installing ? 'installed in' : 'removed from';
    process.stdout.write(changed ? `${done} ${path}\n` : `nothing to do: ${path}\n`);
    for (const warning of warnings) process.stderr.write(`ctx: ${warning}\n`);
  }
  return ExitCode.ok;
}

export const run: Run = async (call, _host, hookHost) => {
  const [what, harness, ...rest] = call.words;
  const protocol = protocolNames.find((name) => name === what);
  if (protocol !== undefined && harness === undefined) return decide(call, protocol, hookHost);
  if ((what === 'install' || what === 'uninstall') && harness === 'claude-code' && rest.length === 0) {
    return install(call, hookHost);
  }
  return refuse('expected claude-code, json, install claude-code or uninstall claude-code');
};
