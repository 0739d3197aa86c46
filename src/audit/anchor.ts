/**
 * Anchors: where the root of the record is held outside of the store, so that not even the holder of the key can rewrite what
 * was anchored. One interface, an implementation a file: `file-anchor` (a file, best on another mount; the software root
 * is one), `command-anchor` (a program), `tpm-anchor` (NV indices of a TPM).
 *
 * What an anchor answers is compared here with what the host chain says was anchored. Pure.
 */
import { createHash } from 'node:crypto';

/** The head of the host chain at a seal, the `counter`th that this anchor was given. */
export interface AnchorPoint {
  readonly counter: number;
  readonly seq: number;
  readonly head: string;
  /** The public key that the record begins with. */
  readonly root: string;
}

export type AnchorState =
  | { readonly kind: 'empty' }
  /** It keeps every point. */
  | { readonly kind: 'points'; readonly points: readonly AnchorPoint[] }
  /** It keeps a counter and one value: each new value is SHA-256 of the old one and the head. */
  | { readonly kind: 'extended'; readonly counter: number; readonly value: string };

export interface Anchor {
  /** As the record names it. */
  readonly name: string;
  /** The counter that the next point will have. */
  next(): number;
  commit(point: AnchorPoint): void;
  read(): AnchorState;
}

export interface AnchorFinding {
  readonly grave: boolean;
  readonly seq?: number;
  readonly text: string;
}

export function extended(value: string, head: string): string {
  return createHash('sha256').update(Buffer.from(value, 'hex')).update(Buffer.from(head, 'hex')).digest('hex');
}

export const nothingExtended = '0'.repeat(64);

function comparePoints(
  points: readonly AnchorPoint[],
  sealed: readonly AnchorPoint[],
  headAt: (seq: number) => string | undefined,
  root: string | undefined,
): readonly AnchorFinding[] {
  const findings: AnchorFinding[] = [];
  points.forEach((point, index) => {
    const before = points[index - 1];
    if (before !== undefined && point.counter <= before.counter) {
      findings.push({
        grave: true,
        seq: point.seq,
        text: `its points are out of order: ${point.counter} follows ${before.counter}`,
      });
    }
    const found = headAt(point.seq);
    if (found === point.head) return;
    findings.push({
      grave: true,
      seq: point.seq,
      text:
        found === undefined
          ? `it has a head for record ${point.seq} of the host chain, which is missing: the record was cut off or rolled back`
          : `its head for record ${point.seq} of the host chain does not match: the record was rewritten`,
    });
  });
  const last = points.at(-1);
  if (last !== undefined && root !== undefined && last.root !== root) {
    findings.push({
      grave: true,
      text: `it belongs to a record that begins with another key (${last.root.slice(0, 16)}...)`,
    });
  }
  const newest = sealed.at(-1);
  if (findings.length === 0 && newest !== undefined && newest.counter > (last?.counter ?? 0)) {
    findings.push({
      grave: false,
      seq: newest.seq,
      text: `seal ${newest.seq} has not reached this anchor; the next seal covers it`,
    });
  }
  return findings;
}

function compareExtended(counter: number, value: string, sealed: readonly AnchorPoint[]): readonly AnchorFinding[] {
  const values = [nothingExtended];
  for (const { head } of sealed) values.push(extended(values.at(-1) ?? nothingExtended, head));
  const newest = sealed.at(-1);
  if (value === values.at(-1) && (newest === undefined || counter === newest.counter)) return [];
  if (newest !== undefined && (value === values.at(-2) || value === values.at(-1)) && counter === newest.counter - 1) {
    return [
      {
        grave: false,
        seq: newest.seq,
        text: `seal ${newest.seq} has not reached this anchor; the next seal covers it`,
      },
    ];
  }
  return [
    {
      grave: true,
      text: `its counter (${counter}) and its value do not match the seals of the host chain: the record was rewritten, cut off or rolled back`,
    },
  ];
}

/** Whether there is anything to compare a record with: one that is behind by its only seal says nothing of it. */
export function holdsHead(state: AnchorState): boolean {
  if (state.kind === 'points') return state.points.length > 0;
  // A counter counts on from where it was defined.
  return state.kind === 'extended' && state.value !== nothingExtended;
}

/** `sealed`: what the host chain says this anchor was given, without what failed. */
export function compareAnchor(
  state: AnchorState,
  sealed: readonly AnchorPoint[],
  headAt: (seq: number) => string | undefined,
  root: string | undefined,
): readonly AnchorFinding[] {
  switch (state.kind) {
    case 'empty': {
      const newest = sealed.at(-1);
      if (newest === undefined) return [];
      return [
        {
          grave: sealed.length > 1,
          seq: newest.seq,
          text: `it is empty, but seals say that ${sealed.length} heads were written to it`,
        },
      ];
    }
    case 'points':
      return comparePoints(state.points, sealed, headAt, root);
    case 'extended':
      return compareExtended(state.counter, state.value, sealed);
  }
}
