/** The verbs of agents, tools and what they may do. */
import { authorityOptions, networkOptions, readonly } from '../input/command-options.js';
import { fork, json } from '../input/common-options.js';
import { sourceVerbs } from '../tools/source-verbs.js';
import { tier, toolGrantOptions } from '../tools/tool-options.js';
import type { Option, Verb } from '../verb.js';

const spec: Option = {
  name: 'spec',
  value: 'FILE',
  summary: 'a JSON file that names control files and what they hold',
};
const from: Option = { name: 'from', value: 'FILE', summary: 'take the text from a file, or from stdin: -' };
type ObjectKind = 'agent' | 'tool';

function objectVerbsOf(kind: ObjectKind, made: Pick<Verb, 'options' | 'details' | 'examples'>): readonly Verb[] {
  const article = kind === 'agent' ? 'an' : 'a';
  const example = kind === 'agent' ? 'coder' : 'fs.read';
  const load = async () => (await import('./objects.js')).objectRuns(kind);
  return [
    {
      name: `${kind} new`,
      summary: `make ${article} ${kind}: the files of ${kind}/NAME.d`,
      operands: 'NAME',
      words: { least: 1, most: 1 },
      ...made,
      load: async () => (await load()).make,
    },
    {
      name: `${kind} show`,
      summary: `its control files, and what is wrong with them`,
      operands: 'NAME',
      words: { least: 1, most: 1 },
      options: [json],
      examples: [`ctx ${kind} show ${example}`],
      load: async () => (await load()).show,
    },
    {
      name: `${kind} ls`,
      summary: `list the ${kind}s`,
      words: 'none',
      options: [json],
      examples: [`ctx ${kind} ls`],
      load: async () => (await load()).list,
    },
    {
      name: `${kind} set`,
      summary: 'replace one control file, checked first',
      operands: 'NAME FILE [TEXT]',
      words: { least: 2, most: 3 },
      options: [json, from],
      details: ['A text that is wrong is refused with its line and column, and nothing changes.'],
      examples: [
        kind === 'agent' ? "ctx agent set coder env 'LANG=C'" : "ctx tool set fs.read description 'reads a file'",
        `ctx ${kind} set ${example} policy --from ${example}.policy`,
      ],
      load: async () => (await load()).set,
    },
    {
      name: `${kind} rm`,
      summary: `remove ${article} ${kind}`,
      operands: 'NAME',
      words: { least: 1, most: 1 },
      options: [json],
      examples: [`ctx ${kind} rm ${example}`],
      load: async () => (await load()).remove,
    },
  ];
}

const grantOperands = 'NAME WHAT...';
/** In the words of `ctx why`. */
const grantWords =
  'WHAT is read|write PATH, connect HOST[:PORT], CLASS:NAME PERMISSION (a rule of its policy), or group GID.';

const supervisorVerbs: readonly Verb[] = [
  {
    name: 'agent grant',
    summary: 'give an agent one more path, host, permission or group, as its supervisor',
    operands: grantOperands,
    words: { least: 3, most: 3 },
    options: [json],
    details: [
      grantWords,
      'Its mount, network, policy or groups file gets the line. A child gets it even where its parent does not have it: what',
      'goes beyond the parent is in its `supervised` file, with who granted it, and in the record.',
    ],
    examples: ['ctx agent grant reviewer read /srv/reference', 'ctx agent grant reviewer tool:deploy execute'],
    load: async () => (await import('./agent-grants.js')).grant,
  },
  {
    name: 'agent revoke',
    summary: 'take back what an agent was granted',
    operands: grantOperands,
    words: { least: 3, most: 3 },
    options: [json],
    details: [
      grantWords,
      'Its control file loses the line, and the agent loses what that line gave it beyond its parent. A path is removed,',
      'whether it was granted to read or to write.',
    ],
    examples: ['ctx agent revoke reviewer read /srv/reference'],
    load: async () => (await import('./agent-grants.js')).revoke,
  },
];

export const whyVerb: Verb = {
  name: 'why',
  summary: 'whether something is allowed, and which line of which file decides',
  operands: 'read|write|exec PATH  or  connect HOST[:PORT]  or  CLASS:NAME PERMISSION',
  words: { least: 2, most: 2 },
  options: [json, fork, readonly, ...authorityOptions, ...networkOptions],
  details: [
    'What `ctx exec` with the same options would do, asked of the same code: the grants, the file as it is in the fork, its',
    'mode bits, and for `exec` the rules about commands. The exit code is 0 where it is allowed and 13 where it is not.',
  ],
  examples: [
    'ctx why read ~/.ssh/id_ed25519',
    'ctx why --net registry.npmjs.org connect registry.npmjs.org',
    'ctx why --agent coder tool:fs.read execute',
  ],
  load: async () => (await import('./why.js')).run,
};

const loadView = async () => import('../mounts/view-mount.js');

const viewVerbs: readonly Verb[] = [
  {
    name: 'view mount',
    summary: 'show agents and tools as a tree at an empty directory of this machine, read-only',
    operands: 'DIR',
    words: { least: 1, most: 1 },
    options: [
      json,
      { name: 'agent', value: 'NAME', summary: 'only what this agent sees' },
      { name: 'foreground', summary: 'serve it in this process, until it is unmounted or ended' },
    ],
    details: [
      'The same tree that an agent has at /ctx: model, agent, tool, home and shared. It follows every change of policies and',
      'objects at once, and is yours alone. Objects can be run in a jail only.',
    ],
    examples: ['ctx view mount ~/ctx', 'ctx view mount ~/coder --agent coder'],
    load: async () => (await loadView()).mountViewAt,
  },
  {
    name: 'view unmount',
    summary: 'unmount a tree that ctx view mount made',
    operands: 'DIR',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx view unmount ~/ctx'],
    load: async () => (await import('../mounts/unmount.js')).unmountAt,
  },
];

export const objectVerbs: readonly Verb[] = [
  ...objectVerbsOf('agent', {
    options: [
      json,
      spec,
      { name: 'parent', value: 'AGENT', summary: 'its parent agent: the child never has more than its parent' },
      tier,
    ],
    details: [
      'Without a spec it has no permission, no mount and no network: only the workspace it is run in. A child is within its',
      'parent, now and whenever it runs; a refusal names everything it asks for beyond that. See docs/objects.md.',
    ],
    examples: ['ctx agent new coder', 'ctx agent new reviewer --parent coder --spec reviewer.json'],
  }),
  ...supervisorVerbs,
  ...objectVerbsOf('tool', {
    options: [
      json,
      {
        name: 'exec',
        value: 'FILE',
        summary: 'the program that a call runs; it is copied, and reads the input from stdin',
      },
      { name: 'description', value: 'TEXT', summary: 'what it is for' },
      { name: 'schema', value: 'FILE', summary: 'JSON Schema of the input, or {"input": ..., "output": ...}' },
      ...toolGrantOptions,
      spec,
      tier,
    ],
    details: [
      'A call runs the program in a jail of its own, with the hosts, secrets and files that are named here and nothing of its',
      'caller’s. Without a policy of its own the agents’ policies decide who may call it; with one, both have to allow.',
    ],
    examples: [
      'ctx tool new weather --exec weather.py --net api.weather.example --schema weather.json',
      "ctx tool new issues --exec issues.sh --net x.example --secret 'x.example Authorization: Bearer $TOKEN'",
      'ctx tool new fs.read --spec fs.read.json',
    ],
  }),
  {
    name: 'tool call',
    summary: 'call a tool in a jail here, as an agent would or as yourself',
    operands: 'NAME [JSON]',
    words: { least: 1, most: 2 },
    options: [json, { name: 'agent', value: 'NAME', summary: 'the agent that calls it; without it, you do' }, fork],
    details: [
      'Without JSON the input comes from stdin. Output and exit code are the tool’s: 2 bad input, 13 not allowed.',
      'Your own call asks no policy of an agent; where the tool has a policy of its own, it has to allow operator_t.',
    ],
    examples: [
      `ctx tool call fs.read '{"path": "README.md"}'`,
      `ctx tool call fs.read --agent coder '{"path": "README.md"}'`,
    ],
    load: async () => (await import('../tools/tool-call.js')).callTool,
  },
  {
    name: 'tool test',
    summary: 'call a tool with each example of its schema, and report which ones pass',
    operands: 'NAME',
    words: { least: 1, most: 1 },
    options: [json, { name: 'agent', value: 'NAME', summary: 'the agent that calls it; without it, you do' }, fork],
    details: ['Examples are the list "examples" of the input in its schema. Exits with 1 where one of them fails.'],
    examples: ['ctx tool test weather'],
    load: async () => (await import('../tools/tool-test.js')).testTool,
  },
  ...sourceVerbs,
  ...viewVerbs,
  {
    name: 'policy check',
    summary: 'check a policy file; errors have line and column',
    operands: 'FILE|-',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx policy check coder.policy'],
    load: async () => (await import('./check.js')).checkPolicy,
  },
  {
    name: 'mount check',
    summary: 'check a mount file; errors have line and column',
    operands: 'FILE|-',
    words: { least: 1, most: 1 },
    options: [json],
    examples: ['ctx mount check coder.mount'],
    load: async () => (await import('./check.js')).checkMounts,
  },
  whyVerb,
  {
    name: 'surface',
    summary: 'which paths a command here may read and write',
    words: 'none',
    options: [json, ...authorityOptions],
    examples: ['ctx surface', 'ctx surface --agent coder --json'],
    load: async () => (await import('./surface.js')).showSurface,
  },
  {
    name: 'preamble',
    summary: 'the same as text for a system prompt',
    words: 'none',
    options: [json, ...authorityOptions],
    examples: ['ctx preamble --agent coder'],
    load: async () => (await import('./surface.js')).showPreamble,
  },
];
