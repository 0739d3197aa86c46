/**
 * A verb that a kept jail's process runs for a client: the same code, with the client's directory, environment and streams. What
 * could come out otherwise than from a Node of the client's own is left to that.
 */

import { harmlessOutput } from '../../base/visible-text.js';
import type { HookHost } from '../../sdk/hook.js';
import { type Host, isHostOf } from '../../sdk/host.js';
import type { ClientRequest } from '../../sdk/jail-wire.js';
import type { Caller, Shows } from '../caller.js';
import { complain } from '../text/output.js';
import type { Arguments, Verb } from '../verb.js';

/** The other end of a connection. */
export interface Connection {
  print(stream: 'stdout' | 'stderr', text: string): void;
  /** Asks for the next piece of the client's stdin; an empty one at its end. */
  nextInput(): Promise<Buffer>;
  end(exitCode: number): void;
}

/** As the kernel's end of a process shows in a shell. */
const killed = 128 + 9;

function callerOf(
  { directory, environment, isTerminal }: ClientRequest,
  connection: Connection,
  onStuck: () => void,
): Caller {
  const shown = (stream: 'stdout' | 'stderr'): Shows => ({
    isTTY: isTerminal[stream],
    write: (text) => connection.print(stream, harmlessOutput(text)),
  });
  return {
    directory: () => directory,
    environment,
    stdout: shown('stdout'),
    stderr: shown('stderr'),
    hook: {
      next: () => connection.nextInput(),
      say(stream, text) {
        connection.print(stream, text);
        return true;
      },
      endNow() {
        onStuck();
        connection.end(killed);
      },
    },
  };
}

/** Install and uninstall write files, and a message that is typed would be read with the terminal's own rules. */
function isMessage(call: Arguments, { isTerminal }: ClientRequest): boolean {
  return call.words.length === 1 && !isTerminal.stdin;
}

/** What relays of one process have in common. */
export class RelayedHooks {
  readonly #makeHost: () => Promise<HookHost>;
  #host: Promise<HookHost> | undefined;
  /** A thread of this process may wait for good for a file system that did not answer: no further call is to join it. */
  isStuck = false;

  constructor(makeHost: () => Promise<HookHost>) {
    this.#makeHost = makeHost;
  }

  /** One for all calls: what it opens for the record stays open. */
  host(): Promise<HookHost> {
    this.#host ??= this.#makeHost().catch((error: unknown) => {
      this.#host = undefined;
      throw error;
    });
    return this.#host;
  }
}

export class VerbRelay {
  readonly #host: Host;
  readonly #hooks: RelayedHooks;

  constructor(host: Host, hooks: RelayedHooks) {
    this.#host = host;
    this.#hooks = hooks;
  }

  /** Whether this process has the store, agents, rules and configuration that the client's own would have. */
  standsFor({ environment }: ClientRequest): boolean {
    return isHostOf(environment, this.#host);
  }

  takes(verb: Verb, call: Arguments, request: ClientRequest): boolean {
    if (!this.standsFor(request)) return false;
    return verb.name !== 'hook' || (isMessage(call, request) && !this.#hooks.isStuck);
  }

  async run(verb: Verb, call: Arguments, request: ClientRequest, connection: Connection): Promise<void> {
    const caller = callerOf(request, connection, () => {
      this.#hooks.isStuck = true;
    });
    const host: Host = { ...this.#host, environment: request.environment };
    try {
      const run = await verb.load(call);
      connection.end(
        await run(
          call,
          async () => host,
          () => this.#hooks.host(),
          caller,
        ),
      );
    } catch (error) {
      connection.end(complain(error, call.flag('json'), caller));
    }
  }
}
