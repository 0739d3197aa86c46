/**
 * Seals: the head of every chain that grew, signed, in the host chain; last the host chain's own, which the anchors are given.
 * A seal is in the chain before an anchor has it; where an anchor fails, or a crash came between, the next seal says so.
 */
import { ErrnoError } from '../base/errno.js';
import { type Anchor, compareAnchor } from './anchor.js';
import { type Position, types } from './format.js';
import type { HostHistory } from './host-history.js';
import { Keys, type SigningKey } from './keys.js';
import { hostChain } from './layout.js';
import { readHistory } from './read-history.js';
import { directoryReader } from './reader.js';
import type { ChainRecorder } from './recorder.js';
import { headStatement, sign } from './signature.js';

export interface Sealed {
  readonly key: string;
  /** The public key that the record begins with. */
  readonly root: string;
  /** Empty where nothing had been added since the last time. */
  readonly chains: readonly ({ readonly chain: string } & Position)[];
  readonly anchors: readonly { readonly name: string; readonly counter: number; readonly error?: string }[];
}

function sealHead(
  recorder: ChainRecorder,
  key: SigningKey,
  chain: string,
  end: Position,
  anchors: Record<string, number>,
): Position {
  const signature = sign(key.privateKey, headStatement(chain, end.seq, end.head));
  return recorder.appendToHost({
    type: types.seal,
    object: chain,
    status: 'ok',
    durable: true,
    facts: {
      chain,
      seq: end.seq,
      head: end.head,
      key: key.publicKey,
      signature,
      ...(Object.keys(anchors).length === 0 ? {} : { anchors }),
    },
  });
}

function tellFailure(recorder: ChainRecorder, anchor: string, counter: number, reason: string): void {
  const facts = { anchor, counter, reason };
  recorder.appendToHost({ type: types.anchor, object: 'anchor', status: 'failed', durable: true, facts });
}

/** What was promised to an anchor and did not come to it. */
function settle(recorder: ChainRecorder, anchor: Anchor, history: HostHistory): void {
  const points = history.pointsOf(anchor.name);
  const newest = points.at(-1);
  const findings = compareAnchor(anchor.read(), points, (seq) => history.headAt(seq), history.root);
  const grave = findings.find((finding) => finding.grave);
  if (grave !== undefined) {
    throw new ErrnoError('EIO', {
      operation: `anchor ${anchor.name}`,
      reason: grave.text,
      remedy: 'run ctx audit verify for details; nothing is anchored until this is resolved',
    });
  }
  if (findings.length > 0 && newest !== undefined) {
    tellFailure(recorder, anchor.name, newest.counter, 'it was not written, because of a crash');
  }
}

export function sealAll(recorder: ChainRecorder, anchors: readonly Anchor[]): Sealed {
  return recorder.alone(() => seal(recorder, anchors));
}

function seal(recorder: ChainRecorder, anchors: readonly Anchor[]): Sealed {
  // A host that has recorded nothing yet has a chain to begin.
  recorder.endOf(hostChain);
  const reader = directoryReader(recorder.record);
  const history = readHistory(recorder.record);
  const key = new Keys(recorder).current(history);
  const root = history.root ?? key.publicKey;
  const named = { key: key.id, root };
  const chains: ({ chain: string } & Position)[] = [];
  for (const chain of reader.chains().filter((name) => name !== hostChain)) {
    const end = recorder.endOf(chain);
    if (end.seq <= (history.sealsOf(chain).at(-1)?.seq ?? 0)) continue;
    sealHead(recorder, key, chain, end, {});
    chains.push({ chain, ...end });
  }
  const last = history.sealsOf(hostChain).at(-1);
  if (last !== undefined && recorder.endOf(hostChain).seq === last.at) return { ...named, chains, anchors: [] };
  const counters: Record<string, number> = {};
  const errors: Record<string, string> = {};
  const reached = anchors.filter((anchor) => {
    try {
      settle(recorder, anchor, history);
      counters[anchor.name] = anchor.next();
      return true;
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      errors[anchor.name] = `${error.reason} (${error.code})`;
      return false;
    }
  });
  const end = recorder.endOf(hostChain);
  const sealed = sealHead(recorder, key, hostChain, end, counters);
  chains.push({ chain: hostChain, ...sealed });
  for (const anchor of reached) {
    const counter = counters[anchor.name] ?? 0;
    try {
      anchor.commit({ counter, seq: sealed.seq, head: sealed.head, root });
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      errors[anchor.name] = `${error.reason} (${error.code})`;
      tellFailure(recorder, anchor.name, counter, error.reason);
    }
  }
  const told = anchors.map(({ name }) => {
    const error = errors[name];
    return { name, counter: counters[name] ?? 0, ...(error === undefined ? {} : { error }) };
  });
  return { ...named, chains, anchors: told };
}
