import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contains } from './absolute-path.js';
import { parseMounts } from './mount.js';
import { operatorMounts } from './operator-mounts.js';
import { resolveSurface, type SurfaceRequest } from './resolve-surface.js';
import { parseScope, resolveScope, scopes } from './scope.js';
import { accessTo, makeSurface } from './surface.js';
import { mergeMounts, type SurfaceMode, surfaceMounts } from './surface-mounts.js';
import { cachePaths, defaultToolingPaths, expandPaths, pathEnvironment } from './tooling-paths.js';
import { View } from './view.js';
import { parseWorkspace } from './workspace-file.js';

const refused = { code: 'EINVAL' };

const surface = makeSurface({
  cwd: '/work/app',
  additionalWrites: ['/scratch', '/usr/local/cache'],
  siblingReads: ['/work/api'],
  workspaceMetadata: ['/work/app/.ctx'],
  toolingPaths: ['/home/me/.gitconfig'],
  additionalReads: ['/scratch', '/data'],
  systemReads: ['/usr'],
  hidden: ['/data/store'],
});

describe('a surface', () => {
  it('compares whole components', () => {
    assert.equal(accessTo(surface, '/work/app'), 'write');
    assert.equal(accessTo(surface, '/work/app/src/x'), 'write');
    assert.equal(accessTo(surface, '/work/apple'), 'none');
    assert.equal(accessTo(surface, '/work'), 'none');
    assert.equal(accessTo(surface, '/WORK/app'), 'none');
  });

  it('lets the most specific entry decide, both ways', () => {
    assert.equal(accessTo(surface, '/work/app/.ctx/workspace.json'), 'read');
    assert.equal(accessTo(surface, '/usr/local/cache/x'), 'write');
    assert.equal(accessTo(surface, '/usr/local'), 'read');
  });

  it('takes write where a path is listed both ways', () => {
    assert.equal(accessTo(surface, '/scratch/x'), 'write');
  });

  it('never shows what is hidden, whatever is granted above or below', () => {
    const narrow = makeSurface({ ...surface, additionalWrites: ['/data/store/inner'] });
    for (const path of ['/data/store', '/data/store/keys', '/data/store/inner/x']) {
      assert.equal(accessTo(narrow, path), 'none');
    }
    assert.equal(accessTo(narrow, '/data/other'), 'read');
  });

  it('answers none for a path that nobody resolved', () => {
    for (const path of [
      '',
      'src',
      '/work/app/../../etc',
      '/work/app//x',
      '/work/app/',
      '/work/app/./x',
      '/work/app/\0',
    ]) {
      assert.equal(accessTo(surface, path), 'none', path);
    }
  });

  it('lists what may be written, sorted, each path once', () => {
    const targets = new View(surface, []).allowedWrites().map(({ target }) => target);
    assert.deepEqual(targets, ['/scratch', '/usr/local/cache', '/work/app']);
    assert.ok(Object.isFrozen(surface) && Object.isFrozen(surface.additionalReads));
  });

  it('is refused where an entry is not canonical or all of / would be writable', () => {
    assert.throws(() => makeSurface({ cwd: '/' }), refused);
    assert.throws(() => makeSurface({ cwd: '/a', additionalWrites: ['/'] }), refused);
    assert.throws(() => makeSurface({ cwd: '/a/..' }), refused);
    assert.throws(() => makeSurface({ cwd: '/a', additionalReads: ['b'] }), refused);
  });
});

describe('the mounts of a surface', () => {
  it('stand at their own paths, sorted by target, without what does not exist', () => {
    const { mounts, skipped } = surfaceMounts(surface, (path) => path !== '/scratch');
    assert.deepEqual(skipped, ['/scratch']);
    assert.deepEqual(
      mounts.map((mount) => [mount.source === mount.target, mount.target, mount.mode]),
      [
        [true, '/data', 'ro'],
        [true, '/home/me/.gitconfig', 'ro'],
        [true, '/usr', 'ro'],
        [true, '/usr/local/cache', 'rw'],
        [true, '/work/api', 'ro'],
        [true, '/work/app', 'rw'],
        [true, '/work/app/.ctx', 'ro'],
      ],
    );
  });

  const own = parseMounts('/work\t/work\trw\t-\n', 'surface');
  const operator = parseMounts('/other\t/work\tro\t-\n/srv\t/srv\tro\t-\n', 'operator');

  it('win over an operator mount of the same target', () => {
    const { mounts, dropped } = mergeMounts(own, operator, 'additive');
    assert.deepEqual(
      mounts.map((mount) => [mount.source, mount.mode]),
      [
        ['/srv', 'ro'],
        ['/work', 'rw'],
      ],
    );
    assert.deepEqual(
      dropped.map(({ mount }) => mount.source),
      ['/other'],
    );
  });

  it('stand alone in exclusive mode, and the dropped are returned', () => {
    const { mounts, dropped } = mergeMounts(own, operator, 'exclusive');
    assert.deepEqual(mounts, own);
    assert.equal(dropped.length, 2);
  });

  it('are not merged by a mode that nobody knows', () => {
    for (const mode of ['exlusive', '', 'Additive']) {
      assert.throws(() => mergeMounts(own, operator, mode as SurfaceMode), refused);
    }
  });
});

describe("the operator's stanza", () => {
  const stanza = (container: unknown) => operatorMounts({ agent: { container } }, 'agents.toml', { HOME: '/home/me' });

  it('is additive and empty where it is left out', () => {
    assert.deepEqual(operatorMounts({}, 'agents.toml', {}), { mode: 'additive', mounts: [], dropped: [] });
  });

  it('is made of tables', () => {
    for (const value of [null, [], 'x', 1, true]) {
      for (const document of [value, { agent: value }, { agent: { container: value } }]) {
        assert.throws(() => operatorMounts(document, 'agents.toml', {}), /expected a table/, JSON.stringify(document));
      }
      assert.throws(() => stanza({ mounts: [value] }), /expected a table/, JSON.stringify(value));
    }
  });

  it('reads mounts, read-only unless it says otherwise', () => {
    const { mode, mounts } = stanza({
      surface_mode: 'exclusive',
      mounts: [{ source: '/a' }, { source: '/b', target: '/c', mode: 'rw', options: ['nodev'] }],
    });
    assert.equal(mode, 'exclusive');
    assert.deepEqual(mounts, [
      { source: '/a', target: '/a', mode: 'ro', options: [] },
      { source: '/b', target: '/c', mode: 'rw', options: ['nodev'] },
    ]);
  });

  it('names what it did not expect, and where', () => {
    const at = (document: unknown) => () => operatorMounts(document, '/c/agents.toml', {});
    for (const [document, expected] of [
      [{ agents: {} }, /\/c\/agents\.toml: top level: expected agent, got "agents"/],
      [{ surface_mode: 'exclusive' }, /top level: expected agent, got "surface_mode"/],
      [{ agent: { contaner: {} } }, /agents\.toml: agent: expected container, got "contaner"/],
      [{ agent: { surface_mode: 'exclusive' } }, /agent: expected container, got "surface_mode"/],
      [
        { agent: { container: { surface_mode: 'exlusive' } } },
        /agents\.toml: agent\.container\.surface_mode: expected one/,
      ],
      [
        { agent: { container: { mounts: [{ source: '$SECRET/x' }] } } },
        /mounts\[0\]\.source: expected a variable of HOME/,
      ],
    ] as const) {
      assert.throws(at(document), expected);
    }
  });

  it('expands variables of the closed set, and drops a mount whose variable is not set', () => {
    const { mounts, dropped } = stanza({
      mounts: [{ source: '$HOME/data' }, { source: '/a', target: '$GOPATH/x' }, { source: '$GOROOT', target: '/go' }],
    });
    assert.deepEqual(
      mounts.map(({ source, target }) => [source, target]),
      [['/home/me/data', '/home/me/data']],
    );
    assert.deepEqual(
      dropped.map(({ reason }) => reason),
      ['GOPATH is not set', 'GOROOT is not set'],
    );
  });

  it('is refused whole for one fault', () => {
    for (const bad of [
      [],
      { surface_mod: 'exclusive' },
      { surface_mode: 'exlusive' },
      { surface_mode: 1 },
      { mounts: {} },
      { mounts: [{}] },
      { mounts: [{ source: '/a', mode: 'rwx' }] },
      { mounts: [{ source: '/a/../b' }] },
      { mounts: [{ source: '/a', readonly: true }] },
      { mounts: [{ source: '/a', options: ['suid'] }] },
      { mounts: [{ source: '/a' }, { source: '/b', target: '/a' }] },
    ]) {
      assert.throws(() => stanza(bad), refused, JSON.stringify(bad));
    }
  });
});

// Built, so that it does not look like a template string that lost its backticks.
const braced = (name: string) => `$\{${name}}`;

describe('templates', () => {
  it('expand from the closed set, and an unset or empty variable drops the path', () => {
    const { paths, dropped } = expandPaths(['$HOME/.gitconfig', `${braced('GOPATH')}/pkg/mod`, '$GOROOT', '/opt/x'], {
      HOME: '/home/me/',
      GOPATH: '',
    });
    assert.deepEqual(paths, ['/home/me/.gitconfig', '/opt/x']);
    assert.deepEqual(
      dropped.map(({ template }) => template),
      [`${braced('GOPATH')}/pkg/mod`, '$GOROOT'],
    );
  });

  it('refuse other variables and stray dollars', () => {
    for (const template of ['$SECRET/x', '${HOME', '$', '/a$/b', braced(''), braced('PATH')]) {
      assert.throws(() => expandPaths([template], { HOME: '/h' }), refused, template);
    }
  });

  it('are expanded once, and never into a path that climbs', () => {
    assert.deepEqual(expandPaths(['$HOME/x'], { HOME: '/$USER', USER: 'me' }).paths, ['/$USER/x']);
    for (const HOME of ['relative', '/home/../etc', '/home/me\0', '.']) {
      assert.deepEqual(expandPaths(['$HOME/x'], { HOME }).paths, [], HOME);
    }
  });

  it('take nothing from the environment but the closed set', () => {
    assert.deepEqual(pathEnvironment({ HOME: '/h', AWS_SECRET_ACCESS_KEY: 'x' }), { HOME: '/h' });
  });

  it('of the default tooling hold no private key, token or password', () => {
    const environment = {
      HOME: '/h',
      GOPATH: '/h/go',
      GOROOT: '/opt/go',
      CARGO_HOME: '/h/.cargo',
      RUSTUP_HOME: '/h/.rustup',
      XDG_CONFIG_HOME: '/h/.config',
      XDG_CACHE_HOME: '/h/.cache',
    };
    const { paths } = expandPaths([...defaultToolingPaths, ...cachePaths], environment);
    assert.ok(paths.includes('/h/.gitconfig') && paths.includes('/h/go/pkg/mod'));
    const secrets = [
      '.ssh/id_ed25519 .gnupg/private-keys-v1.d .aws/credentials .netrc .npmrc .yarnrc.yml .pypirc .git-credentials',
      '.config/git/credentials .config/gh/hosts.yml .config/gcloud/credentials.db .docker/config.json .kube/config',
      '.cargo/credentials.toml .cargo/credentials .m2/settings.xml .m2/settings-security.xml .gradle/gradle.properties',
      '.gem/credentials .composer/auth.json .terraform.d/credentials.tfrc.json .bash_history .claude/.credentials.json',
      '.cache/huggingface/token .config/pip/pip.conf .nuget/NuGet/NuGet.Config .local/share/keyrings .local/share/uv/credentials',
    ];
    for (const secret of secrets.flatMap((line) => line.split(' '))) {
      assert.ok(!paths.some((path) => contains(path, `/h/${secret}`)), secret);
    }
  });
});

describe('scope', () => {
  const facts = { cwd: '/w/app/src', projectRoot: '/w', repositoryRoot: '/w/app' };
  it('resolves the writable directory', () => {
    assert.equal(resolveScope('any', facts), '/w/app/src');
    assert.equal(resolveScope('repository', facts), '/w/app');
    assert.equal(resolveScope('project', facts), '/w');
  });

  it('refuses a missing root, one elsewhere, and an unknown scope', () => {
    assert.throws(() => resolveScope('project', { cwd: '/w' }), refused);
    assert.throws(() => resolveScope('repository', { cwd: '/w/apple', repositoryRoot: '/w/app' }), refused);
    assert.throws(() => resolveScope('all' as 'any', facts), refused);
    assert.throws(() => resolveScope('any', { cwd: '/w/..' }), refused);
  });
});

describe('a workspace file', () => {
  const parse = (value: unknown) => parseWorkspace(JSON.stringify(value), '.ctx/workspace.json', '/home/me/app');

  it('lists repositories inside the workspace or beside it', () => {
    const { repositories } = parse({
      version: 0,
      repositories: [{ path: '.' }, { path: '../api', worktrees: '../api-trees' }, { path: 'libs/web' }],
    });
    assert.deepEqual(repositories, [
      { path: '/home/me/app' },
      { path: '/home/me/api', worktrees: '/home/me/api-trees' },
      { path: '/home/me/app/libs/web' },
    ]);
  });

  it('of a hostile clone cannot name what is elsewhere', () => {
    for (const path of ['..', '../..', '../../x', '../.ssh', '../a/b', '/etc', 'a/../../x', 'a//b', '.git', '', 7]) {
      assert.throws(() => parse({ version: 0, repositories: [{ path }] }), refused, String(path));
    }
    for (const value of [[], {}, { version: 1, repositories: [] }, { version: 0, repositories: [], x: 1 }, null]) {
      assert.throws(() => parse(value), refused);
    }
    assert.throws(() => parseWorkspace('{', 'f', '/a'), refused);
  });
});

describe('a scope', () => {
  it('is one of three words', () => {
    for (const scope of scopes) assert.equal(parseScope(scope), scope);
    for (const text of ['', 'Any', 'any ', 'directory', 'toString'])
      assert.throws(() => parseScope(text), refused, text);
  });
});

describe('resolving a surface', () => {
  const workspace = parseWorkspace(
    '{"version":0,"repositories":[{"path":".","worktrees":"../trees"},{"path":"../api"},{"path":"../gone"},{"path":"../link"}]}',
    'workspace.json',
    '/home/me/app',
  );
  const canonical: Readonly<Record<string, string>> = {
    '/home/me/app': '/home/me/app',
    '/home/me/trees': '/home/me/trees',
    '/home/me/api': '/home/me/api',
    '/home/me/link': '/home/me/.dotfiles',
  };
  const request: SurfaceRequest = {
    scope: 'repository',
    cwd: '/home/me/app/src',
    repositoryRoot: '/home/me/app',
    workspace,
    workspaceMetadata: '/home/me/app/.ctx',
    canonicalRepository: (path) => canonical[path],
    environment: { HOME: '/home/me' },
    toolingTemplates: ['$HOME/.gitconfig', '$GOPATH/pkg/mod'],
    task: { reads: ['/data'], writes: ['$HOME/out'] },
    agent: { reads: ['/models'] },
    systemReads: ['/usr'],
    hidden: ['/home/me/.store'],
  };

  it('joins scope, workspace, templates and additions', () => {
    const resolved = resolveSurface(request);
    assert.deepEqual(resolved.surface, {
      cwd: '/home/me/app',
      additionalWrites: ['/home/me/out'],
      siblingReads: ['/home/me/api'],
      workspaceMetadata: ['/home/me/app/.ctx'],
      toolingPaths: ['/home/me/.gitconfig'],
      additionalReads: ['/data', '/models'],
      systemReads: ['/usr'],
      hidden: ['/home/me/.store'],
    });
    assert.deepEqual(
      resolved.dropped.map(({ template }) => template),
      ['/home/me/gone', '/home/me/link', '$GOPATH/pkg/mod'],
    );
  });

  it('reads every other repository of the workspace, and no place of its own', () => {
    const siblings = (cwd: string, pool: string | undefined = '/home/me/trees') =>
      resolveSurface({
        ...request,
        workspace: {
          root: '/home/me',
          repositories: [
            { path: '/home/me/app', ...(pool === undefined ? {} : { worktrees: pool }) },
            { path: '/home/me/api' },
          ],
        },
        scope: 'any',
        repositoryRoot: undefined,
        cwd,
      }).surface.siblingReads;
    for (const [cwd, expected] of [
      ['/home/me/app', ['/home/me/api']],
      ['/home/me/app/src', ['/home/me/api']],
      ['/home/me/trees/one', ['/home/me/api']],
      ['/home/me/api', ['/home/me/app']],
      ['/home/me', []],
      ['/home/me/apple', ['/home/me/api', '/home/me/app']],
      ['/home/me/elsewhere', ['/home/me/api', '/home/me/app']],
    ] as const) {
      assert.deepEqual(siblings(cwd), expected, cwd);
    }
    assert.deepEqual(siblings('/home/me/trees/one', '/home/me/gone'), ['/home/me/api', '/home/me/app']);
  });

  it('gives a task in the pool its own worktree, not the pool and not the repository', () => {
    const { surface: pooled } = resolveSurface({
      ...request,
      repositoryRoot: undefined,
      cwd: '/home/me/trees/fix-1/src',
    });
    assert.equal(pooled.cwd, '/home/me/trees/fix-1');
    assert.deepEqual(pooled.siblingReads, ['/home/me/api']);
  });
});
