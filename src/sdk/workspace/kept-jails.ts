/**
 * Kept jails that outlive a call: a process keeps a jail, and whoever works on the same fork finds it by its socket in the store:
 * `ctx jail`. One that ends with its caller is a workspace's `keepJail`.
 */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { readWholeJson } from '../../base/atomic-file.js';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { isStopped } from '../../base/process-table.js';
import { having, integer, ofShape, optional, word } from '../../base/shape.js';
import { type KeptJailPlace, keptJailPlace, placeIn } from '../../kept-jail/jail-place.js';
import { encodeFrame, encodeRequest, wireKind } from '../../kept-jail/jail-wire.js';
import {
  isLive,
  type KeepingRequest,
  type KeptJailFacts,
  keepJail,
  livesAlready,
  withSocketPath,
} from '../../kept-jail/keep-jail.js';
import { KeptJail } from '../../kept-jail/kept-jail.js';
import { type Host, placeOf } from '../../proxy/host.js';
import { mainFork, storePaths, vaultId, vaultPaths } from '../../vault/store/layout.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import type { WorkspaceOptions } from '../options.js';
import { requestOf } from '../request-of.js';

export type { KeepingRequest, KeptJailFacts };

/** Where the kept jail of a fork is found, whether it lives or not. */
export interface KeptJailSpot extends KeptJailPlace {
  readonly origin: string;
}

function entriesOf(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw error;
  }
}

const factsShape = having({ pid: integer(1), keeper: optional(integer(1)), origin: word, fork: word, started: word });

function factsAt({ facts }: KeptJailPlace): KeptJailFacts | undefined {
  return ofShape<KeptJailFacts>(readWholeJson(facts), factsShape);
}

/** A process that is stopped takes connections and answers none: who asked it would wait for as long as it is. */
function refuseHeld(spot: KeptJailSpot): void {
  const { pid, keeper = pid } = factsAt(spot) ?? {};
  if (keeper === undefined || !isStopped(keeper)) return;
  throw new ErrnoError('EBUSY', {
    operation: 'jail stop',
    path: spot.origin,
    reason: `process ${keeper}, which keeps the jail, is stopped and does not answer`,
    remedy: `continue it first: fg, or kill -CONT ${keeper}; or end the jail: ctx stop ${pid}`,
  });
}

export class KeptJails {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Of the fork of a directory that is named, or of the one in use. */
  at(directory: string, fork?: string): KeptJailSpot {
    const { directory: store } = this.#host.store;
    const { origin } = placeOf(this.#host, directory);
    const current = readVaultMeta(vaultPaths(store, vaultId(origin)).meta)?.current;
    return { ...keptJailPlace(store, origin, fork ?? current ?? mainFork), origin };
  }

  isLive(directory: string, fork?: string): Promise<boolean> {
    return isLive(this.at(directory, fork));
  }

  /** What is said where none lives. */
  missing(directory: string, fork?: string): ErrnoError {
    return new ErrnoError('ENOENT', {
      operation: 'kept jail',
      path: this.at(directory, fork).origin,
      reason: 'there is no kept jail here',
      remedy: 'ctx jail start begins one',
    });
  }

  /** Those that live, of every directory. */
  async list(): Promise<readonly KeptJailFacts[]> {
    const { keptJails } = storePaths(this.#host.store.directory);
    const found: KeptJailFacts[] = [];
    for (const key of entriesOf(keptJails)) {
      for (const name of entriesOf(join(keptJails, key)).filter((each) => each.endsWith('.json'))) {
        const place = placeIn(join(keptJails, key), name.slice(0, -'.json'.length));
        const known = factsAt(place);
        if (known !== undefined && (await isLive(place))) found.push(known);
      }
    }
    return found;
  }

  /** Resolves when the last thing inside has ended. ENOENT where none lives. */
  async stop(directory: string, fork?: string): Promise<{ readonly origin: string }> {
    const spot = this.at(directory, fork);
    if (!(await isLive(spot))) throw this.missing(directory, fork);
    refuseHeld(spot);
    const words = encodeRequest({ directory: '/', build: '', words: ['jail', 'stop'], environment: {} });
    await new Promise<void>((resolve, reject) => {
      withSocketPath(spot, (path) => {
        const socket = connect(path);
        socket.once('error', reject);
        socket.once('close', () => resolve());
        socket.resume();
        socket.write(encodeFrame(wireKind.request, words));
      });
    });
    if (await isLive(spot)) {
      throw new ErrnoError('EPERM', {
        operation: 'jail stop',
        path: spot.origin,
        reason: 'the kept jail is still running: only its own user can stop it',
        remedy: 'ctx jail list names the process that keeps it',
      });
    }
    return { origin: spot.origin };
  }

  /** Starts one, and keeps it in this process: returns when it has ended. EEXIST where one lives already. */
  async keep(directory: string, options: WorkspaceOptions, keeping: KeepingRequest): Promise<void> {
    const spot = this.at(directory, options.fork);
    if (await isLive(spot)) throw livesAlready(spot.origin);
    const jail = await KeptJail.start(
      this.#host,
      requestOf(this.#host, { ...placeOf(this.#host, directory), directory }, options),
    );
    const peerLibrary = join(dirname(this.#host.jailProgram), 'peer.node');
    await keepJail(jail, spot, { ...keeping, peerLibrary, now: this.#host.now() });
  }
}
