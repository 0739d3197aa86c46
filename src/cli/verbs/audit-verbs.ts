/** The verbs of the record. */
import { statuses } from '../../sdk/words.js';
import { json } from '../input/common-options.js';
import type { Option, Verb } from '../verb.js';

const reader: Option = {
  name: 'as',
  value: 'AGENT',
  summary: 'only what this agent may read: its own, and what its policy grants',
};
const place: Option = { name: 'record', value: 'DIRECTORY', summary: 'an exported record, instead of this host’s' };
const all: Option = { name: 'all', summary: 'also the record’s own entries: segments, keys, seals' };

const filters: readonly Option[] = [
  { name: 'agent', value: 'NAME', summary: 'of this agent' },
  { name: 'session', value: 'NAME', summary: 'of this session of a harness' },
  { name: 'type', value: 'TYPE', summary: 'of this type: exec, apply, drop, hook, connect, call, audit' },
  { name: 'status', value: 'STATUS', choices: statuses, summary: 'with this status' },
  { name: 'path', value: 'PATH', summary: 'that name this path, or something below it' },
  { name: 'since', value: 'WHEN', summary: 'from this time on: 2026-01-31, 2026-01-31T12:00, or 2h ago as 2h' },
  { name: 'until', value: 'WHEN', summary: 'before this time' },
];

const load = async () => import('./audit.js');

export const auditVerbs: readonly Verb[] = [
  {
    name: 'audit tail',
    summary: 'the newest records',
    words: 'none',
    options: [
      json,
      { name: 'count', value: 'NUMBER', summary: 'how many (default 20)' },
      { name: 'follow', summary: 'keep printing new records as they are written' },
      all,
      reader,
      place,
    ],
    examples: ['ctx audit tail', 'ctx audit tail --count 100 --follow'],
    load: async () => (await load()).tail,
  },
  {
    name: 'audit query',
    summary: 'find records',
    words: 'none',
    options: [
      json,
      ...filters,
      { name: 'coconut', summary: 'as events of Coconut OS: what it has a name for' },
      all,
      reader,
      place,
    ],
    details: ['With --json, one record a line. It reads and does not verify: ctx audit verify does.'],
    examples: ['ctx audit query --agent coder --status denied', 'ctx audit query --path src/main.ts --since 2h'],
    load: async () => (await load()).query,
  },
  {
    name: 'audit show',
    summary: 'one record in full',
    operands: 'CHAIN:NUMBER',
    words: { least: 1, most: 1 },
    options: [json, reader, place],
    details: ['A chain is host, person or agent/NAME, as ctx audit query shows it.'],
    examples: ['ctx audit show person:12', 'ctx audit show agent/coder:3'],
    load: async () => (await load()).show,
  },
  {
    name: 'audit verify',
    summary: 'replay every chain; say what that proves, and what it cannot',
    words: 'none',
    options: [json, { name: 'key', value: 'KEY', summary: 'the public key that the record has to begin with' }, place],
    details: [
      'Reads only, and never repairs. The exit code is 1 if anything is wrong; the first bad record is named first.',
      'Anchors are compared too: the software root, and those of audit.json. See docs/audit-format.md.',
    ],
    examples: ['ctx audit verify', 'ctx audit verify --record ./export --key $(cat root.pub)'],
    load: async () => (await import('./audit-verify.js')).run,
  },
  {
    name: 'audit seal',
    summary: 'sign the heads of all chains, and anchor their root',
    words: 'none',
    options: [json],
    details: ['It happens by itself where a segment is full or a day old. The key is made when it is first needed.'],
    examples: ['ctx audit seal'],
    load: async () => (await import('./audit-seal.js')).seal,
  },
  {
    name: 'audit export',
    summary: 'all chains and public keys, for somebody else to verify',
    operands: 'DIRECTORY',
    words: { least: 1, most: 1 },
    options: [json],
    details: ['Seals first. The directory must not exist yet. It holds no secret key.'],
    examples: ['ctx audit export ./record-of-june'],
    load: async () => (await import('./audit-seal.js')).exportRecord,
  },
  {
    name: 'audit keys',
    summary: 'the keys that heads are signed with',
    operands: '[rotate | revoke ID]',
    words: { least: 0, most: 2 },
    options: [json, { name: 'pem', summary: 'public keys in the form that openssl reads' }],
    details: ['A key is rotated or revoked in the host chain, signed; what it signed before stays good.'],
    examples: ['ctx audit keys', 'ctx audit keys rotate', 'ctx audit keys revoke 36156b23d866eeca'],
    load: async () => (await import('./audit-seal.js')).keys,
  },
  {
    name: 'blame',
    summary: 'which command, of which agent, changed a file last',
    operands: 'FILE',
    words: { least: 1, most: 1, bytes: true },
    options: [json],
    details: ['From the record: it knows what commands in a jail did, not what you did yourself.'],
    examples: ['ctx blame src/main.ts'],
    load: async () => (await import('./blame.js')).run,
  },
];
