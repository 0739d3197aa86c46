/**
 * The keys that heads are signed with: made when they are first needed, for their owner alone. Which is in use, and which was
 * in use when, is said by the host chain; the files hold the secret halves.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic } from '../base/atomic-file.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import { makeDurableDirectory } from '../base/make-directory.js';
import { types } from './format.js';
import type { HostHistory } from './host-history.js';
import { hostChain, recordPaths } from './layout.js';
import { readHistory } from './read-history.js';
import type { RecordEntry } from './record.js';
import type { ChainRecorder } from './recorder.js';
import { type KeyAction, keyId, keyStatement, makeKeyPair, publicOf, sign } from './signature.js';

export interface SigningKey {
  readonly id: string;
  readonly publicKey: string;
  readonly privateKey: string;
}

export class Keys {
  readonly #directory: string;
  readonly #recorder: ChainRecorder;

  constructor(recorder: ChainRecorder) {
    this.#directory = recordPaths(recorder.record).keys;
    this.#recorder = recorder;
  }

  /**
   * The key in use; made where there is none. The chain says which it is, and `current` is written after it: where that failed, or a
   * crash came between, it is written now. A name that the chain does not know is believed, so that `verify` finds a chain cut off.
   */
  current(given?: HostHistory): SigningKey {
    return this.#recorder.alone(() => {
      const named = this.#read('current')?.trim();
      const history = given ?? this.#history();
      const isBehind = named === undefined || history.keys.some(({ id }) => id === named);
      const id = isBehind ? (history.inUse?.id ?? named) : named;
      if (id === undefined) return this.#make('made', undefined);
      const key = this.#load(id);
      if (id !== named) this.#write('current', `${id}\n`);
      return key;
    });
  }

  rotate(): SigningKey {
    return this.#recorder.alone(() => this.#make('rotated', this.current()));
  }

  /** What it signed before stays good. The key in use is put out of use first, by another. */
  revoke(id: string): SigningKey {
    // By no other name of the same file: it would be revoked and in use.
    const publicKey = this.ids().includes(id) ? this.#read(`${id}.pub`)?.trim() : undefined;
    if (publicKey === undefined) {
      throw new ErrnoError('ENOENT', {
        operation: 'ctx audit keys',
        reason: `there is no key ${id}`,
        remedy: 'ctx audit keys lists them',
      });
    }
    return this.#recorder.alone(() => {
      const now = this.current();
      const signer = now.id === id ? this.rotate() : now;
      this.#tell('revoked', publicKey, signer);
      return signer;
    });
  }

  ids(): readonly string[] {
    try {
      const names = readdirSync(this.#directory).filter((name) => name.endsWith('.pub'));
      return names.map((name) => name.slice(0, -'.pub'.length)).sort();
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw error;
    }
  }

  /** A host that has recorded nothing yet has a chain to begin. */
  #history(): HostHistory {
    this.#recorder.endOf(hostChain);
    return readHistory(this.#recorder.record);
  }

  #make(action: KeyAction, before: SigningKey | undefined): SigningKey {
    const { privateKey, publicKey } = makeKeyPair();
    const made: SigningKey = { id: keyId(publicKey), publicKey, privateKey };
    makeDurableDirectory(this.#directory);
    this.#write(`${made.id}.key`, privateKey);
    this.#write(`${made.id}.pub`, `${publicKey}\n`);
    this.#tell(action, publicKey, before ?? made);
    this.#write('current', `${made.id}\n`);
    return made;
  }

  #write(name: string, text: string): void {
    writeFileAtomic(join(this.#directory, name), text, { durable: true, mode: 0o600 });
  }

  #tell(action: KeyAction, publicKey: string, signer: SigningKey): void {
    const signature = sign(signer.privateKey, keyStatement(action, publicKey));
    const entry: RecordEntry = {
      type: types.key,
      object: `key/${keyId(publicKey)}`,
      status: 'ok',
      durable: true,
      facts: { action, public: publicKey, by: signer.publicKey, signature },
    };
    this.#recorder.appendToHost(entry);
  }

  #load(id: string): SigningKey {
    const privateKey = this.#read(`${id}.key`);
    if (privateKey === undefined || keyId(publicOf(privateKey)) !== id) {
      throw new ErrnoError('EIO', {
        operation: 'ctx audit',
        path: join(this.#directory, `${id}.key`),
        reason: 'expected the key in use: the file is missing or holds another',
        remedy: 'restore it from a copy; records stay readable and verifiable without it',
      });
    }
    return { id, publicKey: publicOf(privateKey), privateKey };
  }

  #read(name: string): string | undefined {
    try {
      return readFileSync(join(this.#directory, name), 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  }
}
