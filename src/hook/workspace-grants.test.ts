import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { HookHost } from './hook-host.js';
import { HostResolver } from './resolve-path.js';
import { workspaceGrants } from './workspace-grants.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-quick-')));
after(() => rmSync(base, { recursive: true, force: true }));
const [home, own, system] = [join(base, 'home'), join(base, 'own'), join(base, 'system')];
const project = join(home, 'project');
for (const directory of [project, own, system]) mkdirSync(directory, { recursive: true });
const host = {
  store: join(home, 'store'),
  home,
  hidden: [join(project, 'hidden')],
  operatorDirectories: [own, system],
} as unknown as HookHost;
const quick = (directory: string) => workspaceGrants(host, directory, new Set(['Task']), new HostResolver());

describe('the quick answer', () => {
  it('is the workspace alone, without what is hidden and without what programs outside obey', async () => {
    const grants = await quick(project);
    const access = (path: string) => grants?.accessTo(path);
    assert.deepEqual(
      ['a', 'deep/er/a', 'hidden', 'hidden/a', '.git/config', '.claude', '.mcp.json', 'HEAD', '.ctx/x'].map((name) =>
        access(join(project, name)),
      ),
      ['write', 'write', 'none', 'none', 'read', 'read', 'read', 'read', 'read'],
    );
    for (const path of [home, join(home, 'other'), `${project}2`, '/etc/passwd', '/usr/bin/env', '/'])
      assert.equal(access(path), 'none', path);
  });

  it('keeps what programs outside obey from being written where the harness was started and at the top, and nowhere between', async () => {
    const repository = join(home, 'repository');
    const start = join(repository, 'deep', 'er');
    for (const directory of [start, join(repository, '.git')]) mkdirSync(directory, { recursive: true });
    const obeyed = ['.claude', '.claude/settings.json', '.mcp.json', '.git', '.git/config', 'HEAD', '.ctx', '.ctx/x'];
    for (const [from, kept] of [
      [start, [repository, start]],
      [join(repository, 'deep'), [repository, join(repository, 'deep')]],
      [repository, [repository]],
    ] as const) {
      const grants = await quick(from);
      for (const place of [repository, join(repository, 'deep'), start]) {
        const isKept = kept.includes(place);
        for (const name of obeyed) {
          const path = join(place, name);
          assert.equal(grants?.accessTo(path), isKept ? 'read' : 'write', `${path} from ${from}`);
        }
        assert.equal(grants?.accessTo(join(place, 'a')), 'write', place);
        const closed = kept.some((each) => each === place || each.startsWith(`${place}/`));
        assert.equal(grants?.readOnlyIn(place) !== undefined, closed, `${place} from ${from}`);
      }
    }
  });

  it('is not given in a place of the system, of which the whole Authority shows parts', async () => {
    const below = ['/etc', '/usr/lib', '/usr/share', '/lib'].flatMap((place) => {
      const names = existsSync(place) ? readdirSync(place, { withFileTypes: true }) : [];
      return names
        .filter((entry) => entry.isDirectory())
        .slice(0, 3)
        .map(({ name }) => join(place, name));
    });
    assert.ok(['/etc/', '/usr/'].every((place) => below.some((path) => path.startsWith(place))));
    for (const path of below) assert.equal(await quick(path), undefined, path);
  });

  it('is not given where an operator has a file of agents, in any of the places for one', async () => {
    for (const directory of host.operatorDirectories) {
      const file = join(directory, 'agents.toml');
      writeFileSync(file, '');
      assert.equal(await quick(project), undefined, directory);
      rmSync(file);
    }
    assert.notEqual(await quick(project), undefined);
  });
});
