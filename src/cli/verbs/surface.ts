/** `ctx surface` and `ctx preamble`: what a command here is shown, for people and for a system prompt. */
import { visible } from '../../base/visible-text.js';
import { authorityJson, printLabel } from '../../sdk/workspace/permissions.js';
import { optionsOf } from '../input/asked-options.js';
import { workspaceHere } from '../input/workspace-here.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

export const showSurface: Run = async (call, host) => {
  const workspace = await workspaceHere(host, optionsOf(call));
  const { authority, digest, agent, live, skipped, warnings } = await workspace.surface();
  if (call.flag('json')) {
    const name = agent?.name ?? null;
    printJson({ version: 1, agent: name, digest, authority: authorityJson(authority), live, skipped, warnings });
    return 0;
  }
  const paint = painter(process.stdout);
  const { view, identity } = authority;
  const lines = [
    paint('bold', `${agent?.name ?? 'no agent'}  ${printLabel(identity.label)}`),
    ...view.allowedReads().map(({ target, source, access, origin }) => {
      const mode = access === 'write' ? paint('yellow', 'rw') : paint('green', 'ro');
      const elsewhere = source === target ? '' : ` from ${visible(source)}`;
      return `  ${mode}  ${visible(target)}${elsewhere}  ${paint('dim', origin)}`;
    }),
    ...view.hidden.map((path) => `  ${paint('red', '--')}  ${visible(path)}  ${paint('dim', 'hidden')}`),
    ...warnings.map((warning) => paint('yellow', `  ${visible(warning)}`)),
    paint('dim', `  ${digest}`),
  ];
  print(`${lines.join('\n')}\n`);
  return 0;
};

export const showPreamble: Run = async (call, host) => {
  const workspace = await workspaceHere(host, optionsOf(call));
  const { text, digest, warnings } = await workspace.preamble();
  if (call.flag('json')) printJson({ version: 1, digest, preamble: text, warnings });
  else print(text);
  return 0;
};
