/**
 * A keeper: one process of a user, store and build that has Node and ctx in memory, and runs each call in a copy of itself (fork). The copy
 * has the caller's directory, environment and streams and ends with the call, so that the keeper itself learns nothing of any call, holds
 * nothing of any caller, and every verb does exactly what it does in a Node of its own. Calls that a copy could not run in that way are
 * refused, and the caller starts Node.
 *
 * It imports `base` alone. It waits in one system call and never returns to Node's loop: only its copies do.
 */
import { closeSync, fstatSync, futimesSync, statSync, unlinkSync } from 'node:fs';
import { freemem, totalmem } from 'node:os';
import { monotonic } from '../base/clock.js';
import {
  keeperIdleMilliseconds,
  keeperLifeMilliseconds,
  keeperLookMilliseconds,
  keeperMemoryShare,
  keeperShortIdleMilliseconds,
} from '../base/limits/commands.js';
import type { KeeperLibrary } from './keeper-library.js';
import { type KeeperRequest, parseKeeperRequest } from './keeper-request.js';
import { Company } from './possible-callers.js';
import { comparedAtOnce, differenceOf, readProcessTraits, whenPrepared } from './process-traits.js';
import { isServed, startVariables } from './served-calls.js';

export interface KeeperPlace {
  /** STORE/keeper/KEY. */
  readonly directory: string;
  /** Its descriptor. */
  readonly descriptor: number;
  /** Held (flock) for as long as this process lives. */
  readonly lock: number;
}

export interface KeeperFacts {
  /** The bundle that its callers would start. */
  readonly program: string;
  /** What `native/call` said of the process that started this one. */
  readonly traits: string;
  /** What this process was started with. */
  readonly environment: readonly string[];
  /** Which build is on the disk. */
  build(): string;
  /** Whether every file of it is the one that was checked: calls start programs of it. */
  isIntact(): boolean;
}

/** What a copy is to run: the words after `ctx`. */
export interface TakenCall {
  /** The bundle that its caller would have started. */
  readonly program: string;
  readonly given: readonly string[];
  /** The copy's own. */
  readonly process: number;
  /** Its caller carries the person's terminal. */
  readonly carries: boolean;
}

/** Requests are up to 4 MiB, and have a head. */
const requestBytes = 4 * 1024 * 1024 + 64;
const socketName = 'socket';

function identityOf(path: string): string {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev}:${ino}`;
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined; // gone
  }
}

export class Keeper {
  readonly #library: KeeperLibrary;
  readonly #place: KeeperPlace;
  readonly #facts: KeeperFacts;
  readonly #node = identityOf('/proc/self/exe');
  readonly #started = monotonic();
  readonly #build: string;
  readonly #company = new Company();
  readonly #localTime = attempt(() => identityOf('/etc/localtime'));
  readonly #variables: string;

  constructor(library: KeeperLibrary, place: KeeperPlace, facts: KeeperFacts) {
    this.#library = library;
    this.#place = place;
    this.#facts = facts;
    this.#build = facts.build();
    this.#variables = startVariables(facts.environment);
  }

  /**
   * Returns in a copy, with the call that it is to run; and in the keeper, with nothing, when it is to end. `prepare` is run in each copy
   * before it waits for its call.
   */
  serve(prepare: () => void): TakenCall | undefined {
    const { lock, descriptor, directory } = this.#place;
    const failed = this.#library.listen(descriptor, socketName);
    if (failed < 0) throw new Error(`listen at ${directory}: errno ${-failed}`);
    // A time long ago says that this start has succeeded.
    futimesSync(lock, 1, 1);
    const bytes = Buffer.allocUnsafeSlow(requestBytes);
    let used = monotonic();
    let ends = false;
    while (!ends || this.#library.running() > 0) {
      // One copy waits for the next call, made when no one waits for anything that it would be in the way of.
      if (!ends && this.#library.followed() === 0 && this.#library.make() === 0)
        return this.#becomeCall(bytes, prepare);
      const size = this.#library.next(bytes, keeperLookMilliseconds);
      if (size > 0) {
        const request = ends ? undefined : parseKeeperRequest(bytes.subarray(0, size));
        const copy = request !== undefined && this.#serves(request) ? this.#library.make() : -1;
        if (copy === 0) return this.#becomeCall(bytes, prepare);
        if (request === undefined || copy < 0) this.#library.refuse();
        else this.#give(request, copy);
      }
      // What it refuses is no use of it: it would be in the place of one that is as its callers are.
      if (this.#library.running() > 0) used = monotonic();
      if (!ends && (size < 0 || this.#hasReasonToEnd(used))) {
        ends = true;
        this.#stopListening();
      }
    }
    this.#library.drop();
    return undefined;
  }

  /** In a copy: it waits until it is given a call. */
  #becomeCall(bytes: Buffer, prepare: () => void): TakenCall {
    closeSync(this.#place.lock);
    closeSync(this.#place.descriptor);
    prepare();
    const size = this.#library.await(bytes);
    const request = size > 0 ? parseKeeperRequest(bytes.subarray(0, size)) : undefined;
    if (request === undefined) this.#library.end(0);
    const process = this.#library.become(bytes, request.from, request.to);
    const [program = '', ...given] = request.words;
    return { program, given, process, carries: request.carries };
  }

  /** The copy has what this process had when it was made: it is that which has to be as the caller is. */
  #give({ process: caller }: KeeperRequest, copy: number): void {
    const { fields, files, namespaces } = comparedAtOnce;
    if (this.#library.alike(copy, caller, fields, files, namespaces) === 1) {
      this.#library.give();
      return;
    }
    const here = readProcessTraits('self', this.#library.priority(0));
    const own = whenPrepared(readProcessTraits(copy, this.#library.priority(copy)), here);
    if (differenceOf(own, readProcessTraits(caller, this.#library.priority(caller))) === undefined) {
      this.#library.give();
      return;
    }
    this.#library.refuse();
    // Where this process was moved since, the next call gets a copy that is as it is now.
    if (differenceOf(own, here) !== undefined) this.#library.drop();
  }

  /** Anything that goes wrong here leaves the call to its caller. */
  #serves({ words, node, traits, terminals, carries, environment }: KeeperRequest): boolean {
    const isOurs = node === this.#node && traits === this.#facts.traits;
    if (!isOurs || !isServed({ given: words.slice(1), terminals, carries })) return false;
    return this.#facts.isIntact() && startVariables(environment()) === this.#variables;
  }

  #hasReasonToEnd(used: number): boolean {
    const now = monotonic();
    const isShort = freemem() < totalmem() * keeperMemoryShare;
    const idle = isShort ? keeperShortIdleMilliseconds : keeperIdleMilliseconds;
    if (now - used > idle || now - this.#started > keeperLifeMilliseconds) return true;
    if (this.#library.running() === 0 && !this.#company.isThere()) return true;
    const { directory, descriptor } = this.#place;
    // The store has gone, or another is there now.
    const there = attempt(() => identityOf(directory));
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    if (there !== `${dev}:${ino}`) return true;
    return (
      attempt(() => this.#facts.build()) !== this.#build ||
      !this.#facts.isIntact() ||
      attempt(() => identityOf('/etc/localtime')) !== this.#localTime
    );
  }

  #stopListening(): void {
    // By the descriptor: what is at the path may be another's.
    attempt(() => unlinkSync(`/proc/self/fd/${this.#place.descriptor}/${socketName}`));
    this.#library.close();
  }
}
