/** Options of `ctx tool new` and `ctx tool source add`. */
import type { Option } from '../verb.js';

export const tier: Option = {
  name: 'tier',
  value: 'TIER',
  choices: ['system', 'user'],
  summary: 'for everyone who uses this root (default), or only for you',
};

/** Lines of its `cap`. */
export const toolGrantOptions: readonly Option[] = [
  { name: 'net', value: 'HOST[:PORT]', repeated: true, summary: 'a host it may connect to' },
  {
    name: 'net-private',
    value: 'HOST:PORT',
    repeated: true,
    summary: 'as --net, for a host on this machine or in your own network',
  },
  {
    name: 'secret',
    value: 'TEXT',
    repeated: true,
    summary: "a stored secret for a host: 'HOST HEADER: [SCHEME] $NAME'",
  },
  { name: 'read', value: 'PATH', repeated: true, summary: 'a path of this machine that it sees, read-only' },
  { name: 'write', value: 'PATH', repeated: true, summary: 'a path of this machine that it writes directly' },
  {
    name: 'fork',
    value: 'ACCESS',
    choices: ['ro', 'rw'],
    summary: "how it sees its caller's fork; without this option, not at all",
  },
];
