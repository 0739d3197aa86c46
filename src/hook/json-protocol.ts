/**
 * The protocol for any harness: one JSON object on stdin, one on stdout.
 *
 *     {"version":1,"tool":"read","paths":["src/a.ts"],"cwd":"/srv/app"}     tool: read, write, exec, fetch, other
 *     {"version":1,"decision":"deny","reason":"..."}                     decision: allow, deny
 *
 * `exec` has `command`, `fetch` has `url`, `other` has `name`. An allowed `exec` has `rewrite`: run that, not the command.
 * Whatever is not a decision of `allow` with exit code 0 means deny. Unknown members are refused.
 */
import { ErrnoError } from '../base/errno.js';
import type { Call, CallAction, CallVerdict } from './call.js';
import { isRecord, type JsonRecord, type JsonValue } from './json-text.js';

const protocolVersion = 1;

function refuse(reason: string): never {
  throw new ErrnoError('EINVAL', { operation: 'hook', reason });
}

function text(value: JsonValue | undefined, key: string): string {
  return typeof value === 'string' ? value : refuse(`expected the text \`${key}\``);
}

function pathsOf(value: JsonValue | undefined, access: 'read' | 'write'): CallAction {
  if (!Array.isArray(value) || value.length === 0) return refuse('expected the list `paths` with a path');
  return { kind: 'paths', uses: value.map((path) => ({ path: text(path, 'paths'), access, tree: true })) };
}

const actions: ReadonlyMap<string, { readonly member: string; read(value: JsonValue | undefined): CallAction }> =
  new Map([
    ['read', { member: 'paths', read: (value: JsonValue | undefined) => pathsOf(value, 'read') }],
    ['write', { member: 'paths', read: (value: JsonValue | undefined) => pathsOf(value, 'write') }],
    [
      'exec',
      {
        member: 'command',
        read: (value: JsonValue | undefined): CallAction => ({ kind: 'command', command: text(value, 'command') }),
      },
    ],
    [
      'fetch',
      {
        member: 'url',
        read: (value: JsonValue | undefined): CallAction => ({ kind: 'fetch', url: text(value, 'url') }),
      },
    ],
    [
      'other',
      {
        member: 'name',
        read: (value: JsonValue | undefined): CallAction => ({ kind: 'tool', name: text(value, 'name') }),
      },
    ],
  ]);

function known(message: JsonRecord, keys: readonly string[]): void {
  const other = Object.keys(message).find((key) => !keys.includes(key));
  if (other !== undefined) refuse(`expected the members ${keys.join(', ')} and no other`);
}

export function jsonCall(message: JsonValue): Call {
  if (!isRecord(message)) return refuse('expected an object');
  if (message['version'] !== protocolVersion) refuse(`expected version ${protocolVersion}`);
  const tool = text(message['tool'], 'tool');
  const action = actions.get(tool);
  if (action === undefined) return refuse(`expected a tool of ${[...actions.keys()].join(', ')}`);
  known(message, ['version', 'tool', 'cwd', action.member]);
  return {
    tool: tool === 'other' ? text(message['name'], 'name') : tool,
    cwd: text(message['cwd'], 'cwd'),
    action: action.read(message[action.member]),
  };
}

export function jsonAnswer(verdict: CallVerdict): string {
  const { reason } = verdict;
  const answer =
    verdict.decision === 'rewrite'
      ? { version: protocolVersion, decision: 'allow', reason, rewrite: verdict.command }
      : { version: protocolVersion, decision: verdict.decision, reason };
  return `${JSON.stringify(answer)}\n`;
}
