/** A directory as a value: equal snapshots mean equal trees, byte for byte. */
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface SnapshotOptions {
  /** Whether times count. A fork gives back the contents and modes it has; directories get times of their own. */
  readonly times: boolean;
}

const separator = Buffer.from('/');

/** Keys are paths with one character a byte, so that names in no encoding are kept apart. */
export function snapshot(directory: string, options: SnapshotOptions = { times: true }): Record<string, string> {
  const entries: Record<string, string> = {};
  const visit = (path: Buffer, key: string): void => {
    const about = lstatSync(path, { bigint: true });
    const facts = [(about.mode & 0o7777n).toString(8), `${about.uid}:${about.gid}`];
    if (options.times && !about.isSymbolicLink()) facts.push(String(about.mtimeNs));
    if (about.isSymbolicLink()) facts.unshift('link', readlinkSync(path, 'latin1'));
    else if (about.isFile()) facts.unshift('file', String(about.size), digest(path, Number(about.size)));
    else facts.unshift(about.isDirectory() ? 'directory' : about.isFIFO() ? 'fifo' : 'other');
    entries[key] = facts.join(' ');
    if (!about.isDirectory()) return;
    for (const name of readdirSync(path, 'buffer').sort(Buffer.compare)) {
      visit(Buffer.concat([path, separator, name]), `${key}/${name.toString('latin1')}`);
    }
  };
  visit(Buffer.from(directory), '.');
  return entries;
}

const hashedBytes = 64 * 1024 * 1024;

function digest(path: Buffer, size: number): string {
  return size > hashedBytes ? 'large' : createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16);
}
