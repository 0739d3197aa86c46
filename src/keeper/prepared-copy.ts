/** A copy of a keeper, before its call is there: as the process would be that the caller had started, with what is ready for every call. */
import { closeSync } from 'node:fs';
import { drawAnew } from './copy-trial.js';
import type { KeeperLibrary } from './keeper-library.js';

/** `wordFile` is the keeper's alone. `startReady` starts the program that every call asks. */
export function prepareCopy(library: Pick<KeeperLibrary, 'end'>, wordFile: number, startReady: () => void): void {
  process.on('exit', (code) => library.end(code));
  process.execArgv = [];
  drawAnew();
  closeSync(wordFile);
  try {
    startReady();
  } catch {
    // Where no further process may be started the call says so.
  }
}
