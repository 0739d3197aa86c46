/**
 * The JSON Schema of what `--json` answers with: a command's report on a fork, on the directory itself, or a refusal. Written to
 * docs/envelope.schema.json by scripts/envelope-schema.mjs. Each table has exactly the members of its type, or this does not compile.
 */
import { quotaFields } from '../../authority/quota.js';
import { limitWarningPercent } from '../../base/limits/commands.js';
import { commandClasses } from '../../shell/classes.js';
import { vaultLimitNames } from '../../vault/store/vault-limits.js';
import { actions } from '../approval/action.js';
import type { CapturedStream, Envelope, LiveEnvelope, MountReport, Requested } from './envelope.js';

type Schema = Readonly<Record<string, unknown>>;
type Members<Of> = Readonly<Record<keyof Of, Schema>>;

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const whole: Schema = { type: 'integer', minimum: 0 };
const amount: Schema = { type: 'number', minimum: 0 };
const time: Schema = { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$' };
const always = (value: unknown): Schema => ({ const: value });
const oneOf = (values: readonly unknown[]): Schema => ({ enum: values });
const list = (items: Schema): Schema => ({ type: 'array', items });
const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });

function object(members: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(members).filter((name) => !optional.includes(name));
  return { type: 'object', properties: members, required };
}

const streamMembers = {
  text,
  base64: text,
  bytes: whole,
  dropped: whole,
  file: object({ path: text, bytes: whole }),
} satisfies Members<CapturedStream>;
const stream = orNull(object(streamMembers, ['base64', 'file']));

const decision = object({ action: oneOf(actions), categories: list(oneOf(commandClasses)), reason: text, rule: text });

const changeMembers = {
  kind: oneOf(['added', 'modified', 'deleted', 'restored']),
  type: text,
  mode: whole,
  size: whole,
  content: flag,
  stamp: text,
  path: text,
  unlisted: whole,
  renamedFrom: text,
} satisfies Members<Envelope['changes'][number]>;

const connectionMembers = {
  host: text,
  port: whole,
  address: orNull(text),
  protocol: oneOf(['connect', 'http', 'https', 'socks5', 'unknown']),
  verdict: oneOf(['allowed', 'refused', 'failed']),
  reason: orNull(text),
  bytesIn: whole,
  bytesOut: whole,
  milliseconds: amount,
  count: whole,
} satisfies Members<Envelope['connections'][number]>;

const limitMembers = {
  at: time,
  limit: oneOf([...quotaFields.filter((field) => field !== 'cpu'), ...vaultLimitNames]),
  percent: oneOf([limitWarningPercent, 100]),
  used: amount,
  most: amount,
} satisfies Members<Envelope['limitEvents'][number]>;

const refusalMembers = {
  call: text,
  count: whole,
  firstAt: time,
  lastAt: time,
  why: text,
} satisfies Members<Envelope['refusals'][number]>;

const copiedMembers = {
  directories: whole,
  files: whole,
  bytes: whole,
  milliseconds: amount,
} satisfies Members<Envelope['resources']['copiedForRename']>;

const resourceMembers = {
  userMicroseconds: whole,
  systemMicroseconds: whole,
  peakMemoryKilobytes: whole,
  copiedForRename: object(copiedMembers),
} satisfies Members<Envelope['resources']>;

const requestMembers = {
  argv: { ...list(text), minItems: 1 },
  shell: orNull(text),
  cwd: text,
  agent: orNull(text),
  fork: orNull(text),
  readonly: flag,
  live: flag,
  timeoutMilliseconds: orNull(amount),
  reads: list(text),
  writes: list(text),
  liveWrites: list(text),
  siblings: flag,
  network: list(text),
  privateHosts: list(text),
  injected: list(text),
  environment: list(text),
  project: orNull(text),
  quota: object(Object.fromEntries(quotaFields.map((field) => [field, amount])), quotaFields),
  user: orNull(object({ uid: amount, gid: amount })),
} satisfies Members<Requested>;

const mountMembers = {
  specification: text,
  target: text,
  changes: orNull(list(object({ kind: oneOf(['added', 'modified', 'deleted']), path: text }))),
  more: whole,
  undoable: flag,
} satisfies Members<MountReport>;

const live = {
  version: always(1),
  run: text,
  request: object(requestMembers),
  argv: { ...list(text), minItems: 1 },
  directory: text,
  workspace: object({ origin: text, vault: always(null), fork: always(null) }),
  agent: orNull(text),
  authority: text,
  decision,
  approval: orNull(text),
  live: list(text),
  exitCode: orNull({ type: 'integer', minimum: 0, maximum: 255 }),
  signal: orNull({ type: 'string', pattern: '^SIG' }),
  timedOut: flag,
  limitError: object({ code: oneOf(['EDQUOT']), reason: text }),
  outputError: object({ stream: oneOf(['stdout', 'stderr']), code: text }),
  stdout: stream,
  stderr: stream,
  startedAt: time,
  durationMilliseconds: amount,
  resources: object(resourceMembers),
  refusals: list(object(refusalMembers)),
  connections: list(object(connectionMembers)),
  limitEvents: list(object(limitMembers)),
  limitsReached: list(text),
  weakened: list(text),
  mounts: list(object(mountMembers)),
  record: orNull(object({ chain: text, seq: whole })),
  warnings: list(text),
} satisfies Members<LiveEnvelope>;

const onFork = {
  ...live,
  workspace: object({ origin: text, vault: text, fork: text }),
  keptJail: orNull(text),
  checkpoint: orNull(whole),
  roots: list(text),
  changes: list(object(changeMembers, ['unlisted', 'renamedFrom'])),
  beside: list(text),
  besideCount: whole,
  pending: whole,
  entered: list(text),
  clashes: list(text),
} satisfies Members<Envelope>;

const errorMembers = { code: text, operation: text, path: text, reason: text, remedy: text, exitCode: whole };
const refused = object({ version: always(1), decision, error: object(errorMembers, ['path', 'remedy']) }, ['decision']);

const title = 'What ctx answers with for a command, version 1';

export function envelopeSchema(): Schema {
  const optional = ['limitError', 'outputError', 'mounts'];
  const schemas = { fork: object(onFork, optional), live: object(live, optional), refused };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title,
    oneOf: Object.keys(schemas).map((name) => ({ $ref: `#/$defs/${name}` })),
    $defs: schemas,
  };
}
