/**
 * Real programs in a real jail, with a registry on the host's loopback. They find the proxy by their environment; the
 * registry is reached where an explicit rule says so, and otherwise not.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { type Registry, startRegistry } from '../support/registry.js';
import { ctxResolving } from '../support/resolver.js';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const works = (...argv: readonly [string, ...string[]]) =>
  spawnSync(argv[0], argv.slice(1)).status === 0 ? false : `${argv.join(' ')} does not work here`;

const name = 'registry.test';

/** What is run, with $URL, and what it prints at its end. */
const programs: Readonly<Record<string, { run: string; prints: RegExp; skip: string | false }>> = {
  curl: { run: 'curl -sSf $URL/hello', prints: /^hello\n$/, skip: works('curl', '--version') },
  npm: {
    run: 'npm install tiny --registry $URL/ --no-audit --no-fund --fetch-retries=0 --loglevel=error >&2; ls node_modules',
    prints: /^tiny\n$/,
    skip: works('npm', '--version'),
  },
  git: {
    run: 'git clone -q $URL/repository.git clone; cat clone/file',
    prints: /^content\n$/,
    skip: works('git', '--version'),
  },
  pip: {
    run: `/usr/bin/python3 -m pip install -q --no-cache-dir --no-deps --disable-pip-version-check --target=lib --retries 0 \\
      --index-url $URL/simple/ --trusted-host ${name} tiny >&2; ls lib/tiny.py`,
    prints: /^lib\/tiny\.py\n$/,
    skip: works('/usr/bin/python3', '-m', 'pip', '--version'),
  },
};

forEitherUser(
  (user) => {
    const stage = useStage(user);
    let registry: Registry;
    before(async () => {
      registry = await startRegistry(stage, name);
    });
    after(() => registry.close());

    const run = (script: string, ...options: readonly string[]) => {
      const program = ctxResolving(stage, { [name]: ['127.0.0.1'] });
      const words = ['exec', '--json', '--timeout', '60s', ...options, '--', 'sh', '-c'];
      const text = `URL=http://${name}:${registry.port}; ${script}`;
      return stage.start(stage.project(), [...program, ...words, text], { timeoutSeconds: 90 }).finished;
    };

    test('no rule, or one that does not say it is private: nobody reaches it', async () => {
      const scripts = (names: readonly string[]) =>
        Object.entries(programs)
          .filter(([program, { skip }]) => skip === false && names.includes(program))
          .map(([, { run: script }]) => `(${script}) 2>/dev/null`)
          .join('; ');
      const nothing = await run(scripts(['curl', 'git']));
      assert.equal(JSON.parse(nothing.stdout).stdout.text, '');
      const asPublic = await run(scripts(Object.keys(programs)), '--net', `${name}:${registry.port}`);
      assert.equal(JSON.parse(asPublic.stdout).stdout.text, '');
      assert.deepEqual(registry.take(), []);
    });

    for (const [program, { run: script, prints, skip }] of Object.entries(programs)) {
      test(`${program} reaches it where a rule says so, with nothing told but the environment`, { skip }, async () => {
        const { stdout, stderr } = await run(script, '--net-private', `${name}:${registry.port}`);
        const envelope = JSON.parse(stdout);
        assert.match(envelope.stdout.text, prints, `${envelope.stderr.text}${stderr}`);
        assert.ok(registry.take().length > 0);
        assert.deepEqual([...new Set(envelope.connections.map(({ host }: { host: string }) => host))], [name]);
      });
    }
  },
  { concurrency: 1 },
);
