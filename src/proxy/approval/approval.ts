/**
 * Approvals: a command that waits for a person. What is asked names everything that the answer will hold for, by digest: the words,
 * the directory, the environment, the input, who asks, the Authority, the state of the fork. Nothing else can ride on it. Pure.
 */
import { canonicalJson } from '../../base/canonical-json.js';
import { ErrnoError } from '../../base/errno.js';
import { approvalSessionMilliseconds, approvalUseMilliseconds } from '../../base/limits/decisions.js';
import { sha256 } from '../../base/sha256.js';
import type { CommandClass } from '../../shell/classes.js';

export const scopes = ['once', 'session', 'rule'] as const;
export type ApprovalScope = (typeof scopes)[number];

/** What an approval holds for. */
export interface Binding {
  readonly argv: readonly string[];
  readonly directory: string;
  readonly environment: Readonly<Record<string, string>>;
  /** The Authority's digest. */
  readonly authority: string;
  /** What the network proxy adds, and which stored secrets fill it: approval without a token does not cover it. */
  readonly injected?: readonly string[];
  /** On the directory itself and not on a fork: approval for one does not cover the other. */
  readonly live?: true;
  /** No command, but a verb of ctx: approval for one does not cover the other. */
  readonly verb?: 'apply';
  /** What it reads, by digest; `unknown` for a pipe. */
  readonly input?: string;
  /** The MCP server or kept jail that asks. */
  readonly requester?: string;
  /** Of the changes that an apply would write. */
  readonly steps?: string;
  /** As the request names it. */
  readonly forkName?: string;
  readonly readonly?: boolean;
  /** Layers of the jail that it does without. */
  readonly weakened?: readonly string[];
  readonly cache?: string;
  readonly home?: string;
  /** Trees of the VFS that it is shown, as they are written. */
  readonly trees?: readonly string[];
  /** `host:port` that may be at a private address. */
  readonly privateHosts?: readonly string[];
  /** What a tool that it calls has by its cap file. */
  readonly toolCap?: readonly string[];
  /** The fork's, as `forkState` says it. */
  readonly fork: string;
  /** Of the person's own directories, as `directoryState` says it: what they edit enters the fork before the command. */
  readonly directories?: string;
  /** Of the agent's home and of shared caches, as `besideState` says it. */
  readonly beside?: string;
}

export interface Asked {
  /** Those of version 1 could outlive the caller, and are not read any more. */
  readonly version: 2;
  readonly id: string;
  readonly askedAt: number;
  /** Without an answer by then it is denied. */
  readonly expiresAt: number;
  readonly agent: string | null;
  readonly argv: readonly string[];
  readonly directory: string;
  readonly origin: string;
  readonly categories: readonly CommandClass[];
  readonly reason: string;
  readonly rule: string;
  /** Whether it has a network as it is. */
  readonly connected: boolean;
  /** The command that needs the approval, as a rule would name it; empty where none could. */
  readonly words: readonly string[];
  /** What is bound and is not as by default: `name: value`, each to be shown on a line of its own. */
  readonly shown: readonly string[];
  /** It reads what no one knows yet: the answer is for this once. */
  readonly onceOnly: boolean;
  /** How many paths it would write, where it is not a command: `ApprovalStore.steps` has them. */
  readonly steps?: number;
  /** Of the whole binding. */
  readonly digest: string;
  /** Of the binding without the states of what is seen, for an answer that lasts. */
  readonly lasting: string;
}

export interface ApprovalAnswer {
  readonly version: 1;
  readonly granted: boolean;
  readonly scope: ApprovalScope;
  readonly at: number;
  readonly by: string;
  readonly why: string;
  /** What it may connect to beside its own: `any`, or `host:port`. */
  readonly network: readonly string[];
}

export type ApprovalStatus = 'waiting' | 'granted' | 'used' | 'denied' | 'expired';

export interface Approval {
  readonly asked: Asked;
  readonly answer: ApprovalAnswer | undefined;
  /** Whether the command has run by it. */
  readonly used: boolean;
  /** Whether the process that asked is there: a request ends with it, and so does a grant for once. */
  readonly attended: boolean;
}

export function bindingDigest(binding: Binding): { readonly digest: string; readonly lasting: string } {
  const { fork: _fork, directories: _directories, beside: _beside, ...lasting } = binding;
  return {
    digest: `sha256:${sha256(canonicalJson({ ...binding }))}`,
    lasting: `sha256:${sha256(canonicalJson({ ...lasting }))}`,
  };
}

/** Not when it is too old, nor when it is from as far ahead: then the clock was set back, and would let it hold for as much longer. */
function isInTime({ scope, at }: ApprovalAnswer, now: number): boolean {
  return Math.abs(now - at) < (scope === 'session' ? approvalSessionMilliseconds : approvalUseMilliseconds);
}

export function statusOf({ asked, answer, used, attended }: Approval, now: number): ApprovalStatus {
  if (answer === undefined) return attended && now < asked.expiresAt ? 'waiting' : 'expired';
  if (!answer.granted) return 'denied';
  // What was granted as a rule holds by the rule from then on, and not after the rule is gone.
  if (answer.scope !== 'session' && used) return 'used';
  if (answer.scope === 'once' && !attended) return 'expired';
  return isInTime(answer, now) ? 'granted' : 'expired';
}

/**
 * Whether it lets a command with this digest run now, without asking again. What was granted once is for the caller,
 * alone.
 */
export function holdsFor(approval: Approval, { lasting }: Pick<Asked, 'lasting'>, now: number): boolean {
  if (statusOf(approval, now) !== 'granted') return false;
  const { asked, answer } = approval;
  return answer?.scope === 'session' && !asked.onceOnly && asked.lasting === lasting;
}

function damaged(file: string): never {
  throw new ErrnoError('EIO', {
    operation: 'approvals',
    path: file,
    reason: 'expected an approval; the file is damaged',
    remedy: 'remove its directory',
  });
}

/** Both files are written by ctx alone: what does not have their form is damaged. */
export function parseAsked(value: unknown, file: string): Asked {
  const asked = value as Partial<Asked> | null;
  const isWhole =
    asked?.version === 2 &&
    typeof asked.id === 'string' &&
    typeof asked.askedAt === 'number' &&
    typeof asked.expiresAt === 'number' &&
    (asked.agent === null || typeof asked.agent === 'string') &&
    Array.isArray(asked.argv) &&
    Array.isArray(asked.words) &&
    Array.isArray(asked.categories) &&
    typeof asked.connected === 'boolean' &&
    Array.isArray(asked.shown) &&
    asked.shown.every((line) => typeof line === 'string') &&
    typeof asked.onceOnly === 'boolean' &&
    (asked.steps === undefined || typeof asked.steps === 'number') &&
    [asked.directory, asked.origin, asked.reason, asked.rule, asked.digest, asked.lasting].every(
      (text) => typeof text === 'string',
    );
  return isWhole ? (asked as Asked) : damaged(file);
}

export function parseAnswer(value: unknown, file: string): ApprovalAnswer {
  const answer = value as Partial<ApprovalAnswer> | null;
  const isWhole =
    answer?.version === 1 &&
    typeof answer.granted === 'boolean' &&
    scopes.some((scope) => scope === answer.scope) &&
    typeof answer.at === 'number' &&
    typeof answer.by === 'string' &&
    typeof answer.why === 'string' &&
    Array.isArray(answer.network) &&
    answer.network.every((name) => typeof name === 'string');
  return isWhole ? (answer as ApprovalAnswer) : damaged(file);
}
