/**
 * What is being made or taken away beside objects. Its name begins with a dot, so that no one takes it for an object, and is one that no
 * other process gives, be it in another pid namespace. What a process that was killed left goes when the next one makes something there.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { leftBehindMilliseconds } from '../base/limits/objects.js';
import { uniqueName } from '../base/unique-name.js';

const pattern = /^\..+\.[0-9a-z-]+\.(?:new|gone)$/;

export const draftOf = (parent: string, name: string): string => join(parent, `.${name}.${uniqueName()}.new`);

/** Where it is moved before it is deleted. */
export const goneOf = (parent: string, name: string): string => join(parent, `.${name}.${uniqueName()}.gone`);

export function removeLeft(parent: string, now = Date.now()): void {
  for (const name of readdirSync(parent).filter((each) => pattern.test(each))) {
    const path = join(parent, name);
    const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now;
    if (now - changed > leftBehindMilliseconds) rmSync(path, { recursive: true, force: true });
  }
}
