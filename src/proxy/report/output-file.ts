/** Output that a report has no room for, in a file: bounded, and no more of them than a fork keeps. */
import { closeSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fromSystemError, hasCode } from '../../base/errno.js';
import { outputFileBytes, outputFilesKept } from '../../base/limits/commands.js';
import { makeDirectory } from '../../base/make-directory.js';

interface Output {
  readonly path: string;
  readonly changed: number;
}

/** Oldest first. Another command may be deleting them too. */
function outputsIn(directory: string): readonly Output[] {
  const found: Output[] = [];
  try {
    for (const name of readdirSync(directory)) {
      const path = join(directory, name);
      const about = statSync(path, { throwIfNoEntry: false });
      if (about !== undefined) found.push({ path, changed: about.mtimeMs });
    }
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw fromSystemError(error, 'look for output', directory);
  }
  return found.sort((a, b) => a.changed - b.changed);
}

export function dropOldOutputs(directory: string, before: number): void {
  for (const { path, changed } of outputsIn(directory)) if (changed < before) rmSync(path, { force: true });
}

/**
 * Made with its first byte. What cannot be written, whatever the reason (a full disk, `ulimit -f`), is not kept and takes no room: the
 * report says so by having no file. It is about a command that runs, which nothing here may end.
 */
export class OutputFile {
  readonly #path: string;
  readonly #most: number;
  #descriptor: number | undefined;
  #bytes = 0;
  #lost = false;

  constructor(path: string, most = outputFileBytes) {
    this.#path = path;
    this.#most = most;
  }

  write(chunk: Buffer): void {
    const part = chunk.subarray(0, this.#most - this.#bytes);
    if (this.#lost || part.length === 0) return;
    try {
      this.#descriptor ??= this.#open();
      for (let at = 0; at < part.length; ) at += writeSync(this.#descriptor, part, at);
      this.#bytes += part.length;
    } catch (error) {
      fromSystemError(error, 'keep output', this.#path); // which throws anything else
      this.#lose();
    }
  }

  /** Where it is and how much it holds; undefined where nothing was kept. */
  finish(): { readonly path: string; readonly bytes: number } | undefined {
    this.close();
    return this.#lost || this.#bytes === 0 ? undefined : { path: this.#path, bytes: this.#bytes };
  }

  close(): void {
    if (this.#descriptor === undefined) return;
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    closeSync(descriptor);
  }

  #lose(): void {
    this.#lost = true;
    // One of the same name that was there before is somebody else's.
    if (this.#descriptor === undefined) return;
    try {
      this.close();
      rmSync(this.#path, { force: true });
    } catch (error) {
      fromSystemError(error, 'remove output', this.#path);
    }
  }

  #open(): number {
    const directory = dirname(this.#path);
    makeDirectory(directory);
    const outputs = outputsIn(directory);
    for (const { path } of outputs.slice(0, Math.max(0, outputs.length + 1 - outputFilesKept))) {
      rmSync(path, { force: true });
    }
    return openSync(this.#path, 'wx', 0o600);
  }
}
