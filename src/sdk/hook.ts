/** A harness's tool calls, judged before they happen: `ctx hook`. Light: a harness starts it for every call. */
export { type HookRequest, protocolNames, protocolOf, runHook } from '../hook/hook.js';
export type { HookHost } from '../hook/hook-host.js';
