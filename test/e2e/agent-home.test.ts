/** What an agent has at `/ctx/home` and by mount lines whose source is there; and the objects that root keeps for every user. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { agentWith, exec, fails, ok, withoutViews } from '../support/agents.js';
import { type Stage, useStage } from '../support/stage.js';
import { forEachUser, isRoot, spawnIdentity } from '../support/users.js';

/** What a script of an agent printed, errors too. */
async function said(stage: Stage, cwd: string, agent: string, script: string): Promise<string> {
  return (await exec(stage, cwd, agent, `{ ${script}; } 2>&1`)).stdout?.text ?? '';
}

async function mountingAgent(stage: Stage, cwd: string, name: string, mount: string, ...rules: readonly string[]) {
  await agentWith(stage, cwd, name, ...rules);
  await ok(stage, cwd, ['agent', 'set', name, 'mount', mount]);
}

forEachUser((user) => {
  describe('what an agent keeps', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useStage(user);
    const homeOf = (agent: string) => join(stage.store, 'ctx', 'home', String(user.uid), 'agent', agent);

    test('its home is one for all its commands and workspaces, and what is kept of its runs it only reads', async () => {
      const [one, other] = [stage.project(), stage.project()];
      await mountingAgent(stage, one, 'coder', '', 'tool:fs.read execute', 'tool:shell.exec execute');
      const attacks = ['session', 'log', 'root'].flatMap((part) => [
        `touch ~/${part}/x`,
        `rmdir ~/${part}`,
        `mv ~/${part} ~/moved`,
        `ln -sfn /tmp ~/${part}/x`,
      ]);
      const text = await said(
        stage,
        one,
        'coder',
        `echo $HOME; echo d > ~/data/d; echo s > ~/.setting; ${attacks.join('; ')}`,
      );
      assert.equal(text.split('\n')[0], `/ctx/home/${user.uid}/agent/coder`);
      assert.equal(
        text.split('\n').filter((line) => /Read-only file system|busy/.test(line)).length,
        attacks.length,
        text,
      );
      const again = `cat ~/data/d ~/.setting; ls ~/session; /ctx/tool/shell.exec '{"cmd":"cat ~/data/d"}'`;
      assert.equal(await said(stage, other, 'coder', again), 'd\ns\nd\n');
      // A fork that is dropped takes nothing of it along; the agent does.
      await ok(stage, one, ['drop']);
      assert.equal(await said(stage, one, 'coder', 'cat ~/data/d'), 'd\n');
      await ok(stage, one, ['agent', 'rm', 'coder']);
      assert.equal(existsSync(homeOf('coder')), false);
      await mountingAgent(stage, one, 'coder', '', 'tool:fs.read execute');
      assert.equal(await said(stage, one, 'coder', 'ls ~/data'), '');
    });

    test('several first commands at once share one home', async () => {
      const projects = Array.from({ length: 4 }, () => stage.project());
      const [first = ''] = projects;
      await mountingAgent(stage, first, 'crowd', '', 'tool:fs.read execute');
      const texts = await Promise.all(
        projects.map((project, index) => said(stage, project, 'crowd', `echo ${index} > ~/data/${index} && echo done`)),
      );
      assert.deepEqual(texts, ['done\n', 'done\n', 'done\n', 'done\n']);
      assert.equal(await said(stage, first, 'crowd', 'cat ~/data/*'), '0\n1\n2\n3\n');
      assert.deepEqual(
        readdirSync(join(homeOf('crowd'), '..')).filter((name) => name.includes('crowd')),
        ['crowd'],
      );
    });

    test('mount lines of /ctx lead to its home, to shared spaces it is granted, and into its view', async () => {
      const project = stage.project();
      stage.shell(stage.store, 'mkdir -p ctx/shared/space/data ctx/shared/space/tool; chmod 777 ctx/shared/space/data');
      const home = `/ctx/home/${user.uid}/agent/mounter`;
      const mount = (mode: string) =>
        [
          ['/ctx', '/ctx', 'ro'],
          [home, '/home/agent', 'rw'],
          [`${home}/data`, '/data', 'ro'],
          ['/ctx/shared/space', '/shared/space', mode],
          ['/ctx/tool', '/tools', 'ro'],
        ]
          .map((line) => `${line.join('\t')}\trbind\n`)
          .join('');
      await mountingAgent(stage, project, 'mounter', mount('ro'), 'tool:fs.read execute', 'shared:space read');
      const script = `echo h > /home/agent/data/h; cat /data/h; touch /data/x /home/agent/log/x; ls /tools
        echo n > /shared/space/data/n; touch /shared/space/tool/x; mkdir /shared/space/agent; ls /shared/space`;
      const read = await said(stage, project, 'mounter', script);
      assert.match(read, /^h\ntouch: .*\/data\/x.*Read-only.*\ntouch: .*log\/x.*Read-only.*\nfs\.read\nfs\.read\.d\n/);
      assert.equal(read.match(/Read-only file system/g)?.length, 5, read);
      await ok(stage, project, ['agent', 'set', 'mounter', 'mount', mount('rw')]);
      const coached = /an operator would add: allow mounter_t shared:space write/;
      await fails(stage, project, 13, coached, ['exec', '--agent', 'mounter', '--', 'true']);
      await ok(stage, project, ['agent', 'grant', 'mounter', 'shared:space', 'write']);
      const written = await said(stage, project, 'mounter', script);
      assert.match(written, /tool\/x.*Read-only/);
      assert.equal(readFileSync(join(stage.store, 'ctx/shared/space/data/n'), 'utf8'), 'n\n');
      assert.equal(existsSync(join(stage.store, 'ctx/shared/space/tool/x')), false);
    });

    test('the home of another agent, or a space that is not granted, is nobody else’s to mount', async () => {
      const project = stage.project();
      await mountingAgent(stage, project, 'owner', '', 'tool:fs.read execute', 'agent:kid create');
      await said(stage, project, 'owner', 'echo secret > ~/data/s');
      const other = `/ctx/home/${user.uid}/agent/owner\t/o\tro\t-\n`;
      await mountingAgent(stage, project, 'thief', other, 'tool:fs.read execute');
      const run = (agent: string) => ['exec', '--agent', agent, '--', 'true'];
      await fails(stage, project, 13, /the home of owner is not agent thief's/, run('thief'));
      await ok(stage, project, ['agent', 'set', 'thief', 'mount', '/ctx/shared/none\t/o\tro\t-\n']);
      await fails(stage, project, 13, /no `allow thief_t shared:none read`/, run('thief'));
      const spec = join(stage.project(), 'kid.json');
      writeFileSync(
        spec,
        JSON.stringify({ tools: ['fs.read'], mount: [[`/ctx/home/${user.uid}/agent/owner`, '/o', 'ro']] }),
      );
      await fails(stage, project, 13, /home of owner/, ['agent', 'new', 'kid', '--parent', 'owner', '--spec', spec]);
    });

    test('objects of the machine are under those of each user', {
      skip: isRoot ? false : 'only root can lay them there',
    }, async () => {
      const project = stage.project('echo text > file');
      const system = stage.makeDirectory('system');
      for (const place of ['tool/hello.d', 'tool/both.d', 'agent/guide.d', 'shared'])
        mkdirSync(join(system, place), { recursive: true });
      for (const [tool, text] of [
        ['hello', 'from the machine'],
        ['both', 'from the machine'],
      ] as const) {
        writeFileSync(join(system, 'tool', tool), `#!/bin/sh\necho ${text}\n`, { mode: 0o755 });
        chmodSync(join(system, 'tool', tool), 0o755);
        for (const [file, content] of Object.entries({
          name: tool,
          description: 'd',
          schema: '{}',
          cap: '',
          status: 'idle',
          log: '',
        }))
          writeFileSync(join(system, 'tool', `${tool}.d`, file), content === '' ? '' : `${content}\n`);
      }
      const mine = join(stage.project(`printf '#!/bin/sh\\necho mine\\n' > both; chmod +x both`), 'both');
      await ok(stage, project, ['tool', 'new', 'both', '--exec', mine]);
      await mountingAgent(stage, project, 'user', '', 'tool:hello execute', 'tool:both execute');
      /** In a mount namespace in which /var/lib/ctxfs is what root put there: no variable does that. */
      const withSystem = async (prepare: string, ...words: readonly string[]) => {
        const { uid = 0, gid = 0 } = spawnIdentity(user);
        const script = `mount -t tmpfs none /var/lib && mkdir /var/lib/ctxfs && cp -a ${system}/. /var/lib/ctxfs && chown -R 0:0 /var/lib/ctxfs && ${prepare}
          exec setpriv --reuid ${uid} --regid ${gid} --clear-groups "$@"`;
        const argv = ['unshare', '-m', 'sh', '-euc', script, 'sh', stage.program, ...words];
        const ended = await stage.start(project, argv, { uid: 0, gid: 0 }).finished;
        return `${ended.code} ${ended.stdout}${ended.stderr}`;
      };
      const calls = [
        'exec',
        '--agent',
        'user',
        '--',
        'sh',
        '-c',
        'ls /ctx/tool; /ctx/tool/hello "{}"; /ctx/tool/both "{}"; cat /ctx/tool/hello.d/description',
      ];
      const answer = await withSystem('true;', ...calls);
      assert.match(answer, /^0 both\nboth\.d\nhello\nhello\.d\nfrom the machine\nmine\nd\n/);
      assert.match(await withSystem('true;', 'tool', 'ls'), /hello/);
      // What somebody else than root could have written is as if it were not there.
      for (const open of ['chmod 777 /var/lib/ctxfs;', 'chown 1000 /var/lib/ctxfs;']) {
        assert.match(await withSystem(open, ...calls), /hello: not found|hello: No such file/);
      }
      assert.match(
        await withSystem('true;', 'tool', 'set', 'hello', 'description', 'x'),
        user.uid === 0 ? /^0 / : /^(1|13) .*(EACCES|EROFS)/,
      );
    });
  });
});
