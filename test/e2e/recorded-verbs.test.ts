/** What the record says of verbs that write a person's directory, or bring something back: what was done, also where they failed halfway. */
import assert from 'node:assert/strict';
import { chownSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordsOf } from '../support/record.js';
import { useStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

forEachUser((user) => {
  const stage = useStage(user);
  const socket = (path: string) => `python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("${path}")'`;
  const recorded = (project: string, type: string) => {
    const origin = recordsOf(stage.store).find(({ facts }) => facts?.['origin'] === project)?.object;
    return recordsOf(stage.store)
      .filter((each) => each.type === type && each.object === origin)
      .map(({ status, facts }) => ({ status, ...facts }) as Record<string, unknown>);
  };

  test('an apply of one file is whole where the fork has a socket elsewhere, which stays in the fork', async () => {
    const project = stage.project('echo one > a');
    await stage.inside(project, `echo two > a; echo new > b; mkdir d; ${socket('d/socket')}; mkfifo d/pipe`);
    assert.equal((await stage.ctx(project, ['apply', 'a'])).code, 0);
    assert.equal(readFileSync(join(project, 'a'), 'utf8'), 'two\n');
    assert.deepEqual(
      recorded(project, 'apply').map(({ status, steps }) => [status, steps]),
      [
        ['begin', undefined],
        ['begin', ['put a']],
        ['ok', ['put a']],
      ],
    );
    const { changes } = (await stage.json(project, ['diff'])) as {
      changes: readonly { path: string; type: string }[];
    };
    assert.deepEqual(
      changes.map(({ path, type }) => `${type} ${path}`),
      ['file b', 'directory d', 'fifo d/pipe', 'socket d/socket'],
    );
  });

  test('a rollback of one path brings back what was there, a socket as well, and both are in the record', async () => {
    const project = stage.project('echo one > a');
    await stage.inside(project, `echo two > a; mkdir d; ${socket('d/socket')}`);
    await stage.ctx(project, ['checkpoint', 'save', 'made']);
    await stage.inside(project, 'echo three > a; rm -r d');
    const rolled = await stage.json(project, ['rollback', 'made', 'd']);
    assert.equal((rolled['undone'] as unknown[]).length, 2);
    assert.match(await stage.inside(project, 'test -S d/socket && cat a'), /^three\n$/);
    const records = recorded(project, 'rollback');
    assert.deepEqual(
      records.map(({ status }) => status),
      ['begin', 'ok'],
    );
    assert.deepEqual(records[1]?.['changes'], ['deleted d', 'deleted d/socket']);
  });

  test('an apply that fails in the middle, and its undo, say what they have written and what they have not', {
    skip: user.uid === 0 || !isRoot ? 'needs a directory that belongs to somebody else' : false,
  }, async () => {
    const project = stage.project('mkdir m; echo one > a; echo one > m/b; echo one > z');
    await stage.inside(project, 'for name in a m/b z; do echo two > $name; done');
    const give = (owner: number) => chownSync(join(project, 'm'), owner, owner);
    give(0);
    const { code, stderr } = await stage.ctx(project, ['apply']);
    assert.notEqual(code, 0, stderr);
    assert.equal(readFileSync(join(project, 'a'), 'utf8'), 'two\n');
    assert.equal(readFileSync(join(project, 'z'), 'utf8'), 'one\n');
    const [, plan, end] = recorded(project, 'apply');
    assert.deepEqual(plan?.['steps'], ['put a', 'put m/b', 'put z']);
    assert.deepEqual(
      [end?.['status'], end?.['steps'], end?.['unwritten'], end?.['error']],
      ['failed', ['put a'], 2, 'EACCES'],
    );
    give(user.uid);
    assert.equal((await stage.ctx(project, ['apply'])).code, 0);
    give(0);
    assert.notEqual((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    const undone = recorded(project, 'apply undo').at(-1);
    assert.deepEqual([undone?.['status'], undone?.['error']], ['failed', 'EACCES']);
    give(user.uid);
    assert.equal((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    assert.ok(existsSync(join(project, 'm/b')));
  });
});
