/** What models are told, in a form they can act on. Pure. */
import type { ErrnoError } from '../base/errno.js';
import { toolTextCharacters } from '../base/limits/commands.js';
import type { ToolAnswer } from './tool.js';

/** The beginning and the end: errors are at the end, and what they are about at the beginning. */
export function shortened(whole: string, most = toolTextCharacters): string {
  if (whole.length <= most) return whole;
  const half = Math.floor(most / 2);
  const left = whole.length - 2 * half;
  return `${whole.slice(0, half)}\n... ${left} characters left out: write the output to a file to read it all ...\n${whole.slice(-half)}`;
}

/** The code to act by, the reason, and what to do about it. */
export function refusal({ code, operation, path, reason, remedy }: ErrnoError): ToolAnswer {
  const where = path === undefined ? '' : ` ${nameText(path)}`;
  const lines = [`${code}: ${operation}${where}: ${reason}`, ...(remedy === undefined ? [] : [`try: ${remedy}`])];
  return {
    text: lines.join('\n'),
    facts: { error: { code, operation, path, reason, remedy } },
    isError: true,
  };
}

/**
 * The name of a file in a line: as it is, or, where that would be another line or another name (line ends and other controls, bytes that
 * are not UTF-8), as a string of JSON. A model that writes that as an argument means the same file.
 */
export function nameText(name: string): string {
  return /^"|[\p{Cc}\p{Surrogate}\u2028\u2029]/u.test(name) ? JSON.stringify(name) : name;
}

export function counted(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
