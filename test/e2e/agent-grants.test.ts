/** What a person grants an agent as its supervisor: beyond its parent, exactly that, in the record, and taken away again. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordsOf } from '../support/record.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('a child gets what its parent has not by a grant alone, and loses it with it', async () => {
    const project = stage.project();
    const data = stage.makeDirectory('data');
    stage.shell(data, 'echo secret > file');
    const ctx = async (words: readonly string[], code = 0) => {
      const done = await stage.ctx(project, words);
      assert.equal(done.code, code, `ctx ${words.join(' ')}\n${done.stdout}${done.stderr}`);
      return `${done.stdout}${done.stderr}`;
    };
    await ctx(['agent', 'new', 'coder']);
    await ctx(['agent', 'grant', 'coder', 'agent:reviewer', 'create']);
    await ctx(['agent', 'new', 'reviewer', '--parent', 'coder']);
    const read = ['exec', '--agent', 'reviewer', '--', 'cat', join(data, 'file')];
    await ctx(read, 1);
    const mount = `${data}\t${data}\tro\t-\n`;
    assert.match(await ctx(['agent', 'set', 'reviewer', 'mount', mount], 13), /parent does not see .*ctx agent grant/s);
    assert.match(await ctx(['agent', 'grant', 'reviewer', 'read', '../data']), /beyond its parent: .*does not see/);
    assert.match(await ctx(read), /secret/);
    assert.match(await ctx(['agent', 'grant', 'reviewer', 'read', data]), /nothing to do/);
    await ctx(['agent', 'grant', 'reviewer', 'tool:deploy', 'execute']);
    await ctx(['agent', 'grant', 'reviewer', 'connect', 'example.org']);
    await ctx(['why', '--agent', 'reviewer', 'connect', 'example.net'], 13);
    const records = recordsOf(stage.store).filter(({ type, status }) => type === 'agent.grant' && status === 'ok');
    const [, ofPath] = records.map(({ facts }) => facts);
    assert.deepEqual([ofPath?.['what'], ofPath?.['by']], [`read ${data}`, `operator:${user.uid}`]);
    assert.match(JSON.stringify(ofPath?.['beyond']), /"hidden path"/);
    const supervised = () => readFileSync(join(stage.store, 'ctx/agent/reviewer.d/supervised'), 'utf8');
    assert.equal(supervised().trim().split('\n').length, 4);
    await ctx(['agent', 'revoke', 'reviewer', 'read', data]);
    await ctx(['agent', 'revoke', 'reviewer', 'connect', 'example.org']);
    await ctx(['agent', 'revoke', 'reviewer', 'tool:deploy', 'execute']);
    assert.equal(supervised(), '');
    await ctx(read, 1);
  });

  test('a grant that is wrong changes nothing, and files of grants are written by grants alone', async () => {
    const project = stage.project();
    await stage.json(project, ['agent', 'new', 'other']);
    const before = await stage.json(project, ['agent', 'show', 'other']);
    const wrong = [
      ['read', '/proc'],
      ['read', '/no/such'],
      ['read', stage.store],
      ['group', 'wheel'],
      ['tool:x', 'read'],
      ['nothing', 'x'],
      ['connect', 'not a host'],
    ];
    for (const words of wrong) {
      const { code, stderr } = await stage.ctx(project, ['agent', 'grant', 'other', ...words]);
      assert.equal(code, 2, `${words.join(' ')}: ${stderr}`);
    }
    assert.equal((await stage.ctx(project, ['agent', 'grant', 'nosuch', 'group', '1'])).code, 1);
    const grant = '{"by":"operator:0","excess":{"kind":"group","gid":0}}\n';
    assert.match((await stage.ctx(project, ['agent', 'set', 'other', 'supervised', grant])).stderr, /EPERM/);
    const spec = ['agent', 'new', 'more', '--spec', '-'];
    assert.equal((await stage.ctx(project, spec, { input: JSON.stringify({ supervised: grant }) })).code, 2);
    assert.deepEqual(await stage.json(project, ['agent', 'show', 'other']), before);
  });
});
