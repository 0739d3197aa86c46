/** Whether other file systems are mounted inside a directory: a bind of it without them is not the same. */
import { readFileSync } from 'node:fs';
import { contains } from '../../authority/absolute-path.js';

const mountPointField = 4;

/** The kernel writes blank, tab, newline and backslash as octal numbers. */
function unescaped(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

export function hasMountsInside(directory: string): boolean {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => unescaped(line.split(' ')[mountPointField] ?? ''))
    .some((point) => point !== directory && contains(directory, point));
}
