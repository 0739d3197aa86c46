/** The record as its verbs show it: which records, in which form, signed, exported, verified, and blamed. */
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Answer, Calls } from '../../../test/support/calls.js';

const calls = new Calls();
after(() => calls.end());

/** One record a line. */
const records = ({ stdout }: Answer) =>
  stdout
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const { version, ...record } = JSON.parse(line);
      assert.equal(version, 1);
      return record;
    });
const named = (answer: Answer) =>
  records(answer).map(({ chain, seq, type, status }) => `${chain}:${seq} ${type} ${status}`);
const shell = (text: string) => ['exec', '--', 'sh', '-c', text];

before(async () => {
  calls.write('a', 'one\n');
  await calls.all([
    ['agent new coder', 0, /./],
    ['agent new other', 0, /./],
    [['exec', '--agent', 'coder', '--', 'sh', '-c', 'echo two > a'], 0],
    [shell('echo three > d'), 0],
    ['rules add deny -- git push', 0, /./],
    ['exec -- git push --force', 'EACCES'],
  ]);
});

test('records are found by each of their marks, the newest first counted', async () => {
  const all = named(await calls.run(['audit', 'query', '--json']));
  assert.deepEqual(named(await calls.run(['audit', 'tail', '--json'])), all);
  assert.deepEqual(named(await calls.run(['audit', 'tail', '--count', '2', '--json'])), all.slice(-2));
  assert.deepEqual(named(await calls.run(['audit', 'tail', '--count', '1', '--json'])), all.slice(-1));
  const whole = named(await calls.run(['audit', 'query', '--all', '--json']));
  assert.deepEqual(named(await calls.run(['audit', 'tail', '--all', '--count', '1000', '--json'])), whole);
  assert.deepEqual(
    whole.filter((each) => !/ audit\./.test(each)),
    all,
  );
  assert.ok(whole.length > all.length);
  const only = async (...words: string[]) => named(await calls.run(['audit', 'query', '--json', ...words]));
  const of = (pattern: RegExp) => all.filter((each) => pattern.test(each));
  assert.deepEqual(await only('--agent', 'coder'), of(/^agent\/coder:/));
  assert.ok(of(/^agent\/coder:/).length >= 2);
  assert.deepEqual(await only('--type', 'exec'), of(/ exec /));
  assert.deepEqual(await only('--type', 'exec', '--status', 'denied'), of(/ exec denied/));
  assert.equal(of(/ exec denied/).length, 1);
  assert.deepEqual(await only('--status', 'begin'), of(/ begin$/));
  assert.deepEqual(await only('--session', 'nosuch'), []);
  assert.deepEqual(await only('--since', '2h'), all);
  assert.deepEqual(await only('--since', '2100-01-01'), []);
  assert.deepEqual(await only('--until', '2100-01-01'), all);
  assert.deepEqual(await only('--until', '2001-01-01'), []);
  const ofFile = await only('--path', 'a');
  assert.deepEqual([...new Set(ofFile.map((each) => each.split(':')[0]))], ['agent/coder']);

  assert.deepEqual(await only('--as', 'coder'), of(/^agent\/coder:/));
  assert.deepEqual(await only('--as', 'other'), of(/^agent\/other:/));
  assert.ok((await only('--type', 'audit')).every((each) => / audit\./.test(each)));
  await calls.all([
    ['audit tail --count 0', 'EINVAL'],
    ['audit tail --count x', 'EINVAL'],
    ['audit tail --count 1.5', 'EINVAL'],
    [
      'audit query --coconut --agent coder',
      0,
      /^\S+ {2}agent_spawn {5}aid=coder {2}\S+\n\S+ {2}agent_exit {6}aid=coder /,
    ],
    ['audit query --since nonsense', 'EINVAL'],
    ['audit query --until nonsense', 'EINVAL'],
    ['audit query --status done', 'EINVAL'],
    ['audit query --as nosuch', 'ENOENT'],
    ['audit query --as other --agent coder', 'EACCES'],
    ['audit tail --count 1', 0, /^TIME {2}denied(?: x1)? +person:\d+ {2}exec git push --force\n$/],
  ]);
});

test('one record is shown in full', async () => {
  const [{ chain, seq, head, ts }] = records(await calls.run(['audit', 'query', '--json', '--path', 'a']));
  const [shown] = records(await calls.run(['audit', 'show', `${chain}:${seq}`, '--json']));
  const [first] = records(await calls.run(['audit', 'show', `${chain}:1`, '--json']));
  const [second] = records(await calls.run(['audit', 'show', `${chain}:2`, '--json']));
  assert.deepEqual([shown.chain, shown.seq, shown.head, shown.ts], [chain, seq, head, ts]);
  assert.deepEqual([first.prev, second.prev], ['0'.repeat(64), first.head]);
  await calls.all([
    [
      `audit show ${chain}:${seq}`,
      0,
      new RegExp(`^record +${chain}:${seq}\ntime +TIME\n(?:.*\n)*previous +.{64}\nhead +${head}\n$`),
    ],
    [`audit show ${chain}:${seq} --as coder`, 0, /./],
    [`audit show ${chain}:3`, 0, /^changes +\["modified a"\]\n/m],
    [`audit show ${chain}:2`, 0, /^argv +sh -c 'echo two > a'\n/m],
    [`audit show ${chain}:${seq} --as other`, 'EACCES'],
    ['audit show 1 --as coder', 'EACCES'],
    ['audit show 1', 0, /^record +person:1\n/],
    ['audit show person:999', 'ENOENT'],
    ['audit show person:0', 'EINVAL'],
    ['audit show nosuch:1', 'EINVAL'],
  ]);
});

test('a file is blamed on the command that changed it last, before and after an apply', async () => {
  const blamed = async (name: string) => records(await calls.run(['blame', name, '--json']))[0];
  const { ts, record, authority, stateBefore, stateAfter, ...rest } = JSON.parse(
    calls.plain(JSON.stringify(await blamed('a'))),
  );
  assert.deepEqual(rest, {
    ...{ path: 'a', origin: 'HERE', state: 'pending', change: 'modified' },
    ...{ argv: ['sh', '-c', 'echo two > a'], agent: 'coder', session: null },
    ...{ applied: null, changedSince: false, liveSince: null },
  });
  assert.deepEqual([ts, record.chain, authority, stateBefore === stateAfter], ['TIME', 'agent/coder', 'DIGEST', false]);
  await calls.all([
    ['blame nosuch', 'ENOENT'],
    [
      'blame d',
      0,
      new RegExp(
        "^d added by\n {2}command {4}sh -c 'echo three > d'\n {2}agent {6}-\n {2}time {7}TIME\n {2}authority {2}DIGEST\n" +
          ' {2}fork {7}ID -> ID\n {2}record {5}person:\\d+\n {2}state {6}pending in the fork\n$',
      ),
    ],
    ['apply', 0, 'applied 2 changes\n'],
    ['blame d', 0, /\n {2}state {6}applied TIME\n$/],
  ]);
  const applied = await blamed('a');
  assert.deepEqual([applied.state, applied.applied.chain, applied.changedSince], ['applied', 'person', false]);
  calls.write('d', 'mine\n');
  assert.equal((await blamed('d')).changedSince, true);
  await calls.check(['blame d', 0, /\n {2}changed since then.*\n$/]);
  await calls.check(['jail run -- sh -c true', 0]);
  const live = await blamed('a');
  assert.deepEqual([live.liveSince?.chain, live.changedSince], ['person', false]);
  await calls.check(['blame a', 0, new RegExp(`\n {2}since then .*: person:${live.liveSince.seq}\n$`)]);
});

test('heads are signed by a key that is kept, rotated and revoked, and the record is exported and verified', async () => {
  const out = join(calls.directory, 'out');
  const verified = async (...words: string[]) => {
    const answer = await calls.run(['audit', 'verify', '--json', ...words]);
    return { code: answer.code, ...records(answer)[0] };
  };
  await calls.all([
    ['audit keys', 0, 'no key yet: ctx audit seal makes one\n'],
    [
      'audit verify',
      0,
      /^note host: .*\n(?:✓ \S+ +\d+ records?, sealed up to 0\n)+The record is intact\.\nThis proves:\n(?: {2}.*\n)+It cannot prove:\n(?: {2}.*\n)+$/,
    ],
    ['audit verify --key abc', 'EINVAL'],
    [
      'audit seal',
      0,
      /^sealed \d chains with key ID\n(?: {2}(?:person|host|agent\/\w+):\d+ {2}[0-9a-f]{64}\n)+ {2}anchored: root\n$/,
    ],
  ]);
  const [sealed] = records(await calls.run(['audit', 'seal', '--json']));
  assert.deepEqual([sealed.chains, sealed.anchors], [[], []]);
  const [{ root, keys }] = records(await calls.run(['audit', 'keys', '--json']));
  assert.deepEqual(
    [root, keys.length, keys[0].publicKey, keys[0].state, keys[0].id],
    [sealed.root, 1, root, 'in use', sealed.key],
  );
  const intact = await verified('--key', root);
  assert.deepEqual([intact.code, intact.ok, intact.problems], [0, true, []]);
  assert.ok(intact.chains.every(({ records: count, sealed: at }: Record<string, number>) => count === at));
  assert.equal((await verified('--key', '0'.repeat(64))).code, 1);
  await calls.all([
    ['audit keys --pem', 0, /^-----BEGIN PUBLIC KEY-----\n\S+\n-----END PUBLIC KEY-----\n$/],
    ['audit keys rotate', 0, /^ID {2}rotated {2}\S{64} {2}host:\d+\nID {2}in use {3}\S{64} {2}host:\d+\n$/],
    ['audit keys revoke', 'EINVAL'],
    ['audit keys rotate x', 'EINVAL'],
    ['audit keys fly', 'EINVAL'],
    ['audit keys revoke nosuch', 'ENOENT'],
    [`audit keys revoke ${keys[0].id}`, 0, /^ID {2}revoked {2}.*\nID {2}in use .*\n$/],
    [['audit', 'export', out], 0, /^exported \d chains to ~\/out\nverify it: ctx audit verify --record ~\/out\n$/],
    [['audit', 'export', out], 'EEXIST'],
  ]);
  const copy = await verified('--record', out, '--key', root);
  assert.deepEqual([copy.code, copy.ok], [0, true]);
  const copied = named(await calls.run(['audit', 'query', '--json', '--all', '--record', out]));
  assert.deepEqual(copied, named(await calls.run(['audit', 'query', '--json', '--all'])).slice(0, copied.length));
  assert.ok(copied.length > 10 && !existsSync(join(out, 'key')));
  const files = readdirSync(out, { recursive: true }).map(String);
  assert.deepEqual(
    files.filter((file) => /(?:^|\/)lock$|secret|private/.test(file)),
    [],
  );
  const chain = join(out, 'person');
  const [segment = ''] = readdirSync(chain);
  appendFileSync(join(chain, segment), '{}\n');
  const bad = await verified('--record', out);
  assert.deepEqual([bad.code, bad.ok, bad.problems[0].chain], [1, false, 'person']);
  await calls.check([
    ['audit', 'verify', '--record', out],
    1,
    /^BAD person.*\n(?:.*\n)*✗ person .*\n(?:.*\n)*The record is not intact\.\n/,
  ]);
});

test('a directory without a record is refused, and does not look like one where nothing happened', async () => {
  const empty = join(calls.directory, 'empty');
  mkdirSync(empty);
  const verbs = ['audit tail', 'audit query', 'audit verify', 'audit show host:1'];
  for (const directory of [empty, join(empty, 'nosuch')]) {
    await calls.all(verbs.map((verb) => [[...verb.split(' '), '--record', directory], 'ENOENT']));
  }
});
