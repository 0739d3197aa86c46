/** `ctx vfs ...` as a person uses it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Stage } from '../support/stage.js';
import { forEitherUser, spawnIdentity } from '../support/users.js';

forEitherUser((user) => {
  const stage = new Stage(user);
  let directory = '';
  before(() => {
    stage.set();
    directory = stage.makeDirectory('trees');
  });
  after(() => stage.strike());

  const vfs = (words: readonly string[], input: string | Buffer = '') => {
    const { status, stdout, stderr } = spawnSync(stage.program, ['vfs', ...words], {
      cwd: directory,
      input,
      env: stage.environment,
      ...spawnIdentity(user),
    });
    return { status, stdout: stdout.toString('latin1'), stderr: stderr.toString() };
  };
  const succeeds = (words: readonly string[], input?: string | Buffer) => {
    const { status, stdout, stderr } = vfs(words, input);
    assert.equal(status, 0, stderr);
    return stdout;
  };

  describe('a chunked tree', () => {
    test('is made by put, keeps bytes, and a snapshot keeps it as it was', () => {
      const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, index) => (index * index) & 255));
      succeeds(['put', 'chunked:notes', '/data', '--parents'], bytes);
      succeeds(['put', 'chunked:notes', '/deep/er/todo', '--parents'], 'milk');
      assert.deepEqual(Buffer.from(succeeds(['cat', 'chunked:notes', '/data']), 'latin1'), bytes);
      succeeds(['snapshot', 'chunked:notes', 'monday']);
      succeeds(['put', 'chunked:notes', '/deep/er/todo'], 'eggs');
      succeeds(['rm', 'chunked:notes', '/data']);
      assert.equal(succeeds(['cat', 'chunked:notes', '/deep/er/todo']), 'eggs');
      assert.equal(succeeds(['cat', 'chunked:notes@monday', '/deep/er/todo']), 'milk');
      assert.deepEqual(Buffer.from(succeeds(['cat', 'chunked:notes@monday', '/data']), 'latin1'), bytes);
      const listed = JSON.parse(succeeds(['ls', 'chunked:notes@monday', '/', '--json'])) as {
        entries: { name: string }[];
      };
      assert.deepEqual(
        listed.entries.map(({ name }) => name),
        ['data', 'deep'],
      );
      const checked = JSON.parse(succeeds(['check', 'chunked:notes', '--json'])) as { problems: []; snapshots: [] };
      assert.deepEqual(checked.problems, []);
      assert.equal(checked.snapshots.length, 1);
      assert.match(vfs(['put', 'chunked:notes@monday', '/x'], 'x').stderr, /EROFS/);
      succeeds(['rm', 'chunked:notes', '/deep', '--recursive']);
      succeeds(['check', 'chunked:notes', '--collect']);
      assert.equal(succeeds(['cat', 'chunked:notes@monday', '/deep/er/todo']), 'milk');
      const { kept } = JSON.parse(succeeds(['restore', 'chunked:notes', 'monday', '--json'])) as { kept: string };
      assert.equal(succeeds(['cat', 'chunked:notes', '/deep/er/todo']), 'milk');
      succeeds(['put', 'chunked:notes', '/deep/er/todo'], 'tea');
      assert.equal(succeeds(['cat', 'chunked:notes@monday', '/deep/er/todo']), 'milk');
      assert.match(succeeds(['snapshot', 'chunked:notes']), new RegExp(`^monday .*\n${kept} `));
      assert.match(succeeds(['clone', 'chunked:notes@monday', 'draft']), /made clone chunked:notes@draft of 4 entries/);
      assert.match(vfs(['put', 'chunked:notes@draft', '/x'], 'x').stderr, /EROFS/);
      succeeds(['put', 'chunked:notes@draft', '/x', '--writable'], 'of the draft');
      assert.equal(succeeds(['cat', 'chunked:notes@draft', '/x']), 'of the draft');
      assert.match(vfs(['cat', 'chunked:notes', '/x']).stderr, /ENOENT/);
      assert.match(succeeds(['snapshot', 'chunked:notes']), /^draft .* clone$/m);
      for (const name of ['monday', kept, 'draft']) succeeds(['snapshot', 'chunked:notes', name, '--delete']);
      assert.equal(succeeds(['snapshot', 'chunked:notes']), '');
      assert.match(vfs(['snapshot', 'chunked:notes', 'monday', '--delete']).stderr, /no such snapshot/);
      assert.match(vfs(['restore', 'chunked:notes', 'monday']).stderr, /no such snapshot/);
      assert.equal(vfs(['snapshot', 'chunked:notes', '--delete']).status, 2);
      succeeds(['check', 'chunked:notes', '--collect']);
      succeeds(['check', 'chunked:notes']);
      assert.equal(succeeds(['cat', 'chunked:notes', '/deep/er/todo']), 'tea');
    });

    test('says what is wrong with what it is given', () => {
      writeFileSync(join(directory, 'garbage'), Buffer.alloc(10_000, 1));
      assert.match(vfs(['ls', 'chunked:garbage']).stderr, /not the file of a chunk store.*EINVAL/);
      assert.match(vfs(['ls', 'chunked:nothing']).stderr, /ENOENT/);
      assert.ok(!existsSync(join(directory, 'nothing')), 'looking makes nothing');
      succeeds(['put', 'chunked:whole', '/f'], 'x'.repeat(100_000));
      assert.match(vfs(['ls', 'chunked:whole@never']).stderr, /no such snapshot/);
      const damaged = readFileSync(join(directory, 'whole'));
      const at = damaged.indexOf('x'.repeat(64));
      assert.ok(at > 0);
      damaged[at + 10] = 0x79;
      writeFileSync(join(directory, 'whole'), damaged);
      const read = vfs(['cat', 'chunked:whole', '/f']);
      assert.equal(read.status, 1);
      assert.match(read.stderr, /chunk .* is damaged.*EIO/);
      const checked = vfs(['check', 'chunked:whole']);
      assert.equal(checked.status, 1);
      assert.match(checked.stdout, /is damaged/);
    });
  });

  describe('a table of trees', () => {
    test('is one tree to every verb, and keeps what is changed over a directory apart from it', () => {
      stage.makeDirectory('trees/base/sub');
      writeFileSync(join(directory, 'base', 'f'), 'base');
      writeFileSync(join(directory, 'base', 'sub', 'g'), 'g');
      writeFileSync(
        join(directory, 'vfs.toml'),
        '[mount."/work"]\nupper = "chunked:changes"\nlower = "host:base"\n[mount]\n"/notes" = "chunked:own"\n"/base" = "host:base"\n',
      );
      succeeds(['put', 'vfs.toml', '/notes/todo'], 'milk');
      succeeds(['put', 'vfs.toml', '/work/f'], 'changed');
      succeeds(['rm', 'vfs.toml', '/work/sub', '--recursive']);
      assert.equal(succeeds(['cat', 'vfs.toml', '/work/f']), 'changed');
      assert.equal(succeeds(['cat', 'vfs.toml', '/base/f']), 'base');
      assert.equal(succeeds(['cat', 'vfs.toml', '/base/sub/g']), 'g');
      assert.match(vfs(['cat', 'vfs.toml', '/work/sub/g']).stderr, /ENOENT/);
      assert.match(succeeds(['ls', 'vfs.toml']), /base\n[\s\S]*notes\n[\s\S]*work\n/);
      assert.match(vfs(['put', 'vfs.toml', '/base/f'], 'x').stderr, /EROFS/);
      assert.match(vfs(['put', 'vfs.toml', '/x'], 'x').stderr, /EROFS/);
      assert.match(vfs(['snapshot', 'vfs.toml', 'x']).stderr, /a table of trees has no snapshots/);
      succeeds(['check', 'vfs.toml']);
      writeFileSync(join(directory, 'memory.toml'), '[mount]\n"/" = "memory:"\n"/a/base" = "host:base"\n');
      assert.equal(succeeds(['cat', 'memory.toml', '/a/base/f']), 'base', 'what it is mounted on is made in memory');
    });

    test('that is written wrongly exits 2 and says file, key and what was expected', () => {
      writeFileSync(join(directory, 'wrong.toml'), '[mount."/x"]\nspce = "memory:"\n');
      const { status, stderr } = vfs(['ls', 'wrong.toml']);
      assert.equal(status, 2);
      assert.match(
        stderr,
        /wrong\.toml: mount\."\/x"\.spce: unknown key; expected one of spec, upper, lower, writable/,
      );
      assert.match(vfs(['ls', 'missing.toml']).stderr, /missing\.toml.*ENOENT/);
    });
  });

  describe('a tree', () => {
    test('that needs something else says what', () => {
      assert.match(vfs(['put', 'memory:', '/x'], 'x').stderr, /ends with this command[\s\S]*chunked:/);
      assert.match(vfs(['put', 'chunked:deep', '/a/b'], 'x').stderr, /directory \/a does not exist[\s\S]*--parents/);
      assert.match(vfs(['put', 'chunked:no/where', '/b'], 'x').stderr, /trees\/no does not exist/);
      succeeds(['put', 'chunked:deep', '/a/b', '--parents'], 'x');
      assert.match(vfs(['rm', 'chunked:deep', '/a']).stderr, /--recursive/);
      assert.match(vfs(['check', 'chunked:deep@never']).stderr, /no such snapshot/);
      assert.match(succeeds(['check', 'host:.']), /the tree can be read/);
    });

    test('that is unknown or written wrongly exits 2 and names the forms', () => {
      for (const specification of ['gopher:x', '']) {
        const { status, stderr } = vfs(['ls', specification]);
        assert.equal(status, 2, specification);
        assert.match(stderr, /memory:, host:PATH, chunked:FILE/);
      }
    });

    test('of the host is read-only unless it is asked for, and leads nowhere else', () => {
      stage.makeDirectory('trees/h');
      writeFileSync(join(directory, 'h', 'f'), 'host\n');
      writeFileSync(join(directory, 'secret'), 'secret');
      symlinkSync('../secret', join(directory, 'h', 'rel'));
      symlinkSync(join(directory, 'secret'), join(directory, 'h', 'abs'));
      assert.equal(succeeds(['cat', 'host:h', '/f']), 'host\n');
      for (const path of ['/rel', '/../secret']) assert.match(vfs(['cat', 'host:h', path]).stderr, /ENOENT/, path);
      assert.match(vfs(['put', 'host:h', '/g'], 'x').stderr, /EROFS[\s\S]*--writable/);
      succeeds(['put', 'host:h', '/g', '--writable'], 'made');
      assert.equal(readFileSync(join(directory, 'h', 'g'), 'utf8'), 'made');
      assert.match(succeeds(['stat', 'host:h', '/rel']), /symlink/);
    });
  });
});
