/** Which keepers of a store live. Their locks say so, and the kernel what those processes are. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { wordsOf } from '../base/process-table.js';

export interface LivingKeeper {
  readonly pid: number;
  /** ISO 8601. */
  readonly since: string;
}

function keeperIn(lock: string): LivingKeeper | undefined {
  try {
    const { pid, since } = JSON.parse(readFileSync(lock, 'utf8')) as Partial<LivingKeeper>;
    if (typeof pid !== 'number' || typeof since !== 'string') return undefined;
    return wordsOf(pid).some((word) => word.endsWith('/keeper.cjs')) ? { pid, since } : undefined;
  } catch {
    return undefined; // it starts, or has gone
  }
}

export function livingKeepers(store: string): readonly LivingKeeper[] {
  const directory = join(store, 'keeper');
  try {
    const found = readdirSync(directory).map((key) => keeperIn(join(directory, key, 'lock')));
    return found.filter((each) => each !== undefined);
  } catch {
    return []; // none has ever been started
  }
}
