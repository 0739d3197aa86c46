/**
 * A secret outside of the surface cannot be read. Every way is shown to work for the same user without a jail, so that a
 * way that stopped working for another reason cannot pass for a wall.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import type { Running, StartOptions } from '../support/process.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const skip = cannotCompile ?? false;

forEachUser((user) => {
  const stage = useWarmStage(user);
  const token = `secret-${randomBytes(8).toString('hex')}`;
  const hosts: Running[] = [];
  const servers: Server[] = [];
  let project = '';
  let secret = '';

  before(async () => {
    project = stage.project();
    if (skip === false) compileAttackProgram(project);
    secret = join(stage.makeDirectory('secrets'), 'key');
    stage.shell(
      project,
      `umask 077; echo ${token} > ${secret}; mkdir -p ~/.ssh mount cell; cp ${secret} ~/.ssh/id_ed25519; echo ${token} > ~/.npmrc`,
    );
  });
  after(async () => {
    for (const { child } of hosts) child.kill('SIGKILL');
    for (const server of servers) server.close();
  });

  /** A process of the host, the same user's, that lives until the suite ends. */
  async function host(...words: readonly string[]): Promise<string[]> {
    const running = stage.start(project, ['./attack', ...words], { timeoutSeconds: 300 });
    hosts.push(running);
    let line = '';
    running.child.stdout?.on('data', (chunk: Buffer) => {
      line += chunk.toString();
    });
    await running.printed('\n');
    return line.trim().split(' ');
  }

  /** Shell text that shows the secret without a jail, and does not within one. */
  async function holds(script: string, options: StartOptions = {}): Promise<void> {
    const argv = ['sh', '-c', script];
    const outside = await stage.start(project, argv, options).finished;
    assert.ok(outside.stdout.includes(token), `without a jail this has to work: ${script}\n${outside.stderr}`);
    const inside = await stage.ctx(project, ['exec', '--wait', '--', 'sh', '-c', `echo ran; ${script}`], options);
    assert.match(inside.stdout, /^ran\n/, inside.stderr);
    assert.ok(!`${inside.stdout}${inside.stderr}`.includes(token), `it was read: ${script}`);
  }

  test('by its path', () => holds(`cat ${secret}`));
  test('in the home', () => holds('cat ~/.ssh/id_ed25519; cat ~/.npmrc'));
  test('by a relative path that climbs', () => holds('cat ../secrets/key; cd ../secrets && cat key'));
  test('by an absolute link in the project', () =>
    holds(`ln -sf ${secret} planted; cat planted; ln -sfn ${stage.directory} up; cat up/secrets/key`));
  test('by a relative link in the project', () => holds('ln -sf ../secrets/key climbing; cat climbing'));
  test('by a link that stood in the project when it was imported', async () => {
    stage.shell(project, `ln -s ${secret} imported`);
    await holds('cat imported');
  });
  test('by a hard link into the project', () => holds(`rm -f linked; ln ${secret} linked; cat linked`));
  test('by listing and searching', () => holds(`grep -rsh secret- ${stage.directory} --include=key --include=.npmrc`));

  test('by the root of a process: its own', () => holds(`cat /proc/self/root${secret}`));
  test('by the root of a process: init', async (context) => {
    const { code } = await stage.start(project, ['ls', '/proc/1/root/']).finished;
    if (code !== 0) return context.skip('this user may not look into init, even without a jail');
    await holds(`cat /proc/1/root${secret}`);
  });
  test('by the directory of a process', () =>
    holds(`cat /proc/$$/cwd/../secrets/key; cat /proc/self/task/$$/root${secret}`));

  test('by whatever belongs to the process that started the jail', async () => {
    const script = 'cat /proc/$OWNER/environ; cat /proc/$OWNER/root$SECRET; cat /proc/$OWNER/cwd/../secrets/key';
    const [pid = ''] = await host('hold', token, secret, '0');
    await holds(script.replaceAll('$OWNER', pid).replaceAll('$SECRET', secret));
  });

  test("by the caller's environment", () =>
    holds('printenv TOKEN; cat /proc/self/environ; cat /proc/$PPID/environ', {
      env: { TOKEN: token, LD_PRELOAD: '' },
    }));

  test('by a descriptor that the caller had open', async () => {
    const stdio = (descriptor: number): StartOptions['stdio'] => [
      'ignore',
      'pipe',
      'pipe',
      descriptor,
      'ignore',
      'ignore',
      'ignore',
      'ignore',
      'ignore',
      descriptor,
    ];
    for (const number of [3, 9]) {
      const descriptor = openSync(secret, 'r');
      const again = openSync(secret, 'r');
      try {
        const script = `cat /proc/self/fd/${number}`;
        const outside = await stage.start(project, ['sh', '-c', script], { stdio: stdio(descriptor) }).finished;
        assert.ok(outside.stdout.includes(token));
        const inside = await stage.ctx(
          project,
          ['exec', '--wait', '--', 'sh', '-c', `${script}; cat <&${number}; ls -l /proc/self/fd`],
          { stdio: stdio(again) },
        );
        assert.ok(!inside.stdout.includes(token));
        assert.ok(!inside.stdout.includes('secrets'), inside.stdout);
      } finally {
        closeSync(descriptor);
        closeSync(again);
      }
    }
  });

  test('by the memory of a process of the host', { skip }, async () => {
    const [pid, address] = await host('hold', token, secret, '0');
    await holds(`./attack memory-file ${pid} ${address}`);
    await holds(`./attack vm-read ${pid} ${address}`);
  });
  test('by tracing a process of the host', { skip }, async () => {
    const [pid, address] = await host('hold', token, secret, '0');
    await holds(`./attack trace ${pid} ${address}`);
  });
  test('by stealing a descriptor of a process of the host', { skip }, async () => {
    const [pid, address, descriptor] = await host('hold', token, secret, '0');
    await holds(`./attack steal-descriptor ${pid} ${address} ${descriptor}`);
    await holds(`cat /proc/${pid}/fd/${descriptor}`);
  });
  test('by shared memory', { skip }, async () => {
    const [, , , shared] = await host('hold', token, secret, '0');
    await holds(`./attack shared-memory ${shared}`);
  });
  test('by the keyring of the session', { skip }, async () => {
    const outside = await stage.start(project, ['./attack', 'with-key', token, './attack', 'read-key']).finished;
    assert.ok(outside.stdout.includes(token), outside.stderr);
    const argv = ['./attack', 'with-key', token, stage.program, 'exec', '--wait', '--', './attack', 'read-key'];
    const inside = await stage.start(project, argv).finished;
    assert.ok(!inside.stdout.includes(token), 'the key was read');
  });

  test('by a unix socket with a path', { skip }, async () => {
    await host('serve', `${stage.directory}/secrets/socket`, token);
    await holds(`./attack connect ${stage.directory}/secrets/socket; ./attack connect ../secrets/socket`);
  });
  test('by a unix socket in the project', { skip }, async () => {
    await host('serve', 'socket', token);
    await holds('./attack connect socket');
  });
  test('by a descriptor that a process of the host gives to whoever asks', { skip }, async () => {
    await host('give-descriptor', 'giving', secret);
    await host('give-descriptor', `@giving-${token.slice(7)}`, secret);
    await holds(`./attack take-descriptor giving; ./attack take-descriptor @giving-${token.slice(7)}`);
  });
  test('by the socket of a daemon of containers, wherever one stands', { skip }, async () => {
    // Like docker's own, in the places where a command would look for it; those of the system are root's to make.
    const places = [`${stage.home}/.docker/run/docker.sock`, `${stage.directory}/run/docker.sock`];
    if (user.uid === 0) places.push(`/run/ctx-test-docker-${process.pid}.sock`);
    stage.shell(project, `mkdir -p ~/.docker/run ${stage.directory}/run`);
    for (const place of places) await host('serve', place, token);
    try {
      for (const place of places) await holds(`./attack connect ${place}`);
      assert.equal(await stage.inside(project, 'ls /run/docker.sock /var/run/docker.sock 2>/dev/null; true'), '');
    } finally {
      if (user.uid === 0) rmSync(places.at(-1) ?? '', { force: true });
    }
  });
  test('by an abstract unix socket', { skip }, async () => {
    await host('serve', `@${token.slice(7)}`, token);
    await holds(`./attack connect @${token.slice(7)}`);
  });
  test('by TCP to the loopback of the host', async () => {
    const server = createServer((socket) => socket.end(token));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await holds(
      `node -e 'require("net").connect(${port}, "127.0.0.1").on("error", e => { console.error(e.code); process.exit(1) }).pipe(process.stdout)'`,
    );
  });

  test('by mounts in a nested user namespace', { skip }, () =>
    holds(`./attack nested sh -c './attack bind ${stage.directory}/secrets mount; cat mount/key'`),
  );
  test('by breaking out of a chroot', { skip }, () => holds(`./attack chroot ${secret}`));
  test('by the handle of its inode', { skip: user.uid === 0 ? skip : 'only root may open by handle' }, async () => {
    const handle = stage.shell(project, `./attack make-handle ${secret}`);
    await holds(
      `./attack open-handle ${handle} $HOME; ./attack open-handle ${handle} .; ./attack nested ./attack open-handle ${handle} $HOME`,
    );
  });

  test("by the store: another fork's files, this one's layers, the record", async () => {
    const other = stage.project(`echo ${token} > own`);
    await stage.inside(other, `echo ${token} > made`);
    await holds(
      `cat $STORE/vault/*/layer/0/own $STORE/vault/*/fork/main/upper/made $STORE/record/*/*.jsonl $STORE/record/key/*`.replaceAll(
        '$STORE',
        stage.store,
      ),
    );
    assert.equal(
      await stage.inside(project, `ls -d ${stage.store} ${stage.directory}/project-* 2>/dev/null; true`),
      `${project}\n`,
    );
  });

  test('by the store when it lies in the project itself', async () => {
    const holder = stage.project(`echo ${token} > ../secrets/other`);
    const env = { CTX_DATA: join(holder, '.store') };
    const { code } = await stage.ctx(holder, ['exec', '--', 'sh', '-c', `echo ${token} > made`], { env });
    assert.equal(code, 0);
    const seen = await stage.ctx(
      holder,
      ['exec', '--', 'sh', '-c', 'find . -path "*layer*" ; ls -A .store; rm made; grep -rs secret- .'],
      { env },
    );
    assert.equal(seen.stdout, '');
  });

  test('by a setuid program', async (context) => {
    if (process.getuid?.() !== 0 || user.uid === 0)
      return context.skip('only root can make one, and only others need one');
    const tools = stage.makeDirectory('tools');
    const { spawnSync } = await import('node:child_process');
    const make = `install -m 4755 -o root -g root "$(readlink -f /bin/cat)" ${tools}/rootcat && umask 077 && echo ${token} > ${tools}/of-root`;
    assert.equal(spawnSync('sh', ['-c', make]).status, 0);
    const env = { PATH: `${tools}:${stage.environment['PATH']}` };
    await holds(`rootcat ${tools}/of-root; cp ${tools}/rootcat here; ./here ${tools}/of-root`, { env });
    const shown = await stage.ctx(
      project,
      ['exec', '--wait', '--', 'sh', '-c', `rootcat ${tools}/rootcat | head -c 4 | tr -cd A-Z`],
      { env },
    );
    assert.equal(shown.stdout, 'ELF', 'the program itself runs, without its power');
  });
});
