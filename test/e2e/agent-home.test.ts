/** What an agent has at `/ctx/home` and by mount lines whose source is there; and the objects that root keeps for every user. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Envelope } from '../../src/sdk/report.js';
import { agentWith, exec, fails, ok, withoutViews } from '../support/agents.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { configuration, serverOf } from '../support/tool-sources.js';
import { forUsersInTurn, isRoot, spawnIdentity } from '../support/users.js';

/** What a script of an agent printed, errors too. */
async function said(stage: Stage, cwd: string, agent: string, script: string): Promise<string> {
  return (await exec(stage, cwd, agent, `{ ${script}; } 2>&1`)).stdout?.text ?? '';
}

async function mountingAgent(stage: Stage, cwd: string, name: string, mount: string, ...rules: readonly string[]) {
  await agentWith(stage, cwd, name, ...rules);
  await ok(stage, cwd, ['agent', 'set', name, 'mount', mount]);
}

forUsersInTurn((user, turn) => {
  describe('what an agent keeps', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);
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

    test('what is kept of its runs it only reads, also where a path that it may read is in it', async () => {
      const project = stage.project();
      await agentWith(stage, project, 'reader', 'tool:fs.read execute');
      for (const part of ['log', 'session']) {
        mkdirSync(join(stage.home, part, 'shown'), { recursive: true });
        if (isRoot) chownSync(join(stage.home, part), user.uid, user.gid);
      }
      const script = 'for part in log session; do ls ~/$part; mv ~/$part ~/moved; touch ~/$part/x; done 2>&1';
      const read = ['log', 'session'].flatMap((part) => ['--read', join(stage.home, part, 'shown')]);
      const words = ['exec', '--json', '--agent', 'reader', ...read, '--', 'sh', '-c', script];
      const { stdout, stderr } = await stage.ctx(project, words);
      const text = (parseJson(stdout, stderr) as Envelope).stdout?.text ?? '';
      assert.match(text, /^(shown\n.*(busy|Read-only file system)\n.*Read-only file system\n){2}$/, text);
    });

    turn.test('several first commands at once share one home', async () => {
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

    turn.test('mount lines of /ctx lead to its home, to shared spaces it is granted, and into its view', async () => {
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

    turn.test('the home of another agent, or a space that is not granted, is nobody else’s to mount', async () => {
      const project = stage.project();
      await mountingAgent(stage, project, 'owner', '', 'tool:fs.read execute', 'agent:kid create');
      await said(stage, project, 'owner', 'echo secret > ~/data/s');
      const other = `/ctx/home/${user.uid}/agent/owner\t/o\tro\t-\n`;
      await mountingAgent(stage, project, 'thief', other, 'tool:fs.read execute');
      const run = (agent: string) => ['exec', '--agent', agent, '--', 'true'];
      await fails(stage, project, 13, /agent thief may mount only its own home, not that of agent owner/, run('thief'));
      await ok(stage, project, ['agent', 'set', 'thief', 'mount', '/ctx/shared/none\t/o\tro\t-\n']);
      await fails(stage, project, 13, /no `allow thief_t shared:none read`/, run('thief'));
      const spec = join(stage.project(), 'kid.json');
      writeFileSync(
        spec,
        JSON.stringify({ tools: ['fs.read'], mount: [[`/ctx/home/${user.uid}/agent/owner`, '/o', 'ro']] }),
      );
      await fails(stage, project, 13, /only its own home, not that of agent owner/, [
        'agent',
        'new',
        'kid',
        '--parent',
        'owner',
        '--spec',
        spec,
      ]);
    });

    turn.test(
      'files of a shared space are at /ctx/shared where the mount file shows it, models where the model file names them',
      async () => {
        const project = stage.project('echo text > file');
        const space = join(stage.store, 'ctx/shared/team');
        const models = join(stage.store, 'ctx/model/local');
        stage.shell(
          project,
          `mkdir -p ${space}/data ${space}/other ${models}/echo.d ${models}/plan.d; echo shared > ${space}/data/f`,
        );
        const rules = [
          'shared:team read',
          'shared:team write',
          'model:local/echo use',
          'model:local/plan use',
          'agent:sharer read',
        ];
        await mountingAgent(stage, project, 'sharer', '/ctx/shared/team\t/team\trw\t-\n', ...rules);
        await ok(stage, project, ['agent', 'set', 'sharer', 'model', 'local/echo\n']);
        const script = `ls /ctx/shared/team; cat /ctx/shared/team/data/f; echo new > /ctx/shared/team/data/g && readlink /ctx/shared/team/data
        ls /ctx/model/local; cat /ctx/model/local/echo.d/name; /ctx/model/local/echo hello 2>&1; echo $?
        /ctx/agent/sharer hello 2>&1; echo $?`;
        const all = await said(stage, project, 'sharer', script);
        assert.match(all, /^agent\ndata\nmodel\nother\ntool\nshared\n(\/team\/data\n)?/);
        assert.match(
          all,
          /\necho\necho\.d\necho\nctx: .*\(ENOTSUP\)\n69\nctx: sharer: .*allow sharer_t agent:sharer start.*\(EACCES\)\n13\n$/s,
        );
        // A part of it, and nothing without the line.
        await ok(stage, project, ['agent', 'set', 'sharer', 'mount', '/ctx/shared/team/data\t/d\tro\t-\n']);
        assert.equal(
          await said(stage, project, 'sharer', 'ls /ctx/shared/team; cat /ctx/shared/team/data/f'),
          'data\ntool\nshared\n',
        );
        await ok(stage, project, ['agent', 'set', 'sharer', 'mount', '']);
        assert.equal(
          await said(stage, project, 'sharer', 'ls /ctx/shared/team; ls /ctx/model/none 2>/dev/null || echo none'),
          'tool\nnone\n',
        );
      },
    );

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
      // A source of root's: its tools are every user's to grant, its server runs for the one who calls.
      const file = configuration(stage, 'machine');
      const root = `env -i PATH="$PATH" HOME=/var/lib/root CTX_ROOT=/var/lib/ctxfs ${stage.program}`;
      const asRoot = `${root} tool source add machine --mcp ${file} --read ${serverOf(stage)}`;
      await ok(stage, project, ['agent', 'set', 'user', 'policy', 'allow user_t tool:mcp.machine.echo execute\n']);
      const echo = [
        'exec',
        '--agent',
        'user',
        '--',
        'sh',
        '-c',
        `ls /ctx/tool; /ctx/tool/mcp.machine.echo '{"text":"hi"}'`,
      ];
      const adding = `mkdir /var/lib/root; ${asRoot} > /dev/null;`;
      assert.match(await withSystem(adding, ...echo), /^0 mcp\.machine\.echo\nmcp\.machine\.echo\.d\nhi\n/);
      assert.match(await withSystem(adding, 'tool', 'source', 'list'), /machine/);
      // Also where root's umask is for root alone, and nothing is there yet, or what is no user's but root's.
      const first = `umask 077; mkdir -p /var/lib/root; ${root} rules add deny -- x >&2`;
      const strict = `rm -rf /var/lib/ctxfs; ${first}; ${asRoot} > /dev/null; ${root} tool new own --exec /bin/true >&2; umask 022;`;
      const described = 'ls /ctx/tool; cat /ctx/tool/mcp.machine.echo.d/description; ';
      assert.match(
        await withSystem(strict, ...echo.slice(0, -1), described + echo.at(-1)),
        /^0 mcp\.machine\.echo\nmcp\.machine\.echo\.d\n.*hi\n/s,
      );
      assert.match(await withSystem(strict, 'tool', 'ls'), /^0 .*own.*made tool own/s);
      assert.match(
        await withSystem(`mkdir /var/lib/root; S=1 ${asRoot} --pass-env HOME 2>&1 || true;`, 'tool', 'ls'),
        /variables cannot be passed to a source that every user shares/,
      );
      const rules = ['hello', 'both'].map((tool) => `allow user_t tool:${tool} execute\n`).join('');
      await ok(stage, project, ['agent', 'set', 'user', 'policy', rules]);
      // What somebody else than root could have written is as if it were not there.
      for (const open of ['chmod 777 /var/lib/ctxfs;', 'chown 1000 /var/lib/ctxfs;']) {
        assert.match(await withSystem(open, ...calls), /hello: not found|hello: No such file/);
      }
      // Nor what this user may not read: their own objects are there, and doctor says why the others are not.
      for (const closed of user.uid === 0 ? [] : ['/var/lib/ctxfs', '/var/lib/ctxfs/tool']) {
        assert.match(await withSystem(`chmod 700 ${closed};`, ...calls), /\nmine\n/);
        assert.match(await withSystem(`chmod 700 ${closed};`, 'doctor'), new RegExp(`${closed} cannot be read by you`));
      }
      assert.match(
        await withSystem('true;', 'tool', 'set', 'hello', 'description', 'x'),
        user.uid === 0 ? /^0 / : /^(1|13) .*(EACCES|EROFS)/,
      );
    });
  });
});
