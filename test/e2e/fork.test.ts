/** The main job: a command works on a fork, the report says what it did, and the person keeps it or forgets it. */
import assert from 'node:assert/strict';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { recordsOf } from '../support/record.js';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const sample = `mkdir -p src/deep empty; echo one > src/one; echo two > src/deep/two; printf '#!/bin/sh\\necho run\\n' > run; chmod 755 run
  ln -s src/one link; echo secret > private; chmod 600 private; touch -d 2020-01-02T03:04:05 src/one src/deep run`;

const edits = `echo new > added; echo more >> src/one; chmod 640 run; rm private; mkdir made; echo inner > made/inner
  rm link; ln -s elsewhere link; rm -r src/deep; echo file > src/deep`;

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);

  turn.test('the directory is untouched until apply, then equal to the fork', async () => {
    const project = stage.project(sample);
    const before = snapshot(project);
    await stage.inside(project, edits);
    const seen = await stage.inside(project, 'cd .. && tar -C "$OLDPWD" -cf - . | sha256sum; cat "$OLDPWD/src/one"');
    assert.match(seen, /one\nmore\n$/);
    await stage.json(project, ['diff']);
    await stage.json(project, ['status']);
    assert.deepEqual(snapshot(project), before);

    const twin = stage.project(`${sample}; ${edits}`);
    const applied = await stage.json(project, ['apply']);
    assert.equal(applied['done'], true);
    assert.deepEqual(applied['conflicts'], []);
    assert.deepEqual(snapshot(project, { times: false }), snapshot(twin, { times: false }));
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
  });

  turn.test('apply keeps the times of what the fork did not change', async () => {
    const project = stage.project(sample);
    const before = snapshot(project);
    await stage.inside(project, 'echo more >> private; touch -d 2021-05-06T07:08:09 run; echo x >> run');
    await stage.json(project, ['apply']);
    const after = snapshot(project);
    for (const path of ['./src/one', './src/deep', './src/deep/two', './link', './empty'])
      assert.equal(after[path], before[path], path);
    assert.notEqual(after['./private'], before['./private']);
  });

  turn.test('drop forgets the changes and the private home', async () => {
    const project = stage.project(sample);
    const before = snapshot(project);
    await stage.inside(project, `${edits}; echo note > ~/note`);
    assert.equal(await stage.inside(project, 'cat ~/note'), 'note\n');
    assert.equal((await stage.json(project, ['drop']))['dropped'], 9);
    assert.deepEqual(snapshot(project), before);
    assert.equal(await stage.inside(project, 'cat src/one; ls ~; cat private'), 'one\nsecret\n');
  });

  turn.test('a fork lasts from one command to the next, and each report tells only of its own', async () => {
    const project = stage.project('echo a > a; echo b > b');
    const first = await stage.exec(project, ['sh', '-c', 'echo x > x; rm b']);
    assert.deepEqual(
      first.changes.map(({ kind, path }) => [kind, path]),
      [
        ['deleted', 'b'],
        ['added', 'x'],
      ],
    );
    assert.equal(first.pending, 2);
    const second = await stage.exec(project, ['sh', '-c', 'cat x; echo y > y']);
    assert.equal(second.stdout?.text, 'x\n');
    assert.deepEqual(
      second.changes.map(({ kind, path }) => [kind, path]),
      [['added', 'y']],
    );
    assert.equal(second.pending, 3);
    const third = await stage.exec(project, ['sh', '-c', 'rm x; echo b > b']);
    assert.deepEqual(
      third.changes.filter(({ kind }) => kind === 'restored').map(({ path }) => path),
      ['b', 'x'],
    );
    const fourth = await stage.exec(project, ['true']);
    assert.deepEqual(fourth.changes, []);
  });

  turn.test('the envelope is exact: kinds, types, sizes and modes', async () => {
    const project = stage.project(sample);
    const script = `umask 022; ${edits}; echo out; echo err >&2; exit 7`;
    const envelope = await stage.exec(project, ['sh', '-c', script]);
    const { startedAt, durationMilliseconds, resources, workspace, changes } = envelope;
    const expected: Partial<Envelope> = {
      version: 1,
      argv: ['sh', '-c', script],
      directory: project,
      exitCode: 7,
      signal: null,
      timedOut: false,
      stdout: { text: 'out\n', bytes: 4, dropped: 0 },
      stderr: { text: 'err\n', bytes: 4, dropped: 0 },
      pending: 9,
      entered: [],
      clashes: [],
      warnings: [],
    };
    for (const [name, value] of Object.entries(expected))
      assert.deepEqual(envelope[name as keyof Envelope], value, name);
    assert.equal(workspace.origin, project);
    assert.ok(Math.abs(Date.parse(startedAt) - Date.now()) < 60_000);
    assert.ok(durationMilliseconds > 0 && resources.peakMemoryKilobytes > 0);
    const brief = changes.map(({ kind, type, mode, size, content, path }) =>
      [kind, type, (mode & 0o7777).toString(8), type === 'file' ? size : '', content, path].join(' '),
    );
    assert.deepEqual(
      brief.sort(),
      [
        'added directory 755  true made',
        'added file 644 4 true added',
        'added file 644 6 true made/inner',
        'modified file 644 5 true src/deep',
        'deleted file 600 7 true private',
        'deleted file 644 4 true src/deep/two',
        'modified file 640 19 false run',
        'modified file 644 9 true src/one',
        'modified symlink 777  true link',
      ].sort(),
    );
  });

  turn.test('the report for people goes to stderr and names every change', async () => {
    const project = stage.project(sample);
    const { code, stdout, stderr } = await stage.ctx(project, [
      'exec',
      '--report',
      'always',
      '--',
      'sh',
      '-c',
      `echo out; ${edits}`,
    ]);
    assert.equal(code, 0);
    assert.equal(stdout, 'out\n');
    for (const line of ['A added  4 B', 'D private', 'M run  mode 640', 'A made/', 'M link  symlink'])
      assert.ok(stderr.includes(`  ${line}\n`), stderr);
    assert.match(stderr, /pending, your directory untouched/);
    const quiet = await stage.ctx(project, ['exec', '--', 'echo', 'out']);
    assert.deepEqual([quiet.stdout, quiet.stderr], ['out\n', '']);
  });

  turn.test('the record has every command, before and after, and every apply and drop', async () => {
    const project = stage.project();
    const { workspace } = await stage.exec(project, ['touch', 'x']);
    await stage.json(project, ['apply']);
    await stage.json(project, ['drop']);
    const entries = recordsOf(stage.store).filter(({ object }) => object === `fork/${workspace.vault}/main`);
    assert.deepEqual(
      entries.map(({ type, status }) => `${type} ${status}`),
      // An apply begins twice: before it does anything, and with what it will write.
      ['exec begin', 'exec ok', 'apply begin', 'apply begin', 'apply ok', 'drop begin', 'drop ok'],
    );
  });
});
