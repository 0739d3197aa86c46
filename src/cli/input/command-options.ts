/** The options of every verb that runs a command. Apart from the verbs, so that `ctx exec` reads no verb but its own. */
import type { Option } from '../verb.js';

/** Whose authority, and what it is given beyond its own for one call. */
export const authorityOptions: readonly Option[] = [
  { name: 'agent', value: 'NAME', summary: 'run it for this agent; without one, it gets this directory and no more' },
  { name: 'read', value: 'PATH', repeated: true, summary: 'a further path it may read' },
  {
    name: 'write',
    value: 'PATH',
    repeated: true,
    summary: 'a further path it may write; a directory becomes part of the fork',
  },
  { name: 'write-live', value: 'PATH', repeated: true, summary: 'as --write, but directly: it cannot be undone' },
  { name: 'no-project', summary: "without the project's defaults, .ctx/project.toml" },
  { name: 'siblings', summary: 'show the repositories that .ctx/workspace.json lists, read-only' },
];

/** What it may connect to. */
export const networkOptions: readonly Option[] = [
  {
    name: 'net',
    value: 'any|HOST[:PORT]',
    repeated: true,
    summary: 'what it may connect to, through a proxy; else nothing',
  },
  {
    name: 'net-private',
    value: 'HOST:PORT',
    repeated: true,
    summary: 'as --net, for a host at an address that is not public',
  },
];

export const readonly: Option = { name: 'readonly', summary: 'show it the workspace read-only' };

export const shellText: Option = {
  name: 'shell',
  value: 'TEXT',
  summary: 'a text for the shell, instead of a command and its arguments',
};

export const approvalWait: Option = {
  name: 'approval-wait',
  value: 'DURATION',
  summary: 'how long to wait where an approval is needed, before it is denied: 5m',
};

/** What `exec` is given beside a command and what it may use. */
export const formOptions: readonly Option[] = [
  shellText,
  {
    name: 'cwd',
    value: 'DIRECTORY',
    summary: 'the directory to start in, which also chooses the workspace; else the current one',
  },
  readonly,
  { name: 'allow-host', value: 'HOST[:PORT]', repeated: true, summary: 'the same as --net' },
];

export const runOptions: readonly Option[] = [
  { name: 'timeout', value: 'DURATION', summary: 'end the command after 500ms, 30s, 5m or 1h' },
  {
    name: 'report',
    value: 'WHEN',
    choices: ['auto', 'always', 'never'],
    summary: 'what changed, on stderr; auto (or CTX_REPORT): on a terminal only',
  },
  ...authorityOptions,
  {
    name: 'env',
    value: 'NAME[=VALUE]',
    repeated: true,
    bytes: true,
    summary: 'a variable for the command; nothing is inherited',
  },
  {
    name: 'user',
    value: 'UID[:GID]',
    summary: 'the uid it has inside, for programs that refuse root; outside, files keep their owner',
  },
  ...networkOptions,
  {
    name: 'secret',
    value: "'HOST HEADER: $NAME'",
    repeated: true,
    summary: 'a header that the proxy adds for a host, from a variable or ctx secret',
  },
  {
    name: 'mount',
    value: 'SPEC=TARGET[:rw]',
    repeated: true,
    summary: 'show it a tree of the VFS, read-only without :rw; :grants=FILE guards it (docs/vfs.md)',
  },
  {
    name: 'cache',
    value: 'WHERE',
    choices: ['fork', 'share'],
    summary: "keep what it writes to tools' caches in its fork (default), or share it with all forks",
  },
  { name: 'memory', value: 'SIZE', summary: 'the most memory it and its children may use: 512M, 4G' },
  { name: 'processes', value: 'COUNT', summary: 'the most processes and threads at one time' },
  { name: 'disk', value: 'SIZE', summary: 'the most that the fork and its private home may hold: 512M, 4G' },
  { name: 'files', value: 'COUNT', summary: 'the most files, directories and links in the fork and its private home' },
  { name: 'cpus', value: 'COUNT', summary: 'the most processors, 0.5 is half of one' },
  {
    name: 'weaken',
    value: 'LAYER',
    choices: ['landlock', 'seccomp'],
    repeated: true,
    summary: 'run without a layer of the jail that this host lacks; the record says so',
  },
  {
    name: 'nested-namespaces',
    summary: 'let it make namespaces, as browsers do; it reaches more of the kernel',
  },
];
