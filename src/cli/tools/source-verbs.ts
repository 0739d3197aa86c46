/** The verbs of tool sources. */
import { json } from '../input/common-options.js';
import type { Verb } from '../verb.js';
import { tier, toolGrantOptions } from './tool-options.js';

const runs = async () => import('./tool-source.js');
const one = { operands: 'NAME', words: { least: 1, most: 1 } } as const;

export const sourceVerbs: readonly Verb[] = [
  {
    name: 'tool source add',
    summary: 'add the tools of an MCP server, each as a tool mcp.NAME.TOOL',
    ...one,
    options: [
      json,
      {
        name: 'mcp',
        value: 'FILE',
        summary: 'the file that names it: of Claude Code, VS Code or Codex',
      },
      {
        name: 'server',
        value: 'NAME',
        summary: 'the server of the file; else the one called NAME, or the only one',
      },
      ...toolGrantOptions,
      {
        name: 'pass-env',
        value: 'NAME',
        repeated: true,
        summary: 'give the server this variable of the file although it looks like a secret',
      },
      tier,
    ],
    details: [
      'The server runs in a jail of its own, with the hosts, secrets and files that are named here and nothing else. It is',
      'started once now, to list its tools; one that does not start is not added. No agent may call them until its policy',
      'says so: allow TYPE tool:mcp.NAME.TOOL execute. A secret of the file is stored by ctx secret set, and named by --secret.',
    ],
    examples: [
      'ctx tool source add memory --mcp .mcp.json',
      'ctx tool source add files --mcp .mcp.json --fork ro',
      "ctx tool source add github --mcp .mcp.json --net api.github.com --secret 'api.github.com Authorization: Bearer $TOKEN'",
    ],
    load: async () => (await runs()).addSource,
  },
  {
    name: 'tool source list',
    summary: 'list the sources of tools',
    words: 'none',
    options: [json],
    examples: ['ctx tool source list'],
    load: async () => (await runs()).listSources,
  },
  {
    name: 'tool source show',
    summary: 'what a source runs, what it is granted, and its tools',
    ...one,
    options: [json],
    examples: ['ctx tool source show memory'],
    load: async () => (await runs()).showSource,
  },
  {
    name: 'tool source refresh',
    summary: 'ask its server again which tools it has',
    ...one,
    options: [json],
    examples: ['ctx tool source refresh memory'],
    load: async () => (await runs()).refreshSource,
  },
  {
    name: 'tool source rm',
    summary: 'remove a source, its tools and what its server kept',
    ...one,
    options: [json],
    examples: ['ctx tool source rm memory'],
    load: async () => (await runs()).removeSource,
  },
];
