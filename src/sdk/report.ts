/** What a command's report and its refusals say. */
export type { ConnectionEvent } from '../network/events.js';
export { type CapturedStream, type Envelope, exitCodeOfCommand, type Refusal } from '../proxy/envelope.js';
export type { LiveEnvelope } from '../proxy/execute-live.js';
export type { LimitEvent } from '../proxy/limit-events.js';
export { decisionOf } from '../proxy/refused-decision.js';
