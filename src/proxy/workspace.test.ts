import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { hasCode } from '../base/errno.js';
import { isOwnRepository, type WorkspaceFacts, workspaceOf } from './workspace.js';

function facts(
  more: { vaults?: readonly string[]; repositories?: readonly string[]; home?: string } = {},
): WorkspaceFacts {
  return {
    home: more.home ?? '/home/ada',
    store: '/home/ada/.local/share/ctxfs',
    hasVault: (path) => more.vaults?.includes(path) ?? false,
    isRepository: (path) => more.repositories?.includes(path) ?? false,
  };
}

const isRefused = (error: unknown) => hasCode(error, 'EINVAL');

describe('the workspace of a directory', () => {
  it('is the directory itself where nothing else is known', () => {
    assert.equal(workspaceOf('/home/ada/project/src', facts()), '/home/ada/project/src');
  });

  it('is the repository it is in, the innermost one', () => {
    const repositories = ['/home/ada/project', '/home/ada/project/vendor/lib'];
    assert.equal(workspaceOf('/home/ada/project/src', facts({ repositories })), '/home/ada/project');
    assert.equal(
      workspaceOf('/home/ada/project/vendor/lib/src', facts({ repositories })),
      '/home/ada/project/vendor/lib',
    );
  });

  it('is no repository that another user has put into a directory of neither', () => {
    const [me, other, root] = [1000, 1001, 0];
    for (const [git, directory, counts] of [
      [me, other, true],
      [root, other, true],
      [other, other, true],
      [other, root, false],
      [other, me, false],
    ] as const)
      assert.equal(isOwnRepository({ git, directory }, me), counts, `${git} in a directory of ${directory}`);
    assert.equal(isOwnRepository({ git: me, directory: me }, root), true);
    assert.equal(isOwnRepository({ git: me, directory: root }, root), false);
  });

  it('is what has a vault already, before any repository', () => {
    const known = { vaults: ['/home/ada/work'], repositories: ['/home/ada/work/project'] };
    assert.equal(workspaceOf('/home/ada/work/project/src', facts(known)), '/home/ada/work');
  });

  it('is never a home that happens to be a repository: the directory below it is taken', () => {
    const known = { repositories: ['/home/ada', '/'] };
    assert.equal(workspaceOf('/home/ada/notes', facts(known)), '/home/ada/notes');
  });

  it('is refused for a home, what holds it, the system, the kernel and the store', () => {
    for (const directory of [
      '/home/ada',
      '/home',
      '/',
      '/etc',
      '/usr',
      '/usr/lib',
      '/usr/local',
      '/usr/local/share',
      '/var/lib',
      '/tmp',
      '/var/tmp',
      '/root',
      '/proc/1/cwd',
      '/sys/kernel',
      '/home/ada/.local/share/ctxfs',
      '/home/ada/.local/share/ctxfs/vault/x/fork/main/upper',
    ]) {
      assert.throws(() => workspaceOf(directory, facts()), isRefused, directory);
    }
  });

  it("is refused for everybody's homes also where the own one is elsewhere", () => {
    assert.throws(() => workspaceOf('/home', facts({ home: '/root' })), isRefused);
  });

  it('may be a project in any of those places', () => {
    for (const directory of [
      '/tmp/x',
      '/usr/src/app',
      '/usr/local/app',
      '/var/www',
      '/opt/app',
      '/home/adam',
      '/srv',
      '/app',
    ]) {
      assert.equal(workspaceOf(directory, facts()), directory);
    }
  });

  it('always holds the directory it was asked for, and never a home or a part of the store', () => {
    const part = fc.constantFrom('home', 'ada', 'a', 'b', '.local', 'share', 'ctxfs', 'tmp', 'proc');
    const path = fc.array(part, { maxLength: 6 }).map((parts) => `/${parts.join('/')}`);
    fc.assert(
      fc.property(path, fc.array(path), fc.array(path), path, (cwd, vaults, repositories, home) => {
        let found: string;
        try {
          found = workspaceOf(cwd, facts({ vaults, repositories, home }));
        } catch (error) {
          assert.ok(isRefused(error));
          return;
        }
        assert.ok(`${cwd}/`.startsWith(`${found}/`), `${found} does not hold ${cwd}`);
        assert.ok(!`${home}/`.startsWith(found === '/' ? '/' : `${found}/`), `${found} holds ${home}`);
        assert.ok(!`${found}/`.startsWith('/home/ada/.local/share/ctxfs/'));
        assert.ok(!`${found}/`.startsWith('/proc/'));
      }),
      seeded(1000),
    );
  });
});
