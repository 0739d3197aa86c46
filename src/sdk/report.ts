/** What a command's report and its refusals say. */
export type { ConnectionEvent } from '../network/events.js';
export { decisionOf } from '../proxy/approval/refused-decision.js';
export {
  type CapturedStream,
  type Envelope,
  exitCodeOfCommand,
  type LiveEnvelope,
  type Refusal,
} from '../proxy/report/envelope.js';
export type { LimitEvent } from '../proxy/report/limit-events.js';
export { toldRefusals } from '../proxy/report/told-refusals.js';
