/** A kept jail and commands that come as quickly as they can: layers stay few, and what cannot be mounted ends one command alone. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readForkMeta } from '../../src/vault/store/fork-meta.js';
import { workspaceRoot } from '../../src/vault/store/layout.js';
import { envelopeOf, inKeptJail, isAlive } from '../support/kept-jail.js';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const commands = process.env['CTX_SOAK'] === '1' ? 2_000 : 40;
/** Merged beyond 16, of the fork and of the trunk each, and the one that was just frozen. */
const mostLayers = 2 * 17;

forEitherUser((user) => {
  const stage = useStage(user);
  const stateOf = (project: string) => {
    const origins = readdirSync(join(stage.store, 'vault')).map((id) => join(stage.store, 'vault', id));
    // Another test may be making a vault now.
    const metas = origins.filter((each) => existsSync(join(each, 'meta.json')));
    const vault = metas.find((each) => readFileSync(join(each, 'meta.json'), 'utf8').includes(`"${project}"`)) ?? '';
    const meta = readForkMeta(join(vault, 'fork', 'main'));
    assert.ok(meta);
    return { vault, meta };
  };

  test('however quickly commands come, their layers are merged before one is mounted on too many', () =>
    inKeptJail(stage, async ({ project, pid }) => {
      for (let number = 1; number <= commands; number++) {
        const { exitCode } = await envelopeOf(stage, project, `echo ${number} >n${number}; echo ${number} >>log`);
        assert.equal(exitCode, 0);
        const { base, deltas } = stateOf(project).meta;
        assert.ok(base.length + deltas.length <= mostLayers, `${deltas.length} layers after ${number} commands`);
      }
      const { stdout } = await envelopeOf(stage, project, 'wc -l <log; ls n* | wc -l').then((each) => ({
        stdout: each.stdout?.text,
      }));
      assert.equal(stdout, `${commands}\n${commands}\n`);
      assert.ok(isAlive(pid));
    }));

  test('what cannot be mounted is the error of one command: the next one runs in the same jail', () =>
    inKeptJail(stage, async ({ project, pid }) => {
      await envelopeOf(stage, project, 'echo 1 >one');
      await envelopeOf(stage, project, 'echo 2 >two');
      const { vault, meta } = stateOf(project);
      const tree = join(vault, 'layer', meta.deltas[0] ?? '', workspaceRoot);
      renameSync(tree, `${tree}.away`);
      writeFileSync(tree, '');
      const failed = await stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', 'echo 3 >three']);
      rmSync(tree);
      renameSync(`${tree}.away`, tree);
      assert.notEqual(failed.code, 0);
      assert.match(failed.stderr, /^ctx: jail: .*EINVAL/m);
      const { stdout } = await envelopeOf(stage, project, 'cat one two; ls');
      assert.equal(stdout?.text, '1\n2\none\ntwo\n');
      assert.ok(isAlive(pid), 'the jail is the same');
    }));
});
