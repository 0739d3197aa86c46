/** The streams that a hook's message comes and its answer goes by. Light: every start of `ctx` reads it. */
export { type HookStreams, processStreams } from '../hook/streams.js';
