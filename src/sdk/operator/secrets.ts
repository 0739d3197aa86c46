/**
 * Secrets that the person stores for `--secret`: `ctx secret`. No call gives a value back. Each change is in the record before it happens,
 * by name alone.
 */
import { ErrnoError } from '../../base/errno.js';
import { secretCommandMilliseconds } from '../../base/limits/network.js';
import { commandOutput } from '../../proxy/grants/secret-command.js';
import {
  assertSecretName,
  assertSecretValue,
  notStored,
  readSecret,
  removeSecret,
  secretFault,
  storedNames,
  storeSecret,
} from '../../proxy/grants/stored-secrets.js';
import type { Host } from '../../proxy/host.js';

/** Exactly one of the two. */
export interface SecretSource {
  readonly value?: string | undefined;
  /** A shell command that prints it: of a password manager. It is run once now, to see that it does. */
  readonly command?: string | undefined;
  /** Ends the command, where it is tried: ECANCELED, and nothing is stored. */
  readonly signal?: AbortSignal | undefined;
}

export interface ListedSecret {
  readonly name: string;
  /** What prints it; null where the value is stored. */
  readonly command: string | null;
  /** A variable of that name is set here, and comes first. */
  readonly shadowed: boolean;
  /** Why it cannot be used. */
  readonly problem: string | null;
}

export class Secrets {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  list(): readonly ListedSecret[] {
    return storedNames(this.#host).flatMap((name) => {
      const { environment } = this.#host;
      const shadowed = Object.hasOwn(environment, name) && environment[name] !== '';
      try {
        const found = readSecret(this.#host, name);
        if (found === undefined) return [];
        return { name, command: 'command' in found ? found.command : null, shadowed, problem: null };
      } catch (error) {
        if (!(error instanceof ErrnoError)) throw error;
        return { name, command: null, shadowed, problem: error.reason };
      }
    });
  }

  /** Whether it replaced one: jails that use it have the new one from their next request on. */
  async set(name: string, { value, command, signal }: SecretSource): Promise<{ readonly replaced: boolean }> {
    assertSecretName(name);
    if ((value === undefined) === (command === undefined)) {
      throw new ErrnoError('EINVAL', { operation: 'secret', reason: 'expected a value or a command, and not both' });
    }
    if (command !== undefined) await this.#try(command, signal);
    if (value !== undefined) assertSecretValue(value);
    const replaced = storedNames(this.#host).includes(name);
    this.#record('secret.set', name, { from: value === undefined ? 'command' : 'value' });
    storeSecret(this.#host, name, value === undefined ? { command: command ?? '' } : { value });
    return { replaced };
  }

  /** ENOENT where there is none of that name. */
  remove(name: string): void {
    assertSecretName(name);
    if (!storedNames(this.#host).includes(name)) throw notStored(name);
    this.#record('secret.rm', name);
    removeSecret(this.#host, name);
  }

  async #try(command: string, signal: AbortSignal | undefined): Promise<void> {
    const { ended, stdout, stderr } = await commandOutput(command, this.#host, secretCommandMilliseconds, signal);
    if (signal?.aborted === true) {
      throw new ErrnoError('ECANCELED', { operation: 'secret', reason: 'the command was ended; nothing was stored' });
    }
    if (ended !== 'exit code 0') {
      const [said = ''] = stderr.trim().split('\n');
      const reason = `the command failed: ${ended}${said === '' ? '' : `: ${said.slice(0, 200)}`}; nothing was stored`;
      throw new ErrnoError('EIO', { operation: 'secret', reason, remedy: 'run it in a shell first' });
    }
    const fault = secretFault(stdout);
    if (fault === undefined) return;
    throw new ErrnoError('EINVAL', { operation: 'secret', reason: `the command did not print a secret: ${fault}` });
  }

  #record(type: string, name: string, facts: Readonly<Record<string, string>> = {}): void {
    this.#host.recorder.append({ type, object: `secret/${name}`, status: 'begin', facts, durable: true });
  }
}
