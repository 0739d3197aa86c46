/**
 * The SDK, which `ctx` and its MCP server are made of: `open` a directory, run commands in jails on its fork, look at what they
 * did, keep it or not; `operate` the store as its person does. docs/sdk.md tells. The map of `src/sdk`:
 *
 *   workspace            commands in jails, files, questions about authority; it extends
 *   fork                 what a person does with the fork: look, keep, take back, other checkpoints, other forks
 *   workspace-jail       a kept jail of the caller's own; kept-jails: those that outlive a call
 *   operator             the person's side: rules, approvals, objects (agents, tools), vaults, harness (profiles), kept jails, doctor,
 *   record               and what happened, with blame and runs; record-proof: seals, keys, exports, the verifier
 *   vfs/                 trees of the VFS with the calls of `fs.promises`: createVfs
 *   judge, hook          a harness's tool calls; hook-settings: its entry in the harness's settings
 *   classify, permissions, report, changes, words    what the others speak of: types and pure functions
 */
import { resolve } from 'node:path';
import { checkInstallation } from './base/installation.js';
import { nativeProgram } from './base/native-program.js';
import { closed, optional, text, word } from './base/shape.js';
import { composeHost } from './compose.js';
import { onMigratedStore } from './compose-store.js';
import * as authorityFiles from './sdk/authority-files.js';
import { checkArguments, checkedFace } from './sdk/checked-face.js';
import { type Classification, type CommandForm, classify as classified } from './sdk/classify.js';
import { currentDirectory } from './sdk/current-directory.js';
import { commandForm, operatorEntries, workspaceEntries } from './sdk/entries.js';
import * as hookSettings from './sdk/hook-settings.js';
import type { Operator } from './sdk/operator/operator.js';
import type { WorkspaceOptions } from './sdk/options.js';
import { anObject, words, workspaceMembers } from './sdk/shapes.js';
import type { VfsOptions } from './sdk/vfs/create.js';
import { vfsEntries, vfsOptions } from './sdk/vfs/entries.js';
import type { Vfs } from './sdk/vfs/vfs.js';
import type { HarnessTask, JudgedCall, ToolCall } from './sdk/workspace/judge.js';
import { Workspace } from './sdk/workspace/workspace.js';

type ChangedSettings = hookSettings.ChangedSettings;
type SettingsPlace = hookSettings.SettingsPlace;

export { type ErrnoCode, ErrnoError } from './base/errno.js';
export type { Mount, Policy } from './sdk/authority-files.js';
export type { Change, CommandChange, Problem, Progress } from './sdk/changes.js';
export type { Classification, CommandClass, CommandForm, Reading } from './sdk/classify.js';
export type { AgentGrant, Agents, ChangedAgent } from './sdk/operator/agents.js';
export type {
  ApprovalAnswer,
  ApprovalScope,
  Approvals,
  Asked,
  GrantOptions,
  Reply,
  Spoken,
  Waiting,
} from './sdk/operator/approvals.js';
export type { Check, Diagnosis } from './sdk/operator/doctor.js';
export type { Harnessed, HarnessOptions, Need, Profile, Profiles } from './sdk/operator/harness.js';
export type { Living } from './sdk/operator/living.js';
export type { ListedObject, NewObject, Objects, ShownObject, Spec } from './sdk/operator/objects.js';
export type { Operator } from './sdk/operator/operator.js';
export type {
  AuditRecord,
  Blamed,
  Exported,
  FindOptions,
  FoundRecord,
  KnownKeys,
  PlacedRecord,
  RecordOptions,
  Sealed,
  Verification,
} from './sdk/operator/record.js';
export type { Action, Decision, NewRule, Rule, RuleMatch, Rules, Tried } from './sdk/operator/rules.js';
export type { ListedSecret, SecretSource, Secrets } from './sdk/operator/secrets.js';
export type { ListedSource, NewSource, ShownSource, Sources } from './sdk/operator/sources.js';
export type { Stopping } from './sdk/operator/stopping.js';
export type { ProjectReading, Trust } from './sdk/operator/trust.js';
export type { LimitChanges, LimitedVault, MadeVault, NewVault, VaultSummary, Vaults } from './sdk/operator/vaults.js';
export type {
  Command,
  ExecOptions,
  Grants,
  JailOptions,
  RunOptions,
  Started,
  WorkspaceOptions,
} from './sdk/options.js';
export type { CapturedStream, ConnectionEvent, Envelope, LimitEvent, LiveEnvelope, Refusal } from './sdk/report.js';
export type { FileSystem, VfsMount } from './sdk/vfs/create.js';
export type { VfsFileHandle } from './sdk/vfs/file-handle.js';
export type { QuotaEvent, VfsGrants, VfsQuota, VfsRefusal } from './sdk/vfs/grants.js';
export type { VfsEntry, VfsStats } from './sdk/vfs/stats.js';
export type { Edit } from './sdk/workspace/edit.js';
export type { ListedEntry, SearchMatch, SearchOptions } from './sdk/workspace/file-answers.js';
export type {
  ApplyOptions,
  ApplyReport,
  ChangeOptions,
  CheckpointSummary,
  Diff,
  DiffOptions,
  ForkStatus,
  ForkSummary,
  InspectedRun,
  MadeFork,
  RolledBack,
} from './sdk/workspace/fork.js';
export type { KeepingRequest, KeptJailFacts, KeptJailSpot, KeptJails } from './sdk/workspace/kept-jails.js';
export type {
  ObjectQuestion,
  PathAccess,
  Preamble,
  ResolvedAuthority,
  Verdict,
  WhyHost,
  WhyObject,
  WhyPath,
} from './sdk/workspace/permissions.js';
export type { AgentTool } from './sdk/workspace/tool-calls.js';
export type { AskedApplyOptions, Plan, Prepared, Workspace } from './sdk/workspace/workspace.js';
export type { FileOptions, FoundMatches, Listing, WorkspaceJail } from './sdk/workspace/workspace-jail.js';
export type { ChangedSettings, HarnessTask, JudgedCall, SettingsPlace, ToolCall, Vfs, VfsOptions };

export interface OperateOptions {
  /** The store, as `CTX_DATA`. */
  readonly data?: string | undefined;
}

export interface OpenOptions extends OperateOptions, WorkspaceOptions {
  /** The directory, or one within its repository; without it, the process's own. */
  readonly directory?: string | undefined;
}

const operateOptions = closed<OperateOptions>({ data: optional(word) });
const openOptions = closed<OpenOptions>({ ...workspaceMembers, data: optional(word), directory: optional(word) });

function hostOf({ data }: OperateOptions) {
  checkInstallation('sdk');
  const env = data === undefined ? process.env : { ...process.env, CTX_DATA: resolve(currentDirectory(), data) };
  return onMigratedStore(() => composeHost(env));
}

/** A workspace on a directory. Nothing is made until something is asked of it; `close` it at the end. */
export async function open(options: OpenOptions = {}): Promise<Workspace> {
  checkArguments('open', [openOptions], [options]);
  const { directory = '.', data, ...rest } = options;
  const workspace = new Workspace(await hostOf({ data }), resolve(currentDirectory(), directory), rest);
  return checkedFace(workspace, workspaceEntries);
}

/** What the person governs with. It is for programs that act for the person, and never for a model. */
export async function operate(options: OperateOptions = {}): Promise<Operator> {
  checkArguments('operate', [operateOptions], [options]);
  const { Operator } = await import('./sdk/operator/operator.js');
  return checkedFace(new Operator(await hostOf(options)), operatorEntries);
}

/** What a command's words say, before anybody decides about it. Nothing is run. */
export async function classify(form: CommandForm): Promise<Classification> {
  checkArguments('classify', [commandForm], [form]);
  return classified(form);
}

/** The text of a policy or a mount file; `file` names it in what is wrong with it. EINVAL */
export function parsePolicy(policy: string, file: string): authorityFiles.Policy {
  checkArguments('parsePolicy', [text, word], [policy, file]);
  return authorityFiles.parsePolicy(policy, file);
}

export function parseMounts(mounts: string, file: string): readonly authorityFiles.Mount[] {
  checkArguments('parseMounts', [text, word], [mounts, file]);
  return authorityFiles.parseMounts(mounts, file);
}

/** Whether a tool call of a harness may happen, and how; what cannot be decided is denied. */
export async function judge(call: ToolCall, task: HarnessTask = {}): Promise<JudgedCall> {
  const { judgeCall } = await import('./sdk/workspace/judge.js');
  return judgeCall(async () => onMigratedStore((await import('./compose-hook.js')).composeHookHost), call, task);
}

const settingsPlace = closed<SettingsPlace>({ path: word, within: optional(word) });

/** The settings of Claude Code in a project's directory, and those of a person. */
export function projectSettings(directory: string): SettingsPlace {
  checkArguments('projectSettings', [word], [directory]);
  return hookSettings.projectSettings(directory);
}

export function userSettings(home: string, environment: Readonly<Record<string, string | undefined>>): SettingsPlace {
  checkArguments('userSettings', [word, anObject], [home, environment]);
  return hookSettings.userSettings(home, environment);
}

/** Enters the hook into a harness's settings. `options` are those of `ctx hook claude-code`, with absolute paths. */
export async function installHook(place: SettingsPlace, options: readonly string[] = []): Promise<ChangedSettings> {
  checkArguments('installHook', [settingsPlace, words], [place, options]);
  const hook = await import('./compose-hook.js');
  return hookSettings.installHook(await onMigratedStore(hook.composeHookHost), place, options);
}

/** Takes exactly that entry out again. */
export function uninstallHook(place: SettingsPlace): ChangedSettings {
  checkArguments('uninstallHook', [settingsPlace], [place]);
  return hookSettings.uninstallHook(place);
}

/** A tree of directories, each of them memory, a directory of the host or a chunk store, with the calls of `fs.promises`. */
export async function createVfs(options: VfsOptions = {}): Promise<Vfs> {
  checkArguments('createVfs', [vfsOptions], [options]);
  checkInstallation('sdk');
  const { makeVfs } = await import('./sdk/vfs/create.js');
  return checkedFace(await makeVfs(options, nativeProgram('flock.node')), vfsEntries);
}
