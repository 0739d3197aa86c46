import assert from 'node:assert/strict';
import fs, { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, mock } from 'node:test';
import { fileURLToPath } from 'node:url';
import {
  approvalKeptMilliseconds,
  approvalLeftMilliseconds,
  approvalSessionMilliseconds,
  approvalsWaiting,
  approvalUseMilliseconds,
} from '../../base/limits/decisions.js';
import { type ApprovalAnswer, type Asked, type Binding, bindingDigest, holdsFor, statusOf } from './approval.js';
import { ApprovalStore } from './approval-store.js';

const lockLibrary = fileURLToPath(new URL('../../../../native/flock.node', import.meta.url));

const binding: Binding = {
  argv: ['git', 'push'],
  directory: '/work',
  environment: { HOME: '/home/me' },
  authority: 'sha256:a',
  fork: 'sha256:f',
};

const given: Omit<Asked, 'version' | 'id'> = {
  askedAt: 1_000,
  expiresAt: 2_000,
  agent: 'coder',
  argv: binding.argv,
  directory: binding.directory,
  origin: binding.directory,
  categories: ['networked'],
  reason: 'git push is networked',
  rule: 'default',
  connected: false,
  words: ['git', 'push'],
  shown: [],
  onceOnly: false,
  ...bindingDigest(binding),
};

const asked: Asked = { version: 2, id: '00000001', ...given };

function answer(said: Partial<ApprovalAnswer> = {}): ApprovalAnswer {
  return { version: 1, granted: true, scope: 'once', at: 1_500, by: 'uid 0', why: '', network: [], ...said };
}

describe('an approval', () => {
  it('holds for the words, directory, environment, input, authority and asker that were asked for, and for no other', () => {
    const approval = { asked, answer: answer({ scope: 'session' }), used: false, attended: true };
    assert.ok(holdsFor(approval, bindingDigest(binding), 1_600));
    const others: readonly Partial<Binding>[] = [
      { argv: ['git', 'push', '--force'] },
      { argv: ['git push'] },
      { directory: '/work/sub' },
      { environment: { HOME: '/home/me', GIT_SSH_COMMAND: 'x' } },
      { authority: 'sha256:b' },
      { live: true },
      { input: 'sha256:i' },
      { requester: 'MCP server 1' },
      { forkName: 'other' },
      { weakened: ['seccomp'] },
      { readonly: true },
    ];
    for (const other of others) {
      assert.ok(!holdsFor(approval, bindingDigest({ ...binding, ...other }), 1_600), JSON.stringify(other));
    }
  });

  it('for once is for whoever asked and for nobody else, and ends with them', () => {
    const approval = { asked, answer: answer(), used: false, attended: true };
    assert.ok(!holdsFor(approval, bindingDigest(binding), 1_600));
    assert.equal(statusOf(approval, 1_600), 'granted');
    assert.equal(statusOf({ ...approval, attended: false }, 1_600), 'expired');
    assert.equal(statusOf({ ...approval, answer: undefined, attended: false }, 1_600), 'expired');
  });

  it('has another digest on another fork or other directories', () => {
    const { digest } = bindingDigest(binding);
    assert.notEqual(bindingDigest({ ...binding, fork: 'sha256:g' }).digest, digest);
    assert.notEqual(bindingDigest({ ...binding, directories: 'sha256:d' }).digest, digest);
  });

  it('for the session holds whatever the fork becomes, and for a day’s work', () => {
    const approval = { asked, answer: answer({ scope: 'session' }), used: false, attended: true };
    const changed = bindingDigest({ ...binding, fork: 'sha256:g' });
    assert.ok(holdsFor(approval, changed, 1_600));
    assert.ok(!holdsFor(approval, bindingDigest({ ...binding, argv: ['git', 'push', '-f'] }), 1_600));
    // What may be done to a fork may not be done to the directory itself.
    assert.ok(!holdsFor(approval, bindingDigest({ ...binding, live: true }), 1_600));
    assert.ok(!holdsFor(approval, changed, 1_500 + approvalSessionMilliseconds));
    // The clock was set back since: by a second it does not matter, by a year it would hold for a year.
    assert.ok(holdsFor(approval, changed, 500));
    assert.ok(!holdsFor(approval, changed, 1_500 - approvalSessionMilliseconds));
  });

  it('that nobody answers in time is expired, and one for once is over when it is used', () => {
    assert.equal(statusOf({ asked, answer: undefined, used: false, attended: true }, 1_999), 'waiting');
    assert.equal(statusOf({ asked, answer: undefined, used: false, attended: true }, 2_000), 'expired');
    assert.equal(statusOf({ asked, answer: answer(), used: true, attended: true }, 1_600), 'used');
    assert.equal(statusOf({ asked, answer: answer({ scope: 'rule' }), used: true, attended: true }, 1_600), 'used');
    assert.equal(
      statusOf({ asked, answer: answer(), used: false, attended: true }, 1_500 + approvalUseMilliseconds),
      'expired',
    );
    assert.equal(statusOf({ asked, answer: answer({ granted: false }), used: false, attended: true }, 1_600), 'denied');
  });
});

describe('the store of approvals', () => {
  let root = '';
  before(() => {
    root = mkdtempSync(join(tmpdir(), 'ctx-approvals-'));
  });
  after(() => rmSync(root, { recursive: true }));
  const fresh = () => new ApprovalStore(mkdtempSync(join(root, 'store-')), lockLibrary);

  it('gives back what was asked and answered, to whoever opens it next', () => {
    const directory = join(root, 'shared');
    const { asked: first, leave } = new ApprovalStore(directory, lockLibrary).ask(given);
    const { id } = first;
    new ApprovalStore(directory, lockLibrary).answer(id, answer());
    const found = new ApprovalStore(directory, lockLibrary).one(id);
    assert.deepEqual(found, { asked: { version: 2, id, ...given }, answer: answer(), used: false, attended: true });
    leave();
    assert.equal(new ApprovalStore(directory, lockLibrary).one(id).attended, false);
  });

  it('has an answer whole or not at all, on a disk that takes a part of it', () => {
    for (const isFull of [false, true]) {
      const store = fresh();
      const { asked: first, leave } = store.ask(given);
      const real = fs.writeSync;
      let writes = 0;
      mock.method(fs, 'writeSync', (descriptor: number, data: string | Uint8Array, from = 0) => {
        writes += 1;
        if (isFull && writes > 1) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        return real(descriptor, Buffer.from(data), from, Math.min(5, data.length - from));
      });
      syncBuiltinESMExports();
      try {
        if (isFull) assert.throws(() => store.answer(first.id, answer()), { code: 'ENOSPC' });
        else store.answer(first.id, answer());
      } finally {
        mock.restoreAll();
        syncBuiltinESMExports();
      }
      assert.deepEqual(store.one(first.id).answer, isFull ? undefined : answer());
      assert.deepEqual(store.answer(first.id, answer()), answer());
      leave();
    }
  });

  it('keeps the first answer', () => {
    const store = fresh();
    const { id } = store.ask(given).asked;
    assert.equal(store.answer(id, answer({ granted: false })).granted, false);
    assert.equal(store.answer(id, answer({ granted: true })).granted, false);
    assert.equal(store.one(id).answer?.granted, false);
  });

  it('lets a grant for once be used once', () => {
    const store = fresh();
    const { id } = store.ask(given).asked;
    store.answer(id, answer());
    assert.deepEqual([store.use(id), store.use(id)], [true, false]);
  });

  it('leaves nothing half written to be read', () => {
    const directory = join(root, 'torn');
    const store = new ApprovalStore(directory, lockLibrary);
    const { id } = store.ask(given).asked;
    writeFileSync(join(directory, id, 'answer.json.123-abc'), '{"version":1,"gran');
    assert.equal(store.one(id).answer, undefined);
    store.answer(id, answer());
    assert.deepEqual(
      readdirSync(join(directory, id)).filter((name) => name === 'answer.json'),
      ['answer.json'],
    );
  });

  it('refuses a damaged answer instead of guessing at it', () => {
    const directory = join(root, 'damaged');
    const store = new ApprovalStore(directory, lockLibrary);
    const { id } = store.ask(given).asked;
    writeFileSync(join(directory, id, 'answer.json'), '{"version":1,"granted":"yes"}');
    assert.throws(() => store.one(id), { code: 'EIO' });
  });

  it('lets only so many wait', () => {
    const store = fresh();
    for (let count = 0; count < approvalsWaiting; count += 1) store.ask(given);
    assert.throws(() => store.ask(given), { code: 'EAGAIN' });
    assert.ok(store.ask({ ...given, askedAt: 3_000, expiresAt: 4_000 }).asked.id);
  });

  it('lets no more wait where two ask at once', () => {
    const directory = join(root, 'at-once');
    const [store, other] = [new ApprovalStore(directory, lockLibrary), new ApprovalStore(directory, lockLibrary, 50)];
    for (let count = 1; count < approvalsWaiting; count += 1) store.ask(given);
    let isAsked = false;
    // Read after the first has counted, and before it is there.
    const slow = {
      ...given,
      get reason() {
        assert.throws(() => other.ask(given), { code: 'EAGAIN' });
        isAsked = true;
        return given.reason;
      },
    };
    assert.ok(store.ask(slow).asked.id);
    assert.deepEqual([isAsked, store.all().length], [true, approvalsWaiting]);
  });

  it('forgets what has ended long ago, and nothing that waits, holds or ended later', () => {
    const ended = given.expiresAt + approvalKeptMilliseconds;
    const kinds: Readonly<Record<string, (store: ApprovalStore, id: string) => void>> = {
      denied: (store, id) => void store.answer(id, answer({ granted: false })),
      used: (store, id) => {
        store.answer(id, answer());
        store.use(id);
      },
      'not answered': () => undefined,
      'granted long ago': (store, id) => void store.answer(id, answer({ scope: 'session' })),
    };
    for (const [what, end] of Object.entries(kinds)) {
      for (const [at, isKept] of [
        [ended, true],
        [ended + 1, false],
      ] as const) {
        const store = fresh();
        const { id } = store.ask(given).asked;
        end(store, id);
        store.ask({ ...given, askedAt: at, expiresAt: at + 1 });
        assert.equal(
          store.all().some(({ asked: { id: other } }) => other === id),
          isKept,
          `${what}, ${at - ended} later`,
        );
      }
    }
    const store = fresh();
    const late = ended + 1;
    const { id } = store.ask(given).asked;
    store.answer(id, answer({ scope: 'session', at: late - 1 }));
    store.ask({ ...given, askedAt: late, expiresAt: late + 1 });
    assert.ok(store.one(id), 'it still holds');
  });

  it('forgets what processes that were killed had begun, a day later', () => {
    const directory = join(root, 'left');
    const store = new ApprovalStore(directory, lockLibrary);
    const now = Date.now();
    const { id } = store.ask({ ...given, askedAt: now, expiresAt: now + approvalKeptMilliseconds }).asked;
    mkdirSync(join(directory, '0badc0de'));
    for (const name of ['0badc0de/asker', '0badc0de/asked.json.123.new', 'scan-1-2-3', 'notes'])
      writeFileSync(join(directory, name), '');
    for (const [later, left] of [
      [approvalLeftMilliseconds - 60_000, ['0badc0de', 'asking', id, 'notes', 'scan-1-2-3']],
      [approvalLeftMilliseconds + 60_000, ['asking', id, 'notes']],
    ] as const) {
      const at = now + later;
      const { asked: other, leave } = store.ask({ ...given, askedAt: at, expiresAt: at + 1 });
      leave();
      const names = readdirSync(directory).filter((name) => name !== other.id);
      rmSync(join(directory, other.id), { recursive: true });
      assert.deepEqual(names.sort(), [...left].sort());
    }
  });

  it('keeps all that an apply would write beside the question, which says how much that is', () => {
    const store = fresh();
    const steps = ['write a', 'delete b'];
    const { asked: one } = store.ask(given, steps);
    assert.equal(one.steps, 2);
    assert.deepEqual([store.steps(one.id), store.one(one.id).asked], [steps, one]);
    const { asked: none } = store.ask(given, []);
    assert.deepEqual([store.steps(none.id), none.steps], [[], 0]);
    const { asked: command } = store.ask(given);
    assert.deepEqual([store.steps(command.id), 'steps' in command], [[], false]);
  });

  it('has nothing where it was never used, the oldest first, and nothing that others put there', () => {
    const directory = join(root, 'odd');
    const store = new ApprovalStore(directory, lockLibrary);
    assert.deepEqual(store.all(), []);
    const ids = [3_000, 1_000, 2_000].map((askedAt) => store.ask({ ...given, askedAt }).asked.id);
    writeFileSync(join(directory, 'scan-of-another'), 'x');
    assert.deepEqual(
      store.all().map(({ asked: { id } }) => id),
      [ids[1], ids[2], ids[0]],
    );
    assert.throws(() => new ApprovalStore(join(directory, 'scan-of-another'), lockLibrary).all(), { code: 'ENOTDIR' });
    assert.deepEqual(readdirSync(join(directory, ids[0] ?? '')).sort(), ['asked.json', 'asker']);
  });

  it('leaves no file of an answer that came second', () => {
    const directory = join(root, 'second');
    const store = new ApprovalStore(directory, lockLibrary);
    const { id } = store.ask(given).asked;
    for (const granted of [true, false]) assert.equal(store.answer(id, answer({ granted })).granted, true);
    assert.deepEqual(readdirSync(join(directory, id)).sort(), ['answer.json', 'asked.json', 'asker']);
    const open = readdirSync('/proc/self/fd').length;
    for (let count = 0; count < 20; count += 1) {
      store.one(id);
      store.settle(id);
      store.whileAnswering(id, () => undefined);
      store.answer(id, answer());
    }
    assert.equal(readdirSync('/proc/self/fd').length, open, 'and nothing stays open');
  });

  it('has no request by a name that is none', () => {
    assert.throws(() => fresh().one('../../x'), { code: 'ENOENT' });
  });
});
