/** Node's own way to start programs. It brings sockets and streams: loaded by the first that starts one with it. */
import { lazily } from './lazily.js';

export const childProcess = lazily(() => process.getBuiltinModule('node:child_process'));
