/** Extended attributes as the kernel takes them: a value, and names that each end with NUL. */
import { type Answer, ask, type Steps } from '../vfs/answer.js';
import { bytesFromName } from '../vfs/names.js';

export function* valued(act: () => Answer<Buffer>): Steps<Buffer> {
  return yield* ask(act());
}

export function* listed(act: () => Answer<readonly string[]>): Steps<Buffer> {
  return Buffer.concat((yield* ask(act())).map((name) => Buffer.concat([bytesFromName(name), Buffer.alloc(1)])));
}
