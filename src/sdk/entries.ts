/** Every call of the SDK and what it takes: the closed list that `checked-face` goes by. */
import {
  abortSignal,
  bytes,
  callback,
  closed,
  either,
  flag,
  integer,
  list,
  milliseconds,
  oneOf,
  optional,
  refuseShape,
  type Shape,
  text,
  word,
} from '../base/shape.js';
import { tiers } from '../objects/layout.js';
import { commandClasses } from '../shell/classes.js';
import { atOnce, type Entries, giving, later, methodsOf } from './checked-face.js';
import type { Agents } from './operator/agents.js';
import type { Approvals, GrantOptions, Reply } from './operator/approvals.js';
import type { HarnessOptions, Profiles } from './operator/harness.js';
import type { LocatedObject, NewObject, Objects } from './operator/objects.js';
import type { Operator } from './operator/operator.js';
import type { AuditRecord, FindOptions, RecordOptions } from './operator/record.js';
import { actions, type NewRule, type Rules } from './operator/rules.js';
import type { SecretSource, Secrets } from './operator/secrets.js';
import type { NewSource, Sources } from './operator/sources.js';
import type { Trust } from './operator/trust.js';
import type { LimitChanges, NewVault, Vaults } from './operator/vaults.js';
import {
  anObject,
  applyOptions,
  askedApplyOptions,
  calledToolOptions,
  changeOptions,
  command,
  commandWords,
  diffOptions,
  edit,
  fileOptions,
  jailOptions,
  listOptions,
  runOptions,
  searchOptions,
  toolInput,
  words,
  workspaceOptions,
} from './shapes.js';
import { statuses } from './words.js';
import type { UndoOptions } from './workspace/fork.js';
import type { KeptJails } from './workspace/kept-jails.js';
import type { Workspace } from './workspace/workspace.js';
import type { WorkspaceJail } from './workspace/workspace-jail.js';

const name = optional(word);
const files = {
  read: later(word, optional(fileOptions)),
  write: later(word, bytes, optional(fileOptions)),
  edit: later(word, edit, optional(fileOptions)),
  list: later(name, optional(listOptions)),
  search: later(word, optional(searchOptions)),
};

const jail: Entries = {
  name: 'jail',
  methods: methodsOf<WorkspaceJail>()({ ...files, exec: later(command, optional(runOptions)), end: later() }),
};

export const workspaceEntries: Entries = {
  name: 'workspace',
  methods: methodsOf<Workspace>()({
    ...files,
    check: later(),
    prepare: later(),
    surface: later(),
    preamble: later(),
    whyPath: later(oneOf('read', 'write', 'exec'), word),
    whyHost: later(word),
    whyObject: later(
      closed<{ class: string; name: string; permission: string }>({ class: word, name: word, permission: word }),
    ),
    plan: later(optional(command)),
    exec: later(command, optional(jailOptions)),
    execLive: later(command, optional(jailOptions)),
    keepJail: giving(later(), jail),
    run: later(command, optional(runOptions)),
    tools: later(),
    callTool: later(word, optional(toolInput), optional(calledToolOptions)),
    askToApply: later(optional(askedApplyOptions)),
    close: later(),
    status: later(optional(changeOptions)),
    diff: later(optional(diffOptions)),
    apply: later(optional(applyOptions)),
    undoApply: later(
      optional(
        closed<UndoOptions>({
          onProgress: optional(callback),
          signal: optional(abortSignal),
          conflicts: optional(oneOf('refuse', 'ours')),
        }),
      ),
    ),
    drop: later(),
    checkpoint: later(name),
    checkpoints: later(),
    lookAtCheckpoint: later(word),
    deleteCheckpoint: later(word),
    rollback: later(
      optional(
        closed<{ checkpoint?: string; paths?: readonly string[] }>({ checkpoint: name, paths: optional(words) }),
      ),
    ),
    forks: later(),
    createFork: later(name, optional(closed<{ from?: string }>({ from: name }))),
    useFork: later(word),
    deleteFork: later(word),
    runs: later(word),
    findRun: later(name),
    sync: later(),
    exportTo: later(word),
    flatten: later(),
  }),
};

const reply = closed<Reply>({ by: name, why: optional(text) });
const grant = closed<GrantOptions>({
  by: name,
  why: optional(text),
  scope: optional(oneOf('once', 'session', 'rule')),
  network: optional(words),
});
const has = (member: string) => (value: unknown) => typeof value === 'object' && value !== null && member in value;
export const commandForm = either(
  has('text'),
  closed<{ text: string }>({ text }),
  closed<{ argv: unknown }>({ argv: words }),
);
const ruleMatch = either(
  has('class'),
  closed<{ class: unknown }>({ class: oneOf(...commandClasses) }),
  closed<{ command: unknown; prefix?: true }>({ command: commandWords, prefix: optional(flag) }),
);
const tier = optional(oneOf(...tiers));
const newObject = closed<NewObject>({
  spec: optional(anObject),
  file: name,
  tier,
  program: name,
  parent: name,
  directory: name,
});
const agentGrant: Shape = (value, at) => {
  anObject(value, at);
  const shapes: Readonly<Record<string, Shape>> = {
    read: closed<{ kind: string; path: string }>({ kind: word, path: word }),
    write: closed<{ kind: string; path: string }>({ kind: word, path: word }),
    connect: closed<{ kind: string; host: string }>({ kind: word, host: word }),
    group: closed<{ kind: string; gid: number }>({ kind: word, gid: integer(0, 0xfffffffe) }),
    permission: closed<{ kind: string; class: string; name: string; permission: string }>({
      kind: word,
      class: word,
      name: word,
      permission: word,
    }),
  };
  const { kind } = value as { readonly kind?: unknown };
  oneOf(...Object.keys(shapes))(kind, `${at}.kind`);
  shapes[String(kind)]?.(value, at);
};
/** Who writes a file, and whether they may, is said by ctx itself, and never by a caller. */
type AsOperator<Face extends Objects> = Omit<Face, 'make' | 'set'> & {
  make(name: string, given?: NewObject): Promise<LocatedObject>;
  set(name: string, file: string, text: string, directory?: string): Promise<void>;
};
const objectMethods = methodsOf<AsOperator<Objects>>()({
  make: later(word, optional(newObject)),
  show: atOnce(word),
  list: atOnce(),
  set: later(word, word, text, name),
  remove: later(word),
});

/** As records have it, or its beginning: they are compared as texts, and anything else would find all of them or none. */
const instant: Shape = (value, at) => {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{3}Z)?)?)?$/.test(value))
    refuseShape(at, 'a time such as 2026-01-31, or of Date.toISOString', value);
};
const findMembers = {
  agent: name,
  session: name,
  type: name,
  status: optional(oneOf(...statuses)),
  path: name,
  since: optional(instant),
  until: optional(instant),
  all: optional(flag),
};

const record: Entries = {
  name: 'record',
  methods: methodsOf<AuditRecord>()({
    find: later(optional(closed<FindOptions>(findMembers))),
    follow: atOnce(
      list(anObject),
      optional(closed<FindOptions & { signal?: AbortSignal }>({ ...findMembers, signal: optional(abortSignal) })),
    ),
    at: later(word),
    blame: later(word),
    verify: later(optional(closed<{ key?: string }>({ key: name }))),
    seal: later(),
    keys: later(),
    rotateKey: later(),
    revokeKey: later(word),
    exportTo: later(word),
  }),
};

const limit: Shape = (value, at) => (value === null ? undefined : optional(integer(1))(value, at));
const limits = closed<LimitChanges>({ maxBytes: limit, maxFiles: limit, maxFileBytes: limit });

/** The code that made it shows it in no message. */
const secretText: Shape = (value, at) => {
  if (typeof value !== 'string') refuseShape(at, 'a string', typeof value);
};

export const operatorEntries: Entries = {
  name: 'operator',
  methods: methodsOf<Operator>()({
    record: giving(atOnce(optional(closed<RecordOptions>({ directory: name, as: name }))), record),
    running: later(),
    stop: later(either((value) => typeof value === 'string', oneOf('all'), list(integer(1)))),
    doctor: later(),
  }),
  parts: {
    rules: {
      name: 'rules',
      methods: methodsOf<Rules>()({
        list: atOnce(),
        add: later(
          closed<NewRule>({ action: oneOf(...actions), match: ruleMatch, agent: name, withoutAgent: optional(flag) }),
        ),
        remove: atOnce(word),
        test: later(
          commandForm,
          optional(closed<{ agent?: string; networked?: boolean }>({ agent: name, networked: optional(flag) })),
        ),
      }),
    },
    approvals: {
      name: 'approvals',
      methods: methodsOf<Approvals>()({
        list: atOnce(optional(closed<{ all?: boolean }>({ all: optional(flag) }))),
        one: atOnce(word),
        steps: atOnce(word),
        grant: atOnce(word, optional(grant)),
        deny: atOnce(word, optional(reply)),
      }),
    },
    agents: {
      name: 'agents',
      methods: methodsOf<AsOperator<Agents>>()({
        ...objectMethods,
        grant: later(word, agentGrant, name),
        revoke: later(word, agentGrant),
      }),
    },
    tools: { name: 'tools', methods: objectMethods },
    vaults: {
      name: 'vaults',
      methods: methodsOf<Vaults>()({
        list: atOnce(),
        faults: atOnce(),
        find: atOnce(name, name),
        create: later(
          word,
          optional(
            closed<NewVault>({
              name,
              limits: optional(limits),
              uncopied: optional(flag),
              exactly: optional(flag),
              onProgress: optional(callback),
            }),
          ),
        ),
        limits: later(name),
        limit: later(name, limits),
        rename: later(name, word),
        delete: later(name),
        confirm: later(name),
        collect: later(),
        inspect: later(optional(closed<{ repair?: boolean }>({ repair: optional(flag) }))),
        format: atOnce(),
        undoMigration: later(),
      }),
    },
    secrets: {
      name: 'secrets',
      methods: methodsOf<Secrets>()({
        list: atOnce(),
        set: later(
          word,
          closed<SecretSource>({ value: optional(secretText), command: optional(word), signal: optional(abortSignal) }),
        ),
        remove: atOnce(word),
      }),
    },
    sources: {
      name: 'sources',
      methods: methodsOf<Sources>()({
        add: later(
          word,
          closed<NewSource>({
            file: word,
            server: name,
            cap: optional(words),
            passed: optional(words),
            tier,
            signal: optional(abortSignal),
          }),
        ),
        refresh: later(word, optional(abortSignal)),
        show: atOnce(word),
        list: atOnce(),
        remove: later(word),
      }),
    },
    trust: {
      name: 'trust',
      methods: methodsOf<Trust>()({
        read: later(word),
        confirm: later(word, word),
        revoke: atOnce(word),
      }),
    },
    profiles: {
      name: 'profiles',
      methods: methodsOf<Profiles>()({
        list: later(),
        widen: later(
          anObject,
          workspaceOptions,
          closed<HarnessOptions>({
            directory: word,
            credentials: optional(flag),
            keyOutside: optional(flag),
            fresh: optional(flag),
          }),
        ),
      }),
    },
    keptJails: {
      name: 'keptJails',
      methods: methodsOf<KeptJails>()({
        at: atOnce(word, name),
        isLive: later(word, name),
        missing: atOnce(word, name),
        list: later(),
        stop: later(word, name),
        keep: later(
          word,
          workspaceOptions,
          closed<{ idleMilliseconds: number; onReady: unknown; serve: unknown; ending?: AbortSignal }>({
            idleMilliseconds: milliseconds,
            ending: optional(abortSignal),
            onReady: callback,
            serve: callback,
          }),
        ),
      }),
    },
  },
};
