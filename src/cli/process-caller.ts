/** The person of this process. Its streams are touched when they are used: each costs a part of a start. */

import { currentDirectory } from '../sdk/current-directory.js';
import { processStreams } from '../sdk/hook-streams.js';
import type { Caller } from './caller.js';
import { print, printError, terminal } from './text/output.js';

export const processCaller: Caller = Object.freeze({
  directory: currentDirectory,
  environment: process.env,
  get stdout() {
    return { isTTY: terminal('stdout') !== undefined, write: print };
  },
  get stderr() {
    return { isTTY: terminal('stderr') !== undefined, write: printError };
  },
  hook: processStreams,
});
