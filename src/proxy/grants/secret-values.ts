/**
 * Values of stored secrets when a request needs them. A stored value is read each time, so that a new one counts from the next
 * request on, also in a jail that is kept. A command's answer is used for a minute; requests at one time ask once.
 *
 * What is said of a failure reaches the jail and the record: it names the secret, and nothing that the command printed.
 */
import { ErrnoError } from '../../base/errno.js';
import {
  secretCommandMilliseconds,
  secretFreshMilliseconds,
  secretRetryMilliseconds,
} from '../../base/limits/network.js';
import type { InjectedSecret } from '../../network/secret.js';
import type { Host } from '../host.js';
import { type AskedSecret, variable } from './asked-secret.js';
import { commandOutput } from './secret-command.js';
import { missingSecret, readSecret, secretFault } from './stored-secrets.js';

interface Answer {
  readonly command: string;
  readonly value: Promise<string>;
  until: number;
}

export type SecretHost = Pick<Host, 'store' | 'environment' | 'home'>;

export class SecretValues {
  readonly #host: SecretHost;
  readonly #ended: AbortSignal | undefined;
  readonly #answers = new Map<string, Answer>();

  /** `ended`: no request needs a value any more, and no command that prints one goes on. */
  constructor(host: SecretHost, ended?: AbortSignal) {
    this.#host = host;
    this.#ended = ended;
  }

  /** ENOENT where there is none by now. */
  async of(name: string): Promise<string> {
    const found = readSecret(this.#host, name);
    if (found === undefined) throw missingSecret(name);
    return 'value' in found ? found.value : this.#answerOf(name, found.command);
  }

  /** A template, each of its names replaced. */
  async filled(template: string): Promise<string> {
    const names = [...new Set([...template.matchAll(variable)].map(([, name = '']) => name))];
    const values = new Map<string, string>();
    for (const name of names) values.set(name, await this.of(name));
    return template.replace(variable, (_whole, name: string) => values.get(name) ?? '');
  }

  #answerOf(name: string, command: string): Promise<string> {
    const known = this.#answers.get(name);
    if (known?.command === command && known.until > performance.now()) return known.value;
    const answer: Answer = {
      command,
      until: Number.POSITIVE_INFINITY,
      value: this.#ask(name, command).then(
        (value) => {
          answer.until = performance.now() + secretFreshMilliseconds;
          return value;
        },
        (error: unknown) => {
          answer.until = performance.now() + secretRetryMilliseconds;
          throw error;
        },
      ),
    };
    this.#answers.set(name, answer);
    return answer.value;
  }

  async #ask(name: string, command: string): Promise<string> {
    const { ended, stdout } = await commandOutput(command, this.#host, secretCommandMilliseconds, this.#ended);
    const fail = (why: string): never => {
      throw new ErrnoError('EIO', { operation: 'secret', reason: `the command for secret ${name} failed: ${why}` });
    };
    if (ended !== 'exit code 0') fail(ended);
    const fault = secretFault(stdout);
    return fault === undefined ? stdout : fail(fault);
  }
}

/** As the network proxy takes them. One set of values for all: what a command said for one header holds for the others. */
export function usableSecrets(
  host: SecretHost,
  asked: readonly AskedSecret[] = [],
  ended?: AbortSignal,
): readonly InjectedSecret[] {
  const values = new SecretValues(host, ended);
  return asked.map(({ host: name, header, port, value, template }) => ({
    host: name,
    header,
    ...(port === undefined ? {} : { port }),
    value: template === undefined ? (value ?? '') : () => values.filled(template),
  }));
}
