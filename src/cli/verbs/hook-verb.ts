/** `ctx hook` in the table of verbs: apart from the others, since the hook's own bundle has no other. */
import { json } from '../input/common-options.js';
import type { Verb } from '../verb.js';

export const hookVerb: Verb = {
  name: 'hook',
  summary: "check a harness's tool calls before they happen",
  operands: 'claude-code|json|install claude-code|uninstall claude-code',
  words: { least: 1, most: 2 },
  options: [
    json,
    {
      name: 'bash',
      value: 'WHAT',
      choices: ['rewrite', 'deny'],
      summary: 'shell commands: run them in the jail instead (default), or deny',
    },
    { name: 'approve', summary: 'answer allow for what is granted, so that the harness does not ask' },
    { name: 'agent', value: 'NAME', summary: 'limit the harness to what this agent may do' },
    { name: 'read', value: 'PATH', repeated: true, summary: 'a further path that may be read' },
    { name: 'write', value: 'PATH', repeated: true, summary: 'a further path that may be written' },
    {
      name: 'net',
      value: 'any|HOST[:PORT]',
      repeated: true,
      summary: 'what it may fetch, and its commands connect to',
    },
    { name: 'tool', value: 'NAME', repeated: true, summary: 'a further tool, for example mcp.github.get_issue' },
    { name: 'project', summary: 'install into .claude/settings.json here (default)' },
    { name: 'user', summary: 'install into ~/.claude/settings.json' },
  ],
  details: [
    'Reads one call on stdin and answers on stdout: granted, denied with the reason, or rewritten. What cannot be decided is',
    'denied. The harness runs outside of the jail and works on your own files: see docs/hook.md for what this does not cover.',
  ],
  examples: ['ctx hook install claude-code', 'ctx hook uninstall claude-code', 'ctx hook json < call.json'],
  load: async () => (await import('./hook.js')).run,
};
