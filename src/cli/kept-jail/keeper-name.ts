/** By which name a process that keeps jails knows what it was started for, and that somebody waits for a sign that it has begun. */
import { closeSync, writeSync } from 'node:fs';

/** Keeps one. */
export const keeperName = 'ctx-kept-jail';
/** Keeps all of its user. */
export const sharedKeeperName = 'ctx-kept-jails';

export const begunDescriptor = 3;

/** What comes then may take long: an import. */
export function sayBegun(text = '.'): void {
  if (process.argv0 !== keeperName && process.argv0 !== sharedKeeperName) return;
  writeSync(begunDescriptor, text);
  closeSync(begunDescriptor);
}
