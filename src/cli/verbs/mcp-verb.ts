/** The verb for clients of the Model Context Protocol. */
import { fork, json, wait } from '../input/common-options.js';
import { keptJailGrants, perCommand } from '../input/kept-jail-grants.js';
import type { Verb } from '../verb.js';

const ofServer = ['cwd', 'env', 'timeout', 'approval-wait'];
const options = [...keptJailGrants, ...perCommand.filter(({ name }) => ofServer.includes(name))];

export const mcpVerb: Verb = {
  name: 'mcp',
  summary: 'serve this directory to an agent, as tools of the Model Context Protocol',
  words: 'none',
  options: [json, ...options, fork, wait],
  details: [
    'Speaks MCP on stdin and stdout until stdin ends. What its tools may do is what these options grant, and no call',
    'widens it: the tool `apply` waits until a person runs `ctx approvals grant`. docs/mcp.md has settings for clients.',
  ],
  examples: ['ctx mcp', 'ctx mcp --net registry.npmjs.org --timeout 10m', 'claude mcp add ctx -- ctx mcp'],
  load: async () => (await import('./mcp.js')).run,
};
