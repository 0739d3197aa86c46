/** Which keepers of a store live. Their locks say so, and the kernel what those processes are. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '../base/make-directory.js';
import { wordsOf } from '../base/process-table.js';
import { having, integer, parsedAs, text } from '../base/shape.js';

export interface LivingKeeper {
  readonly pid: number;
  /** ISO 8601. */
  readonly since: string;
}

const keeperShape = having({ pid: integer(1), since: text });

function keeperIn(lock: string): LivingKeeper | undefined {
  try {
    const { pid, since } = parsedAs<LivingKeeper>(readFileSync(lock, 'utf8'), keeperShape) ?? {};
    if (pid === undefined || since === undefined) return undefined;
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

/** Verbs that run now leave no keeper behind when they end (`native/call`). */
export function leaveNoMore(store: string): void {
  if (!existsSync(store)) return;
  const directory = join(store, 'keeper');
  try {
    makeDirectory(directory);
    writeFileSync(join(directory, 'stopped'), '\n', { mode: 0o600 });
  } catch {
    // On a full or read-only disk none can start either.
  }
}
