/**
 * Approvals on disk, in the store, which is in no jail: a directory for each, with what was asked, the answer, and a mark that it was
 * used. Each file appears whole and once: the first answer is the answer, and a grant for once lets one command run, however many
 * processes ask and answer. Nothing depends on the process that waits: it may be gone, and the answer stays.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { readJsonFile, writeFileAtomic } from '../base/atomic-file.js';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { approvalKeptMilliseconds, approvalsWaiting } from '../base/limits.js';
import { sha256 } from '../base/sha256.js';
import { uniqueName } from '../base/unique-name.js';
import { type Answer, type Approval, type Asked, parseAnswer, parseAsked, statusOf } from './approval.js';

const idPattern = /^[0-9a-f]{8}$/;

export class ApprovalStore {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  #paths(id: string) {
    const directory = join(this.#directory, id);
    return {
      directory,
      asked: join(directory, 'asked.json'),
      answer: join(directory, 'answer.json'),
      used: join(directory, 'used'),
    };
  }

  #read(id: string): Approval | undefined {
    const paths = this.#paths(id);
    const asked = readJsonFile(paths.asked);
    if (asked === undefined) return undefined;
    const answer = readJsonFile(paths.answer);
    return {
      asked: parseAsked(asked, paths.asked),
      answer: answer === undefined ? undefined : parseAnswer(answer, paths.answer),
      used: existsSync(paths.used),
    };
  }

  /** The oldest first. */
  all(): readonly Approval[] {
    let ids: readonly string[];
    try {
      ids = readdirSync(this.#directory);
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return [];
      throw fromSystemError(error, 'approvals', this.#directory);
    }
    const found = ids.filter((id) => idPattern.test(id)).flatMap((id) => this.#read(id) ?? []);
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

  /** On disk when this returns. EAGAIN where too many wait already. */
  ask(given: Omit<Asked, 'version' | 'id'>): Asked {
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
    const asked: Asked = { version: 1, id, ...given };
    const paths = this.#paths(id);
    try {
      mkdirSync(paths.directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw fromSystemError(error, 'approvals', paths.directory);
    }
    writeFileAtomic(paths.asked, `${JSON.stringify(asked)}\n`, { durable: true });
    return asked;
  }

  /** The answer that holds: this one, or the one that was there first. */
  answer(id: string, answer: Answer): Answer {
    const paths = this.#paths(id);
    const temporary = `${paths.answer}.${uniqueName()}`;
    try {
      const descriptor = openSync(temporary, 'wx', 0o600);
      try {
        writeSync(descriptor, `${JSON.stringify(answer)}\n`);
        fsyncSync(descriptor);
      } finally {
        closeSync(descriptor);
      }
      linkSync(temporary, paths.answer);
      this.#settle(paths.directory);
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
    this.#settle(paths.directory);
    return true;
  }

  #settle(directory: string): void {
    const descriptor = openSync(directory, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }

  #forget(now: number): void {
    for (const approval of this.all()) {
      const { asked } = approval;
      const ended = statusOf(approval, now) !== 'waiting' && statusOf(approval, now) !== 'granted';
      if (ended && now - asked.expiresAt > approvalKeptMilliseconds) {
        rmSync(this.#paths(asked.id).directory, { recursive: true, force: true });
      }
    }
  }
}
