/** What a client of a session and the process that keeps it say to each other, and the command that they speak with. */
export type { RunningCommand } from '../jail/serve.js';
export type { Conversation } from '../session/run-kept.js';
export type { Served } from '../session/session-keeper.js';
export {
  type ClientRequest,
  encodeBytes,
  encodeFrame,
  FrameReader,
  readRequest,
  readSize,
  type WireFrame,
  wireKind,
} from '../session/session-wire.js';
