/** What a client of a kept jail and the process that keeps it say to each other, and the command that they speak with. */
export type { RunningCommand } from '../jail/asked-commands.js';
export {
  type ClientRequest,
  encodeBytes,
  encodeFrame,
  encodeRequest,
  FrameReader,
  frameBytes,
  readRequest,
  readSize,
  type WireFrame,
  wireKind,
} from '../kept-jail/jail-wire.js';
export type { Served } from '../kept-jail/keep-jail.js';
export type { Conversation } from '../kept-jail/run-kept.js';
