/**
 * What is trusted works on trees that change under its hands. A jail on the project itself exchanges a directory with a link
 * to a place outside, without end, while ctx imports, looks, compares and applies: nothing is read from there, nothing written.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import type { Running } from '../support/process.js';
import { snapshot } from '../support/snapshot.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const skip = cannotCompile ?? false;
const rounds = process.env['CTX_SOAK'] === '1' ? 60 : 3;
const token = 'secret-c41e';

interface Race {
  readonly project: string;
  readonly outside: string;
  /** From here until the returned function is called, the names change places. */
  start(): Promise<() => Promise<void>>;
}

/** `inner` and `link` change places; `link` leads to a directory with files of the same names. */
function prepare(stage: Stage): Race {
  const project = stage.project('mkdir inner; for i in $(seq 40); do echo own > inner/file$i; done; echo x > x');
  const outside = stage.project(`for i in $(seq 40); do echo ${token} > file$i; done`);
  compileAttackProgram(project, 'race');
  // Root's jail writes as a stranger does.
  stage.shell(project, `ln -s ${outside} link; chmod 777 .`);
  return {
    project,
    outside,
    async start() {
      const racing: Running = stage.startCtx(project, [
        'jail',
        'run',
        '--',
        'sh',
        '-c',
        'echo racing; exec ./race swap inner link 60000',
      ]);
      await racing.printed('racing');
      return async () => {
        racing.child.kill('SIGKILL');
        const { stderr } = await racing.finished;
        assert.ok(!stderr.includes('renameat2'), `there was no race: ${stderr}`);
      };
    },
  };
}

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('without care a reader and a writer are led outside by it', { skip }, async () => {
    const { project, outside } = prepare(stage);
    assert.equal(stage.shell(project, `./race read inner link inner/file1 ${token} 30000`), 'won\n');
    assert.equal(
      stage.shell(project, `./race write inner link inner/file2 changed ${join(outside, 'file2')} 30000`),
      'won\n',
    );
  });

  test('an import takes nothing from outside', { skip }, async () => {
    const { project, outside, start } = prepare(stage);
    const before = snapshot(outside);
    const stop = await start();
    try {
      for (let round = 0; round < rounds; round += 1) {
        const env = { CTX_DATA: join(stage.directory, `store-import-${round}`) };
        const words = [
          'exec',
          '--wait',
          '--',
          'sh',
          '-c',
          `cat inner/* link/* 2>/dev/null | grep -c ${token}; echo looked`,
        ];
        const { stdout, stderr } = await stage.ctx(project, words, { env });
        if (stdout !== '') assert.equal(stdout, '0\nlooked\n', stderr);
      }
    } finally {
      await stop();
    }
    assert.deepEqual(snapshot(outside), before);
  });

  test('neither do diff and apply, nor do they write or remove there', { skip }, async () => {
    const { project, outside, start } = prepare(stage);
    const before = snapshot(outside);
    await stage.inside(project, 'true');
    const change = 'rm -f inner/file1; for i in $(seq 2 40); do echo agent > inner/file$i; done; echo new > inner/new';
    const stop = await start();
    try {
      for (let round = 0; round < rounds; round += 1) {
        await stage.ctx(project, ['exec', '--wait', '--', 'sh', '-c', `test -L inner || { ${change}; }`]);
        for (const words of [
          ['diff', '--wait'],
          ['apply', '--wait', '--conflicts', 'theirs'],
        ]) {
          const { stdout, code } = await stage.ctx(project, words);
          assert.ok(code !== null, `${words.join(' ')} was killed`);
          assert.ok(!stdout.includes(token), words.join(' '));
        }
      }
    } finally {
      await stop();
    }
    assert.deepEqual(snapshot(outside), before);
    // The way on is open once the race is over.
    await stage.json(project, ['drop', '--wait']);
    assert.equal(await stage.inside(project, 'cat x'), 'x\n');
  });

  test('nor does an apply of several roots, or onto another directory', { skip }, async () => {
    const { project: racing, outside, start } = prepare(stage);
    const before = snapshot(outside);
    const own = 'mkdir inner; for i in $(seq 40); do echo own > inner/file$i; done';
    const project = stage.project(own);
    // The directory that is raced in is a further root of one fork, and the target of another's --to.
    const change = 'for i in $(seq 2 40); do echo agent > inner/file$i; done; rm -f inner/file1; echo new > inner/new';
    const raced = `cd ${racing}; test -L inner || { ${change}; }`;
    const both = `(${change}); (${raced})`;
    const words = ['exec', '--wait', '--write', racing, '--', 'sh', '-c', both];
    assert.equal((await stage.ctx(project, words)).code, 0);
    const stop = await start();
    try {
      for (let round = 0; round < rounds; round += 1) {
        for (const to of [['--to', racing], []]) {
          const { stdout, code } = await stage.ctx(project, ['apply', '--wait', '--conflicts', 'theirs', ...to]);
          assert.ok(code !== null, 'apply was killed');
          assert.ok(!stdout.includes(token));
        }
        await stage.ctx(project, words);
      }
    } finally {
      await stop();
    }
    assert.deepEqual(snapshot(outside), before);
  });
});
