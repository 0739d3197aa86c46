/** `.ctx/project.toml`: what a project asks for counts when a person has confirmed exactly that, and never before. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { recordsOf } from '../support/record.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { cannotType, TypedTerminal } from '../support/typed-terminal.js';
import { forEitherUser } from '../support/users.js';

const text = (more = '') => `
reads = ["../beside"]
environment = ["FROM_PROJECT=yes", "NOT_SET_OUTSIDE"]
hosts = ["api.example"]
user = "4711:4712"
${more}
[limits]
processes = 77
`;

forEitherUser((user) => {
  const stage = useWarmStage(user);
  stage.makeDirectory('beside');
  const project = (file = text()) =>
    stage.project(`mkdir -p .ctx ../beside; echo near > ../beside/file; cat > .ctx/project.toml <<'END'\n${file}\nEND`);
  const script = 'cat ../beside/file; echo "env: $FROM_PROJECT $FROM_FLAG"';
  const envelopeOf = async (directory: string, words: readonly string[]) => {
    const { stdout, stderr } = await stage.ctx(directory, [...words, '--', 'sh', '-c', script]);
    return parseJson(stdout, stderr) as Envelope;
  };
  const exec = (directory: string, ...words: readonly string[]) =>
    envelopeOf(directory, ['exec', '--json', '--wait', ...words]);
  const live = (directory: string) => envelopeOf(directory, ['jail', 'run', '--json']);
  const shown = async (directory: string) => {
    const { code, stdout, stderr } = await stage.ctx(directory, ['trust', '--show', '--json']);
    assert.equal(code, 0, stderr);
    return parseJson(stdout) as { digest: string; sentences: readonly string[]; confirmed: boolean };
  };
  const confirm = async (directory: string) => {
    const { digest } = await shown(directory);
    const { code, stderr } = await stage.ctx(directory, ['trust', '--digest', digest]);
    assert.equal(code, 0, stderr);
    return digest;
  };
  const counted = (envelope: Envelope) => [envelope.request.project, envelope.stdout?.text];
  const without = [null, 'env:  \n'];
  const skipped = ({ warnings }: Envelope) => warnings.filter((warning) => warning.includes('project.toml')).join();

  test('nothing of it counts before it is confirmed; then every command has it, and the report and the record say so', async () => {
    const directory = project();
    const before = await exec(directory);
    assert.deepEqual(counted(before), without);
    assert.match(skipped(before), /^skipped .*it is not confirmed; ctx trust/);
    const { sentences } = await shown(directory);
    assert.deepEqual(
      sentences.map((sentence) => sentence.replace(stage.directory, '')),
      [
        'connect to api.example:443',
        'read /beside',
        'have the variable FROM_PROJECT=yes',
        'have the value that your variable NOT_SET_OUTSIDE has',
        'be uid 4711 and gid 4712 inside its jail',
        'have at most 77 processes and threads at one time',
      ],
    );
    const padded = project(`environment = ["A=${' '.repeat(200)}connect to nothing"]`);
    assert.match((await stage.ctx(padded, ['trust', '--show'])).stdout, / A= (\\u0020){199}connect to nothing\n/);
    const digest = await confirm(directory);
    const after = await exec(directory, '--env', 'FROM_FLAG=too');
    assert.deepEqual(counted(after), [digest, 'near\nenv: yes too\n']);
    const { network, quota, user: inside } = after.request;
    assert.deepEqual([network, quota, inside], [['api.example:443'], { pids: 77 }, { uid: 4711, gid: 4712 }]);
    assert.equal(skipped(after), '');
    const { request } = await exec(directory, '--processes', '66', '--net', 'other.example');
    assert.deepEqual([request.quota.pids, request.network.length], [66, 2], 'what the call says comes first');
    assert.deepEqual(counted(await exec(directory, '--no-project')), without);
    assert.ok(JSON.stringify(recordsOf(stage.store)).includes(`"project":"${digest}"`));
    const quiet = await stage.ctx(directory, ['exec', '--wait', '--', 'true']);
    assert.equal(quiet.stderr, '');
    assert.equal((await stage.ctx(directory, ['trust', '--revoke'])).stdout, 'it is not accepted any more\n');
    assert.deepEqual(counted(await exec(directory)), without);
  });

  test('a change, also one byte of a comment, counts for nothing until it is confirmed again', async () => {
    const directory = project();
    const digest = await confirm(directory);
    stage.shell(directory, 'echo "# more" >> .ctx/project.toml');
    const changed = await exec(directory);
    assert.deepEqual(counted(changed), without);
    assert.match(skipped(changed), /changed since it was confirmed/);
    const { stderr } = await stage.ctx(directory, ['exec', '--wait', '--', 'true']);
    assert.match(stderr, /^ctx: skipped \.ctx\/project\.toml/m, 'told without a terminal, too');
    const old = await stage.ctx(directory, ['trust', '--digest', digest]);
    assert.match(old.stderr, /the file changed after it was shown/);
    assert.match((await stage.ctx(directory, ['trust', '--digest', '00'])).stderr, /64 hexadecimal digits/);
    assert.deepEqual(counted(await exec(directory)), without);
  });

  test('another directory in its place is not the one that was confirmed', async () => {
    const directory = project();
    await confirm(directory);
    renameSync(directory, `${directory}-moved`);
    stage.shell(stage.directory, `cp -a '${directory}-moved' '${directory}'`);
    const envelope = await live(directory);
    assert.deepEqual(counted(envelope), without);
    assert.match(skipped(envelope), /another directory/);
  });

  test('a link of the project is shown as where it leads, and leads nowhere else after it was confirmed', async () => {
    const directory = project('reads = ["inside"]');
    const private_ = stage.makeDirectory('private');
    stage.shell(private_, 'echo diary > file');
    const reading = async () => (await stage.exec(directory, ['cat', join(private_, 'file')])).stdout?.text;
    stage.shell(directory, 'mkdir inside');
    const plain = await confirm(directory);
    stage.shell(directory, `rmdir inside; ln -s '${private_}' inside`);
    const after = await exec(directory);
    assert.match(skipped(after), /^skipped reading .*inside for .*it led to/);
    assert.equal(await reading(), '', 'the digest is the same, and it was not confirmed');
    const { sentences, confirmed } = await shown(directory);
    assert.deepEqual([sentences, confirmed], [[`read ${private_}, where ${join(directory, 'inside')} leads`], false]);
    const refused = await stage.ctx(directory, ['trust', '--digest', plain]);
    assert.deepEqual([refused.code, /changed after it was shown/.test(refused.stderr)], [1, true], refused.stderr);
    assert.equal(await reading(), '', 'nor is it by what was shown before');
    await confirm(directory);
    assert.equal(await reading(), 'diary\n');
    const home = project('reads = ["all"]');
    stage.shell(home, 'ln -s "$HOME" all');
    const { code, stderr } = await stage.ctx(home, ['trust', '--show']);
    assert.deepEqual([code, /too much/.test(stderr)], [2, true], stderr);
  });

  test('an agent has what its own files give it, and nothing of a project’s, whichever verb asks', async () => {
    const directory = project();
    assert.equal((await stage.ctx(directory, ['agent', 'new', 'helper'])).code, 0);
    const asks = [
      ['surface', '--json', '--agent', 'helper'],
      ['why', '--json', '--agent', 'helper', 'read', '../beside/file'],
      ['preamble', '--agent', 'helper'],
    ];
    const answers = async () => {
      const found: string[] = [];
      for (const words of asks) found.push((await stage.ctx(directory, words)).stdout);
      return found;
    };
    const before = await answers();
    await confirm(directory);
    assert.deepEqual(await answers(), before);
    assert.deepEqual(counted(await exec(directory, '--agent', 'helper')), without);
    const person = asks.map((words) => words.filter((word) => word !== '--agent' && word !== 'helper'));
    for (const words of person)
      assert.match((await stage.ctx(directory, words)).stdout, /beside/, `a person has it: ${words.join(' ')}`);
  });

  test('what an agent writes there is held back by apply, and counts for nothing', async () => {
    const directory = stage.project('echo x > file');
    const asked = `mkdir -p .ctx && echo 'reads = ["../beside"]' > .ctx/project.toml && echo y > file`;
    assert.equal((await stage.exec(directory, ['sh', '-c', asked])).exitCode, 0);
    assert.deepEqual(counted(await exec(directory)), without);
    const { stdout } = await stage.ctx(directory, ['apply', '--json']);
    assert.match(stdout, /\.ctx/);
    assert.equal(readFileSync(join(directory, 'file'), 'utf8'), 'y\n');
    assert.ok(!existsSync(join(directory, '.ctx/project.toml')));
  });

  test('kept jails are started with it, and do not take calls after it has changed', async () => {
    const directory = project();
    const digest = await confirm(directory);
    try {
      assert.equal((await stage.ctx(directory, ['jail', 'start'])).code, 0);
      const inside = await exec(directory);
      assert.ok(inside.keptJail !== null);
      assert.deepEqual(counted(inside), [digest, 'near\nenv: yes \n'], JSON.stringify(inside));
      stage.shell(directory, 'echo >> .ctx/project.toml');
      const apart = await exec(directory);
      assert.equal(apart.keptJail, null);
      assert.deepEqual(counted(apart), without);
    } finally {
      await stage.ctx(directory, ['jail', 'stop']);
    }
  });

  test('a kept jail takes no call where a read leads elsewhere by now, or a secret is stored that it has not', async () => {
    const secrets = 'hosts = ["api.example"]\nsecrets = ["api.example X: $STORED_LATER"]';
    const directory = project(`reads = ["link"]\n${secrets}`);
    const leadTo = (target: string) => stage.shell(directory, `ln -sfn '${target}' link`);
    leadTo('../beside');
    await confirm(directory);
    try {
      assert.equal((await stage.ctx(directory, ['jail', 'start'])).code, 0);
      assert.ok((await exec(directory)).keptJail !== null);
      leadTo('/usr/share');
      const apart = await exec(directory);
      assert.deepEqual([apart.keptJail, /skipped reading .*link/.test(skipped(apart))], [null, true]);
      leadTo('../beside');
      assert.match(skipped(await exec(directory)), /^skipped the secret STORED_LATER/);
      assert.equal((await stage.ctx(directory, ['secret', 'set', 'STORED_LATER', '--command', 'echo x'])).code, 0);
      const stored = await exec(directory);
      assert.deepEqual([stored.keptJail, skipped(stored)], [null, '']);
      assert.deepEqual(stored.request.injected, ['api.example:443 x']);
    } finally {
      await stage.ctx(directory, ['jail', 'stop']);
      await stage.ctx(directory, ['secret', 'rm', 'STORED_LATER']);
    }
  });

  test('what does not parse, asks for too much or is no file is refused by trust, and stops no command', async () => {
    for (const [file, reason] of [
      ['reads = [', /project\.toml:\d+:\d+: expected TOML/],
      ['writes = ["/etc"]', /members hosts, reads/],
      ['reads = ["~"]', /too much/],
      ['[limits]\nmemory = "512"', /limits\.memory: expected at least 1 MiB/],
      // What every command would be refused for.
      ['user = "4294967295"', /project\.toml: user: expected ids from 0/],
      ['secrets = ["api.example X: $TOKEN"]', /project\.toml: secrets: expected hosts to name api\.example:443/],
      ['hosts = ["api.example"]\nsecrets = ["api.example Host: $TOKEN"]', /project\.toml: secrets: .*a header/],
      ['hosts = ["api.example"]\nsecrets = ["api.example X: $1"]', /project\.toml: secrets: expected a name/],
    ] as const) {
      const directory = project(file);
      const { code, stderr } = await stage.ctx(directory, ['trust', '--show']);
      assert.deepEqual([code, reason.test(stderr)], [2, true], stderr);
      assert.deepEqual(counted(await exec(directory)), without);
    }
    const directory = project();
    await confirm(directory);
    stage.shell(directory, 'mv .ctx/project.toml ../real.toml; ln -s ../../real.toml .ctx/project.toml');
    const linked = await exec(directory);
    assert.deepEqual([...counted(linked), /found a link/.test(skipped(linked))], [...without, true]);
    stage.shell(directory, 'rm .ctx/project.toml; mkfifo .ctx/project.toml');
    assert.match(skipped(await live(directory)), /expected a file/);
    const none = await stage.ctx(stage.project(), ['trust']);
    assert.match(none.stderr, /ENOENT/);
    const unasked = await stage.ctx(project(), ['trust']);
    assert.deepEqual([unasked.code, /--digest/.test(unasked.stderr)], [2, true]);
  });

  test('at a terminal a person says yes to what is shown, and not to what it has become', {
    skip: cannotType ?? false,
  }, async (context) => {
    const directory = project();
    const file = join(directory, '.ctx/project.toml');
    const ask = (name: string) => {
      const terminal = new TypedTerminal(stage, name, directory, `sh -c '${stage.program} trust; echo ended $?'`);
      context.after(() => terminal.close());
      return terminal;
    };
    const refused = ask('no');
    await refused.shows(/Confirm\?/);
    refused.type('Enter');
    await refused.shows(/ended 13/);
    const changed = ask('changed');
    await changed.shows(/Confirm\?/);
    writeFileSync(file, text('# another'));
    changed.type('y', 'Enter');
    assert.match(await changed.shows(/ended [1-9]/), /changed after it was shown/);
    assert.deepEqual(counted(await exec(directory)), without);
    const ended = ask('ended');
    await ended.shows(/Confirm\?/);
    ended.type('C-d');
    assert.match(await ended.shows(/ended 13/), /not confirmed/);
    assert.deepEqual(counted(await exec(directory)), without);
    const agreed = ask('yes');
    await agreed.shows(/Confirm\?/);
    agreed.type('y', 'Enter');
    await agreed.shows(/ended 0/);
    assert.notEqual((await exec(directory)).request.project, null);
    const other = await stage.ctx(directory, ['trust', '--digest', 'a'.repeat(64)]);
    assert.deepEqual([other.code, /changed after/.test(other.stderr)], [1, true], 'another one is confirmed');
  });

  test('nothing is asked that was not shown, and what was typed before is no answer', {
    skip: cannotType ?? false,
  }, async (context) => {
    const directory = project();
    const ask = (name: string, script: string) => {
      const terminal = new TypedTerminal(stage, name, directory, `sh -c '${script}; echo ended $?'`);
      context.after(() => terminal.close());
      return terminal;
    };
    await ask('machine', `${stage.program} trust --json`).shows(/--digest with[\s\S]*ended 2/);
    // Stdin is a terminal there, and none that this session could ask at.
    await ask('session', `setsid -w ${stage.program} trust`).shows(/--digest with[\s\S]*ended 2/);
    const elsewhere = ask('elsewhere', `${stage.program} trust > /dev/null`);
    assert.match(await elsewhere.shows(/Confirm\?/), /FROM_PROJECT=yes/);
    const early = ask('early', `echo waits; sleep 1; ${stage.program} trust`);
    await early.shows(/waits/);
    early.type('y', 'Enter');
    await early.shows(/Confirm\?/);
    early.type('Enter');
    await early.shows(/ended 13/);
    assert.deepEqual(counted(await exec(directory)), without);
  });
});
