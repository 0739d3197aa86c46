/** Another user of the same machine, who is there first: where the person's ctx is told to keep its files. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, lchownSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keptJailPlace } from '../../src/kept-jail/jail-place.js';
import { until } from '../support/process.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

/** No one's on any host. */
const stranger = 54_321;
const skip = isRoot ? false : 'only root can make files of another user';

forEachUser((user) => {
  const stage = useWarmStage(user);

  /** A place that everybody may write, in which names lead to what only the person may. */
  function trap(name: string, owner: number): { readonly place: string; readonly victim: string } {
    const victim = stage.makeDirectory(`home/${name}-victim`);
    chmodSync(victim, 0o700);
    const place = stage.makeDirectory(name);
    for (const link of ['record', 'vault', 'ctx', 'agent']) {
      symlinkSync(victim, join(place, link));
      lchownSync(join(place, link), owner, owner);
    }
    const rules = join(place, 'agents.toml');
    writeFileSync(rules, '');
    chownSync(rules, owner, owner);
    chmodSync(place, 0o777);
    chownSync(place, owner, owner);
    return { place, victim };
  }

  for (const variable of ['CTX_DATA', 'CTX_ROOT', 'XDG_CONFIG_HOME']) {
    test(`files that a stranger laid where ${variable} leads are neither obeyed nor followed`, { skip }, async () => {
      const { place, victim } = trap(`trap-${variable}`, stranger);
      stage.shell(stage.home, `mkdir -p ${place}/record/made`);
      assert.deepEqual(readdirSync(victim), ['made'], 'whoever does not look follows them');
      const project = stage.project();
      const value = variable === 'XDG_CONFIG_HOME' ? stage.makeDirectory(`parent-${variable}`) : place;
      if (value !== place) symlinkSync(place, join(value, 'ctxfs'));
      for (const words of [
        ['exec', '--', 'true'],
        ['agent', 'new', 'helper'],
        ['hook', 'json'],
      ]) {
        const { code, stdout, stderr } = await stage.ctx(project, words, { env: { [variable]: value } });
        assert.ok(code !== 0 || /"deny"/.test(stdout), stdout);
        assert.match(`${stdout}${stderr}`, /expected a directory of your own/);
      }
      assert.deepEqual(readdirSync(victim), ['made']);
    });
  }

  /** Listens where a kept jail of this directory would, as this user; how many bytes a call says to it. */
  async function saidTo(uid: number, project: string, words: readonly string[]): Promise<string> {
    const { directory, socketName } = keptJailPlace(stage.store, project, `as-${uid}`);
    const script = `import os, socket, sys
directory, name, owner, uid = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
os.makedirs(directory, exist_ok=True); os.chown(directory, owner, owner); os.chdir(directory)
server = socket.socket(socket.AF_UNIX); server.bind(name); os.chmod(name, 0o777)
os.setgid(uid); os.setuid(uid); server.listen()
print("ready", flush=True)
print(len(server.accept()[0].recv(4096)), flush=True)`;
    const given = ['-c', script, directory, socketName, String(user.uid), String(uid)];
    const listener = spawn('/usr/bin/python3', given, { stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(listener, 'close');
    let said = '';
    listener.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    try {
      await until(() => said.includes('ready'), 'somebody listens');
      await stage.ctx(project, words);
      await ended;
      return said.replace('ready\n', '').trim();
    } finally {
      listener.kill('SIGKILL');
      rmSync(join(directory, socketName), { force: true });
    }
  }

  test('a call says nothing to the process of another user, wherever that listens', { skip }, async () => {
    const project = stage.project('echo 1 > file');
    assert.equal((await stage.ctx(project, ['exec', '--', 'true'])).code, 0);
    for (const words of [
      ['exec', '--', 'true'],
      ['why', 'read', 'file'],
      ['approvals', 'list'],
    ]) {
      assert.ok(Number(await saidTo(user.uid, project, words)) > 0, 'a process of the same user is told everything');
      assert.equal(await saidTo(stranger, project, words), '0', words.join(' '));
    }
  });

  test('a call under a mask that takes every right leaves a store that works', async () => {
    const project = stage.project('echo 1 > file');
    const env = { CTX_DATA: join(stage.directory, 'masked') };
    const masked = ['/bin/sh', '-c', 'umask 0777; exec "$0" exec -- cat file', stage.program];
    await stage.start(project, masked, { env }).finished;
    const { code, stdout, stderr } = await stage.ctx(project, ['exec', '--', 'cat', 'file'], { env });
    assert.equal(stdout, '1\n', stderr);
    assert.equal(code, 0);
  });

  test('nothing that a call makes under such a mask, and the keeper that it leaves, is closed to its maker', async () => {
    const project = stage.project('echo 1 > file');
    const home = join(stage.directory, 'masked home');
    const env = { HOME: home, CTX_DATA: join(home, 'store'), CTX_KEEPER: 'on' };
    const line = `umask 0777; "$0" exec -- cat file; echo 2 | "$0" vfs put "chunked:$HOME/tree" /f; "$0" agent new coder
      "$0" secret set S --command 'echo 3'; "$0" exec --agent coder -- sh -c 'ls ~/log ~/root ~/session'
      "$0" vfs cat "chunked:$HOME/tree" /f`;
    const masked = ['/bin/sh', '-c', `mkdir "$HOME"; ${line}`, stage.program];
    const { code, stdout, stderr } = await stage.start(project, masked, { env }).finished;
    assert.match(stdout, /^1\n.*\/log:.*\/root:.*\/session:.*\n2\n$/s, stderr);
    assert.equal(code, 0, stderr);
    const { finished } = stage.start(project, ['find', home, '-not', '-type', 'l', '-not', '-perm', '-u=rw', '-ls']);
    const hasKeeper = async () => /keeper/.test((await stage.ctx(project, ['ps'], { env })).stdout);
    for (const end = Date.now() + 20_000; !(await hasKeeper()); ) assert.ok(Date.now() < end, 'a keeper is left');
    assert.equal((await finished).stdout, '');
    assert.equal((await stage.ctx(project, ['stop', '--all'], { env })).code, 0);
  });

  test('a store that others may write is refused, and says how it is closed', { skip }, async () => {
    const { place } = trap('open-store', user.uid);
    const { code, stderr } = await stage.ctx(stage.project(), ['exec', '--', 'true'], { env: { CTX_DATA: place } });
    assert.equal(code, 13);
    assert.match(stderr, /only you may write, found mode 777/);
    assert.match(stderr, /chmod go-w/);
  });
});
