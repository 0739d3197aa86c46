/**
 * Approvals on disk, in the store, which is in no jail: a directory for each, with what was asked, the answer, and
 * marks that it was written down and used. Each file appears whole and once: the first answer is the answer, however
 * many processes answer. The caller holds a lock while it waits, so that a request ends with its process, however that
 * ends.
 */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readJsonFile, writeFileAtomic } from '../../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../../base/errno.js';
import { type FileLock, loadFileLock } from '../../base/file-lock.js';
import {
  answerLockMilliseconds,
  approvalKeptMilliseconds,
  approvalLeftMilliseconds,
  approvalsWaiting,
} from '../../base/limits/decisions.js';
import { makeDurableDirectory } from '../../base/make-directory.js';
import { sha256 } from '../../base/sha256.js';
import { uniqueName } from '../../base/unique-name.js';
import { writeWhole } from '../../base/write-whole.js';
import { type Approval, type ApprovalAnswer, type Asked, parseAnswer, parseAsked, statusOf } from './approval.js';

const idPattern = /^[0-9a-f]{8}$/;
/** Of a look at a directory that is asked about, which takes its file away again. */
const scanPattern = /^scan-[0-9a-z-]+$/;

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw fromSystemError(error, 'approvals', directory);
  }
}

/** A request, and the end of its process's interest in it. */
export interface Attended {
  readonly asked: Asked;
  leave(): void;
}

export class ApprovalStore {
  readonly #directory: string;
  readonly #lockLibrary: string;
  readonly #lockMilliseconds: number;
  #lock: FileLock | undefined;

  constructor(directory: string, lockLibrary: string, lockMilliseconds = answerLockMilliseconds) {
    this.#directory = directory;
    this.#lockLibrary = lockLibrary;
    this.#lockMilliseconds = lockMilliseconds;
  }

  #paths(id: string) {
    const directory = join(this.#directory, id);
    return {
      directory,
      asked: join(directory, 'asked.json'),
      answer: join(directory, 'answer.json'),
      used: join(directory, 'used'),
      /** Locked by the process that asked. */
      asker: join(directory, 'asker'),
      /** Locked while an answer is given. */
      answering: join(directory, 'answering'),
      /** The answer is in the record, and acted. */
      settled: join(directory, 'settled'),
      steps: join(directory, 'steps.json'),
    };
  }

  #read(id: string): Approval | undefined {
    const paths = this.#paths(id);
    const asked = readJsonFile(paths.asked);
    if (asked === undefined || (asked as { version?: unknown } | null)?.version === 1) return undefined;
    const answer = readJsonFile(paths.answer);
    return {
      asked: parseAsked(asked, paths.asked),
      answer: answer === undefined ? undefined : parseAnswer(answer, paths.answer),
      used: existsSync(paths.used),
      attended: this.#isAttended(paths.asker),
    };
  }

  /** Taken at once, or EAGAIN. */
  #take(descriptor: number, path: string): void {
    this.#lock ??= loadFileLock(this.#lockLibrary, 0, 'request');
    this.#lock.hold(descriptor, path);
  }

  /** Two that look at once may see each other: then it seems attended, and a grant of it is not used. */
  #isAttended(path: string): boolean {
    let descriptor: number;
    try {
      descriptor = openSync(path, 'r');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw fromSystemError(error, 'approvals', path);
    }
    try {
      this.#take(descriptor, path);
      return false;
    } catch (error) {
      if (hasCode(error, 'EAGAIN')) return true;
      throw error;
    } finally {
      closeSync(descriptor);
    }
  }

  /** The oldest first. */
  all(): readonly Approval[] {
    const found = namesIn(this.#directory)
      .filter((id) => idPattern.test(id))
      .flatMap((id) => this.#read(id) ?? []);
    return found.sort((a, b) => a.asked.askedAt - b.asked.askedAt);
  }

  one(id: string): Approval {
    const found = idPattern.test(id) ? this.#read(id) : undefined;
    if (found !== undefined) return found;
    throw new ErrnoError('ENOENT', {
      operation: 'approvals',
      reason: `there is no request ${id}`,
      remedy: 'ctx approvals list',
    });
  }

  /**
   * On disk when this returns; the process that asks calls `leave` when it waits no more. EAGAIN where too many wait
   * already.
   */
  ask(given: Omit<Asked, 'version' | 'id'>, steps?: readonly string[]): Attended {
    try {
      makeDurableDirectory(this.#directory);
    } catch (error) {
      throw fromSystemError(error, 'approvals', this.#directory);
    }
    // Of two that count at once neither would see the other.
    return this.#whileLocked(join(this.#directory, 'asking'), 'list of requests', () => this.#asked(given, steps));
  }

  #asked(given: Omit<Asked, 'version' | 'id'>, steps?: readonly string[]): Attended {
    this.#forget(given.askedAt);
    const waiting = this.all().filter((approval) => statusOf(approval, given.askedAt) === 'waiting').length;
    if (waiting >= approvalsWaiting) {
      throw new ErrnoError('EAGAIN', {
        operation: 'approvals',
        reason: `${waiting} commands wait for an approval already`,
        remedy: 'ctx approvals list',
      });
    }
    const id = sha256(uniqueName()).slice(0, 8);
    const asked: Asked = { version: 2, id, ...given, ...(steps === undefined ? {} : { steps: steps.length }) };
    const paths = this.#paths(id);
    let descriptor: number;
    try {
      makeDurableDirectory(paths.directory);
      descriptor = openSync(paths.asker, 'wx', 0o600);
    } catch (error) {
      throw fromSystemError(error, 'approvals', paths.directory);
    }
    try {
      this.#take(descriptor, paths.asker);
      if (steps !== undefined) writeFileAtomic(paths.steps, `${JSON.stringify(steps)}\n`, { durable: true });
      writeFileAtomic(paths.asked, `${JSON.stringify(asked)}\n`, { durable: true });
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
    return { asked, leave: () => closeSync(descriptor) };
  }

  /** What an apply would write, all of it: `action path`. */
  steps(id: string): readonly string[] {
    const found = readJsonFile(this.#paths(this.one(id).asked.id).steps);
    return Array.isArray(found) ? found.filter((step) => typeof step === 'string') : [];
  }

  /** One answer at a time is given, or finished where the process that gave it did not come to the end. */
  whileAnswering<T>(id: string, act: () => T): T {
    return this.#whileLocked(this.#paths(id).answering, 'answer', act);
  }

  #whileLocked<T>(path: string, what: string, act: () => T): T {
    let descriptor: number;
    try {
      descriptor = openSync(path, 'a', 0o600);
    } catch (error) {
      throw fromSystemError(error, 'approvals', path);
    }
    try {
      loadFileLock(this.#lockLibrary, this.#lockMilliseconds, what).hold(descriptor, path);
      return act();
    } finally {
      closeSync(descriptor);
    }
  }

  isSettled(id: string): boolean {
    return existsSync(this.#paths(id).settled);
  }

  /** The answer is in the record, and what it asks for is done. */
  settle(id: string): void {
    closeSync(openSync(this.#paths(id).settled, 'a', 0o600));
    this.#sync(this.#paths(id).directory);
  }

  /** The answer that holds: this one, or the one that was there first. */
  answer(id: string, answer: ApprovalAnswer): ApprovalAnswer {
    const paths = this.#paths(id);
    const temporary = `${paths.answer}.${uniqueName()}`;
    try {
      const descriptor = openSync(temporary, 'wx', 0o600);
      try {
        writeWhole(descriptor, Buffer.from(`${JSON.stringify(answer)}\n`));
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      linkSync(temporary, paths.answer);
      this.#sync(paths.directory);
      return answer;
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw fromSystemError(error, 'approvals', paths.answer);
      return parseAnswer(readJsonFile(paths.answer), paths.answer);
    } finally {
      rmSync(temporary, { force: true });
    }
  }

  /** True for the one command that a grant for once lets run. */
  use(id: string): boolean {
    const paths = this.#paths(id);
    try {
      closeSync(openSync(paths.used, 'wx', 0o600));
    } catch (error) {
      if (hasCode(error, 'EEXIST')) return false;
      throw fromSystemError(error, 'approvals', paths.used);
    }
    this.#sync(paths.directory);
    return true;
  }

  #sync(directory: string): void {
    const descriptor = openSync(directory, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  #forget(now: number): void {
    this.#forgetLeft(now);
    for (const approval of this.all()) {
      const { asked } = approval;
      const ended = statusOf(approval, now) !== 'waiting' && statusOf(approval, now) !== 'granted';
      if (ended && now - asked.expiresAt > approvalKeptMilliseconds) {
        rmSync(this.#paths(asked.id).directory, { recursive: true, force: true });
      }
    }
  }

  /** What was begun by processes that were killed: a look at a directory, a request that was never asked; and those that are not read any more. */
  #forgetLeft(now: number): void {
    for (const name of namesIn(this.#directory)) {
      const path = join(this.#directory, name);
      if (idPattern.test(name) ? this.#read(name) !== undefined : !scanPattern.test(name)) continue;
      const changed = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? now;
      if (now - changed > approvalLeftMilliseconds) rmSync(path, { recursive: true, force: true });
    }
  }
}
