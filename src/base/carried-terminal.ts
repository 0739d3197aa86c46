/**
 * The person's terminal, where this process is not in their session: the copy of a keeper that runs a call. The kernel would let it read
 * there in the background, too, and opens no `/dev/tty` for it; so the caller carries the terminal (native/terminal-wire.h).
 */
import { ErrnoError } from './errno.js';

/** Each call is a new descriptor, or an errno below zero. */
export interface TerminalCarrier {
  /** For the owner of a jail that gets a terminal. */
  terminal(): number;
  /** What is typed from here on comes by this socket. */
  typed(): number;
}

/** Not of this module: the bundle of a keeper and those of the verbs each have one of their own. */
const place = Symbol.for('ctx.carried-terminal');
const holder = globalThis as { [place]?: TerminalCarrier };

/** For the rest of this process's life. */
export function carryTerminal(by: TerminalCarrier): void {
  holder[place] = by;
}

function opened(descriptor: number): number {
  if (descriptor >= 0) return descriptor;
  throw new ErrnoError('EIO', {
    operation: 'terminal',
    reason: `it cannot be reached through the process that called (errno ${-descriptor})`,
    remedy: 'CTX_KEEPER=off runs it without a keeper',
  });
}

/** Undefined where this process is in the session of the person who called. The caller closes it. */
export function openTerminalChannel(): number | undefined {
  const carrier = holder[place];
  return carrier === undefined ? undefined : opened(carrier.terminal());
}

/** As above. What was typed before is gone. */
export function openTyped(): number | undefined {
  const carrier = holder[place];
  return carrier === undefined ? undefined : opened(carrier.typed());
}
