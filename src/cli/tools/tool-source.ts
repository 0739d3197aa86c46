/** `ctx tool source`: the tools of MCP servers. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { harmlessLine, visible } from '../../base/visible-text.js';
import { type ShownSource, Sources } from '../../sdk/operator/sources.js';
import { askedToolGrants } from '../input/asked-tool-grants.js';
import { capLines } from '../input/tool-spec.js';
import { counted } from '../text/change-text.js';
import { painter, print, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';

/** What a person is shown of a long list. */
const shownTools = 40;

function counts({ tools, leftOut }: ShownSource): string {
  const left = leftOut.length === 0 ? '' : `, ${leftOut.length} left out`;
  return `${counted(tools.length, 'tool')}${left}`;
}

function said(call: Arguments, shown: ShownSource & { readonly warnings?: readonly string[] }, verb: string): number {
  const { warnings = [], ...source } = shown;
  if (call.flag('json')) {
    printJson({ version: 1, ...source, warnings });
    return ExitCode.ok;
  }
  const paint = painter(process.stdout);
  print(`${paint('green', `${verb} source ${source.name}: ${counts(source)}`)}\n`);
  for (const text of warnings) print(`${paint('yellow', `  ${visible(text)}`)}\n`);
  for (const { name, reason } of source.leftOut.slice(0, shownTools)) print(`  left out ${name}: ${visible(reason)}\n`);
  const [first] = source.tools;
  if (verb === 'added' && first !== undefined) {
    print(`  to let an agent call one: ctx agent grant AGENT tool:${first.name} execute\n`);
  }
  return ExitCode.ok;
}

export const addSource: Run = async (call, hostOf) => {
  const [name = ''] = call.words;
  const file = call.value('mcp');
  if (file === undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx tool source add',
      reason: 'expected --mcp FILE',
      remedy: 'name the file that has the server, such as .mcp.json',
    });
  }
  const shown = await new Sources(await hostOf()).add(name, {
    file,
    server: call.value('server'),
    cap: capLines(askedToolGrants(call)),
    passed: call.values('pass-env'),
    tier: call.value('tier') as 'system' | 'user' | undefined,
  });
  return said(call, shown, 'added');
};

export const refreshSource: Run = async (call, hostOf) =>
  said(call, await new Sources(await hostOf()).refresh(call.words[0] ?? ''), 'refreshed');

export const listSources: Run = async (call, hostOf) => {
  const sources = new Sources(await hostOf()).list();
  if (call.flag('json')) {
    printJson({ version: 1, sources });
    return ExitCode.ok;
  }
  const width = Math.max(0, ...sources.map(({ name }) => name.length));
  for (const { name, tier, kind, runs, tools, problem } of sources) {
    const about = problem === null ? `${counted(tools, 'tool').padEnd(10)}  ${visible(runs)}` : visible(problem);
    print(`${name.padEnd(width)}  ${tier.padEnd(6)}  ${kind.padEnd(5)}  ${about}\n`);
  }
  return ExitCode.ok;
};

export const showSource: Run = async (call, hostOf) => {
  const source = new Sources(await hostOf()).show(call.words[0] ?? '');
  if (call.flag('json')) {
    printJson({ version: 1, ...source });
    return ExitCode.ok;
  }
  const paint = painter(process.stdout);
  const row = (name: string, text: string) => print(`  ${paint('dim', name.padEnd(8))}${harmlessLine(text)}\n`);
  print(`${paint('bold', source.name)}  ${counts(source)}\n`);
  row('tier', source.tier);
  row(source.kind === 'http' ? 'url' : 'command', source.runs);
  row('from', source.from);
  row('server', source.server);
  for (const line of source.cap === '' ? ['nothing'] : source.cap.trimEnd().split('\n')) row('granted', line);
  const width = Math.max(0, ...source.tools.slice(0, shownTools).map(({ name }) => name.length));
  for (const { name, about } of source.tools.slice(0, shownTools)) {
    print(
      `  ${name.padEnd(width)}  ${harmlessLine(about.length > 100 ? `${about.slice(0, 100)}...` : about)}`.trimEnd(),
    );
    print('\n');
  }
  const more = source.tools.length - shownTools;
  if (more > 0) print(`  and ${more} more: ctx tool source show ${source.name} --json\n`);
  for (const { name, reason } of source.leftOut.slice(0, shownTools))
    print(`  left out ${name}: ${harmlessLine(reason)}\n`);
  return ExitCode.ok;
};

export const removeSource: Run = async (call, hostOf) => {
  const [name = ''] = call.words;
  await new Sources(await hostOf()).remove(name);
  if (call.flag('json')) printJson({ version: 1, name });
  else print(`${painter(process.stdout)('green', `removed source ${name}`)}\n`);
  return ExitCode.ok;
};
