/**
 * Labels, `user:role:type:level`. The type is the subject of policy rules: it is the security boundary between agents
 * that share a uid. Levels are `s0` to `s15`; a subject reaches objects of its own level and below.
 */
import { quoted, refuse } from './syntax.js';

export interface Label {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: number;
}

const part = /^[a-zA-Z][a-zA-Z0-9_.-]{0,63}$/;
const levelText = /^s(0|[1-9]|1[0-5])$/;

export const subjectTypeRule = 'a subject type of 1 to 64 letters, digits, `_`, `.` or `-` that starts with a letter';

export function isSubjectType(text: string): boolean {
  return part.test(text);
}

export function parseLabel(text: string): Label {
  const parts = text.split(':');
  const [user, role, type, level] = parts;
  if (parts.length !== 4 || user === undefined || role === undefined || type === undefined || level === undefined) {
    return refuse('label', `expected four parts user:role:type:level, got ${quoted(text)}`);
  }
  for (const [name, value] of [
    ['user', user],
    ['role', role],
    ['type', type],
  ] as const) {
    if (!part.test(value)) refuse('label', `expected a ${name} like coder_t, got ${quoted(value)}`);
  }
  const number = levelText.exec(level)?.[1];
  if (number === undefined) return refuse('label', `expected a level s0 to s15, got ${quoted(level)}`);
  return Object.freeze({ user, role, type, level: Number(number) });
}

export function printLabel(label: Label): string {
  return `${label.user}:${label.role}:${label.type}:s${label.level}`;
}
