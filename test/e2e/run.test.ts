/** `ctx run`: whole programs at a terminal, in one jail and one fork; profiles, their homes, and what they are given. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { parseJson, useStage } from '../support/stage.js';
import { cannotType, TypedTerminal } from '../support/typed-terminal.js';
import { forUsersInTurn } from '../support/users.js';

interface Listed {
  readonly profiles: readonly { readonly name: string; readonly hosts: readonly { readonly what: string }[] }[];
}

forUsersInTurn((user, turn) => {
  const stage = useStage(user);
  const skip = cannotType ?? false;
  /** Types into `ctx run WORDS`, and closes the terminal whatever the test does. */
  const typing = async (
    name: string,
    words: string,
    use: (terminal: TypedTerminal, project: string) => Promise<void>,
  ) => {
    const project = stage.project('echo one > file');
    const terminal = new TypedTerminal(stage, name, project, `${stage.program} run ${words}`);
    try {
      await use(terminal, project);
    } finally {
      terminal.close();
    }
  };

  test('an editor fills the terminal, follows its size, and writes into the fork alone', { skip }, () =>
    typing('vim', 'vim -u NONE file', async (terminal, project) => {
      await terminal.shows(/^one\n~/m);
      // In a line that it draws anew with each size: an answer to a question would be wiped by the next one.
      terminal.type(':set laststatus=2 statusline=now\\ %{&columns}\\ %{&lines}', 'Enter');
      await terminal.shows(/^now 80 2\d/m);
      terminal.resize(100, 30);
      await terminal.shows(/^now 100 (29|30)/m);
      terminal.type('G', 'o', 'two', 'Escape', ':wq', 'Enter');
      const screen = await terminal.shows(/drop it: ctx drop/);
      assert.match(screen, /M file/);
      assert.match(screen, /keep it: ctx apply/);
      assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'one\n');
      assert.equal((await stage.ctx(project, ['apply'])).code, 0);
      assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'one\ntwo\n');
    }),
  );

  test('a node prompt answers, and ends by Ctrl-D', { skip }, () =>
    typing('node', 'node', async (terminal) => {
      await terminal.shows(/^>/m);
      terminal.type('process.stdout.isTTY && 6 * 7', 'Enter');
      await terminal.shows(/^42$/m);
      terminal.type('C-d');
      await terminal.shows(/exit 0/);
    }),
  );

  test('a shell has job control: Ctrl-Z stops what is in front, fg and Ctrl-C reach it', { skip }, () =>
    typing('shell', 'shell --norc', async (terminal) => {
      await terminal.shows(/[$#]$/m);
      // A key that signals drops what was typed before it and not read yet, and is for the process that is in front then: each waits until the
      // one that it is for says that it is.
      // Of bash: a shell that starts programs by vfork cannot stop where the key meets it before its program has begun.
      terminal.type(`bash -c 'trap "echo again" CONT; echo go; while sleep 0.1; do :; done'`, 'Enter');
      await terminal.shows(/^go$/m);
      terminal.type('C-z');
      await terminal.shows(/Stopped\s+bash -c/);
      terminal.type('fg', 'Enter');
      await terminal.shows(/^again$/m);
      terminal.type('C-c');
      await terminal.shows(/\^C/);
      terminal.type('echo "ended $?"', 'Enter');
      await terminal.shows(/^ended 130$/m);
      terminal.type('exit 3', 'Enter');
      await terminal.shows(/exit 3/);
    }),
  );

  test('Ctrl-Z stops a command and ctx with it, and fg lets both go on', { skip }, async () => {
    const terminal = new TypedTerminal(stage, 'job', stage.project(), 'bash --norc');
    try {
      await terminal.shows(/[$#]$/m);
      const script = 'echo be$((1))gan; read line; echo "got $line"';
      terminal.type(`${stage.program} exec -- sh -c '${script}'; echo "end $?"`, 'Enter');
      await terminal.shows(/^be1gan$/m);
      terminal.type('C-z');
      await terminal.shows(/Stopped/);
      terminal.type('echo "out$((1))side"', 'Enter');
      await terminal.shows(/^out1side$/m);
      terminal.type('fg', 'Enter');
      await terminal.shows(/^\S*ctx exec|^\/.* exec --/m);
      terminal.type('hello', 'Enter');
      await terminal.shows(/^got hello$/m);
    } finally {
      terminal.close();
    }
  });

  turn.test(
    'the home of a profile stays from run to run and from directory to directory, until a fresh one is asked for',
    async () => {
      const [first, second] = [stage.project(), stage.project()];
      const configuration = stage.makeDirectory('kept/ctxfs');
      writeFileSync(join(configuration, 'profiles.toml'), '[kept]\ncommand = ["sh", "-c"]\n', { mode: 0o644 });
      const env = { XDG_CONFIG_HOME: join(configuration, '..') };
      const kept = async (cwd: string, script: string, ...options: readonly string[]) => {
        const { code, stdout, stderr } = await stage.ctx(cwd, ['run', ...options, 'kept', script], { env });
        assert.equal(code, 0, stderr);
        return stdout;
      };
      await kept(first, 'echo mine > ~/note');
      assert.equal(await kept(second, 'cat ~/note'), 'mine\n');
      assert.equal(
        (await stage.ctx(second, ['run', 'sh', '-c', 'test -e ~/note'])).code,
        1,
        'a plain command has its own',
      );
      await stage.ctx(first, ['drop']);
      assert.equal(await kept(first, 'cat ~/note'), 'mine\n');
      assert.equal(await kept(first, 'ls ~', '--fresh'), '');
    },
  );

  turn.test('two first runs at once make one home, and a home that is in use is not made anew', async () => {
    const configuration = stage.makeDirectory('used/ctxfs');
    writeFileSync(join(configuration, 'profiles.toml'), '[used]\ncommand = ["sh", "-c"]\n', { mode: 0o644 });
    const options = { env: { XDG_CONFIG_HOME: join(configuration, '..') } };
    const waits = (name: string) => `echo ${name} > ~/${name}; echo begun; until test -e ~/enough; do sleep 0.1; done`;
    const runs = ['one', 'two'].map((name) => stage.startCtx(stage.project(), ['run', 'used', waits(name)], options));
    for (const run of runs) await run.printed('begun');
    const other = stage.project();
    const refused = await stage.ctx(other, ['run', '--fresh', 'used', 'true'], options);
    assert.equal(refused.code, 69, refused.stderr);
    assert.match(refused.stderr, /process \d+ runs used with the home that is there.*EBUSY/);
    const { stdout } = await stage.ctx(other, ['run', 'used', 'ls ~; touch ~/enough'], options);
    assert.equal(stdout, 'one\ntwo\n', 'nothing of it is gone');
    for (const run of runs) assert.equal((await run.finished).code, 0);
    assert.equal((await stage.ctx(other, ['run', '--fresh', 'used', 'ls ~'], options)).stdout, '');
  });

  turn.test('a run that is killed holds its home no longer', async () => {
    const configuration = stage.makeDirectory('killed/ctxfs');
    writeFileSync(join(configuration, 'profiles.toml'), '[killed]\ncommand = ["sh", "-c"]\n', { mode: 0o644 });
    const options = { env: { XDG_CONFIG_HOME: join(configuration, '..') } };
    const running = stage.startCtx(
      stage.project(),
      ['run', 'killed', 'echo mine > ~/mine; echo begun; sleep 1000'],
      options,
    );
    await running.printed('begun');
    running.child.kill('SIGKILL');
    await running.finished;
    const { code, stdout, stderr } = await stage.ctx(stage.project(), ['run', '--fresh', 'killed', 'ls ~'], options);
    assert.deepEqual([code, stdout], [0, ''], stderr);
  });

  turn.test('a link that a run planted in its profile’s home is refused with what makes a fresh one', async () => {
    const configuration = stage.makeDirectory('planted/ctxfs');
    const profile = '[planted]\ncommand = ["sh", "-c"]\n';
    writeFileSync(join(configuration, 'profiles.toml'), profile, { mode: 0o644 });
    stage.shell(stage.home, 'mkdir -p bin/inner; echo > bin/inner/tool');
    const options = { env: { XDG_CONFIG_HOME: join(configuration, '..') } };
    const project = stage.project();
    const run = (...words: readonly string[]) => stage.ctx(project, ['run', ...words], options);
    assert.equal((await run('planted', 'ln -s /etc ~/bin')).code, 0);
    // From here on something has to be mounted there.
    writeFileSync(join(configuration, 'profiles.toml'), `${profile}reads = ["~/bin/inner/tool"]\n`);
    const refused = await run('planted', 'true');
    assert.match(refused.stderr, /ELOOP/);
    assert.match(refused.stderr, /`ctx run --fresh` a profile's/);
    assert.equal((await run('--fresh', 'planted', 'true')).code, 0);
  });

  turn.test(
    'a secret is given only when that is said, and nothing is copied where somebody may have planted a link',
    async () => {
      const outside = stage.project('echo precious > precious');
      stage.shell(
        stage.home,
        'mkdir -p .claude bin; echo token > .claude/.credentials.json; echo rules > .claude/CLAUDE.md',
      );
      const program = join(stage.home, 'bin', 'claude');
      writeFileSync(
        program,
        '#!/bin/sh\ncat ~/.claude/CLAUDE.md ~/.claude/.credentials.json; echo "key $ANTHROPIC_API_KEY"; eval "$1"\n',
      );
      chmodSync(program, 0o755);
      const project = stage.project();
      const env = { PATH: `${stage.home}/bin:${stage.environment['PATH']}`, ANTHROPIC_API_KEY: 'sk' };
      const claude = (...words: readonly string[]) => stage.ctx(project, ['run', ...words], { env });
      assert.equal((await claude('claude', ':')).stdout, 'rules\nkey \n');
      assert.equal(
        (await claude('--credentials', 'claude', 'cp ~/.claude/.credentials.json ~/mine')).stdout,
        'rules\ntoken\nkey sk\n',
      );
      assert.equal((await claude('claude', 'ls ~/mine')).stdout, 'rules\nkey \n');
      stage.shell(stage.store, 'if grep -rqx token home trash; then exit 1; fi');
      await claude('claude', `rm -r ~/.claude; ln -s ${outside} ~/.claude`);
      assert.match((await claude('--credentials', 'claude', ':')).stdout, /token\n/);
      assert.equal(stage.shell(outside, 'ls'), 'precious\n');
      assert.equal((await claude('--fresh', 'claude', ':')).stdout, 'rules\nkey \n');
      assert.equal(stage.shell(stage.home, 'cat .claude/.credentials.json'), 'token\n');
    },
  );

  turn.test(
    'a key that stays outside is used by name, is nowhere inside, and refused where there is none',
    async () => {
      const program = join(stage.makeDirectory('outside'), 'claude');
      writeFileSync(program, '#!/bin/sh\nenv | grep ANTHROPIC | sort\n');
      chmodSync(program, 0o755);
      const project = stage.project();
      // A store of its own: the home of a profile is one for all of a store.
      const env = {
        PATH: `${stage.directory}/outside:${stage.environment['PATH']}`,
        CTX_DATA: join(stage.directory, 'outside', 'store'),
      };
      const run = (words: readonly string[], key: Record<string, string>) =>
        stage.ctx(project, ['run', '--json', '--key-outside', ...words], { env: { ...env, ...key } });
      const { stdout, stderr } = await run(['--credentials', 'claude'], { ANTHROPIC_API_KEY: 'sk-own-key' });
      const { stdout: said, request } = parseJson(stdout, stderr) as Envelope;
      assert.equal(said?.text, 'ANTHROPIC_API_KEY=held-outside\nANTHROPIC_BASE_URL=http://api.anthropic.com\n');
      assert.deepEqual(request.injected, ['api.anthropic.com:443 x-api-key']);
      assert.ok(!`${stdout}${stderr}`.includes('sk-own-key'));
      assert.match((await run(['claude'], {})).stdout, /ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN is neither set/);
      assert.match((await run(['shell'], {})).stdout, /no key of shell/);
      assert.match((await run(['true'], {})).stdout, /profile/);
    },
  );

  turn.test('profiles.toml changes what is known and adds to it; what it gets wrong refuses the run', async () => {
    const configuration = stage.makeDirectory('configuration/ctxfs');
    const env = { XDG_CONFIG_HOME: join(configuration, '..') };
    const project = stage.project();
    mkdirSync(configuration, { recursive: true });
    const say = (text: string) => {
      writeFileSync(join(configuration, 'profiles.toml'), text);
      chmodSync(join(configuration, 'profiles.toml'), 0o644);
    };
    say('[claude]\nhosts = ["example.test"]\n[greet]\ncommand = ["echo", "hello"]\n');
    const { stdout } = await stage.ctx(project, ['run', '--list', '--json'], { env });
    const { profiles } = parseJson(stdout) as Listed;
    assert.deepEqual(
      profiles.find(({ name }) => name === 'claude')?.hosts.map(({ what }) => what),
      ['example.test'],
    );
    assert.equal((await stage.ctx(project, ['run', 'greet', 'you'], { env })).stdout, 'hello you\n');
    for (const [text, reason] of [
      ['[claude', /expected TOML/],
      ['[new]\nhosts = []', /expected a command/],
      ['[claude]\nhost = []', /expected summary, command/],
      ['[claude]\ncopies = ["../.ssh/id"]', /below the home/],
    ] as const) {
      say(text);
      const refused = await stage.ctx(project, ['run', 'true'], { env });
      assert.match(refused.stderr, reason);
      assert.equal(refused.code, 2);
    }
  });
});
