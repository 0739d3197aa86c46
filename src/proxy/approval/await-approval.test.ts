/** From a request to a person's answer and to the permission, with a store, a record and a fork. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once as first } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { storePaths } from '../../vault/store/layout.js';
import { closeFork, openFork } from '../../vault/vault.js';
import { resolveAuthority } from '../grants/authority-of.js';
import { type Host, placeOf } from '../host.js';
import { testHost } from '../host-fixture.js';
import { answerApproval, approvalsOf, settledAnswer } from './answer-approval.js';
import { type Asked, statusOf } from './approval.js';
import type { ApprovalRequest, Spoken } from './await-approval.js';
import { decideRequest, permissionToPrepare } from './decide-request.js';
import { makeRule, printRules } from './decision-rule.js';
import { directoryState } from './directory-state.js';
import { addRule, readRules, removeRule } from './rules-file.js';

const { host, project, recorded } = testHost();
const argv = ['make', 'it'];
const rule = makeRule('require_approval', '-', { command: ['make'] });
addRule(host, rule);
const once: Spoken = { granted: true, scope: 'once', network: [] };

/** What is being written now is like no other state: after this it is not. */
async function settle(...directories: readonly string[]): Promise<void> {
  for (let seen = ''; ; ) {
    const found = await directoryState(host, directories);
    if (found === seen) return;
    seen = found;
  }
}

interface Stage {
  readonly cwd: string;
  readonly asked: Asked[];
  /** Asks, and answers so. */
  ask(said?: Spoken, more?: Partial<ApprovalRequest>, by?: Host): ReturnType<typeof decideRequest>;
}

async function stage(): Promise<Stage> {
  const cwd = project({ file: 'text' });
  await settle(cwd);
  const asked: Asked[] = [];
  return {
    cwd,
    asked,
    async ask(said, more = {}, by = host) {
      const place = placeOf(host, cwd);
      const resolved = await resolveAuthority(host, { place });
      return decideRequest(by, place, resolved, {
        ...{ argv, environmentAdditions: [], input: 'nothing', approvalMilliseconds: 60_000 },
        onApproval: async (each) => {
          asked.push(each);
          return said;
        },
        ...more,
      });
    },
  };
}

const entriesSince = (from: number) =>
  (JSON.parse(JSON.stringify(recorded.slice(from))) as typeof recorded).filter(({ type }) => type !== 'audit.chain');
const own = { uid: process.geteuid?.() };

describe('a command that needs an approval', () => {
  it('is shown as all that it is, runs by the answer, and both are in the record', async () => {
    const { cwd, asked, ask } = await stage();
    const from = recorded.length;
    const before = Date.now();
    const permission = await ask({ ...once, network: ['example.org:443'] });
    const [only, ...more] = asked;
    assert.ok(only !== undefined && more.length === 0);
    const { id, askedAt, expiresAt, digest, lasting, ...shown } = only;
    assert.match(id, /^[0-9a-f]{8}$/);
    assert.ok(askedAt >= before && askedAt <= Date.now() && expiresAt === askedAt + 60_000);
    for (const text of [digest, lasting]) assert.match(text, /^sha256:[0-9a-f]{64}$/);
    assert.notEqual(digest, lasting);
    const { reason, categories } = permission.decision;
    assert.match(reason, /a rule on this command/);
    assert.deepEqual(shown, {
      ...{ version: 2, agent: null, argv, directory: cwd, origin: cwd, categories, reason, rule: rule.id },
      ...{ connected: false, words: argv, shown: [], onceOnly: false },
    });
    const { confirm: _confirm, confirmDirectories: _directories, ...given } = permission;
    const by = `uid ${own.uid} at the terminal`;
    assert.deepEqual(given, {
      decision: { action: 'require_approval', categories, reason, rule: rule.id },
      ...{ approval: id, granted: { network: ['example.org:443'], by }, hints: [], isBound: true },
    });
    const object = `approval/${id}`;
    const facts = { argv, directory: cwd, categories, rule: rule.id, expiresAt, digest, lasting };
    assert.deepEqual(entriesSince(from), [
      { type: 'approval', object, status: 'begin', agent: null, facts },
      {
        ...{ type: 'approval.grant', object, status: 'ok', agent: null, durable: true },
        facts: { scope: 'once', by, why: '', network: ['example.org:443'], argv, digest },
      },
    ]);
    assert.equal(statusOf(approvalsOf(host).one(id), Date.now()), 'used');
    const left = readdirSync(join(storePaths(host.store.directory).approvals, id)).sort();
    assert.deepEqual(left, ['answer.json', 'answering', 'asked.json', 'asker', 'settled', 'used']);
  });

  it('is not waited for longer than was said, where the clock is set back meanwhile', async () => {
    const { ask, asked } = await stage();
    let back = 0;
    const by: Host = { ...host, now: () => new Date(Date.now() - back) };
    const onApproval = async (each: Asked) => {
      asked.push(each);
      back = 60 * 60_000;
      return undefined;
    };
    const began = performance.now();
    await assert.rejects(ask(undefined, { approvalMilliseconds: 300, onApproval }, by), { code: 'EACCES' });
    assert.ok(performance.now() - began < 30_000 && asked.length === 1);
  });

  it('is asked about each time that it was granted once, not again in the session, and never with a rule', async () => {
    const { asked, ask } = await stage();
    for (const count of [1, 2]) {
      await ask(once);
      assert.equal(asked.length, count);
    }
    const session = await ask({ ...once, scope: 'session', network: ['any'] });
    const held = await ask(undefined);
    assert.deepEqual([asked.length, held.approval, held.isBound], [3, session.approval, false]);
    assert.deepEqual(held.granted, session.granted);
    await ask(once, { argv: ['make', 'other'] });
    assert.equal(asked.length, 4, 'of other words');
    await ask(once, {}, { ...host, requester: 'another' });
    assert.equal(asked.length, 5, 'of another who asks');
    const later = new Date(Date.now() + 9 * 60 * 60_000);
    await ask({ ...once, scope: 'rule' }, {}, { ...host, now: () => later });
    assert.equal(asked.length, 6, 'the session is over');
    const added = readRules(host).filter(({ id }) => id !== rule.id);
    assert.deepEqual(added, [makeRule('allow_with_checkpoint', '-', { command: argv })]);
    const allowed = await ask(undefined);
    assert.deepEqual([asked.length, allowed.approval, allowed.decision.rule], [6, null, added[0]?.id]);
    assert.ok(removeRule(host, added[0]?.id ?? ''));
  });

  it('is of the fork alone where it is an apply: that looks itself at what the person edited meanwhile', async () => {
    const { cwd, ask } = await stage();
    const apply = await ask(once, { verb: 'apply', steps: ['write file'] });
    const command = await ask(once, { argv: ['make', 'more'] });
    writeFileSync(join(cwd, 'file'), 'edited');
    await settle(cwd);
    await apply.confirm({ imported: true });
    await apply.confirmDirectories?.();
    await assert.rejects(command.confirm({ imported: true }), { code: 'ESTALE' });
    await assert.rejects(async () => command.confirmDirectories?.(), { code: 'ESTALE' });
  });

  it('with input is never the words of a rule, and with one that is not known is for once', async () => {
    const { asked, ask } = await stage();
    await ask(once, { input: Buffer.from('text') });
    await ask(once, { input: 'unknown' });
    assert.deepEqual(
      asked.map(({ words, onceOnly, shown }) => [words, onceOnly, shown.length]),
      [
        [[], false, 1],
        [[], true, 1],
      ],
    );
    await ask({ ...once, scope: 'session' }, { live: true });
    assert.match(asked.at(-1)?.reason ?? '', /cannot be undone$/);
    await ask(once);
    assert.equal(asked.length, 4, 'what was approved for the directory itself is not for a fork');
  });

  it('is refused with the reason, by whoever answers first: a person, or the time', async () => {
    const { asked, ask } = await stage();
    for (const [said, more, text] of [
      [{ ...once, granted: false }, {}, /needs an approval, and uid \d+ at the terminal denied it$/],
      [undefined, { approvalMilliseconds: 0 }, /and ctx denied it: no answer came in time$/],
    ] as const) {
      const from = recorded.length;
      await assert.rejects(ask(said, more, { ...host, now: () => new Date(1e12) }), (error: { reason?: string }) => {
        assert.match(error.reason ?? '', text);
        return true;
      });
      const [, denied] = entriesSince(from);
      assert.deepEqual([denied?.type, denied?.facts?.['scope']], ['approval.deny', 'once']);
      const { id } = asked.at(-1) ?? assert.fail();
      assert.equal(statusOf(approvalsOf(host).one(id), 1e12), 'denied');
    }
  });

  it('waits for an answer from elsewhere, and says to the one who shows it that one came', async () => {
    const { ask } = await stage();
    let shown: AbortSignal | undefined;
    const permission = await ask(undefined, {
      onApproval: async (asked, signal) => {
        shown = signal;
        assert.equal(statusOf(approvalsOf(host).one(asked.id), Date.now()), 'waiting');
        answerApproval(host, asked, { ...once, by: 'elsewhere', why: 'so' });
        return undefined;
      },
    });
    assert.deepEqual([permission.granted, shown?.aborted], [{ network: [], by: 'elsewhere' }, true]);
  });

  it('that nobody waits for any more is denied, and one who fails to ask leaves no request behind', async () => {
    const { ask } = await stage();
    const gone = new AbortController();
    let id = '';
    const waiting = ask(undefined, {
      signal: gone.signal,
      onApproval: async (asked) => {
        id = asked.id;
        gone.abort();
        return undefined;
      },
    });
    await assert.rejects(waiting, { code: 'ECANCELED' });
    const { answer, attended } = approvalsOf(host).one(id);
    assert.deepEqual([answer?.granted, answer?.by, attended], [false, 'ctx', false]);
    const failing = async (asked: Asked) => {
      id = asked.id;
      throw new Error('no terminal');
    };
    await assert.rejects(ask(undefined, { onApproval: failing }), { message: 'no terminal' });
    assert.equal(approvalsOf(host).one(id).attended, false);
    // Not when its minute is over, for which this process would have to stay.
    for (let looks = 0; approvalsOf(host).one(id).answer === undefined && looks < 100; looks += 1) await sleep(20);
    assert.deepEqual([approvalsOf(host).one(id).answer?.granted, recorded.at(-1)?.type], [false, 'approval.deny']);
  });

  it('is answered only by what is an answer, and others can be read afterwards', async () => {
    const { ask } = await stage();
    for (const spoken of [
      ...[null, true, 'yes', 1, [], {}, { granted: true }, { granted: true, scope: 'once' }],
      ...['no', 'false', 1, {}, undefined].map((granted) => ({ ...once, granted })),
      ...[{ scope: 'always' }, { network: 'any' }, { network: [5] }].map((wrong) => ({ ...once, ...wrong })),
    ]) {
      const onApproval = async () => spoken as never;
      await assert.rejects(ask(undefined, { onApproval }), { code: 'EINVAL' }, JSON.stringify(spoken));
    }
    assert.ok(
      approvalsOf(host)
        .all()
        .every(({ answer }) => answer?.granted !== true || typeof answer.scope === 'string'),
    );
  });

  it('that cannot be recorded leaves no request that waits', async () => {
    const { ask } = await stage();
    const append = (entry: Parameters<Host['recorder']['append']>[0]) => {
      if (entry.type === 'approval') throw new Error('no room');
      return host.recorder.append(entry);
    };
    const known = approvalsOf(host)
      .all()
      .map((each) => each.asked.id);
    await assert.rejects(ask(once, {}, { ...host, recorder: { append } }), { message: 'no room' });
    const left = approvalsOf(host)
      .all()
      .find((each) => !known.includes(each.asked.id));
    assert.deepEqual([left?.attended, left && statusOf(left, host.now().getTime())], [false, 'expired']);
  });

  it('whose answer was linked by one who was killed then is recorded once, and acted upon once', async () => {
    const { asked, ask } = await stage();
    await ask({ ...once, scope: 'session' });
    const store = approvalsOf(host);
    const { id: _id, version: _version, ...given } = asked[0] ?? assert.fail();
    const { asked: again } = store.ask(given);
    const answer = { version: 1, granted: true, scope: 'rule', at: 1, by: 'me', why: '', network: [] } as const;
    store.answer(again.id, answer);
    const from = recorded.length;
    for (const _look of [1, 2]) assert.deepEqual(settledAnswer(host, store.one(again.id)), answer);
    assert.deepEqual(
      entriesSince(from).map(({ type }) => type),
      ['approval.grant'],
    );
    const added = makeRule('allow_with_checkpoint', '-', { command: argv });
    assert.equal(readRules(host).filter(({ id }) => id === added.id).length, 1);
    assert.ok(removeRule(host, added.id));
    assert.equal(settledAnswer(host, { asked: again, answer: undefined }), undefined);
    // One that holds for a command which is not the one that asked.
    const other = await stage();
    await other.ask(once);
    const { id: _other, version: _of, ...theirs } = other.asked[0] ?? assert.fail();
    const { asked: held } = store.ask(theirs);
    store.answer(held.id, { ...answer, scope: 'session', at: Date.now() });
    const before = recorded.length;
    for (const _run of [1, 2]) assert.equal((await other.ask(undefined)).approval, held.id);
    assert.deepEqual(
      entriesSince(before).map(({ type, object }) => [type, object]),
      [['approval.grant', `approval/${held.id}`]],
    );
  });
});

describe('what was approved once', () => {
  const unchanged = { imported: false };

  it('runs only where the person’s files, the input and the fork are as they were; each refusal is in the record', async () => {
    const { cwd, ask } = await stage();
    const { owner } = placeOf(host, cwd);
    const { store, tree } = host;
    closeFork(await openFork({ store, tree, origin: cwd, owner, wait: false, purpose: 'test' }));
    const fork = await openFork({ store, tree, origin: cwd, owner, wait: false, purpose: 'test' });
    const { home, caches } = fork.place;
    closeFork(fork);
    const shared = join(storePaths(store.directory).caches, String(owner.uid));
    for (const directory of [home, join(caches, 'key'), join(shared, 'key')]) mkdirSync(directory, { recursive: true });
    await settle(cwd);
    let text = 'one';
    const client = {
      take: async () => [Buffer.from(text)],
      set: (other: string) => {
        text = other;
      },
    };
    const changes: Readonly<Record<string, [Partial<ApprovalRequest>, change: () => void, said: RegExp]>> = {
      'a file': [{}, () => writeFileSync(join(cwd, 'file'), 'edited'), /your directory changed/],
      'the home': [{}, () => writeFileSync(join(home, '.profile'), 'x'), /the fork changed/],
      'a cache of the fork': [{}, () => writeFileSync(join(caches, 'key/x'), 'x'), /the fork changed/],
      'a shared cache': [{ cache: 'share' }, () => writeFileSync(join(shared, 'key/x'), 'x'), /shared cache, changed/],
      input: [{ input: client }, () => client.set('other'), /the input changed/],
    };
    for (const [what, [more, change, said]] of Object.entries(changes)) {
      await settle(cwd, home);
      const permission = await ask(once, more);
      await permission.confirm(unchanged);
      change();
      const from = recorded.length;
      await assert.rejects(permission.confirm(unchanged), (error: { code?: string; reason?: string }) => {
        assert.equal(error.code, 'ESTALE', what);
        assert.match(error.reason ?? '', said);
        return true;
      });
      const facts = { argv, directory: cwd, origin: cwd, approval: permission.approval, error: 'ESTALE' };
      const whose = { type: 'exec', object: `workspace/${cwd}`, status: 'denied', layer: 'proxy' };
      assert.deepEqual(entriesSince(from), [{ ...whose, facts }]);
      if (what === 'the home') await permission.confirmDirectories();
      if (what === 'a file' || what === 'a shared cache')
        await assert.rejects(permission.confirmDirectories(), { code: 'ESTALE' });
    }
  });

  it('does not run beside processes of earlier commands, and holds for a fork that was just made', async () => {
    const { ask } = await stage();
    const permission = await ask(once);
    await permission.confirm({ imported: true });
    await assert.rejects(permission.confirm({ ...unchanged, hasWriters: true }), { code: 'ESTALE' });
    const tool = await ask(once, { apart: { hidesFork: true } });
    await tool.confirm({ ...unchanged, hasWriters: true });
    assert.deepEqual([permission.isBound, tool.isBound], [true, false], 'it sees nothing that others may write');
  });

  it('is otherwise than for the session, which holds whatever has changed', async () => {
    const { cwd, ask } = await stage();
    const permission = await ask({ ...once, scope: 'session' });
    writeFileSync(join(cwd, 'file'), 'edited');
    await permission.confirm({ ...unchanged, hasWriters: true });
    await permission.confirmDirectories();
    const prepare = permissionToPrepare();
    await prepare.confirm({ ...unchanged, hasWriters: true });
    const { action, rule: by } = prepare.decision;
    assert.deepEqual([action, by, prepare.approval, prepare.isBound], ['allow', 'default', null, false]);
  });
});

describe('the decision about a command', () => {
  it('is to refuse, with what an operator could do; to run it, with what explains a failure; or to ask', async () => {
    const { ask } = await stage();
    const refused = async (words: readonly string[]) => {
      const error = await ask(once, { argv: words }).then(
        () => assert.fail('expected a refusal'),
        (found: { code: string; remedy?: string; cause?: object }) => found,
      );
      const { code, remedy = '', cause } = error;
      return { code, remedy, cause };
    };
    const byDefault = await refused(['sudo', 'ls']);
    assert.match(byDefault.remedy, /ctx rules add allow_with_checkpoint --class host_escape_risk$/);
    assert.deepEqual(Object.keys(byDefault.cause ?? {}), ['action', 'categories', 'reason', 'rule']);
    const deny = makeRule('deny', '-', { command: ['ls'] });
    addRule(host, deny);
    assert.match((await refused(['ls'])).remedy, new RegExp(`ctx rules list shows rule ${deny.id}$`));
    assert.ok(removeRule(host, deny.id));
    const plain = await ask(undefined, { argv: ['ls'] });
    const networked = await ask(undefined, { argv: ['curl', 'https://example.org'] });
    assert.deepEqual([plain.hints, networked.hints.length, networked.approval], [[], 1, null]);
    assert.match(networked.hints[0] ?? '', /no network is granted/);
  });
});

describe('the rules of the operator', () => {
  it('are each there once, and gone when they are removed; what is damaged refuses', () => {
    const { host: other } = testHost();
    const file = join(other.root, 'rules.json');
    const [one, two] = [makeRule('deny', '*', { command: ['a'] }), makeRule('allow', 'ada', { class: 'read_only' })];
    assert.deepEqual([readRules(other), removeRule(other, one.id)], [[], false]);
    for (const each of [one, two, one]) addRule(other, each);
    assert.deepEqual(readRules(other), [one, two]);
    const written = readFileSync(file, 'utf8');
    assert.equal(removeRule(other, 'unknown'), false);
    assert.equal(readFileSync(file, 'utf8'), written);
    assert.equal(removeRule(other, one.id), true);
    assert.deepEqual(readRules(other), [two]);
    const unreadable = { ...one, agent: 'no agent' };
    assert.throws(() => addRule(other, unreadable), { code: 'EINVAL' });
    assert.deepEqual(readRules(other), [two], 'what cannot be read back is not written');
    writeFileSync(file, '{"version":2,"rules":[]}');
    assert.throws(() => readRules(other), { code: 'EINVAL' });
  });

  it('are changed by one at a time: what another process adds meanwhile stays', async () => {
    const { host: other } = testHost();
    const [theirs, own, gone] = ['a', 'b', 'c'].map((name) => makeRule('deny', '*', { command: [name] }));
    assert.ok(theirs && own && gone);
    addRule(other, gone);
    const file = join(other.root, 'rules.json');
    // It has read what is there, and writes that with a rule of its own half a second later.
    const script = `echo held; sleep 0.5; printf '%s' "$1" > "$2"`;
    const texts = [printRules([gone, theirs]), file];
    for (const change of [() => addRule(other, own), () => removeRule(other, gone.id)]) {
      const argv = [join(other.root, 'rules.lock'), 'sh', '-c', script, 'sh', ...texts];
      const process = spawn('flock', argv, { stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = first(process, 'exit');
      await first(process.stdout, 'data');
      change();
      assert.deepEqual(await ended, [0, null]);
      texts[0] = printRules([gone, theirs, own]);
    }
    assert.deepEqual(readRules(other), [theirs, own]);
  });
});
