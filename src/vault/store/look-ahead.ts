/**
 * A look at the person's directory that begins before its fork is locked, while it is decided what a command may do: two processes work
 * at the same time. It counts where it found nothing and the lock is free then; what it finds is left to the look that
 * follows, which writes signatures under the lock.
 */
import { monotonic } from '../../base/clock.js';
import { lookAheadMilliseconds } from '../../base/limits/commands.js';
import { workspaceRoot } from './layout.js';
import { lookAtRoot } from './trunk-look.js';
import type { VaultAccess } from './vault-access.js';

export class LookAhead {
  readonly #began = monotonic();
  readonly #stopped = new AbortController();
  #nothing: Promise<boolean>;

  constructor(access: VaultAccess, path: string) {
    const look = lookAtRoot({ access, key: workspaceRoot, path, signal: this.#stopped.signal });
    // What went wrong goes wrong again, and is said, by the look that follows.
    this.#nothing = look.then(
      (drift) => drift.length === 0,
      () => false,
    );
  }

  /**
   * Once, since who asks again has waited for something; and not after a while, as where a person was asked meanwhile: they may
   * have edited a file before they answered.
   */
  async foundNothing(): Promise<boolean> {
    if (monotonic() - this.#began >= lookAheadMilliseconds) this.stop();
    const nothing = this.#nothing;
    this.#nothing = Promise.resolve(false);
    return (await nothing) && !this.#stopped.signal.aborted;
  }

  /** Its answer is not needed any more. */
  stop(): void {
    this.#stopped.abort();
  }
}
