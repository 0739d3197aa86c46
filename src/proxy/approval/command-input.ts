/** What a command will read, as an approval binds and shows it: bytes that are known, or that they are not. */
import { fstatSync, readFileSync, readSync } from 'node:fs';
import { isatty } from 'node:tty';
import { inputDigestBytes, inputExcerptBytes } from '../../base/limits/decisions.js';

/** `stdin`: that of this process. A terminal is `nothing`: a person types there, and sees what asks. */
export type InputSource = 'nothing' | 'stdin' | 'unknown' | Uint8Array | ClientInput;

/** Bytes that a client has and that are taken over before the question, so that what is shown is what the command reads. */
export interface ClientInput {
  /** The same each time; undefined where they are too many. */
  take(): Promise<readonly Uint8Array[] | undefined>;
}

/** Undefined where there is nothing to bind. `unknown`: a pipe, of which no one can say what will come. */
export type BoundInput =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'known'; readonly digest: string; readonly size: number; readonly excerpt: string };

const standardInput = 0;
const nullDevice = (1 << 8) | 3;
const chunkBytes = 1 << 20;

async function known(chunks: Iterable<Uint8Array>): Promise<BoundInput> {
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256');
  let size = 0;
  let start = Buffer.alloc(0);
  for (const chunk of chunks) {
    hash.update(chunk);
    if (start.length < inputExcerptBytes) start = Buffer.concat([start, chunk.subarray(0, inputExcerptBytes)]);
    size += chunk.length;
    if (size > inputDigestBytes) return { kind: 'unknown' };
  }
  const excerpt = start.subarray(0, inputExcerptBytes).toString('utf8');
  return { kind: 'known', digest: `sha256:${hash.digest('hex')}`, size, excerpt };
}

/** From where the command would go on reading; the position stays as it is. */
function* rest(descriptor: number): Generator<Uint8Array> {
  const at = /^pos:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
  for (let position = Number(at); ; ) {
    const chunk = Buffer.alloc(chunkBytes);
    const count = readSync(descriptor, chunk, 0, chunkBytes, position);
    if (count === 0) return;
    position += count;
    yield chunk.subarray(0, count);
  }
}

export async function inputOf(source: InputSource): Promise<BoundInput | undefined> {
  if (source === 'nothing') return undefined;
  if (source === 'unknown') return { kind: 'unknown' };
  if (source instanceof Uint8Array) return known([source]);
  if (source !== 'stdin') {
    const taken = await source.take();
    return taken === undefined ? { kind: 'unknown' } : known(taken);
  }
  if (isatty(standardInput)) return undefined;
  const status = fstatSync(standardInput);
  if (status.isCharacterDevice() && status.rdev === nullDevice) return undefined;
  return status.isFile() ? known(rest(standardInput)) : { kind: 'unknown' };
}
