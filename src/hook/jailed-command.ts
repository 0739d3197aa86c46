/**
 * A shell command as one call of `ctx exec`. The text is never looked into: it becomes one quoted argument, whatever it
 * says. Only the exact form that is made here is taken for jailed already; text that merely starts like it is wrapped.
 */
import { posix } from 'node:path';

/** One word to every POSIX shell. A line break inside is part of the word. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Options of `ctx exec`: an agent, further paths. */
export interface JailedForm {
  /** Absolute path of `ctx`. */
  readonly program: string;
  readonly options: readonly string[];
  /** `sh`, or `bash` where this host has it. */
  readonly shell: string;
}

/** `--wait`, since a harness runs commands side by side and they share a fork. */
function opening({ program, options, shell }: JailedForm): string {
  const words = [posix.normalize(program), 'exec', '--wait', ...options, '--', shell, '-c'];
  return `${words.map((word) => (/^[A-Za-z0-9_./:=-]+$/.test(word) ? word : shellWord(word))).join(' ')} `;
}

export function jailed(command: string, form: JailedForm): string {
  return `${opening(form)}${shellWord(command)}`;
}

/** Whether `command` is what `jailed` made of some command: taken apart, made again, compared. */
export function isJailed(command: string, form: JailedForm): boolean {
  const start = opening(form);
  if (!command.startsWith(`${start}'`) || !command.endsWith("'")) return false;
  const inner = command.slice(start.length + 1, -1).replaceAll("'\\''", "'");
  return jailed(inner, form) === command;
}
