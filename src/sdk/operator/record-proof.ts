/** What makes the record a proof: seals, keys, exports and the verifier. */

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileAnchor } from '../../audit/anchor/file-anchor.js';
import { anchorsOf, rootAnchor } from '../../audit/anchors-of.js';
import { Hasher } from '../../audit/format.js';
import { HostHistory } from '../../audit/host-history.js';
import { Keys } from '../../audit/keys.js';
import { hostChain } from '../../audit/layout.js';
import { readAuditSettings } from '../../audit/places.js';
import { directoryReader, type RecordReader } from '../../audit/reader.js';
import { ChainRecorder } from '../../audit/recorder.js';
import { replay } from '../../audit/replay.js';
import { type Sealed, sealAll } from '../../audit/seal.js';
import { publicPem } from '../../audit/signature.js';
import { type Verification, verify } from '../../audit/verify.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { having, parsedAs, text } from '../../base/shape.js';
import type { Host } from '../../proxy/host.js';
import { currentDirectory } from '../current-directory.js';
import { RecordCopy } from './record-copy.js';

export { publicPem };

/** Of this call alone: it has the files of every chain open, and the process may stay. */
function withRecorder<T>({ audit, now }: Host, use: (recorder: ChainRecorder) => T): T {
  const { record, library } = audit;
  const recorder = new ChainRecorder({ record, library, now });
  try {
    return use(recorder);
  } finally {
    recorder.close();
  }
}

export function sealRecord(host: Host): Sealed {
  return withRecorder(host, (recorder) => sealAll(recorder, anchorsOf(host.audit)));
}

export interface KnownKeys {
  /** The first key of the host that it is of; null before the first seal. */
  readonly root: string | null;
  readonly keys: HostHistory['keys'];
}

export function keysOf(reader: RecordReader): KnownKeys {
  const history = new HostHistory();
  replay(reader, hostChain, new Hasher(), (body, head) => history.add(body, head));
  return { root: history.root ?? null, keys: history.keys };
}

export function rotateKey(host: Host): void {
  withRecorder(host, (recorder) => new Keys(recorder).rotate());
}

export function revokeKey(host: Host, id: string): void {
  withRecorder(host, (recorder) => new Keys(recorder).revoke(id));
}

/** The verifier in Python goes along, where this is a checkout. */
function secondVerifier(): string | undefined {
  const here = import.meta.filename;
  const path = `${here.slice(0, here.lastIndexOf('/dist/'))}/scripts/verify-audit.py`;
  return existsSync(path) ? path : undefined;
}

export interface Exported {
  readonly directory: string;
  readonly chains: readonly string[];
  /** The root key that it was sealed with. */
  readonly key: string;
}

export function exportRecord(host: Host, to: string): Exported {
  const directory = resolve(currentDirectory(), to);
  const { record, root } = host.audit;
  const sealed = sealRecord(host);
  const reader = directoryReader(record);
  const copy = new RecordCopy(directory);
  try {
    for (const chain of reader.chains()) copy.addChain(join(record, chain), chain);
    if (existsSync(root)) copy.addFile(root, 'root.jsonl');
    copy.addText('root.pub', `${sealed.root}\n`);
    const verifier = secondVerifier();
    if (verifier !== undefined) copy.addFile(verifier, 'verify-audit.py');
  } catch (error) {
    throw fromSystemError(error, 'ctx audit export', directory);
  } finally {
    copy.close();
  }
  return { directory, chains: reader.chains(), key: sealed.root };
}

/** The key that is asked for, else the one that the software root was first given. */
function trusted(host: Host, exported: string | undefined, key: string | undefined): readonly string[] {
  if (key !== undefined) {
    if (/^[0-9a-f]{64}$/.test(key)) return [key];
    throw new ErrnoError('EINVAL', {
      operation: 'ctx audit verify',
      reason: 'expected --key as 64 hexadecimal digits',
    });
  }
  if (exported !== undefined) return [];
  try {
    const [first = ''] = readFileSync(host.audit.root, 'utf8').split('\n');
    const point = parsedAs<{ readonly root: string }>(first, having({ root: text }));
    return point === undefined ? [] : [point.root];
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

const attempts = 5;

/** Others may be writing while we read, and half of what they write looks like tampering: what fails then is read again. */
function settled(reader: RecordReader, ask: () => Verification): Verification {
  const sizes = () =>
    reader.chains().map((chain) =>
      reader
        .files(chain)
        .map((file) => `${file} ${reader.read(chain, file).length}`)
        .join(),
    );
  for (let attempt = 1; ; attempt += 1) {
    const before = sizes().join();
    const answer = ask();
    if (answer.ok || attempt === attempts || sizes().join() === before) return answer;
  }
}

/** `exported` is the directory of an export, which brings the root that it was anchored with. */
export function verifyRecord(host: Host, exported: string | undefined, key: string | undefined): Verification {
  const directory = exported ?? host.audit.record;
  const reader = directoryReader(directory);
  if (reader.chains().length === 0) {
    const reason = 'there is no record here';
    throw new ErrnoError('ENOENT', { operation: 'ctx audit verify', path: directory, reason });
  }
  return settled(reader, () => {
    const known =
      exported === undefined
        ? { anchors: anchorsOf(host.audit), retired: readAuditSettings(host.audit.settings).retired }
        : { anchors: [fileAnchor(join(exported, 'root.jsonl'), rootAnchor)] };
    return verify({ reader, ...known, trusted: trusted(host, exported, key) });
  });
}
