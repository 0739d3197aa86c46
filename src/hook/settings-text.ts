/**
 * The hook's entry in the text of a Claude Code settings file. The text is changed in one place and stays as it is
 * everywhere else: order, spacing, unknown members and other hooks are somebody's own.
 *
 *     { "hooks": { "PreToolUse": [ { "matcher": "*", "hooks": [ { "type": "command", "command": "..." } ] } ] } }
 */

import { ErrnoError } from '../base/errno.js';
import { parseJson } from '../base/shape.js';
import { shellWord } from './jailed-command.js';
import { type JsonNode, memberOf, parseJsonText } from './json-text.js';

/** In seconds: the hook denies by itself after 15 s, if it gets to run at all. */
const longestAnswer = 30;

/**
 * A hook that does not answer lets the call through, whatever the reason: ctx is gone, Node is gone, it was killed, its file is
 * empty, it is not done when the harness has waited long enough (60 s). To the harness only exit code 2 or a denial stops a call,
 * so no answer, half of one, a late one and every failure become exit code 2.
 */
export function hookCommand(program: string, options: readonly string[]): string {
  const words = ['hook', 'claude-code', ...options].map((word) => (/^[a-z-]+$/.test(word) ? word : shellWord(word)));
  const ask = `timeout -s KILL ${longestAnswer} ${shellWord(program)} ${words.join(' ')}`;
  return `answer=$(${ask}) && [ -n "$answer" ] && printf '%s\\n' "$answer" || exit 2`;
}

/** As it is installed, and as it once was: the call alone. */
const ownCommand =
  /^(?:answer=\$\(timeout -s KILL \d+ )?'(?:[^']|'\\'')*\/ctx' hook claude-code(?:[ )].*)? \|\| exit 2$/s;

function isOwn(hook: JsonNode): boolean {
  const command = memberOf(hook, 'command');
  return command?.kind === 'scalar' && typeof command.value === 'string' && ownCommand.test(command.value);
}

function refuse(path: string, expected: string): never {
  throw new ErrnoError('EINVAL', {
    operation: 'hook settings',
    path,
    reason: `expected ${expected}; the file is unchanged`,
    remedy: 'repair the file, or move it away and install again',
  });
}

interface Settings {
  readonly root: JsonNode;
  readonly hooks: JsonNode | undefined;
  readonly calls: JsonNode | undefined;
}

function read(text: string, path: string): Settings {
  let root: JsonNode;
  try {
    root = parseJsonText(text);
  } catch (error) {
    return refuse(path, `JSON (${error instanceof ErrnoError ? error.reason : 'it is not'})`);
  }
  if (root.kind !== 'object') refuse(path, 'an object');
  const hooks = memberOf(root, 'hooks');
  if (hooks !== undefined && hooks.kind !== 'object') refuse(path, '`hooks` to be an object');
  const calls = memberOf(hooks, 'PreToolUse');
  if (calls !== undefined && calls.kind !== 'array') refuse(path, '`hooks.PreToolUse` to be a list');
  return { root, hooks, calls };
}

/** The blank text before a line's first character, where the line that `at` is in starts with it. */
function indentAt(text: string, at: number): string | undefined {
  const line = text.lastIndexOf('\n', at - 1) + 1;
  const before = text.slice(line, at);
  return line > 0 && /^[ \t]*$/.test(before) ? before : undefined;
}

function partsOf(node: JsonNode): readonly { readonly start: number; readonly end: number }[] {
  return node.kind === 'object' ? node.members : node.kind === 'array' ? node.items : [];
}

/** `text` with `addition`, which is JSON on one line, as the last part of `node`. */
function appended(text: string, node: JsonNode, addition: string): string {
  const last = partsOf(node).at(-1);
  if (last !== undefined) {
    const indent = indentAt(text, last.start);
    const separator = indent === undefined ? ', ' : `,\n${indent}`;
    return `${text.slice(0, last.end)}${separator}${addition}${text.slice(last.end)}`;
  }
  return `${text.slice(0, node.start + 1)}${addition}${text.slice(node.end - 1)}`;
}

/** `text` without one part of `node`, nor the comma that went with it. */
function removed(text: string, node: JsonNode, part: { readonly start: number; readonly end: number }): string {
  const parts = partsOf(node);
  const index = parts.findIndex(({ start }) => start === part.start);
  const before = parts[index - 1];
  const after = parts[index + 1];
  if (before !== undefined) return text.slice(0, before.end) + text.slice(part.end);
  if (after !== undefined) return text.slice(0, part.start) + text.slice(after.start);
  return text.slice(0, node.start + 1) + text.slice(node.end - 1);
}

function entryOf(command: string): string {
  return JSON.stringify({ matcher: '*', hooks: [{ type: 'command', command }] });
}

/** Every hook of ours, with the entry it is in. */
function ownHooks(
  settings: Settings,
): readonly { readonly entry: JsonNode; readonly list: JsonNode; readonly hook: JsonNode }[] {
  const entries = settings.calls?.kind === 'array' ? settings.calls.items : [];
  return entries.flatMap((entry) => {
    const list = memberOf(entry, 'hooks');
    if (list?.kind !== 'array') return [];
    return list.items.filter(isOwn).map((hook) => ({ entry, list, hook }));
  });
}

/** Without any hook of ours. What becomes empty by that goes with it. */
export function uninstalled(text: string, path: string): string {
  for (let now = text; ; ) {
    const settings = read(now, path);
    const own = ownHooks(settings)[0];
    if (own === undefined) return now;
    const { calls, hooks, root } = settings;
    if (partsOf(own.list).length > 1) now = removed(now, own.list, own.hook);
    else if (calls !== undefined && partsOf(calls).length > 1) now = removed(now, calls, own.entry);
    else if (hooks?.kind === 'object' && hooks.members.length > 1)
      now = removed(now, hooks, partWith(hooks, 'PreToolUse'));
    else now = removed(now, root, partWith(root, 'hooks'));
  }
}

function partWith(node: JsonNode, key: string): { readonly start: number; readonly end: number } {
  const found = node.kind === 'object' ? node.members.find((member) => member.key === key) : undefined;
  return found ?? node;
}

/** With exactly one hook of ours, and that one this command; `undefined` stands for no file. */
export function installed(text: string | undefined, command: string, path: string): string {
  if (text === undefined) {
    return `${JSON.stringify({ hooks: { PreToolUse: [parseJson(entryOf(command))] } }, undefined, 2)}\n`;
  }
  const before = read(text, path);
  const own = ownHooks(before);
  const [only] = own;
  if (own.length === 1 && only !== undefined && isCurrent(only.entry, only.hook, command)) return text;
  const cleared = uninstalled(text, path);
  const { root, hooks, calls } = read(cleared, path);
  if (calls !== undefined) return appended(cleared, calls, entryOf(command));
  if (hooks !== undefined) return appended(cleared, hooks, `"PreToolUse": [${entryOf(command)}]`);
  return appended(cleared, root, `"hooks": { "PreToolUse": [${entryOf(command)}] }`);
}

function isCurrent(entry: JsonNode, hook: JsonNode, command: string): boolean {
  const matcher = memberOf(entry, 'matcher');
  const found = memberOf(hook, 'command');
  const type = memberOf(hook, 'type');
  return (
    matcher?.kind === 'scalar' &&
    matcher.value === '*' &&
    type?.kind === 'scalar' &&
    type.value === 'command' &&
    found?.kind === 'scalar' &&
    found.value === command
  );
}

/** Whether others' hooks run before tool calls, too: some versions of the harness then lose a rewritten command. */
export function hasOtherHooks(text: string, path: string): boolean {
  const { calls } = read(text, path);
  const entries = calls?.kind === 'array' ? calls.items : [];
  return entries.some((entry) => {
    const list = memberOf(entry, 'hooks');
    return list?.kind === 'array' && list.items.some((hook) => !isOwn(hook));
  });
}
