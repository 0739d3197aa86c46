/** What `ctx gc` leaves: layers that somebody may be making, what is left of a lost fork, and edits that a fork has not seen. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { open } from 'ctxfs';
import { ownSeconds, processesCalled } from '../support/process.js';
import { useWarmStage } from '../support/stage.js';
import { asOneUser } from '../support/users.js';

asOneUser((user) => {
  const stage = useWarmStage(user);
  const vaultOf = async (project: string) => {
    await stage.inside(project, 'touch made');
    const vaults = readdirSync(join(stage.store, 'vault')).map((name) => join(stage.store, 'vault', name));
    const isOf = (vault: string) => {
      const meta = join(vault, 'meta.json');
      // A test beside this one may be making one just now.
      return existsSync(meta) && readFileSync(meta, 'utf8').includes(JSON.stringify(project));
    };
    return vaults.find(isOf) ?? assert.fail(`no vault of ${project}`);
  };
  /** A layer that no state names, as one is that is being made. */
  const unnamed = (vault: string, mark: string) => {
    const layer = join(vault, 'layer', `unnamed-${mark}`);
    mkdirSync(join(layer, 'workspace'), { recursive: true });
    if (mark !== 'nobody') writeFileSync(join(layer, mark), '');
    return layer;
  };

  test('a layer without a name goes when those who may be making it are not at work', async () => {
    const project = stage.project('echo 1 > file');
    const vault = await vaultOf(project);
    for (const fork of ['quiet', 'lost']) assert.equal((await stage.ctx(project, ['fork', 'create', fork])).code, 0);
    const lost = join(vault, 'fork', 'lost');
    for (const name of readdirSync(lost)) if (name.startsWith('state-')) truncateSync(join(lost, name));
    const seconds = ownSeconds();
    const running = stage.startCtx(project, ['exec', '--', 'sh', '-c', `echo ready; exec sleep ${seconds}`]);
    await running.printed('ready');
    // Not before it runs: a collection is of the whole store, and tests beside this one collect, too.
    const marks = ['nobody', 'of-fork-main', 'of-fork-quiet', 'of-fork-lost', 'of-fork-deleted', 'of-trunk'];
    const layers = marks.map((mark) => unnamed(vault, mark));
    const left = () => marks.filter((_, index) => existsSync(layers[index] ?? ''));
    assert.equal((await stage.ctx(project, ['gc'])).code, 0);
    const sleeping = processesCalled('sleep', seconds);
    assert.equal(sleeping.length, 1, 'the command still runs');
    assert.deepEqual(left(), ['nobody', 'of-fork-main', 'of-fork-lost'], 'while a command runs in main');
    for (const pid of sleeping) process.kill(pid, 'SIGTERM');
    await running.finished;
    assert.equal((await stage.ctx(project, ['gc'])).code, 0);
    assert.deepEqual(left(), ['of-fork-lost'], 'when nothing runs');
  });

  test('an edit stays known until the last fork has seen it', async () => {
    const project = stage.project('echo 1 > file');
    const vault = await vaultOf(project);
    assert.equal((await stage.ctx(project, ['fork', 'create', 'behind'])).code, 0);
    const edits = () => readdirSync(join(vault, 'edits')).length;
    for (const text of ['2', '3']) {
      stage.shell(project, `echo ${text} > file`);
      assert.equal(await stage.inside(project, 'cat file'), `${text}\n`);
    }
    assert.equal(edits(), 2);
    assert.equal((await stage.ctx(project, ['gc'])).code, 0);
    assert.equal(edits(), 2, 'another fork has seen neither');
    const seen = await stage.ctx(project, ['exec', '--fork', 'behind', '--', 'cat', 'file']);
    assert.equal(seen.stdout, '3\n', seen.stderr);
  });

  test('whichever verb saves the 64th checkpoint, what nobody names goes', async () => {
    const project = stage.project('echo 1 > file');
    const workspace = await open({ directory: project, data: stage.store });
    try {
      const saves: Readonly<Record<string, () => Promise<unknown>>> = {
        exec: () => workspace.exec({ shell: 'true' }, { streams: 'capture' }),
        'checkpoint save': () => workspace.checkpoint(),
        rollback: () => workspace.rollback(),
        'rollback PATH': () => workspace.rollback({ paths: ['file'] }),
        'apply --undo': () => workspace.undoApply(),
      };
      const change = (text: string) => workspace.exec({ shell: `echo ${text} > file` }, { streams: 'capture' });
      await change('first');
      const vault = await vaultOf(project);
      for (const [verb, save] of Object.entries(saves)) {
        // An apply collects by itself.
        if (verb === 'apply --undo') await workspace.apply();
        while ((await workspace.checkpoint()).id % 64 !== 61);
        if (verb !== 'apply --undo') await change(verb);
        else await workspace.checkpoint();
        const layer = unnamed(vault, 'of-fork-main');
        assert.ok(existsSync(layer));
        await save();
        assert.ok(!existsSync(layer), verb);
      }
    } finally {
      await workspace.close();
    }
  });
});
