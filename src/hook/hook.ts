/**
 * Layer 2: a tool call checked before it happens, for a harness that runs outside of the jail.
 *
 *     protocols  claude-code  json-protocol (json-text)      a message -> a Call, a Verdict -> an answer
 *     deciding   decide-call  (path-readings  resolve-path  glob-pattern  grants  jailed-command)
 *     granted    anonymous-grants                            what a directory's task may reach
 *     settings   settings-text  settings-file                install and uninstall
 *
 * May import everything below rank 5; loads neither `child_process` nor the vault's and the jail's acting parts, since it
 * starts for every tool call. Promises: whatever comes in, the answer is one that the harness understands; whatever goes
 * wrong, it is deny; every denial is in the record, or its reason says why it is not.
 */
import { writeSync } from 'node:fs';
import type { Recorder } from '../audit/record.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import { hookInputMilliseconds, hookMilliseconds } from '../base/limits.js';
import { visible } from '../base/visible-text.js';
import { anonymousGrants, type Extent, type GrantRequest } from './anonymous-grants.js';
import { type Call, deny, type Verdict } from './call.js';
import { claudeCodeAnswer, claudeCodeCall } from './claude-code.js';
import { type CommandMode, decideCall } from './decide-call.js';
import type { HookHost } from './hook-host.js';
import { jsonAnswer, jsonCall } from './json-protocol.js';
import { type JsonValue, parseJsonText, plainValue } from './json-text.js';
import { readInput } from './read-input.js';
import { hostResolver, lookAtHost } from './resolve-path.js';

export interface Protocol {
  readonly name: string;
  call(message: JsonValue): Call;
  answer(verdict: Verdict, message: JsonValue): string;
}

export const protocolNames = ['claude-code', 'json'] as const;

export function protocolOf(name: (typeof protocolNames)[number], approve: boolean): Protocol {
  return name === 'claude-code'
    ? { name, call: claudeCodeCall, answer: (verdict, message) => claudeCodeAnswer(verdict, message, approve) }
    : { name, call: jsonCall, answer: jsonAnswer };
}

export interface HookRequest {
  readonly protocol: Protocol;
  readonly commands: CommandMode;
  readonly granted: GrantRequest;
  readonly host: () => Promise<HookHost>;
}

export interface Answered {
  readonly verdict: Verdict;
  readonly text: string;
}

const recordedCharacters = 500;

function cut(text: string): string {
  return visible(text.length > recordedCharacters ? `${text.slice(0, recordedCharacters)}...` : text);
}

function reasonOf(error: unknown): string {
  if (!(error instanceof ErrnoError)) return 'this is a defect of ctx, please report it';
  const place = error.path === undefined ? '' : ` ${error.path}`;
  return cut(`${error.operation}${place}: ${error.reason} (${error.code})`);
}

async function shellOf(): Promise<string> {
  const found = await Promise.all(['/bin/bash', '/usr/bin/bash'].map(lookAtHost));
  return found.some(({ kind }) => kind === 'other' || kind === 'link') ? 'bash' : 'sh';
}

async function decide(request: HookRequest, host: HookHost, call: Call): Promise<Verdict> {
  const resolve = hostResolver();
  const shell = call.action.kind === 'command' ? await shellOf() : '';
  const form = { program: host.program, options: [], shell };
  const within = async (extent: Extent) => {
    const grants = await anonymousGrants(host, request.granted, resolve, extent);
    const verdict = await decideCall({ grants, resolve, commands: request.commands, form }, call);
    return { grants, verdict };
  };
  const { grants, verdict } = await within('workspace');
  // Only paths can be granted outside of the workspace.
  if (verdict.decision !== 'deny' || grants.extent === 'everything' || call.action.kind !== 'paths') return verdict;
  return (await within('everything')).verdict;
}

function record(recorder: Recorder | undefined, protocol: Protocol, call: Call | undefined, verdict: Verdict): Verdict {
  if (verdict.decision !== 'deny' || recorder === undefined) return verdict;
  const facts = {
    reason: cut(verdict.reason),
    ...(call === undefined ? {} : { tool: cut(call.tool), directory: cut(call.cwd) }),
  };
  try {
    recorder.append({ type: 'hook', object: `hook/${protocol.name}`, status: 'denied', facts });
    return verdict;
  } catch (error) {
    return deny(`${verdict.reason}; it could not be recorded: ${reasonOf(error)}`);
  }
}

/** From a message's text to the answer. Never throws. */
export async function answerTo(input: Promise<string>, request: HookRequest): Promise<Answered> {
  const { protocol } = request;
  let message: JsonValue = null;
  let call: Call | undefined;
  let host: HookHost | undefined;
  let verdict: Verdict;
  try {
    host = await request.host();
    message = plainValue(parseJsonText(await input));
    call = protocol.call(message);
    verdict = await decide(request, host, call);
  } catch (error) {
    verdict = deny(reasonOf(error));
  }
  verdict = record(host?.recorder, protocol, call, verdict);
  return { verdict, text: protocol.answer(verdict, message) };
}

/** To a descriptor, all of it; a harness's pipe may be one that does not block. */
function writeAll(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      if (!hasCode(error, 'EAGAIN')) throw error;
    }
  }
}

const standardOutput = 1;
const standardError = 2;
/** To Claude Code, the only exit code that stops a call. */
export const blockingExitCode = 2;

function say(descriptor: number, text: string): boolean {
  try {
    writeAll(descriptor, text);
    return true;
  } catch {
    return false; // The reader is gone: the exit code has to say it.
  }
}

/** A thread may still wait for what does not answer, and an ordinary exit would wait for that thread. */
function endNow(reason: string): void {
  say(standardError, `ctx: ${reason}\n`);
  process.kill(process.pid, 'SIGKILL');
}

/** The last resort, without the record: that may be what does not answer. The end by a signal blocks the call by itself. */
function endAfter(milliseconds: number, protocol: Protocol): NodeJS.Timeout {
  return setTimeout(() => {
    const reason = `expected to decide within ${milliseconds} ms: a file system did not answer`;
    say(standardOutput, protocol.answer(deny(reason), null));
    endNow(reason);
  }, milliseconds);
}

/** A harness that never ends its message is refused like any other bad message. */
function inTime(input: Promise<string>, milliseconds: number): Promise<string> {
  return new Promise((settle, fail) => {
    const reason = `expected a whole message within ${milliseconds} ms`;
    const timer = setTimeout(
      () => fail(new ErrnoError('ETIMEDOUT', { operation: 'read stdin', reason })),
      milliseconds,
    );
    input.then(settle, fail).finally(() => clearTimeout(timer));
  });
}

export async function runHook(request: HookRequest): Promise<number> {
  const watchdog = endAfter(hookMilliseconds, request.protocol);
  let complete = false;
  const whole = readInput().finally(() => {
    complete = true;
  });
  const input = inTime(whole, hookInputMilliseconds);
  // It is awaited later; until then a failure must not count as unhandled.
  input.catch(() => undefined);
  const { verdict, text } = await answerTo(input, request);
  clearTimeout(watchdog);
  const said = say(standardOutput, text);
  if (!complete) endNow(verdict.reason);
  if (said) return 0;
  say(standardError, `ctx: ${verdict.reason}\n`);
  return blockingExitCode;
}
