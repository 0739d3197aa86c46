/** What commands may do, asked and answered: classes, rules, approvals, and the verdict of `ctx why`. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, Calls } from '../../../test/support/calls.js';

const calls = new Calls();
const asker = new Calls(calls);
after(async () => {
  await asker.end();
  await calls.end();
});

const json = ({ stdout }: Answer) => JSON.parse(stdout);

before(async () => {
  calls.write('a', 'one\n');
  await calls.all([
    ['agent new coder', 0, /./],
    [['agent', 'set', 'coder', 'policy', 'allow coder_t tool:fs.read execute'], 0, /./],
  ]);
});

test('a command is classified by its words or as a text for the shell, and nothing runs', async () => {
  const rm = { text: 'rm -rf a', words: ['rm', '-rf', 'a'], classes: ['destructive'], readable: true, parts: [] };
  const answer = json(await calls.run(['classify', '--json', '--', 'rm', '-rf', 'a']));
  const { why, ...reading } = answer.reading;
  assert.deepEqual(
    { ...answer, reading },
    { version: 1, classes: ['destructive'], mostDangerous: 'destructive', readable: true, reading: rm },
  );
  assert.match(why, /rm/);
  const both = json(await calls.run(['classify', '--json', '--shell', 'ls | rm a']));
  assert.deepEqual([both.classes, both.reading.parts.length > 0], [['destructive'], true]);
  await calls.all([
    ['classify -- rm -rf a', 0, /^destructive\n {2}rm -rf a\n {4}destructive: .*\n$/],
    [
      ['classify', '--shell', 'ls; rm a'],
      0,
      /^destructive\n {2}ls\n {4}read_only: .*\n {2}rm a\n {4}destructive: .*\n$/,
    ],
    [['classify', '--', 'echo', 'x'.repeat(100)], 0, new RegExp(`^read_only\n {2}echo ${'x'.repeat(54)}…\n`)],
    [['classify', '--', 'echo', 'x'.repeat(55)], 0, new RegExp(`^read_only\n {2}echo ${'x'.repeat(55)}\n`)],
    ['classify', 'EINVAL'],
    ['classify --shell ls -- ls', 'EINVAL'],
  ]);
  assert.equal(calls.file('a'), 'one\n');
});

test('rules are added, listed, tried and removed, and decide about commands', async () => {
  const added = async (...words: string[]) => json(await calls.run(['rules', 'add', '--json', ...words])).rule;
  const rules = [
    await added('deny', '--', 'git', 'push'),
    await added('allow', '--class', 'mutating', '--no-agent'),
    await added('require_approval', '--agent', 'coder', '--', 'touch', 'b'),
    await added('allow', '--prefix', '--', 'npm', 'run'),
    await added('allow_with_checkpoint', '--', 'make'),
  ];
  assert.deepEqual(
    rules.map(({ id, ...rest }) => [/^[0-9a-f]{8}$/.test(id), rest]),
    [
      [true, { action: 'deny', agent: '*', match: { command: ['git', 'push'] } }],
      [true, { action: 'allow', agent: '-', match: { class: 'mutating' } }],
      [true, { action: 'require_approval', agent: 'coder', match: { command: ['touch', 'b'] } }],
      [true, { action: 'allow', agent: '*', match: { command: ['npm', 'run'], prefix: true } }],
      [true, { action: 'allow_with_checkpoint', agent: '*', match: { command: ['make'] } }],
    ],
  );
  const [push, , touch] = rules;
  const tried = async (...words: string[]) => {
    const answer = await calls.run(['rules', 'test', '--json', ...words]);
    const { decision } = json(answer);
    return [answer.code, decision.action, decision.rule];
  };
  assert.deepEqual(await tried('--', 'git', 'push', '--force'), [13, 'deny', push.id]);
  assert.deepEqual(await tried('--', 'touch', 'b'), [0, 'allow', rules[1].id]);
  assert.deepEqual(await tried('--agent', 'coder', '--', 'touch', 'b'), [13, 'require_approval', touch.id]);
  assert.deepEqual(await tried('--shell', 'git push'), [13, 'deny', push.id]);
  assert.deepEqual(await tried('--', 'npm', 'run', 'x'), [0, 'allow', rules[3].id]);
  assert.deepEqual(await tried('--', 'ls'), [0, 'allow', 'default']);
  assert.deepEqual(await tried('--agent', 'coder', '--networked', '--', 'curl', 'x'), [
    0,
    'allow_with_checkpoint',
    'default',
  ]);
  await calls.all([
    ['rules list', 0, { rules }],
    ['rules list', 0, new RegExp(`^${push.id} {2}deny {17} {2}\\* {11}git push\n(?:.*\n){4}$`)],
    ['rules test -- git push', 13, new RegExp(`^git push\ndeny by rule ${push.id}: .*\n.*\n {2}git push\n`)],
    ['rules test -- ls', 0, /^ls\nallow by default: .*\nread_only\n {2}ls\n/],
    ['rules test', 'EINVAL'],
    ['rules test --agent nosuch -- ls', 'ENOENT'],
    ['rules add deny', 'EINVAL'],
    ['rules add fly -- x', 'EINVAL'],
    ['rules add allow --class mutating -- npm', 'EINVAL'],
    ['rules add allow --class flying', 'EINVAL'],
    ['rules add allow --prefix --class mutating', 'EINVAL'],
    ['rules add allow --agent nosuch -- x', 'ENOENT'],
    ['rules add allow --agent coder --no-agent -- x', 'EINVAL'],
    ['rules rm nosuch', 'ENOENT'],
    ['exec -- git push', 'EACCES'],
    [`rules rm ${push.id}`, 0, { removed: push.id }],
    [`rules rm ${push.id}`, 'ENOENT'],
    [`rules rm ${touch.id}`, 0, `removed rule ${touch.id}\n`],
  ]);
  assert.deepEqual(await tried('--', 'git', 'push'), [0, 'allow_with_checkpoint', 'default']);
});

/** What waits for a person now. */
async function waiting(): Promise<{
  readonly id: string;
  readonly argv: readonly string[];
  readonly agent: string | null;
}> {
  for (;;) {
    const { approvals } = json(await calls.run(['approvals', 'list', '--json']));
    if (approvals.length > 0) return approvals[0];
    await sleep(5);
  }
}

test('a command that has to be approved waits for a person, who grants it, denies it, or is too late', async () => {
  const { rule } = json(await calls.run(['rules', 'add', 'require_approval', '--json', '--', 'touch', 'asked']));
  const touch = ['exec', '--approval-wait', '10m', '--', 'touch', 'asked'];
  const denied = asker.run(touch);
  const first = await waiting();
  assert.deepEqual([first.argv, first.agent], [['touch', 'asked'], null]);
  await calls.all([
    ['approvals list', 0, `${first.id}  waiting  -           touch asked\n`],
    [
      `approvals show ${first.id}`,
      0,
      new RegExp(
        `(?:.*\n)*.* ${first.id}\n {2}touch asked\n(?:.*\n)* {2}waiting, asked TIME, until TIME\n {2}DIGEST\n$`,
      ),
    ],
    [`approvals deny ${first.id} --why late`, 0, `denied ${first.id}\n`],
    [`approvals grant ${first.id}`, 'ESTALE'],
    [`approvals show ${first.id}`, 0, /\n {2}denied, asked TIME, until TIME\n {2}denied by .* late\n {2}DIGEST\n$/],
    ['approvals list', 0],
    ['approvals list --all', 0, `${first.id}  denied   -           touch asked\n`],
  ]);
  const refused = await denied;
  assert.deepEqual([refused.code, /late \(EACCES\)/.test(refused.stderr)], [13, true], refused.stderr);

  const granted = asker.run(touch);
  const second = await waiting();
  const answer = json(
    await calls.run(['approvals', 'grant', second.id, '--why', 'fine', '--net', 'example.com', '--json']),
  );
  assert.deepEqual([answer.version, answer.id], [1, second.id]);
  const { at, by, ...said } = answer.answer;
  assert.deepEqual(said, { version: 1, granted: true, scope: 'once', network: ['example.com:443'], why: 'fine' });
  assert.ok(typeof at === 'number' && typeof by === 'string');
  assert.equal((await granted).code, 0);
  await calls.all([
    [`approvals deny ${second.id}`, 'ESTALE'],
    ['approvals grant nosuch', 'ENOENT'],
    ['approvals deny nosuch', 'ENOENT'],
    ['approvals show nosuch', 'ENOENT'],
    [`approvals grant ${second.id} --for ever`, 'EINVAL'],
  ]);
  const { approval } = json(await calls.run(['approvals', 'show', second.id, '--json']));
  assert.deepEqual([approval.status, approval.answer.why, Array.isArray(approval.steps)], ['used', 'fine', true]);

  const always = asker.run(['exec', '--approval-wait', '10m', '--', 'touch', 'asked']);
  const third = await waiting();
  await calls.all([
    [`approvals grant ${third.id} --for rule --net example.com`, 'EINVAL'],
    [`approvals grant ${third.id} --for rule`, 0, `granted ${third.id} (rule)\n`],
  ]);
  assert.equal((await always).code, 0);
  assert.equal((await calls.run(['exec', '--', 'touch', 'asked'])).code, 0);
  const { rules } = json(await calls.run(['rules', 'list', '--json']));
  assert.ok(rules.length > 1 && rules.some(({ id }: { id: string }) => id === rule.id));
  assert.ok(!existsSync(join(calls.project, 'asked')));
});

test('the verdict of every layer is given for paths, hosts and objects, with the options of a command', async () => {
  const asked = async (...words: string[]) => {
    const answer = await calls.run(['why', '--json', ...words]);
    const { allowed, code } = json(answer);
    assert.equal(answer.code, allowed ? 0 : 13);
    return allowed ? 'allowed' : code;
  };
  const rows: readonly (readonly [words: string, verdict: string])[] = [
    ['read a', 'allowed'],
    ['write a', 'allowed'],
    ['write a --readonly', 'EROFS'],
    ['read a --readonly', 'allowed'],
    ['exec /bin/true', 'allowed'],
    ['exec nosuch', 'ENOENT'],
    ['read /etc/shadow', 'ENOENT'],
    ['read /etc/hosts --read /etc/hosts', 'allowed'],
    ['write /etc/hosts --read /etc/hosts', 'EROFS'],
    ['connect example.com', 'EACCES'],
    ['connect example.com --net example.com', 'allowed'],
    ['connect example.com:80 --net example.com', 'EACCES'],
    ['connect 10.0.0.1:80 --net any', 'EACCES'],
    ['connect 10.0.0.1:80 --net-private 10.0.0.1:80', 'allowed'],
    ['tool:fs.read execute --agent coder', 'allowed'],
    ['tool:fs.write execute --agent coder', 'EACCES'],
    ['tool:nosuch execute --agent coder', 'ENOENT'],
  ];
  for (const [words, verdict] of rows) assert.equal(await asked(...words.split(' ')), verdict, words);
  await calls.all([
    [
      'why write a',
      0,
      /^write HERE\/a: allowed\n {2}source +cwd HERE \(rw\)\n(?: {2}\w+ +(?:advises|allow) +.*\n){4}$/,
    ],
    [
      'why read /etc/shadow',
      13,
      /^read \/etc\/shadow: refused \(ENOENT\)\n {2}source .*\n(?: {2}\w+ +(?:advises|refuse) +.*\n){4}$/,
    ],
    [
      'why connect example.com',
      13,
      /^connect example\.com:443: refused \(EACCES\)\n {2}source .*\n {2}addresses .*\n {2}proxy +refuse +.*\n$/,
    ],
    [
      'why connect example.com --net example.com',
      0,
      /^connect example\.com:443: allowed\n(?:.*\n){2} {2}proxy +allow +.*\n$/,
    ],
    [
      'why tool:fs.read execute --agent coder',
      0,
      /^tool:fs\.read execute: allowed\n(?: {2}[a-z ]+ (?:allow|not asked) .*\n){6}$/,
    ],
    ['why fly away', 'EINVAL'],
    ['why tool:x fly', 'EINVAL'],
    ['why connect a:b', 'EINVAL'],
    ['why read', 'EINVAL'],
    ['why read a --agent nosuch', 'ENOENT'],
  ]);
  const path = json(await calls.run(['why', 'read', 'a', '--json']));
  assert.deepEqual([path.question, path.host !== null, path.layers.length], [{ access: 'read', path: 'a' }, true, 4]);
  const host = json(await calls.run(['why', 'connect', 'example.com', '--json']));
  assert.deepEqual([host.question, host.hostPort], [{ access: 'connect', host: 'example.com' }, 'example.com:443']);
  assert.ok(typeof host.reason === 'string' && Array.isArray(host.addresses));
  // A name of this machine is reached where the host is granted and confirmed as private, and not otherwise.
  const local = ['connect', '127.0.0.1:8080'];
  for (const [options, code] of [
    [[], 13],
    [['--net', '127.0.0.1:8080'], 13],
    [['--net-private', '127.0.0.1:8081'], 13],
    [['--net-private', '127.0.0.1:8080'], 0],
  ] as const)
    assert.equal((await calls.run(['why', ...options, ...local])).code, code, `${options}`);
  const object = json(await calls.run(['why', 'tool:fs.read', 'execute', '--agent', 'coder', '--json']));
  assert.deepEqual([object.question, object.steps.length], [{ object: 'tool:fs.read', permission: 'execute' }, 6]);
});
