/** `ctx why` about what an agent's jail has beside its surface: the objects at /ctx, its home, shared spaces. Each answer is tried. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { agentWith, exec, ok, withoutViews } from '../support/agents.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forUsersInTurn, spawnIdentity } from '../support/users.js';

/** Reads, writes without changing what is there, or looks at what executing would; says what the kernel says. */
const tries = `
import errno, os, stat, sys
for line in sys.argv[1:]:
    access, path = line.split(' ', 1)
    try:
        if access == 'read':
            stat.S_ISSOCK(os.stat(path).st_mode) or os.close(os.open(path, os.O_RDONLY))
        elif access == 'write':
            was = os.path.exists(path)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
            was or os.unlink(path)
        elif not stat.S_ISREG(os.stat(path).st_mode) or not os.access(path, os.X_OK):
            raise PermissionError(errno.EACCES, '')
        print(line, 'allowed')
    except OSError as error:
        print(line, errno.errorcode[error.errno])
`;

forUsersInTurn((user) => {
  describe('ctx why in an agent’s view', { skip: withoutViews }, () => {
    const stage = useWarmStage(user);

    test('it answers of objects, the home and shared spaces as the jail does', async () => {
      const project = stage.project('echo r > README.md');
      const { uid = process.getuid?.() ?? 0 } = spawnIdentity(user);
      const space = join(stage.store, 'ctx/shared/team');
      const rules = ['tool:fs.read execute', 'shared:team read', 'shared:team write', 'model:openai/small use'];
      await agentWith(
        stage,
        project,
        'coder',
        ...rules,
        'agent:helper create',
        'agent:helper read',
        'agent:helper write',
      );
      await agentWith(stage, project, 'other');
      await ok(stage, project, ['agent', 'new', 'helper', '--parent', 'coder']);
      await ok(stage, project, ['agent', 'set', 'coder', 'model', 'openai/small']);
      stage.shell(
        project,
        `mkdir -p ${space}/data ${stage.store}/ctx/model/openai/small.d && chmod 777 ${space} ${space}/data &&
        echo x > ${space}/data/x`,
      );
      const own = `/ctx/home/${uid}/agent/coder`;
      const mount = `/ctx/shared/team\t/team\trw\trbind\n${own}\t/own\trw\trbind\n/ctx/tool\t/tools\tro\t-\n`;
      await ok(stage, project, ['agent', 'set', 'coder', 'mount', mount]);
      // The home and the parts of the space are there from the first command on.
      await exec(stage, project, 'coder', 'true');
      const questions = [
        ...['read /ctx', 'read /ctx/tool/fs.read', 'exec /ctx/tool/fs.read', 'exec /ctx/tool', 'write /ctx/tool/new'],
        ...[
          'read /ctx/tool/fs.write',
          'exec /ctx/tool/fs.write',
          'read /ctx/nothing',
          'read /ctx/tool/fs.read.d/schema',
        ],
        ...['write /ctx/tool/fs.read.d/schema', 'exec /ctx/tool/fs.read.d/schema', 'read /ctx/agent/coder.d/policy'],
        ...['read /ctx/agent/coder.sock', 'read /ctx/agent/helper.d/env', 'read /ctx/agent/other.d/env'],
        ...['read /ctx/model/openai/small.d/status', 'read /ctx/model/openai/large', 'exec /tools/fs.read'],
        ...['read /tools/fs.write', 'read /team/data/x', 'read /team/data/none', 'exec /team/data/x'],
        ...['write /team/new', 'write /team/tool/new', 'write /team/agent/new', 'read /ctx/shared/team/data/x'],
        ...['write /own/new', 'write /own/session/new', 'write /own/data/new', `write ${own}/new`],
        ...[`write ${own}/log/new`, `read ${own}/none`, 'read /own/none/deeper', 'write /own/none/deeper'],
      ];
      const report = await exec(
        stage,
        project,
        'coder',
        `python3 - ${questions.map((each) => `'${each}'`).join(' ')} <<'END'
${tries}
END`,
      );
      const found = (report.stdout?.text ?? '').trim().split('\n');
      assert.equal(found.length, questions.length, JSON.stringify(report));
      const answered: string[] = [];
      for (const question of questions) {
        const [access = '', path = ''] = question.split(' ');
        const { stdout, stderr } = await stage.ctx(project, ['why', '--json', '--agent', 'coder', access, path]);
        const { allowed, code } = parseJson(stdout, stderr) as { allowed: boolean; code: string | null };
        answered.push(`${question} ${allowed ? 'allowed' : code}`);
      }
      assert.deepEqual(answered, found);
      const written = await ok(stage, project, ['why', '--agent', 'coder', 'write', '/ctx/agent/helper.d/env']);
      assert.match(written, /allowed\n {2}source +view of agent coder\n/);
      const { stdout } = await stage.ctx(project, ['why', '--agent', 'coder', 'read', '/ctx/tool/fs.write']);
      assert.match(stdout, /jail +refuse +ENOENT: .* would add: allow coder_t tool:fs\.write execute\n/);
      await ok(stage, project, ['why', '--agent', 'coder', 'model:openai/small', 'use']);
      const large = await stage.ctx(project, ['why', '--agent', 'coder', 'model:openai/large', 'use']);
      assert.match(large.stdout, /visibility +refuse +.*add its name to the agent's model file/);
      const said = await ok(stage, project, ['preamble', '--agent', 'coder']);
      assert.match(said, /^Your tools are programs in \/ctx\/tool\..*\nYou may also write to \$HOME and \/tmp: /m);
      assert.doesNotMatch(await ok(stage, project, ['preamble']), /\/ctx\/tool/);
      // Without an agent there is no view.
      assert.equal((await stage.ctx(project, ['why', 'read', '/ctx/tool'])).code, 13);
    });
  });
});
