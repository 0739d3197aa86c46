/** Verbs that run a command, or would: exit codes, output, options that are refused with nothing left behind, and what a jail is made of. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { type Answer, Calls } from '../../../test/support/calls.js';

const calls = new Calls();
after(() => calls.end());

const json = ({ stdout }: Answer) => JSON.parse(stdout);
const shell = (text: string) => ['exec', '--', 'sh', '-c', text];

before(() => {
  calls.write('a', 'one\n');
  // Root's commands are another user's on the directory itself.
  mkdirSync(join(calls.project, 'd'));
  for (const name of ['.', 'd']) chmodSync(join(calls.project, name), 0o777);
});

const wrong: readonly (readonly [words: string, error: string])[] = [
  ['--timeout x', 'EINVAL'],
  ['--timeout 0', 'EINVAL'],
  ['--report sometimes', 'EINVAL'],
  ['--approval-wait x', 'EINVAL'],
  ['--memory x', 'EINVAL'],
  ['--processes 0', 'EINVAL'],
  ['--disk x', 'EINVAL'],
  ['--files 1.5', 'EINVAL'],
  ['--cpus 0', 'EINVAL'],
  ['--user x', 'EINVAL'],
  ['--net a:b', 'EINVAL'],
  ['--net-private any', 'EINVAL'],
  ['--weaken nosuch', 'EINVAL'],
  ['--mount memory:', 'EINVAL'],
  ['--mount nosuch:=/m', 'EINVAL'],
  ['--secret x', 'EINVAL'],
  ['--cache nowhere', 'EINVAL'],
  ['--agent nosuch', 'ENOENT'],
  ['--cwd /', 'EINVAL'],
  ['--dir nosuch', 'ENOENT'],
  ['--cwd nosuch', 'ENOENT'],
];

test('a command that is wrong is refused before anything of it is made', async () => {
  for (const verb of ['exec', 'jail run']) {
    const [form, other] = verb === 'exec' ? ['--dir', '--cwd'] : ['--cwd', '--dir'];
    await calls.all(
      wrong.map(([words, error]) => {
        const isUnknown = words.startsWith(form ?? '');
        const moved = words.startsWith(other ?? '') && verb === 'jail run' && words.endsWith('/') ? 'EINVAL' : error;
        return [`${verb} ${words} -- true`, isUnknown ? 'EINVAL' : moved] as const;
      }),
    );
  }
  await calls.all([
    ['exec', 'EINVAL'],
    ['exec --', 'EINVAL'],
    ['exec --shell x -- y', 'EINVAL'],
    ['exec --stream -- true', 'EINVAL'],
    ['exec --nosuch -- true', 'EINVAL'],
    [['exec', '--', 'true'], 'EINVAL', '', '', { environment: { CTX_REPORT: 'sometimes' } }],
    ['jail run', 'EINVAL'],
    ['jail run --disk 1G -- true', 'ENOTSUP'],
    ['jail run --files 10 -- true', 'ENOTSUP'],
    ...['--fork x', '--alone', '--wait', '--readonly', '--keep'].map(
      (words) => [`exec --live ${words} -- true`, 'EINVAL'] as const,
    ),
    ['run', 'EINVAL'],
    ['run --key-outside nosuch', 'EINVAL'],
    ['run --credentials nosuch', 'EINVAL'],
    ['run --fresh nosuch', 'EINVAL'],
    ['status', 'ENOENT'],
    ['exec --env B -- true', 'EINVAL'],
    ['exec --cwd= -- true', 'EINVAL'],
    ['exec --live --cwd= -- true', 'EINVAL'],
  ]);
  assert.deepEqual(readdirSync(calls.project).sort(), ['a', 'd']);
});

test('a command ends as it ends, is where it was asked to be, and says what its report is asked for', async () => {
  await calls.all([
    [shell('echo out; echo err >&2; exit 3'), 3, 'out\n', 'err\n'],
    [shell('kill -9 $$'), 137],
    ['exec nosuch', 127, '', /\(ENOENT\)\n/],
    ['exec ./a', 126, '', /\(EACCES\)\n/],
    ['exec --cwd d -- pwd', 0, 'HERE/d\n'],
    [['exec', '--shell', 'echo $((1+1)) | cat'], 0, '2\n'],
    [['exec', '--', 'cat'], 0, 'given', '', { input: 'given' }],
    ['exec --env A=1 --env B -- sh -c true', 0, '', '', { environment: { B: '2' } }],
    [
      ['exec', '--env', 'A=1', '--env', 'B', '--', 'sh', '-c', 'echo $A $B'],
      0,
      '1 2\n',
      '',
      { environment: { B: '2' } },
    ],
    ['exec --user 1000:1001 -- id -u', 0, '1000\n'],
    ['exec --user 1000:1001 -- id -g', 0, '1001\n'],
    ['exec --readonly -- touch x', 1, '', /./],
    [shell('echo new > n'), 0],
    [
      'exec --report always -- rm a',
      0,
      '',
      /^ctx {2}exit 0 {2}[\d.]+ m?s {2}1 path changed in the fork\n {2}D a\n2 changes pending, .*\n$/,
    ],
    [
      ['exec', '--', 'true'],
      0,
      '',
      /^ctx {2}exit 0 {2}[\d.]+ m?s {2}no files changed\n/,
      { environment: { CTX_REPORT: 'always' } },
    ],
    [['exec', '--report', 'never', '--', 'true'], 0, '', '', { environment: { CTX_REPORT: 'always' } }],
    ['exec --fork nosuch -- true', 'ENOENT'],
    ['exec --read nosuch -- true', 0, '', /nosuch/],
    ['exec --read nosuch --report never -- true', 0],
    ['run --report never -- cat n', 0, 'new\n'],
    ['run cat n', 0, 'new\n', /^ctx {2}exit 0 .*\n(?:.*\n)* {2}keep it: ctx apply\n {2}drop it: ctx drop\n$/],
    ['fork create idea', 0, /./],
    ['run --fork idea true', 0, '', / {2}keep it: ctx apply --fork idea\n {2}drop it: ctx drop --fork idea\n$/],
    ['drop --fork idea', 0, 'dropped 2 changes\n'],
    ['run --fork idea true', 0, '', /^ctx {2}exit 0 .*\n$/],
  ]);
  assert.equal(calls.file('a'), 'one\n');
});

test('the report of a command as JSON names all of it, also one that did not run', async () => {
  const answer = await calls.run([
    'exec',
    '--json',
    '--timeout',
    '5m',
    '--disk',
    '1G',
    '--',
    'sh',
    '-c',
    'echo 1; echo 2 >&2; exit 4',
  ]);
  const { stdout, stderr, exitCode, request, workspace, timedOut } = json(answer);
  assert.deepEqual([answer.code, exitCode, timedOut, workspace.fork], [4, 4, false, 'main']);
  assert.deepEqual(
    [stdout.text, stderr.text, request.timeoutMilliseconds, request.live],
    ['1\n', '2\n', 300_000, false],
  );
  assert.deepEqual(Object.values(request.quota), [2 ** 30]);
  const streamed = await calls.run([
    'exec',
    '--json',
    '--stream',
    '--',
    'sh',
    '-c',
    'echo 1; sleep 0.2; printf "\\\\303"; exit 5',
  ]);
  const lines = streamed.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(streamed.code, 5);
  assert.deepEqual(lines[0], { version: 1, event: 'output', stream: 'stdout', text: '1\n' });
  assert.deepEqual(lines.at(-2), { version: 1, event: 'output', stream: 'stdout', base64: 'ww==' });
  assert.equal(lines.at(-1).exitCode, 5);
  const missing = await calls.run(['exec', '--json', '--', 'nosuch']);
  const { decision, error } = json(missing);
  assert.deepEqual([missing.code, error.code, decision], [127, 'ENOENT', undefined]);
  await calls.run(['rules', 'add', 'deny', '--', 'touch']);
  const denied = await calls.run(['exec', '--json', '--', 'touch', 'x']);
  assert.deepEqual([denied.code, json(denied).error.code, json(denied).decision.action], [13, 'EACCES', 'deny']);
});

test('a command on the directory itself writes there, and is no change of a fork', async () => {
  await calls.all([
    [['jail', 'run', '--', 'sh', '-c', 'echo direct > d/x'], 0],
    [['exec', '--live', '--', 'sh', '-c', 'echo live > d/y'], 0],
    ['jail run --dir d -- pwd', 0, 'HERE/d\n'],
    ['jail run --report always -- true', 0, '', /^ctx {2}exit 0 {2}[\d.]+ m?s/],
    ['exec --live nosuch', 127, '', /./],
    ['diff --names d', 0],
  ]);
  assert.deepEqual([calls.file('d/x'), calls.file('d/y')], ['direct\n', 'live\n']);
  const live = await calls.run(['jail', 'run', '--json', '--', 'sh', '-c', 'exit 6']);
  assert.deepEqual([live.code, json(live).exitCode, json(live).request.live], [6, 6, true]);
});

test('the plan of a jail lists every operation, for a command and for an agent, and makes none', async () => {
  await calls.check(['agent new coder', 0, /./]);
  const planned = async (...words: string[]) => json(await calls.run(['jail', 'plan', '--json', ...words])).plan;
  const plan = await planned('--', 'echo', 'hello');
  const of = (name: string) => plan.filter((each: { do: string }) => each.do === name);
  assert.deepEqual(of('command'), [{ do: 'command', argv: ['echo', 'hello'] }]);
  assert.deepEqual(of('command directory'), [{ do: 'command directory', path: calls.project }]);
  assert.deepEqual(
    of('overlay').map(({ target }: { target: string }) => target),
    [calls.project],
  );
  assert.match(of('seccomp')[0].filter, /^\d+ instructions$/);
  assert.match(of('landlock')[0].rights, /^0x[0-9a-f]+$/);
  assert.ok(of('directory').every(({ mode }: { mode: string }) => /^0\d+$/.test(mode)));
  const elsewhere = await planned('--dir', 'd', '--', 'true');
  assert.equal(elsewhere.find((each: { do: string }) => each.do === 'command directory').path, `${calls.project}/d`);
  const names = plan.map((each: { do: string }) => each.do);
  const { stdout } = await calls.run(['jail', 'plan', '--', 'echo', 'hello']);
  const lines = stdout.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => line.slice(0, 18).trim()),
    names,
  );
  assert.equal(lines.at(-1), `${'command'.padEnd(18)}argv echo hello`);
  const own = await planned('coder');
  assert.deepEqual(own, await planned('--agent', 'coder'));
  assert.ok(JSON.stringify(own).includes('CTX_PATH') && !JSON.stringify(plan).includes('CTX_PATH'));
  await calls.all([
    ['jail plan coder --agent coder', 0, /./],
    ['jail plan coder --agent other', 'EINVAL'],
    ['jail plan nosuch', 'ENOENT'],
    ['jail plan a b', 'EINVAL'],
    ['jail plan --read nosuch -- true', 0, /./],
  ]);
});

test('what a command is shown is listed for people and for a prompt', async () => {
  const { authority, agent, digest } = json(
    await calls.run(['surface', '--json', '--read', '/etc/hosts', '--write', 'd']),
  );
  assert.deepEqual([authority.surface.cwd, agent], [calls.project, null]);
  assert.deepEqual(authority.surface.additionalReads, ['/etc/hosts']);
  assert.equal(json(await calls.run(['surface', '--json', '--agent', 'coder'])).agent, 'coder');
  const text = calls.plain((await calls.run(['surface', '--read', '/etc/hosts'])).stdout).split('\n');
  assert.match(text[0] ?? '', /^no agent {2}\S+$/);
  assert.ok(text.includes('  rw  HERE  cwd') && text.includes('  ro  /etc/hosts  additionalReads'), text.join('\n'));
  assert.ok(text.includes('  --  ~/store  hidden') && text.at(-2) === '  DIGEST');
  const preamble = json(await calls.run(['preamble', '--json', '--read', '/etc/hosts', '--write', 'd']));
  assert.deepEqual([preamble.digest, preamble.warnings], [digest, []]);
  assert.ok(preamble.preamble.includes(calls.project) && preamble.preamble.includes('/etc/hosts'));
  const said = await calls.run(['preamble', '--read', '/etc/hosts', '--write', 'd']);
  assert.deepEqual([said.code, said.stdout], [0, preamble.preamble]);
  await calls.all([
    ['surface --agent nosuch', 'ENOENT'],
    ['preamble --agent nosuch', 'ENOENT'],
  ]);
});
