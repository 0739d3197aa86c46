/** What a call says of itself to a keeper (native/keeper-wire.h). Pure. */
import { decodePath } from '../base/path-bytes.js';

const wireVersion = '1';
const headBytes = 5;
const mostWords = 1_000_000;
const carried = 8;

export interface KeeperRequest {
  /** Of the caller, as the kernel has it. */
  readonly process: number;
  /** Which of its standard streams are terminals. */
  readonly terminals: readonly boolean[];
  /** It carries the person's terminal for the call (native/terminal-wire.h). */
  readonly carries: boolean;
  /** Device and inode of the Node that it would start. */
  readonly node: string;
  /** What of it only the caller can know. */
  readonly traits: string;
  /** The program, then what was typed after `ctx`. */
  readonly words: readonly string[];
  /** A character for each byte: to be compared, not to be read. */
  environment(): readonly string[];
  /** Where the environment is in the bytes. */
  readonly from: number;
  readonly to: number;
}

/** Undefined where it is not a request as this build writes them. */
export function parseKeeperRequest(bytes: Buffer): KeeperRequest | undefined {
  let at = headBytes;
  const next = (): string | undefined => {
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    const text = decodePath(bytes.subarray(at, end));
    at = end + 1;
    return text;
  };
  if (bytes.length <= headBytes || next() !== wireVersion) return undefined;
  const [node, traits, count] = [next(), next(), Number(next())];
  if (node === undefined || traits === undefined || !Number.isInteger(count) || count < 1 || count > mostWords) {
    return undefined;
  }
  const words: string[] = [];
  while (words.length < count) {
    const word = next();
    if (word === undefined) return undefined;
    words.push(word);
  }
  const from = at;
  if (bytes[bytes.length - 1] !== 0) return undefined;
  // Without what is behind the last end.
  const environment = () => bytes.toString('latin1', from).split('\0').slice(0, -1);
  const streams = bytes.readUInt8(headBytes - 1);
  return {
    process: bytes.readInt32LE(0),
    terminals: [0, 1, 2].map((place) => (streams & (1 << place)) !== 0),
    carries: (streams & carried) !== 0,
    node,
    traits,
    words,
    environment,
    from,
    to: bytes.length,
  };
}
