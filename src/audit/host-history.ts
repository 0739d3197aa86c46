/** What the host chain says of keys, seals, chains and anchors, gathered record by record. Pure. */
import type { Json } from '../base/canonical-json.js';
import type { AnchorPoint } from './anchor.js';
import { type Body, types } from './format.js';
import { hostChain, isChainName } from './layout.js';
import { headStatement, isSignedBy, type KeyAction, keyId, keyStatement } from './signature.js';

export interface Seal {
  readonly chain: string;
  readonly seq: number;
  readonly head: string;
  readonly key: string;
  /** Of the record in the host chain. */
  readonly at: number;
  readonly atHead: string;
  readonly ts: string;
  readonly anchors: Readonly<Record<string, number>>;
}

export interface KnownKey {
  readonly id: string;
  readonly publicKey: string;
  readonly since: number;
  readonly state: 'in use' | 'rotated' | 'revoked';
}

type Facts = { readonly [name: string]: Json | undefined };

function text(facts: Facts | undefined, name: string): string {
  const value = facts?.[name];
  return typeof value === 'string' ? value : '';
}

function counters(value: Json | undefined): Readonly<Record<string, number>> {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
  );
}

export class HostHistory {
  readonly #keys = new Map<string, KnownKey>();
  readonly #heads: string[] = [];
  readonly #announced = new Map<string, string[]>();
  readonly #seals: Seal[] = [];
  /** Anchors that did not get what a seal says, each with the record of that seal. */
  readonly #failed = new Set<string>();
  #root: string | undefined;
  #inUse: string | undefined;

  /** What is wrong with the record, in words; undefined where nothing is. Signatures are checked here. */
  add(body: Body, head: string): string | undefined {
    this.#heads[body.seq] = head;
    const { facts } = body;
    switch (body.type) {
      case types.chain: {
        const chain = text(facts, 'chain');
        if (!isChainName(chain)) return 'it announces a chain with a name that no chain has';
        this.#announced.set(chain, [...(this.#announced.get(chain) ?? []), text(facts, 'head')]);
        const wasSealed = this.#seals.some((seal) => seal.chain === chain);
        return wasSealed ? `chain ${chain} began anew after it was sealed` : undefined;
      }
      case types.key:
        return this.#addKey(
          text(facts, 'action') as KeyAction,
          text(facts, 'public'),
          text(facts, 'by'),
          text(facts, 'signature'),
          body.seq,
        );
      case types.seal:
        return this.#addSeal(body, head);
      case types.anchor: {
        // Of the last seal that has the counter: one that failed is given again, by another seal.
        const anchor = text(facts, 'anchor');
        const seal = this.#seals.findLast(({ anchors }) => anchors[anchor] === facts?.['counter']);
        if (seal !== undefined) this.#failed.add(`${anchor} ${seal.at}`);
        return undefined;
      }
      default:
        return undefined;
    }
  }

  #addKey(action: KeyAction, publicKey: string, by: string, signature: string, seq: number): string | undefined {
    const known = this.#keys.get(publicKey);
    const id = keyId(publicKey);
    const expected = action === 'made' ? publicKey : this.#inUse;
    if (by !== expected || !isSignedBy(by, keyStatement(action, publicKey), signature)) {
      return `the statement about key ${id} is not signed by the required key`;
    }
    if (action === 'revoked') {
      if (known === undefined) return `it revokes key ${id}, which was never in use`;
      this.#keys.set(publicKey, { ...known, state: 'revoked' });
      return undefined;
    }
    if (action === 'made' && this.#root !== undefined) return `a second initial key ${id} was made`;
    if (known !== undefined) return `key ${id} came into use twice`;
    const before = this.#keys.get(this.#inUse ?? '');
    if (before !== undefined) this.#keys.set(before.publicKey, { ...before, state: 'rotated' });
    this.#keys.set(publicKey, { id, publicKey, since: seq, state: 'in use' });
    this.#root ??= publicKey;
    this.#inUse = publicKey;
    return undefined;
  }

  #addSeal({ facts, seq: at, ts }: Body, atHead: string): string | undefined {
    const [chain, head, key, signature] = ['chain', 'head', 'key', 'signature'].map((name) => text(facts, name)) as [
      string,
      string,
      string,
      string,
    ];
    const seq = Number(facts?.['seq']);
    const known = this.#keys.get(key);
    if (known === undefined || known.state !== 'in use')
      return `it is signed with key ${keyId(key)}, which is ${known?.state ?? 'unknown'}`;
    if (!isSignedBy(key, headStatement(chain, seq, head), signature)) return 'its signature is not valid';
    if (chain === hostChain && this.#heads[seq] !== head)
      return `its head for record ${seq} of the host chain does not match`;
    this.#seals.push({ chain, seq, head, key, at, atHead, ts, anchors: counters(facts?.['anchors']) });
    return undefined;
  }

  get root(): string | undefined {
    return this.#root;
  }

  get inUse(): KnownKey | undefined {
    return this.#keys.get(this.#inUse ?? '');
  }

  get keys(): readonly KnownKey[] {
    return [...this.#keys.values()];
  }

  get chains(): readonly string[] {
    return [...this.#announced.keys()];
  }

  /** Of its genesis, as announced; the last where a crash made it begin twice. */
  genesisOf(chain: string): string | undefined {
    return this.#announced.get(chain)?.at(-1);
  }

  sealsOf(chain: string): readonly Seal[] {
    return this.#seals.filter((seal) => seal.chain === chain);
  }

  headAt(seq: number): string | undefined {
    return this.#heads[seq];
  }

  /** Names of all anchors that were given something. */
  get anchors(): readonly string[] {
    const named = new Set(this.#seals.flatMap(({ anchors }) => Object.keys(anchors)));
    return [...named].filter((anchor) => this.pointsOf(anchor).length > 0);
  }

  /** What an anchor was given, as far as the chain says. */
  pointsOf(anchor: string): readonly AnchorPoint[] {
    return this.#seals.flatMap(({ anchors, at, atHead }) => {
      const counter = anchors[anchor];
      if (counter === undefined || this.#failed.has(`${anchor} ${at}`)) return [];
      return [{ counter, seq: at, head: atHead, root: this.#root ?? '' }];
    });
  }
}
