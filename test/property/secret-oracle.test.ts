/**
 * The oracle: a jail that lets a host echo what it likes must learn nothing of a secret from sizes, borders and times. Two secrets
 * of one length, the same conversation with each, and everything that the client can see of it is compared. How long the search itself
 * takes is measured.
 *
 * CTX_TEST_SEED repeats a run; CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { mock, test } from 'node:test';
import { networkRedactMilliseconds } from '../../src/base/limits/network.js';
import type { Framing } from '../../src/network/http-message.js';
import { Redactor } from '../../src/network/redact.js';
import { SecretSearch } from '../../src/network/secret-search.js';
import { transferBody } from '../../src/network/transfer.js';
import { randomFrom, testSeed } from '../support/random.js';

type Random = () => number;

/** What a host sends next: bytes of its own, a part of the secret between two bars, or nothing for a while. */
type Step =
  | { readonly kind: 'bytes'; readonly bytes: string }
  | { readonly kind: 'echo'; readonly from: number; readonly to: number }
  | { readonly kind: 'pause' };

const secretLength = 26;
const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789-_';

const below = (random: Random, count: number) => Math.floor(random() * count);
const letters = (random: Random, count: number, from = alphabet) =>
  Array.from({ length: count }, () => from[below(random, from.length)]).join('');

function stepsOf(random: Random, pauses: number): readonly Step[] {
  return Array.from({ length: 1 + below(random, 10) }, (): Step => {
    const kind = random();
    if (kind < pauses) return { kind: 'pause' };
    // In another alphabet: text that the host guessed right would be covered, and is counted (`checkParts`).
    if (kind < 0.5) return { kind: 'bytes', bytes: letters(random, below(random, 60), 'ABCDEFGH \n') };
    const from = below(random, secretLength);
    return { kind: 'echo', from, to: random() < 0.3 ? secretLength : from + below(random, secretLength - from + 1) };
  });
}

interface Seen {
  /** Of each piece, as the client reads them. */
  readonly sizes: readonly number[];
  /** Where stars are. */
  readonly stars: string;
  /** The pauses after which something came, by their number. */
  readonly moments: readonly number[];
}

async function seenWith(secret: string, steps: readonly Step[], framing: Framing): Promise<Seen> {
  const pieces: Buffer[] = [];
  const moments: number[] = [];
  let pauses = 0;
  const sink = new Writable({
    write: (piece: Buffer, _encoding, done) => {
      pieces.push(piece);
      moments.push(pauses);
      done();
    },
  });
  const source = new PassThrough();
  const bodyOf = (step: Step) =>
    step.kind === 'bytes' ? step.bytes : step.kind === 'echo' ? `|${secret.slice(step.from, step.to)}|` : '';
  const chunk = (text: string) => (framing.kind === 'chunked' ? `${text.length.toString(16)}\r\n${text}\r\n` : text);
  const whole = steps.reduce((sum, step) => sum + bodyOf(step).length, 0);
  const sent = transferBody(source, sink, framing.kind === 'length' ? { kind: 'length', bytes: whole } : framing, {
    redactor: new Redactor(new SecretSearch([secret])),
  });
  for (const step of steps) {
    if (step.kind === 'pause') {
      mock.timers.tick(networkRedactMilliseconds);
      await settled();
      pauses += 1;
      continue;
    }
    const text = bodyOf(step);
    if (text === '') continue;
    source.write(chunk(text));
    // Taken before the next comes, so that both conversations are cut alike.
    await settled();
  }
  source.end(framing.kind === 'chunked' ? '0\r\n\r\n' : '');
  await sent;
  const stars = Buffer.concat(pieces).toString('latin1').replace(/[^*]/g, '.');
  return { sizes: pieces.map(({ length }) => length), stars, moments };
}

/** Nothing here waits for the world: what can happen has happened after a few turns. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 4; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const framings: readonly Framing[] = [{ kind: 'chunked' }, { kind: 'until close' }, { kind: 'length', bytes: 0 }];

async function compare(random: Random, pauses: number): Promise<void> {
  const steps = stepsOf(random, pauses);
  const [one, other] = [letters(random, secretLength), letters(random, secretLength)];
  const framing = framings[below(random, framings.length)] ?? { kind: 'chunked' };
  const [left, right] = [await seenWith(one, steps, framing), await seenWith(other, steps, framing)];
  assert.deepEqual(left, right, `${framing.kind} ${JSON.stringify({ one, other, steps })}`);
}

const isSoak = process.env['CTX_SOAK'] === '1';

test(`two secrets of one length cannot be told apart by echoed bodies, CTX_TEST_SEED=${testSeed}`, async () => {
  // The proxy's clock stands but for the pauses: how busy this machine is must not be seen.
  mock.timers.enable({ apis: ['setTimeout'] });
  try {
    const random = randomFrom(testSeed);
    for (let round = 0; round < (isSoak ? 50_000 : 400); round++) await compare(random, round % 2 === 0 ? 0.3 : 0);
  } finally {
    mock.timers.reset();
  }
});

/** The processor's time for a mebibyte of this text over and over; the best of a few, each with a part of the machine's noise. */
function timeFor(search: (bytes: Buffer) => void, text: string): number {
  const piece = Buffer.from(text.repeat(Math.ceil(65_536 / text.length)), 'latin1');
  const times = Array.from({ length: 7 }, () => {
    const started = process.cpuUsage();
    for (let i = 0; i < 16; i++) search(piece);
    const { user, system } = process.cpuUsage(started);
    return user + system;
  });
  return Math.min(...times);
}

/** Looks closer where two bytes are a secret's: what a quick search does, and what a jail could measure. */
function hasty(secret: string): (bytes: Buffer) => void {
  const pairs = new Set(Array.from(secret.slice(1), (letter, at) => `${secret[at]}${letter}`));
  const begins = new Uint8Array(0x1_0000);
  for (const pair of pairs) begins[(pair.charCodeAt(0) << 8) | pair.charCodeAt(1)] = 1;
  let seen = 0;
  return (bytes) => {
    for (let at = 0; at + 8 <= bytes.length; at++) {
      if (begins[((bytes[at] as number) << 8) | (bytes[at + 1] as number)] === 0) continue;
      if (secret.includes(bytes.toString('latin1', at, at + 8))) seen += 1;
    }
    return seen;
  };
}

test(`what an echo begins with cannot be told by the time it takes, CTX_TEST_SEED=${testSeed}`, () => {
  const random = randomFrom(testSeed);
  const token = letters(random, secretLength);
  const short = letters(random, 6);
  const guesses = [2, 3, 5, 7].map((length) => token.slice(9, 9 + length));
  const others = ['AB', 'ABC', 'ABCDE', 'ABCDEFG'];
  /** The best of all tries for each text: other processes make a try larger, and none smaller. */
  const ratios = (search: (bytes: Buffer) => void, right: readonly string[], wrong: readonly string[]) => {
    const best = new Map([...right, ...wrong].map((text) => [text, timeFor(search, text)]));
    const bestOf = (texts: readonly string[]) => texts.map((text) => best.get(text) ?? Number.NaN);
    return () => {
      for (const [text, time] of best) best.set(text, Math.min(time, timeFor(search, text)));
      return Math.max(...bestOf(right)) / Math.min(...bestOf(wrong));
    };
  };
  const searching = (...texts: string[]) => {
    const search = new SecretSearch(texts);
    return (bytes: Buffer) => search.find(bytes, () => undefined);
  };
  const shown = ratios(hasty(token), guesses, others)();
  assert.ok(shown > 4, `a hasty search shows it by a factor of ${shown}`);
  for (const [name, texts, right] of [
    ['a token', [`Bearer ${token}`, token], [...guesses, `Bearer ${token[0]}`, 'Bearer ', 'B']],
    ['a short one', [short], [1, 2, 3, 5].map((length) => short.slice(0, length))],
  ] as const) {
    // A search that shows something does so in each try. In one of twenty a text has a hash that falls on one that is sought, by the key
    // that is drawn for each search: whose texts these are makes no difference.
    const next = () => ratios(searching(...texts), right, others)();
    let factor = next();
    for (let tries = 1; tries < 10 && factor >= 2.5; tries++) factor = next();
    assert.ok(factor < 2.5, `${name}: the time differs by a factor of ${factor}`);
  }
});
