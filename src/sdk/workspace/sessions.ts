/**
 * Sessions that outlive a call: a process keeps a jail, and whoever works on the same fork finds it by its socket in the store:
 * `ctx session`. One that ends with its caller is a workspace's `session`.
 */
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { readJsonFile } from '../../base/atomic-file.js';
import { ErrnoError, hasCode } from '../../base/errno.js';
import { type Host, placeOf } from '../../proxy/host.js';
import { Session } from '../../session/session.js';
import {
  isLive,
  type KeepingRequest,
  keepSession,
  type SessionFacts,
  withSocketPath,
} from '../../session/session-keeper.js';
import { placeIn, type SessionPlace, sessionPlace } from '../../session/session-place.js';
import { encodeFrame, wireKind } from '../../session/session-wire.js';
import { mainFork, storePaths, vaultId, vaultPaths } from '../../vault/store/layout.js';
import { readVaultMeta } from '../../vault/store/vault-meta.js';
import { requestOf, type WorkspaceOptions } from '../options.js';

export type { KeepingRequest, SessionFacts };

/** Where the session of a fork is found, whether it lives or not. */
export interface SessionSpot extends SessionPlace {
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

export class Sessions {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** Of the fork of a directory that is named, or of the one in use. */
  at(directory: string, fork?: string): SessionSpot {
    const { directory: store } = this.#host.store;
    const { origin } = placeOf(this.#host, directory);
    const current = readVaultMeta(vaultPaths(store, vaultId(origin)).meta)?.current;
    return { ...sessionPlace(store, origin, fork ?? current ?? mainFork), origin };
  }

  isLive(directory: string, fork?: string): Promise<boolean> {
    return isLive(this.at(directory, fork));
  }

  /** What is said where none lives. */
  missing(directory: string, fork?: string): ErrnoError {
    return new ErrnoError('ENOENT', {
      operation: 'session',
      path: this.at(directory, fork).origin,
      reason: 'no session lives here',
      remedy: 'ctx session start begins one',
    });
  }

  /** Those that live, of every directory. */
  async list(): Promise<readonly SessionFacts[]> {
    const { sessions } = storePaths(this.#host.store.directory);
    const found: SessionFacts[] = [];
    for (const key of entriesOf(sessions)) {
      for (const name of entriesOf(join(sessions, key)).filter((each) => each.endsWith('.json'))) {
        const place = placeIn(join(sessions, key), name.slice(0, -'.json'.length));
        const known = readJsonFile(place.facts) as SessionFacts | undefined;
        if (known !== undefined && (await isLive(place))) found.push(known);
      }
    }
    return found;
  }

  /** Resolves when the last thing inside has ended. ENOENT where none lives. */
  async stop(directory: string, fork?: string): Promise<{ readonly origin: string }> {
    const spot = this.at(directory, fork);
    if (!(await isLive(spot))) throw this.missing(directory, fork);
    const words = ['/', '', '', '', '2', 'session', 'stop'].map((word) => `${word}\0`).join('');
    await new Promise<void>((resolve, reject) => {
      withSocketPath(spot, (path) => {
        const socket = connect(path);
        socket.once('error', reject);
        socket.once('close', () => resolve());
        socket.resume();
        socket.write(encodeFrame(wireKind.request, Buffer.from(words)));
      });
    });
    if (await isLive(spot)) {
      throw new ErrnoError('EPERM', {
        operation: 'session stop',
        path: spot.origin,
        reason: 'the session goes on: it is for its own user to stop',
        remedy: 'ctx session list names the process that keeps it',
      });
    }
    return { origin: spot.origin };
  }

  /** Starts one, and is the process that keeps it: returns when it has ended. EEXIST where one lives already. */
  async keep(directory: string, options: WorkspaceOptions, keeping: KeepingRequest): Promise<void> {
    const spot = this.at(directory, options.fork);
    if (await isLive(spot)) {
      throw new ErrnoError('EEXIST', {
        operation: 'session start',
        path: spot.origin,
        reason: 'this fork has a session already',
        remedy: 'ctx session exec uses it, ctx session stop ends it',
      });
    }
    const session = await Session.start(this.#host, requestOf(directory, options));
    const peerLibrary = join(dirname(this.#host.jailProgram), 'peer.node');
    await keepSession(session, spot, { ...keeping, peerLibrary, now: this.#host.now() });
  }
}
