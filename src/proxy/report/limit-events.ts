/** How near a command came to its limits, and when: told once for each threshold of each limit, as it happens. Pure but for its clock. */
import type { QuotaField } from '../../authority/quota.js';
import { limitWarningPercent } from '../../base/limits/commands.js';
import type { VaultLimit } from '../../vault/store/vault-limits.js';

/** Of the command, and of the vault it works in. */
export type WatchedLimit = Exclude<QuotaField, 'cpu'> | VaultLimit;

export interface LimitEvent {
  readonly at: string;
  readonly limit: WatchedLimit;
  readonly percent: typeof limitWarningPercent | 100;
  readonly used: number;
  readonly most: number;
}

export class LimitEvents {
  readonly #now: () => Date;
  readonly #onEvent: (event: LimitEvent) => void;
  readonly #told: LimitEvent[] = [];

  constructor(now: () => Date, onEvent: (event: LimitEvent) => void = () => undefined) {
    this.#now = now;
    this.#onEvent = onEvent;
  }

  get all(): readonly LimitEvent[] {
    return [...this.#told];
  }

  /** `reached` where the kernel has held the limit: use is below it then. True where this was news. */
  observe(limit: WatchedLimit, used: number, most: number, reached = used >= most): boolean {
    // Compared without division: a limit may be one.
    const percent = reached ? 100 : used * 100 >= most * limitWarningPercent ? limitWarningPercent : undefined;
    const known = this.#told.filter((event) => event.limit === limit).at(-1)?.percent ?? 0;
    if (percent === undefined || percent <= known) return false;
    // What the kernel has held was used up, whatever of it is in use now.
    const event: LimitEvent = Object.freeze({
      at: this.#now().toISOString(),
      limit,
      percent,
      used: reached ? Math.max(used, most) : used,
      most,
    });
    this.#told.push(event);
    this.#onEvent(event);
    return true;
  }
}
