/**
 * Layer 2: a tool call checked before it happens, for a harness that runs outside of the jail.
 *
 *     protocols  claude-code  json-protocol (json-text)      a message -> a Call, a Verdict -> an answer
 *     deciding   decide-call  (path-readings  resolve-path  glob-pattern  grants  jailed-command)
 *     streams    streams  read-input                         a message in, an answer out
 *     granted    workspace-grants  authority-grants  protected-paths
 *     settings   settings-text  settings-file                install and uninstall
 *
 * May import everything below rank 5. It starts for every tool call: one that the workspace grants loads neither
 * `child_process` nor `crypto` nor anything of the jail. Promises: whatever comes in, the answer is one that the harness understands; whatever goes
 * wrong, it is deny; every denial is in the record, or its reason says why it is not.
 */
import { ErrnoError, orSystemError } from '../base/errno.js';
import { hookInputMilliseconds, hookMilliseconds } from '../base/limits/decisions.js';
import { visible } from '../base/visible-text.js';
import { taskGrants } from './authority-grants.js';
import { type Call, type CallVerdict, deny } from './call.js';
import { claudeCodeAnswer, claudeCodeCall } from './claude-code.js';
import { type CommandMode, decideCall } from './decide-call.js';
import type { HookGrants } from './grants.js';
import type { HookHost, HookTask } from './hook-host.js';
import { jsonAnswer, jsonCall } from './json-protocol.js';
import { isRecord, type JsonValue, parseJsonText, plainValue } from './json-text.js';
import { readInput } from './read-input.js';
import { HostResolver, lookAtHost } from './resolve-path.js';
import type { HookStreams } from './streams.js';
import { workspaceGrants } from './workspace-grants.js';

export interface Protocol {
  readonly name: string;
  call(message: JsonValue): Call;
  answer(verdict: CallVerdict, message: JsonValue): string;
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
  readonly task: HookTask;
  readonly host: () => Promise<HookHost>;
}

export interface Answered {
  readonly verdict: CallVerdict;
  readonly text: string;
}

const recordedCharacters = 500;

function cut(text: string): string {
  return visible(text.length > recordedCharacters ? `${text.slice(0, recordedCharacters)}...` : text);
}

function reasonOf(thrown: unknown): string {
  const error = orSystemError(thrown);
  if (!(error instanceof ErrnoError)) return 'this is a bug in ctx, please report it';
  const place = error.path === undefined ? '' : ` ${error.path}`;
  return cut(`${error.operation}${place}: ${error.reason} (${error.code})`);
}

async function shellOf(): Promise<string> {
  const found = await Promise.all(['/bin/bash', '/usr/bin/bash'].map(lookAtHost));
  return found.some(({ kind }) => kind === 'other' || kind === 'link') ? 'bash' : 'sh';
}

/** What `ctx exec` is told, so that a command runs with what its task is granted. */
function execOptions({ agent, reads, writes, network }: HookTask): readonly string[] {
  const named = agent === undefined ? [] : ['--agent', agent];
  const each = (option: string, values: readonly string[]) => values.flatMap((value) => [option, value]);
  return [...named, ...each('--read', reads), ...each('--write', writes), ...each('--net', network)];
}

/** Begun before the message is there, since it does not depend on it. */
function quickGrants({ task }: HookRequest, host: HookHost, resolver: HostResolver): Promise<HookGrants | undefined> {
  const isPlain = task.agent === undefined && task.reads.length + task.writes.length + task.network.length === 0;
  if (!isPlain) return Promise.resolve(undefined);
  const quick = workspaceGrants(host, task.directory, new Set(task.tools), resolver);
  quick.catch(() => undefined); // It is awaited later; until then a failure must not count as unhandled.
  return quick;
}

async function decide(
  request: HookRequest,
  host: HookHost,
  call: Call,
  { resolve }: HostResolver,
  quick: HookGrants | undefined,
): Promise<CallVerdict> {
  const { task, commands } = request;
  const shell = call.action.kind === 'command' ? await shellOf() : '';
  const form = { program: host.program, options: execOptions(task), shell };
  const by = (grants: HookGrants) => decideCall({ grants, resolve, commands, form }, call);
  const verdict = quick === undefined ? undefined : await by(quick);
  // Of a task without an agent, only paths can be granted outside of the workspace.
  if (verdict !== undefined && (verdict.decision !== 'deny' || call.action.kind !== 'paths')) return verdict;
  return by(await taskGrants(await host.authorityOf(task), task, host.now().getTime(), resolve));
}

/** As the harness names it, where it does. */
function sessionOf(message: JsonValue): string | null {
  const session = isRecord(message) ? message['session_id'] : undefined;
  return typeof session === 'string' ? cut(session) : null;
}

interface Denied {
  readonly host: HookHost | undefined;
  readonly request: HookRequest;
  readonly call: Call | undefined;
  readonly message: JsonValue;
}

function record({ host, request, call, message }: Denied, verdict: CallVerdict): CallVerdict {
  if (verdict.decision !== 'deny' || host === undefined) return verdict;
  const facts = {
    reason: cut(verdict.reason),
    ...(call === undefined ? {} : { tool: cut(call.tool), directory: cut(call.cwd) }),
  };
  try {
    const { agent } = request.task;
    const object = `hook/${request.protocol.name}`;
    const session = sessionOf(message);
    host.recorder.append({ type: 'hook', object, status: 'denied', layer: 'hook', agent, session, facts });
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
  let verdict: CallVerdict;
  try {
    host = await request.host();
    const resolver = new HostResolver();
    const quick = quickGrants(request, host, resolver);
    message = plainValue(parseJsonText(await input));
    call = protocol.call(message);
    verdict = await decide(request, host, call, resolver, await quick);
  } catch (error) {
    verdict = deny(reasonOf(error));
    // A harness that is still writing must not find its reader gone.
    await input.catch(() => undefined);
  }
  verdict = record({ host, request, call, message }, verdict);
  return { verdict, text: protocol.answer(verdict, message) };
}

/** To Claude Code, the only exit code that stops a call. */
export const blockingExitCode = 2;

/** The last resort, without the record: that may be what does not answer. The end by a signal blocks the call by itself. */
function endAfter(milliseconds: number, protocol: Protocol, streams: HookStreams): NodeJS.Timeout {
  return setTimeout(() => {
    const reason = `expected to decide within ${milliseconds} ms: a file system did not answer`;
    streams.say('stdout', protocol.answer(deny(reason), null));
    streams.say('stderr', `ctx: ${reason}\n`);
    streams.endNow();
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

export async function runHook(request: HookRequest, streams: HookStreams): Promise<number> {
  const watchdog = endAfter(hookMilliseconds, request.protocol, streams);
  let complete = false;
  const whole = readInput(streams.next).finally(() => {
    complete = true;
  });
  const input = inTime(whole, hookInputMilliseconds);
  // It is awaited later; until then a failure must not count as unhandled.
  input.catch(() => undefined);
  const { verdict, text } = await answerTo(input, request);
  clearTimeout(watchdog);
  const said = streams.say('stdout', text);
  if (complete && said) return 0;
  streams.say('stderr', `ctx: ${verdict.reason}\n`);
  if (!complete) streams.endNow();
  return blockingExitCode;
}
