/** What scripts rely on: exit codes, JSON, help, and messages that say what to do. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { checkout } from '../support/program.js';
import { parseJson, useStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

const verbs = ['exec', 'diff', 'status', 'apply', 'drop', 'doctor', 'completion'];

forEitherUser((user) => {
  const stage = useStage(user);

  test("a command's own exit code passes through", async () => {
    const project = stage.project();
    for (const code of [3, 255]) {
      assert.equal((await stage.ctx(project, ['exec', '--', 'sh', '-c', `exit ${code}`])).code, code);
    }
  });

  test('a command that a signal ended gives 128 + its number', async () => {
    const project = stage.project();
    for (const name of ['TERM', 'KILL'] as const) {
      const { code, stdout } = await stage.ctx(project, ['exec', '--json', '--', 'sh', '-c', `kill -${name} $$`]);
      assert.equal(code, 128 + constants.signals[`SIG${name}`]);
      const { exitCode, signal } = parseJson(stdout) as { exitCode: unknown; signal: unknown };
      assert.deepEqual([exitCode, signal], [null, `SIG${name}`]);
    }
  });

  test('a program that is not there gives 127, one that cannot be executed 126', async () => {
    const project = stage.project(
      'echo data > data; mkdir directory; printf "#!/no/such\\n" > script; chmod 755 script; ln -s circle circle',
    );
    const cases = [
      [['no-such-program'], 127],
      [['./no-such-program'], 127],
      [['./script'], 127],
      [['./data'], 126],
      [['./directory'], 126],
      [['./data/below'], 126],
      [['./circle'], 126],
      [['x'.repeat(300)], 126],
    ] as const;
    for (const [argv, expected] of cases) {
      const { code, stderr } = await stage.ctx(project, ['exec', '--', ...argv]);
      assert.equal(code, expected, `${argv}: ${stderr}`);
      assert.match(stderr, /^ctx: exec .*(no such program|cannot be executed)/);
    }
    const json = await stage.ctx(project, ['exec', '--json', '--', 'no-such-program']);
    assert.equal(json.code, 127);
    assert.ok('error' in (parseJson(json.stdout) as object));
  });

  test('looking, keeping and forgetting before any command say that there is nothing yet', async () => {
    const project = stage.project();
    for (const verb of ['diff', 'status', 'apply', 'drop']) {
      const answer = await stage.json(project, [verb], 1);
      assert.equal((answer['error'] as { code: string }).code, 'ENOENT');
    }
    const { code, stderr } = await stage.ctx(project, ['diff']);
    assert.equal(code, 1);
    assert.match(stderr, /no command has run here yet.*\(ENOENT\)\n {2}try: ctx exec/);
  });

  test('--json makes every answer of every verb one document', async () => {
    const project = stage.project();
    await stage.exec(project, ['sh', '-c', 'echo x > x; printf "{}\\n{}\\n"']);
    const harness = ['hook', 'uninstall', 'claude-code'];
    for (const words of [['diff'], ['status'], ['doctor'], ['completion', 'bash'], harness, ['apply'], ['drop']]) {
      assert.equal((await stage.json(project, words))['version'], 1, words[0]);
    }
    for (const words of [
      ['exec', '--json', '--frobnicate'],
      ['status', '--json', 'operand'],
      ['exec', '--json'],
    ]) {
      const { code, stdout } = await stage.ctx(project, words);
      assert.equal(code, 2);
      assert.equal((parseJson(stdout) as { error: { code: string } }).error.code, 'EINVAL');
    }
  });

  test('doctor says what this host offers and that it is enough', async () => {
    const { code, stdout, stderr } = await stage.ctx('/', ['doctor']);
    assert.equal(code, 0, `${stdout}${stderr}`);
    assert.match(stdout, /This host can run ctx exec\.\n$/);
    const answer = await stage.json('/', ['doctor']);
    assert.equal(answer['ready'], true);
  });

  test('doctor names a file of the operator that refuses commands', async () => {
    const config = join(stage.directory, 'config');
    stage.shell(
      '/',
      `mkdir -p ${config}/ctxfs; echo '[agent' > ${config}/ctxfs/agents.toml; echo 'a = 1' > ${config}/ctxfs/profiles.toml`,
    );
    const { code, stdout } = await stage.ctx('/', ['doctor'], { env: { XDG_CONFIG_HOME: config } });
    assert.notEqual(code, 0);
    assert.match(stdout, /agents\.toml .*agents\.toml:1:\d+: expected TOML.*\n.*until then no command runs/);
    assert.match(stdout, /profiles\.toml .*expected a table \[a\]\n.*until then ctx run is refused/);
  });
});

asOneUser((user) => {
  const stage = useStage(user);

  test('what is not understood gives 2, names what was expected and makes no store', async () => {
    const project = stage.project();
    const env = { CTX_DATA: join(stage.directory, 'never-made') };
    const calls = [
      ['frobnicate'],
      ['--frobnicate'],
      ['exec', '--frobnicate', '--', 'true'],
      ['exec', '--timeout', 'soon', '--', 'true'],
      ['exec', '--timeout'],
      ['exec', '--report', 'maybe', '--', 'true'],
      ['status', 'operand'],
      ['apply', '--conflicts', 'mine'],
      ['status', '--json=yes'],
      ['completion'],
      ['completion', 'tcsh'],
    ];
    for (const words of calls) {
      const { code, stdout, stderr } = await stage.ctx(project, words, { env });
      assert.equal(code, 2, `${words}: ${stdout}${stderr}`);
      assert.equal(stdout, '');
      assert.match(stderr, /^ctx: .+\(EINVAL\)/, words.join(' '));
    }
    stage.shell(project, `test ! -e ${env.CTX_DATA}`);
  });

  test('a clock that no record can hold the time of is refused before anything is written', async () => {
    const project = stage.project();
    await stage.inside(project, 'echo b > b');
    const clock = join(stage.directory, 'year-10000.cjs');
    const text = `const Own = Date, late = Own.UTC(10000, 0, 1);
      globalThis.Date = class extends Own {
        constructor(...given) { super(...(given.length === 0 ? [late] : given)); }
        static now() { return late; }
      };`;
    writeFileSync(clock, text, { mode: 0o644 });
    const bundle = join(dirname(stage.program), '..', 'dist', 'cli', 'ctx.cjs');
    for (const words of [['exec', '--', 'touch', 'ran'], ['apply'], ['jail', 'start'], ['drop']]) {
      const late = await stage.start(project, ['node', '--require', clock, bundle, ...words]).finished;
      assert.equal(late.code, 2, `${words} ${late.stdout}${late.stderr}`);
      assert.match(late.stderr, /expected a year from 0 to 9999, got 10000 \(EINVAL\)\n {2}try: set the clock/);
    }
    assert.equal(await stage.inside(project, 'ls'), 'b\n');
    assert.equal((await stage.ctx(project, ['audit', 'verify'])).code, 0);
  });

  test('no command, a bad variable or a relative CTX_DATA give 2', async () => {
    const project = stage.project();
    for (const words of [
      ['exec'],
      ['exec', '--'],
      ['exec', '--env', 'A B=c', '--', 'true'],
      ['exec', '--env', 'UNSET_HERE', '--', 'true'],
    ]) {
      const { code, stderr } = await stage.ctx(project, words);
      assert.equal(code, 2, `${words}: ${stderr}`);
    }
    assert.equal((await stage.ctx(project, ['status'], { env: { CTX_DATA: 'relative' } })).code, 2);
  });

  test('every verb has help, which needs neither a project nor a store', async () => {
    const env = { CTX_DATA: '/proc/no-store-can-be-here' };
    for (const words of [...verbs.map((verb) => [verb, '--help']), ['exec', '-h'], ['help', 'exec']]) {
      const verb = words.find((word) => verbs.includes(word));
      const { code, stdout, stderr } = await stage.ctx('/', words, { env });
      assert.deepEqual([code, stderr], [0, ''], words.join(' '));
      assert.match(stdout, new RegExp(`^ctx ${verb}: .+\\n\\nusage: ctx ${verb} `));
    }
    const overview = await stage.ctx('/', ['--help'], { env });
    assert.equal(overview.code, 0);
    for (const verb of verbs) assert.ok(overview.stdout.includes(`\n  ${verb} `), verb);
    assert.equal((await stage.ctx('/', [], { env })).code, 2);
  });

  test("a command's own --help and --json are not ours", async () => {
    const project = stage.project();
    const { stdout } = await stage.ctx(project, ['exec', 'echo', '--help', '--json', '--', '-h']);
    assert.equal(stdout, '--help --json -- -h\n');
  });

  test('an answer that cannot be written is an error like any other, and nobody’s defect', async () => {
    const project = stage.project();
    for (const words of ['surface', 'surface --json']) {
      const { code, stderr } = await stage.start(project, ['sh', '-c', `${stage.program} ${words} > /dev/full`])
        .finished;
      assert.match(stderr, /^ctx: print: write failed: no space left on device.*ENOSPC/, words);
      assert.equal(code, 1, words);
    }
  });

  test('--version is the version of the package, and the commit', async () => {
    const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string };
    const { stdout } = await stage.ctx('/', ['--version']);
    assert.match(stdout, /^ctx \S+ \((?:commit [0-9a-f]{40}|checkout at [0-9a-f]{40}|checkout[^)]*)\)\n$|^ctx \S+\n$/);
    assert.equal(stdout.split(/\s/)[1], version);
  });

  test('completion scripts parse and complete', async (context) => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const { stdout } = await stage.ctx('/', ['completion', shell]);
      const interpreter = shell === 'zsh' ? 'bash' : shell;
      const parsed = spawnSync(interpreter, ['-n'], { input: stdout });
      if (parsed.error !== undefined) context.diagnostic(`${interpreter} is not installed: its script is not parsed`);
      else assert.equal(parsed.status, 0, parsed.stderr.toString());
    }
    const { stdout } = await stage.ctx('/', ['completion', 'bash']);
    const ask = (line: string[]) =>
      spawnSync('bash', [
        '-c',
        `${stdout}\nCOMP_WORDS=(${line.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${line.length - 1}; _ctx; echo "\${COMPREPLY[*]}"`,
      ])
        .stdout.toString()
        .trim();
    assert.equal(ask(['ctx', 'ap']), 'apply approvals');
    assert.equal(ask(['ctx', 'apply', '--con']), '--conflicts');
  });

  test('a store that cannot be made says where and what to do', async () => {
    const project = stage.project();
    const { code, stderr } = await stage.ctx(project, ['exec', '--', 'true'], { env: { CTX_DATA: '/proc/store' } });
    assert.ok(code === 1 || code === 13, String(code));
    assert.match(stderr, /^ctx: make the store \/proc\/store: .+\n {2}try: set CTX_DATA/);
  });
});
