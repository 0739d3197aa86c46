/** A small sealed record, and the ways there are to tamper with one. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileAnchor } from './anchor/file-anchor.js';
import { bodyText, Hasher, lineText } from './format.js';
import { agentOfChain, firstSeqOf } from './layout.js';
import { directoryReader } from './reader.js';
import { library } from './record-fixture.js';
import { ChainRecorder } from './recorder.js';
import { sealAll } from './seal.js';
import { type Verification, verify } from './verify.js';

export interface SealedRecord {
  readonly base: string;
  readonly record: string;
  readonly root: string;
  readonly publicKey: string;
  /** The same again, for one attempt. */
  copy(): SealedRecord;
  verify(anchored?: boolean): Verification;
  remove(): void;
}

function at(base: string, publicKey: string): SealedRecord {
  const record = join(base, 'record');
  const root = join(base, 'root.jsonl');
  return {
    base,
    record,
    root,
    publicKey,
    copy() {
      const other = mkdtempSync(join(tmpdir(), 'ctx-tamper-'));
      cpSync(base, other, { recursive: true });
      return at(other, publicKey);
    },
    verify: (anchored = true) =>
      verify({
        reader: directoryReader(record),
        anchors: anchored ? [fileAnchor(root, 'root')] : [],
        trusted: [publicKey],
      }),
    remove: () => rmSync(base, { recursive: true, force: true }),
  };
}

export interface SealedOptions {
  readonly segmentBytes?: number;
  readonly commands?: number;
  readonly agents?: readonly string[];
}

/** Two agents and the person, refusals among what they did, several segments each where asked. */
export function sealedRecord({
  segmentBytes = 4096,
  commands = 3,
  agents = ['coder', 'tester'],
}: SealedOptions = {}): SealedRecord {
  const base = mkdtempSync(join(tmpdir(), 'ctx-tamper-'));
  const made = at(base, '');
  let time = Date.parse('2026-01-02T03:04:05.000Z');
  const recorder = new ChainRecorder({
    record: made.record,
    library,
    segmentBytes,
    now: () => {
      time += 1000;
      return new Date(time);
    },
  });
  for (const agent of [...agents, null]) {
    for (let index = 0; index < commands; index += 1) {
      const entry = { type: 'exec', object: 'fork/1/main', agent, facts: { argv: ['make', String(index)] } } as const;
      recorder.append({ ...entry, status: 'begin' });
      recorder.append({ ...entry, status: index % 2 === 0 ? 'ok' : 'failed' });
    }
    recorder.append({ type: 'hook', object: 'hook/json', status: 'denied', layer: 'hook', agent, count: 2 });
  }
  const { root } = sealAll(recorder, [fileAnchor(made.root, 'root')]);
  recorder.close();
  return at(base, root);
}

export function segmentsOf({ record }: SealedRecord, chain: string): readonly string[] {
  const directory = join(record, ...chain.split('/'));
  return readdirSync(directory)
    .filter((name) => firstSeqOf(name) !== undefined)
    .sort()
    .map((name) => join(directory, name));
}

export function editLines(path: string, edit: (lines: string[]) => string[]): void {
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  writeFileSync(
    path,
    edit(lines)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

/** As somebody who knows the format would: every head behind the change made anew. */
export function forgeChain(
  sealed: SealedRecord,
  chain: string,
  change: (type: string, facts: Record<string, unknown>) => void,
): void {
  const hasher = new Hasher();
  let head = '0'.repeat(64);
  for (const path of segmentsOf(sealed, chain)) {
    editLines(path, (lines) =>
      lines.map((line) => {
        const body = JSON.parse(line)[1];
        change(body.type, body.facts ?? {});
        const text = bodyText(body, agentOfChain(chain), body.seq, body.ts);
        head = hasher.next(head, text);
        return lineText(head, text).trimEnd();
      }),
    );
  }
}

export function swapFiles(first: string, second: string): void {
  renameSync(first, `${first}.swap`);
  renameSync(second, first);
  renameSync(`${first}.swap`, second);
}
