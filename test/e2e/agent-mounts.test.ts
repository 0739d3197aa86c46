/** Mount lines of agents: trees of the VFS, and the workspace at another path, in every kind of jail and within a parent's. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { exec, fails, ok, withoutViews } from '../support/agents.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const lines = (...mounts: readonly (readonly string[])[]) =>
  mounts
    .map(([source, target, mode = 'ro', options = 'rbind']) => `${source}\t${target}\t${mode}\t${options}\n`)
    .join('');

forUsersInTurn((user, turn) => {
  describe('mounts of an agent', { skip: withoutViews, concurrency: 1 }, () => {
    const stage = useWarmStage(user);

    turn.test('trees and the workspace are where its file says, reported, undone, and known to ctx why', async () => {
      const project = stage.project('mkdir -p docs .ctx; echo d > docs/d; echo a > a; echo "{}" > .ctx/note');
      const assets = stage.project('echo asset > x');
      const notes = join(stage.project('true'), 'notes.ctx');
      await ok(stage, project, ['agent', 'new', 'coder']);
      const mount = lines(
        ['memory:', '/scratch', 'rw', '-'],
        [`chunked:${notes}`, '/notes', 'rw', 'noexec'],
        [`host:${assets}`, '/assets'],
        [project, '/workspace', 'rw'],
        [`${project}/docs`, '/documents'],
      );
      await ok(stage, project, ['agent', 'set', 'coder', 'mount', mount]);
      await ok(stage, project, ['agent', 'set', 'coder', 'cwd', '/workspace']);
      const report = await exec(
        stage,
        project,
        'coder',
        `pwd; cat a documents/d /documents/d /assets/x 2>&1; echo s > /scratch/f && cat /scratch/f
        echo n > /notes/n; cp /bin/true /notes/t; /notes/t 2>&1; touch /assets/y /documents/y .ctx/y 2>&1
        mkdir one && mv one two && echo made > two/new; cat ${project}/two/new`,
      );
      const said = report.stdout?.text ?? '';
      assert.match(said, /^\/workspace\na\ncat: documents\/d: No such file.*\nd\nasset\ns\n/);
      assert.match(said, /\/notes\/t: (Permission denied|not found)/);
      for (const path of ['/assets/y', '/documents/y', '.ctx/y']) {
        assert.match(said, new RegExp(`touch: cannot touch '${path}': Read-only file system`));
      }
      assert.match(said, /made\n$/);
      assert.deepEqual(report.live, []);
      assert.deepEqual(
        report.changes.map(({ kind, path }) => `${kind} ${path}`),
        ['added two', 'added two/new'],
      );
      const inNotes = report.mounts?.find(({ target }) => target === '/notes');
      assert.deepEqual([inNotes?.undoable, inNotes?.changes?.map(({ path }) => path)], [true, ['n', 't']]);
      const why = async (...question: readonly string[]) =>
        (await stage.ctx(project, ['why', '--agent', 'coder', ...question])).stdout.split('\n')[0];
      assert.equal(await why('read', '/workspace/two/new'), 'read /workspace/two/new: allowed');
      assert.equal(await why('write', '/workspace/.ctx/y'), 'write /workspace/.ctx/y: refused (EROFS)');
      assert.equal(await why('write', '/scratch/f'), 'write /scratch/f: allowed');
      assert.equal(await why('write', '/assets/x'), 'write /assets/x: refused (EROFS)');
      assert.equal(await why('exec', '/notes/t'), 'exec /notes/t: refused (EACCES)');
      assert.match(await ok(stage, project, ['rollback']), /took back .*notes\.ctx/);
      assert.equal(await ok(stage, project, ['vfs', 'ls', `chunked:${notes}`]), '');
    });

    turn.test('a kept jail shows them from command to command, and lets go of the fork in between', async () => {
      const project = stage.project('echo a > a');
      await ok(stage, project, ['agent', 'new', 'kept']);
      const mount = lines(['memory:', '/scratch', 'rw', '-'], [project, '/workspace', 'rw']);
      await ok(stage, project, ['agent', 'set', 'kept', 'mount', mount]);
      await ok(stage, project, ['jail', 'start', '--agent', 'kept']);
      try {
        const script = 'echo x >> /scratch/f; echo x >> /workspace/g; cat /scratch/f /workspace/g';
        for (const times of [1, 2, 3]) {
          const report = await exec(stage, project, 'kept', script);
          assert.notEqual(report.keptJail, null);
          assert.equal(report.stdout?.text, 'x\n'.repeat(2 * times));
          await ok(stage, project, ['checkpoint', 'save', `after-${times}`]);
        }
        await ok(stage, project, ['rollback']);
        assert.equal((await exec(stage, project, 'kept', 'cat /workspace/g')).stdout?.text, 'x\nx\n');
      } finally {
        await ok(stage, project, ['jail', 'stop']);
      }
    });

    test('noexec holds in the workspace, too, for a kept jail and for its other path, and not for those beside', async () => {
      const project = stage.project("mkdir part; printf '#!/bin/sh\\necho ran\\n' > run; chmod 755 run; cp run part");
      for (const name of ['still', 'partly', 'free']) await ok(stage, project, ['agent', 'new', name]);
      const mount = lines([project, project, 'rw', 'rbind,noexec'], [project, '/workspace', 'rw']);
      await ok(stage, project, ['agent', 'set', 'still', 'mount', mount]);
      const run = 'for at in . part /workspace; do $at/run; done 2>&1; cp run new; ./new 2>&1; rm new; true';
      const refused = /^(.*: \S*run: Permission denied\n){3}.*new: Permission denied\n$/;
      const said = async () => (await exec(stage, project, 'still', run)).stdout?.text ?? '';
      assert.match(await said(), refused);
      for (const path of ['run', 'part/run', '/workspace/run']) {
        const { stdout } = await stage.ctx(project, ['why', '--agent', 'still', 'exec', path]);
        assert.match(stdout, /refused \(EACCES\)/, path);
      }
      await ok(stage, project, ['jail', 'start', '--agent', 'still']);
      try {
        for (const _ of [1, 2]) {
          assert.match(await said(), refused);
          const beside = await exec(stage, project, 'free', './run; part/run');
          assert.deepEqual([beside.stdout?.text, beside.keptJail], ['ran\nran\n', null]);
          await ok(stage, project, ['checkpoint', 'save']);
        }
      } finally {
        await ok(stage, project, ['jail', 'stop']);
      }
      const waiting = 'touch here; while [ ! -e go ]; do sleep 0.05; done; ./run 2>&1';
      for (const [first, second, text] of [
        ['still', 'free', 'ran\n'],
        ['free', 'still', 'sh: 1: ./run: Permission denied\n'],
      ] as const) {
        const other = exec(stage, project, first, `rm -f go; ${waiting}`);
        const beside = 'while [ ! -e here ]; do sleep 0.05; done; ./run 2>&1; rm here; touch go';
        assert.equal((await exec(stage, project, second, beside)).stdout?.text, text, second);
        assert.equal((await other).stdout?.text === 'ran\n', first === 'free', first);
      }
      const part = lines([join(project, 'part'), join(project, 'part'), 'ro', 'rbind,noexec']);
      await ok(stage, project, ['agent', 'set', 'partly', 'mount', part]);
      await fails(stage, project, 69, /noexec for a part of the workspace is not supported yet/, [
        ...['exec', '--agent', 'partly', '--', 'true'],
      ]);
    });

    turn.test('a child has what its parent shows it, whole and no more', async () => {
      const project = stage.project('mkdir docs; echo d > docs/d');
      const notes = join(stage.project('true'), 'notes.ctx');
      await ok(stage, project, ['agent', 'new', 'parent']);
      await ok(stage, project, ['agent', 'set', 'parent', 'policy', 'allow parent_t agent:child create\n']);
      const mount = lines(
        [`chunked:${notes}`, '/notes', 'rw', '-'],
        [project, '/workspace'],
        ['memory:', '/m', 'ro', '-'],
      );
      await ok(stage, project, ['agent', 'set', 'parent', 'mount', mount]);
      const child = (mounts: readonly (readonly string[])[]) => {
        const spec = join(stage.project('true'), 'child.json');
        writeFileSync(spec, JSON.stringify({ mount: mounts }));
        return ['agent', 'new', 'child', '--parent', 'parent', '--spec', spec];
      };
      await fails(stage, project, 13, /only reads \/m/, child([['/m', '/m', 'rw']]));
      await fails(stage, project, 13, /only reads \/workspace/, child([['/workspace', '/w', 'rw']]));
      await fails(
        stage,
        project,
        13,
        /\/notes\/part is a part of the tree at \/notes/,
        child([['/notes/part', '/n', 'ro']]),
      );
      await fails(stage, project, 13, /does not see memory:/, child([['memory:', '/own', 'rw']]));
      await fails(stage, project, 2, /unknown engine 'nfs'/, child([['nfs:x', '/own', 'rw']]));
      await exec(stage, project, 'parent', 'echo n > /notes/n');
      await ok(
        stage,
        project,
        child([
          ['/notes', '/given', 'ro'],
          ['/workspace/docs', '/documents', 'ro'],
        ]),
      );
      const script = 'cat /given/n /documents/d; touch /given/x /documents/x 2>&1; ls /notes /m 2>&1';
      const said = (await exec(stage, project, 'child', script)).stdout?.text ?? '';
      assert.match(said, /^n\nd\n(touch: .*Read-only file system\n){2}ls: .*No such file.*\nls: .*No such file/);
      // What the parent loses, the child has lost.
      await ok(stage, project, ['agent', 'set', 'parent', 'mount', '']);
      await fails(stage, project, 13, /does not see \/notes/, ['exec', '--agent', 'child', '--', 'true']);
    });

    turn.test('agents.toml names trees, too; what is wrong is said before anything runs', async () => {
      const project = stage.project('mkdir d; echo a > a');
      const assets = stage.project('echo asset > x');
      const operator = (source: string) => {
        const text = source === '' ? '' : `mounts = [{ source = "${source}", target = "/mnt/o" }]`;
        stage.shell(stage.store, `printf '%s\n' '[agent.container]' '${text}' > ctx/agents.toml`);
      };
      try {
        operator(`host:${assets}`);
        assert.equal(await ok(stage, project, ['exec', '--', 'cat', '/mnt/o/x']), 'asset\n');
        operator('nfs:x');
        await fails(stage, project, 2, /unknown engine 'nfs'/, ['exec', '--', 'true']);
        operator(`host:${stage.store}`);
        await fails(stage, project, 2, /which is hidden from every command/, ['exec', '--', 'true']);
      } finally {
        operator('');
      }
      await ok(stage, project, ['agent', 'new', 'bad']);
      const set = (mount: string) => ['agent', 'set', 'bad', 'mount', mount];
      await fails(stage, project, 2, /mount:1:1: expected an absolute path/, set(lines(['chunked:rel', '/x'])));
      await ok(stage, project, set(lines(['memory:', join(project, 'd', 'in'), 'rw', '-'])));
      await fails(stage, project, 2, /is inside .*, which is shown/, ['exec', '--agent', 'bad', '--', 'true']);
      await ok(stage, project, set(lines(['chunked:/nonexistent/file', '/x', 'ro', '-'])));
      await fails(stage, project, 1, /nonexistent.*ENOENT/, ['exec', '--agent', 'bad', '--', 'true']);
      assert.equal(readFileSync(join(project, 'a'), 'utf8'), 'a\n');
    });

    test('a link that the agent leaves at a mounted part of the workspace leads nowhere else', async () => {
      const project = stage.project('mkdir docs; echo d > docs/d');
      await ok(stage, project, ['agent', 'new', 'sly']);
      await ok(stage, project, ['agent', 'set', 'sly', 'mount', lines([`${project}/docs`, '/documents'])]);
      await exec(stage, project, 'sly', 'rm -r docs && ln -s /etc docs');
      const { code, stdout, stderr } = await stage.ctx(project, ['exec', '--agent', 'sly', '--', 'ls', '/documents']);
      assert.notEqual(code, 0);
      assert.doesNotMatch(stdout, /passwd/);
      assert.match(stderr, /docs/);
      await ok(stage, project, ['rollback']);
      await exec(stage, project, 'sly', 'rm -r docs');
      assert.equal((await exec(stage, project, 'sly', 'ls -A /documents; echo none')).stdout?.text, 'none\n');
    });
  });
});
