/** Who an agent's command is: inside, outside, to its fork and to the host's files. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { envelopeOf, inKeptJail } from '../support/kept-jail.js';
import { ownSeconds, processesCalled, until } from '../support/process.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forEachUser, forUsersInTurn, isRoot } from '../support/users.js';

async function ok(stage: Stage, cwd: string, words: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await stage.ctx(cwd, words);
  assert.equal(code, 0, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
}

/** An agent with these control files. */
async function agent(stage: Stage, cwd: string, name: string, files: Readonly<Record<string, string>>): Promise<void> {
  await ok(stage, cwd, ['agent', 'new', name]);
  for (const [file, text] of Object.entries(files)) await ok(stage, cwd, ['agent', 'set', name, file, text]);
}

async function exec(stage: Stage, cwd: string, words: readonly string[], script: string): Promise<Envelope> {
  const { stdout, stderr } = await stage.ctx(cwd, ['exec', '--json', ...words, '--', 'sh', '-c', script]);
  return parseJson(stdout, stderr) as Envelope;
}

/** Who runs `sleep SECONDS`, by the kernel's own books. */
function uidsOutside(seconds: string): readonly string[] {
  return processesCalled('sleep', seconds).map(
    (pid) => /^Uid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '',
  );
}

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);

  turn.test('an agent is used as often as its files say, and not once more', async () => {
    const project = stage.project();
    await agent(stage, project, 'brief', { expiry: 'uses 2' });
    for (const expected of [0, 0, 13]) {
      const { code, stderr } = await stage.ctx(project, ['exec', '--agent', 'brief', '--', 'true']);
      assert.equal(code, expected, stderr);
    }
    assert.equal(readFileSync(join(stage.store, 'ctx/agent/brief.d/uses'), 'utf8'), '2\n');
    // Looking is no use of it.
    await ok(stage, project, ['jail', 'plan', '--agent', 'brief']);
    await ok(stage, project, ['agent', 'set', 'brief', 'expiry', 'uses 3']);
    await ok(stage, project, ['exec', '--agent', 'brief', '--', 'true']);
  });
});

/** Refuses to run as root, as PostgreSQL and others do. */
const proud = '[ "$(id -u)" != 0 ] || { echo "must not be run as root" >&2; exit 1; }';

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('--user: it is that user inside, in a kept jail and for one that joins, too, and its files come home as the owner’s', async () => {
    const project = stage.project('echo old > file; chmod 600 file; mkdir -m 700 d');
    const look = `${proud}; id -u; id -g; stat -c %u:%g file d .; echo new > file; mkdir -m 700 made; echo x > made/x; stat -c %u:%g made/x; touch ~/x /tmp/x; stat -c %u ~/x /tmp/x`;
    const inside = '4711\n4712\n4711:4712\n4711:4712\n4711:4712\n4711:4712\n4711\n4711\n';
    const first = await exec(stage, project, ['--user', '4711:4712'], look);
    assert.deepEqual([first.stdout?.text, first.stderr?.text], [inside, '']);
    // A pipe can be opened again by the process that it belongs to.
    const again = await exec(
      stage,
      project,
      ['--user', '4711'],
      'id -g; echo there > /dev/stderr; rm -r made; mv d e; ls',
    );
    assert.deepEqual([again.stdout?.text, again.stderr?.text], ['4711\ne\nfile\n', 'there\n']);
    const other = stage.startCtx(project, [
      'exec',
      '--',
      'sh',
      '-c',
      'echo ready; while [ ! -e made ]; do sleep 0.1; done; cat made',
    ]);
    await other.printed('ready');
    const joined = await exec(stage, project, ['--user', '4711'], 'id -u; stat -c %u file; echo by joined > made');
    assert.deepEqual([joined.stdout?.text, joined.besideCount], ['4711\n4711\n', 1]);
    assert.match((await other.finished).stdout, /by joined/);
    await inKeptJail(
      stage,
      async () => {
        assert.equal(
          (await envelopeOf(stage, project, 'id -u; stat -c %u file; echo kept > kept')).stdout?.text,
          '4713\n4713\n',
        );
        await ok(stage, project, ['rollback']);
        assert.equal(
          (await envelopeOf(stage, project, 'ls; id -u; echo kept > kept')).stdout?.text,
          'e\nfile\nmade\n4713\n',
        );
      },
      { project, options: ['--user', '4713'] },
    );
    await ok(stage, project, ['apply']);
    for (const name of ['file', 'made', 'kept', 'e']) {
      const { uid, gid } = statSync(join(project, name));
      assert.deepEqual([name, uid, gid], [name, user.uid, user.gid]);
    }
    const live = await stage.ctx(project, ['jail', 'run', '--user', '4711', '--', 'id', '-u']);
    assert.equal(live.stdout, '4711\n', live.stderr);
  });

  test('--user: what it cannot be is refused by name, and an agent is who its files say', async () => {
    const project = stage.project();
    for (const text of ['root', '-1', '1:', '99999999999', '4294967295']) {
      const { code, stderr } = await stage.ctx(project, ['exec', `--user=${text}`, '--', 'true']);
      assert.deepEqual([code, /--user/.test(stderr), /EINVAL/.test(stderr)], [2, true, true], stderr);
    }
    await agent(stage, project, 'self', {});
    const { code, stderr } = await stage.ctx(project, ['exec', '--agent', 'self', '--user', '1000', '--', 'true']);
    assert.equal(code, 2);
    assert.match(stderr, /agent self: --user cannot be used with an agent.*iso userns/s);
  });
});

describe('without root', () => {
  forEachUser((user) => {
    if (user.uid === 0) return;
    const stage = useWarmStage(user);

    test('iso userns gives ids of its own inside, and the fork is still its own', async () => {
      const project = stage.project('echo old > file');
      await agent(stage, project, 'nested', { iso: 'userns' });
      const script =
        'id -u; id -g; stat -c %u:%g file; echo new > file; echo x > made; stat -c %u made; id -un; touch ~/x';
      const { stdout, exitCode, stderr } = await exec(stage, project, ['--agent', 'nested'], script);
      assert.equal(exitCode, 0, stderr?.text);
      const [uid = '', gid, file, made, name] = (stdout?.text ?? '').split('\n');
      assert.ok(Number(uid) >= 0x60000000 && gid === uid);
      assert.deepEqual([file, made, name], [`${uid}:${uid}`, uid, 'user']);
      await ok(stage, project, ['apply']);
      assert.deepEqual(
        [statSync(join(project, 'made')).uid, readFileSync(join(project, 'file'), 'utf8')],
        [user.uid, 'new\n'],
      );
    });

    test('iso userns has the ids of its files where they are not the person’s', async () => {
      const project = stage.project();
      await agent(stage, project, 'numbered', { iso: 'userns' });
      // Only root makes agents of other ids; what is written by hand counts all the same.
      for (const [file, id] of [
        ['uid', 4711],
        ['gid', 4712],
      ] as const) {
        writeFileSync(join(stage.store, 'ctx/agent/numbered.d', file), `${id}\n`);
      }
      const { stdout } = await exec(stage, project, ['--agent', 'numbered'], 'id -u; id -g');
      assert.equal(stdout?.text, '4711\n4712\n');
    });

    test('iso uid and foreign groups are refused by name, with what to do', async () => {
      const project = stage.project();
      await agent(stage, project, 'lonely', { iso: 'uid' });
      const alone = await stage.ctx(project, ['exec', '--agent', 'lonely', '--', 'true']);
      assert.equal(alone.code, 69);
      assert.match(alone.stderr, /iso uid: only root .*iso userns.*ENOTSUP|iso uid: only root .*ENOTSUP.*iso userns/s);
      await agent(stage, project, 'grouped', { groups: '4242' });
      const grouped = await stage.ctx(project, ['exec', '--agent', 'grouped', '--', 'true']);
      assert.equal(grouped.code, 69);
      assert.match(grouped.stderr, /groups 4242: without root/);
    });
  });
});

describe('as root', { skip: isRoot ? false : 'only root runs commands as somebody else' }, () => {
  forEachUser((user) => {
    if (user.uid !== 0) return;
    const stage = useWarmStage(user);

    /** A project of somebody who is neither root nor the agent. */
    function projectOf(uid: number, script: string): string {
      const project = stage.project(script);
      stage.shell(project, `chown -R ${uid}:${uid} .`);
      return project;
    }

    test('iso uid: the agent has its own uid, and the fork is its own whoever owns the workspace', async () => {
      const project = projectOf(1234, 'echo old > file; chmod 600 file; mkdir d; echo x > d/x; chmod 700 d');
      stage.shell(project, 'echo r > theirs; chown 0:0 theirs; chmod 600 theirs');
      await agent(stage, project, 'own', { iso: 'uid', uid: '7001', gid: '7002' });
      const script = [
        'id -u; id -g; stat -c %u:%g file; cat file d/x; echo new > file; mkdir made; echo x > made/x; rm d/x',
        'stat -c %u:%g made/x; cat theirs || echo refused; touch ~/x; echo z >> d/../file',
      ].join('\n');
      const { stdout, exitCode, stderr } = await exec(stage, project, ['--agent', 'own'], script);
      assert.equal(exitCode, 0, stderr?.text);
      assert.equal(stdout?.text, '7001\n7002\n7001:7002\nold\nx\n7001:7002\nrefused\n');
      await ok(stage, project, ['apply']);
      // What it made is the workspace owner's, as everything in the workspace.
      assert.deepEqual(
        ['file', 'made', 'made/x'].map((name) => statSync(join(project, name)).uid),
        [1234, 1234, 1234],
      );
      assert.equal(readFileSync(join(project, 'file'), 'utf8'), 'new\nz\n');
      // Another agent, and no one's command, go on with the same fork.
      const again = await exec(stage, project, [], 'id -u; cat made/x; echo w >> file; stat -c %u file');
      assert.equal(again.stdout?.text, '1234\nx\n1234\n');
    });

    test('iso uid: a kept jail has it for every command, after checkpoint and rollback, too', async () => {
      const project = projectOf(1234, 'echo old > file; chmod 600 file');
      await agent(stage, project, 'stays', { iso: 'uid', uid: '7006', gid: '7007' });
      await inKeptJail(
        stage,
        async () => {
          const seconds = ownSeconds();
          const run = async (script: string) => (await envelopeOf(stage, project, script)).stdout?.text;
          const look = 'id -u; id -g; stat -c %u:%g file; cat file; echo more >> file; touch ~/kept';
          assert.equal(await run(look), '7006\n7007\n7006:7007\nold\n');
          assert.equal(await run(`${look}; echo x > made`), '7006\n7007\n7006:7007\nold\nmore\n');
          await ok(stage, project, ['rollback']);
          assert.equal(
            await run('cat file; ls made 2> /dev/null; touch again; stat -c %u:%g again'),
            'old\nmore\n7006:7007\n',
          );
          await run(`sleep ${seconds} &`);
          assert.deepEqual(uidsOutside(seconds), [String(0x70000000 + 7006)]);
        },
        { project, options: ['--agent', 'stays'] },
      );
      await ok(stage, project, ['apply']);
      const applied = ['file', 'again'].map((name) => statSync(join(project, name)).uid);
      assert.deepEqual([...applied, readFileSync(join(project, 'file'), 'utf8')], [1234, 1234, 'old\nmore\n']);
    });

    test('iso uid: outside, too, the uid is the agent’s own, shifted', async () => {
      const project = projectOf(1234, ':');
      await agent(stage, project, 'seen', { iso: 'uid', uid: '7003', gid: '7003' });
      const seconds = ownSeconds();
      const running = stage.startCtx(project, ['exec', '--agent', 'seen', '--', 'sleep', seconds]);
      await until(() => uidsOutside(seconds).length > 0, 'the command runs');
      const uids = uidsOutside(seconds);
      running.child.kill('SIGTERM');
      await running.finished;
      assert.deepEqual(uids, [String(0x70000000 + 7003)]);
    });

    test('iso uid: where it is at work in a fork nobody with another uid comes to it, whichever way', async () => {
      const project = projectOf(1234, ':');
      await agent(stage, project, 'works', { iso: 'uid', uid: '7008', gid: '7008' });
      const refusesBeside = async (...ways: readonly (readonly string[])[]) => {
        const seconds = ownSeconds();
        const running = stage.startCtx(project, ['exec', '--agent', 'works', '--', 'sleep', seconds]);
        await until(() => uidsOutside(seconds).length > 0, 'the command runs');
        try {
          for (const words of ways) {
            const { stderr } = await stage.ctx(project, words);
            assert.match(stderr, /runs with another uid.*\(EBUSY\)/, words.join(' '));
          }
        } finally {
          running.child.kill('SIGTERM');
          await running.finished;
        }
      };
      await refusesBeside(['exec', '--', 'true'], ['exec', '--readonly', '--', 'true'], ['jail', 'start']);
      await inKeptJail(stage, () => refusesBeside(['jail', 'exec', '--', 'true']), { project });
    });

    test('iso uid: the host’s files are to it what they are to that uid, and read-only', async () => {
      const project = projectOf(1234, ':');
      const data = join(stage.directory, 'data-own');
      mkdirSync(data);
      for (const [name, uid, gid, mode] of [
        ['mine', 7004, 0, 0o600],
        ['group', 0, 7044, 0o640],
        ['secret', 1234, 1234, 0o600],
        ['open', 0, 0, 0o644],
      ] as const) {
        writeFileSync(join(data, name), `${name}\n`);
        chownSync(join(data, name), uid, gid);
        chmodSync(join(data, name), mode);
      }
      await agent(stage, project, 'reader', { iso: 'uid', uid: '7004', gid: '7004', groups: '7044' });
      const script = `cd ${data}; for f in mine group secret open; do cat $f || echo no; done; id -G; echo x > mine || echo no`;
      const { stdout } = await exec(stage, project, ['--agent', 'reader', '--read', data], script);
      assert.equal(stdout?.text, 'mine\ngroup\nno\nopen\n7004 7044\nno\n');
      await ok(stage, project, ['agent', 'set', 'reader', 'groups', '']);
      const without = await exec(
        stage,
        project,
        ['--agent', 'reader', '--read', data],
        `cat ${data}/group || echo no; id -G`,
      );
      assert.equal(without.stdout?.text, 'no\n7004\n');
    });

    test('iso userns: it is nobody’s number inside and the workspace’s owner outside, so that its fork and caches are its own', async () => {
      for (const owner of [0, 1234]) {
        const project = projectOf(owner, 'echo old > file; chmod 600 file');
        const name = `nested-${owner}`;
        await agent(stage, project, name, { iso: 'userns' });
        const seconds = ownSeconds();
        const script = `${proud}; id -u; stat -c %u file; echo new > file; touch made; sleep ${seconds}; exit 0`;
        const running = stage.startCtx(project, ['exec', '--json', '--agent', name, '--', 'sh', '-c', script]);
        let outside: readonly string[] = [];
        await until(() => {
          outside = uidsOutside(seconds);
          return outside.length > 0;
        }, 'the command runs');
        assert.deepEqual(outside, [String(0x70000000 + owner)]);
        for (const pid of processesCalled('sleep', seconds)) process.kill(pid, 'SIGKILL');
        const { stdout } = await running.finished;
        const [uid = '', file] = ((parseJson(stdout) as Envelope).stdout?.text ?? '').split('\n');
        assert.ok(Number(uid) >= 0x0e000000 && file === uid, stdout);
        await ok(stage, project, ['apply']);
        assert.deepEqual(
          ['file', 'made'].map((each) => statSync(join(project, each)).uid),
          [owner, owner],
        );
      }
    });

    test('an agent without iso uid still has to be the workspace owner', async () => {
      const project = projectOf(1234, ':');
      await agent(stage, project, 'other', { uid: '7005', gid: '7005' });
      const { code, stderr } = await stage.ctx(project, ['exec', '--agent', 'other', '--', 'true']);
      assert.equal(code, 13);
      assert.match(stderr, /runs as 7005:7005.*iso uid/s);
    });
  });
});
