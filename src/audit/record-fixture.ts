/** What tests of the record need: a place of its own, the library, and what is in a chain. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Body } from './format.js';
import { chainPaths, firstSeqOf, personChain } from './layout.js';
import { ChainRecorder, type RecorderOptions } from './recorder.js';

const here = fileURLToPath(import.meta.url);
export const library = `${here.slice(0, here.lastIndexOf('/dist/'))}/dist/native/flock.node`;

export interface RecordPlace {
  readonly directory: string;
  recorder(options?: Partial<RecorderOptions>): ChainRecorder;
  remove(): void;
}

/** The clock does not move unless a test turns it. */
export function recordPlace(parent = tmpdir()): RecordPlace {
  const base = mkdtempSync(join(parent, 'ctx-record-'));
  const directory = join(base, 'record');
  return {
    directory,
    recorder: (options = {}) => new ChainRecorder({ record: directory, library, now: () => new Date(0), ...options }),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

export function linesOf(record: string, chain: string = personChain): readonly string[] {
  const { directory } = chainPaths(record, chain);
  return readdirSync(directory)
    .filter((name) => firstSeqOf(name) !== undefined)
    .sort()
    .flatMap((name) => readFileSync(join(directory, name), 'utf8').split('\n').slice(0, -1));
}

export function bodiesOf(record: string, chain: string = personChain): readonly Body[] {
  return linesOf(record, chain).map((line) => (JSON.parse(line) as [string, Body])[1]);
}
