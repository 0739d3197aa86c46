/**
 * The users every suite runs as. Root works shifted and anybody else as themselves, by different code: what holds for one
 * says nothing of the other. A test process that is not root can only be itself.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { describe, test } from 'node:test';
import { testSeed } from './random.js';

export interface TestUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const hasEachUser = process.env['CTX_SOAK'] === '1' || process.env['CTX_TEST_USERS'] === 'each';

/** In no passwd file and used by nothing else, so that whatever runs as it was started here. */
const stranger: TestUser = { name: 'an unprivileged user', uid: 64_731, gid: 64_731 };

function ownIds(): { uid: number; gid: number } {
  const { getuid, getgid } = process;
  if (getuid === undefined || getgid === undefined) throw new Error('expected Linux');
  return { uid: getuid(), gid: getgid() };
}

export const isRoot = ownIds().uid === 0;

export function spawnIdentity(user: TestUser): { uid?: number; gid?: number } {
  return user.uid === ownIds().uid ? {} : { uid: user.uid, gid: user.gid };
}

export function users(): readonly TestUser[] {
  return isRoot ? [{ name: 'root', uid: 0, gid: 0 }, stranger] : [{ name: 'an unprivileged user', ...ownIds() }];
}

const reasonsToSkip = new Map<number, string | undefined>([[0, undefined]]);

/** Asked of the kernel and not of ctx, so that a defect of ctx is never a skip. */
function reasonToSkip(user: TestUser): string | undefined {
  if (!reasonsToSkip.has(user.uid)) {
    const { status } = spawnSync('unshare', ['--user', '--map-current-user', 'true'], spawnIdentity(user));
    const reason = status === 0 ? undefined : `this host gives no user namespace to uid ${user.uid}`;
    reasonsToSkip.set(user.uid, reason);
  }
  return reasonsToSkip.get(user.uid);
}

export interface SuiteOptions {
  /** Of one user. */
  readonly concurrency: number;
  /** One user after the other, where both would use the same things of the machine. */
  readonly inTurn?: boolean;
}

/**
 * Tests of one suite run side by side, since a verb waits for the disk more than it computes; each has its own project. So do the users,
 * each with a stage of its own: the longest test of the one does not run alone before the other begins.
 */
export function forEachUser(
  suite: (user: TestUser) => void,
  { inTurn = false, ...options }: SuiteOptions = { concurrency: 3 },
): void {
  describe('for each user', { concurrency: inTurn ? 1 : users().length }, () => {
    for (const user of users()) {
      const skip = reasonToSkip(user);
      describe(`as ${user.name}`, skip === undefined ? options : { ...options, skip }, () => suite(user));
    }
  });
}

/**
 * For what verbs decide, say and record: code of ours that is the same whoever asks. Still each suite has one of the users, by the
 * name of its file and the seed, so that both have about half of them; a long run, and CTX_TEST_USERS=each, has both. What is about
 * a jail is `forUsersInTurn`; what is about the owners of files, other users of the machine or a wall is `forEachUser`.
 */
export function forEitherUser(suite: (user: TestUser) => void, options: SuiteOptions = { concurrency: 4 }): void {
  if (hasEachUser) {
    forEachUser(suite, options);
    return;
  }
  const candidates = users().filter((user) => reasonToSkip(user) === undefined);
  const user = candidates[drawnByFile() % candidates.length] ?? users()[0];
  if (user !== undefined) describe(`as ${user.name}`, { concurrency: options.concurrency }, () => suite(user));
}

function drawnByFile(): number {
  const name = basename(process.argv[1] ?? '');
  return (createHash('sha256').update(name).digest().readUInt32LE() ^ testSeed) >>> 0;
}

export interface Turn {
  /** `test` of node:test where it is this user's turn, else nothing: read anew for each test, which is named by where it calls it. */
  readonly test: typeof test;
  /** Of a list that is the same for each user, what is this user's turn: to be called where the suite is made, as `test` is. */
  of<Item>(list: readonly Item[]): readonly Item[];
}

/**
 * For what is about jails and files, but in the same way for all: `suite` is called for each user, and in a short run each of the
 * tests that it makes with `turn.test` is one user's, one after the other from one that is drawn, so that every suite has both.
 * These have to be the same tests for each user; what is one user's alone, or may be skipped for one, calls `test` itself. A long
 * run, and CTX_TEST_USERS=each, has all of them for each user.
 */
export function forUsersInTurn(suite: (user: TestUser, turn: Turn) => void, options?: SuiteOptions): void {
  const candidates = users().filter((user) => reasonToSkip(user) === undefined);
  const nothing = (async () => undefined) as unknown as typeof test;
  forEachUser((user) => {
    let made = drawnByFile() % 2;
    const isTheirs = () => {
      made += 1;
      return hasEachUser || candidates.length < 2 || candidates[made % candidates.length]?.uid === user.uid;
    };
    const turn: Turn = {
      get test() {
        return isTheirs() ? test : nothing;
      },
      of: (list) => list.filter(isTheirs),
    };
    suite(user, turn);
  }, options);
}

/** For what does not depend on who asks, such as help texts, and what is called in the test's own process. */
export function asOneUser(suite: (user: TestUser) => void): void {
  const [user] = users();
  if (user !== undefined) describe('as any user', { concurrency: 4 }, () => suite(user));
}
