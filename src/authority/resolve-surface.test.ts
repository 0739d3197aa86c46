/** From a task to its surface: each part of a request alone, left out and given. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  isKeptSecret,
  javaParts,
  javaReads,
  linkedReads,
  prefixParts,
  programPaths,
  showsTooMuchOf,
} from './program-paths.js';
import { resolveSurface, type SurfaceRequest } from './resolve-surface.js';
import { defaultToolingPaths } from './tooling-paths.js';
import { isNearWorkspace } from './workspace-file.js';

const request: SurfaceRequest = {
  scope: 'any',
  cwd: '/home/me/app',
  environment: { HOME: '/home/me' },
  toolingTemplates: [],
  systemReads: [],
  hidden: [],
};
const empty = {
  cwd: '/home/me/app',
  additionalWrites: [],
  siblingReads: [],
  workspaceMetadata: [],
  toolingPaths: [],
  additionalReads: [],
  systemReads: [],
  hidden: [],
};
const surfaceOf = (more: Partial<SurfaceRequest>) => resolveSurface({ ...request, ...more }).surface;

describe('a surface', () => {
  it('has what its task and its agent name, and nothing that they do not', () => {
    assert.deepEqual(resolveSurface(request), { surface: empty, dropped: [] });
    for (const who of ['task', 'agent'] as const) {
      assert.deepEqual(surfaceOf({ [who]: {} }), empty);
      assert.deepEqual(surfaceOf({ [who]: { reads: ['/a'] } }), { ...empty, additionalReads: ['/a'] });
      assert.deepEqual(surfaceOf({ [who]: { writes: ['/a'] } }), { ...empty, additionalWrites: ['/a'] });
    }
    const both = surfaceOf({ task: { reads: ['/a'], writes: ['/b'] }, agent: { reads: ['/c'], writes: ['/d'] } });
    assert.deepEqual(
      [both.additionalReads, both.additionalWrites],
      [
        ['/a', '/c'],
        ['/b', '/d'],
      ],
    );
    const { toolingTemplates: _left, ...usual } = request;
    assert.ok(resolveSurface(usual).surface.toolingPaths.length > defaultToolingPaths.length / 2);
    assert.deepEqual(surfaceOf({ systemReads: ['/usr'], hidden: ['/k'] }), {
      ...empty,
      systemReads: ['/usr'],
      hidden: ['/k'],
    });
    assert.deepEqual(surfaceOf({ workspaceMetadata: '/home/me/app/.ctx' }).workspaceMetadata, ['/home/me/app/.ctx']);
    for (const workspaceMetadata of ['.ctx', '/a/../b', '', '/a/'])
      assert.throws(() => surfaceOf({ workspaceMetadata }), { code: 'EINVAL' }, workspaceMetadata);
  });

  it('has the repositories of its workspace that are there and near it', () => {
    const workspace = (...repositories: readonly { path: string; worktrees?: string }[]) => ({
      root: '/home/me/app',
      repositories,
    });
    const api = { path: '/home/me/api' };
    const found = (canonicalRepository: SurfaceRequest['canonicalRepository'], worktrees?: string) => {
      const given = workspace(worktrees === undefined ? api : { ...api, worktrees });
      const { surface, dropped } = resolveSurface({
        ...request,
        workspace: given,
        ...(canonicalRepository === undefined ? {} : { canonicalRepository }),
      });
      return [surface.siblingReads, dropped.map(({ template }) => template)];
    };
    assert.deepEqual(
      found((path) => path),
      [['/home/me/api'], []],
    );
    assert.deepEqual(found(undefined), [[], ['/home/me/api']]);
    assert.deepEqual(
      found(() => undefined, '/home/me/trees'),
      [[], ['/home/me/api', '/home/me/trees']],
    );
    assert.deepEqual(
      found(() => '/elsewhere/api'),
      [[], ['/home/me/api']],
    );
    const { workspace: _none, ...alone } = { ...request, workspace: undefined };
    assert.deepEqual(resolveSurface(alone).surface.siblingReads, []);
  });

  it('is near a place in it or one step beside it, of which no part is hidden', () => {
    const near = ['/w/app', '/w/app/a', '/w/app/a/b.c', '/w/api', '/w/x.y'];
    const far = [
      '/',
      '/w',
      '/w/.api',
      '/w/app/.git',
      '/w/app/a/.b',
      '/w/api/x',
      '/v/app',
      '/w/app/',
      '/w/../w/api',
      'api',
      '',
    ];
    for (const path of near) assert.ok(isNearWorkspace('/w/app', path), path);
    for (const path of far) assert.ok(!isNearWorkspace('/w/app', path), path);
    assert.ok(!isNearWorkspace('/', '/'));
    assert.ok(isNearWorkspace('/', '/a'));
  });

  it('of a task in a pool is the worktree around it, whole', () => {
    const pooled = (cwd: string, pool = '/trees') => {
      const workspace = { root: pool === '/' ? '/' : '/home', repositories: [{ path: '/home/app', worktrees: pool }] };
      const given = { ...request, scope: 'repository', cwd, workspace: { ...workspace, root: '/home' } } as const;
      return resolveSurface({ ...given, canonicalRepository: (path) => path }).surface.cwd;
    };
    for (const [cwd, own] of [
      ['/home/trees/one', '/home/trees/one'],
      ['/home/trees/one/a/b', '/home/trees/one'],
      ['/home/trees/o', '/home/trees/o'],
    ] as const)
      assert.equal(pooled(cwd, '/home/trees'), own);
    for (const cwd of ['/home/trees', '/home/trees2/one', '/home/other'])
      assert.throws(() => pooled(cwd, '/home/trees'), { code: 'EINVAL' }, cwd);
  });
});

describe('the directory of a program', () => {
  const home = '/home/me';
  const reads = (...path: readonly string[]) => programPaths(path.join(':'), home).reads;

  it('is read with what its programs need, and with nothing beside it', () => {
    const prefix = (at: string, ...more: readonly string[]) => [...prefixParts, ...more].map((part) => `${at}/${part}`);
    const cases: Readonly<Record<string, readonly string[]>> = {
      '/opt/tool/bin': ['/opt/tool/bin', ...prefix('/opt/tool', 'share')],
      '/opt/tool/sbin': ['/opt/tool/sbin', ...prefix('/opt/tool', 'share')],
      '/opt/tool/xbin': ['/opt/tool/xbin'],
      '/opt/tool/binx': ['/opt/tool/binx'],
      '/opt/tool': ['/opt/tool'],
      '/home/me/.local/bin': ['/home/me/.local/bin', ...prefix('/home/me/.local')],
      '/home/you/.local/bin': ['/home/you/.local/bin', ...prefix('/home/you/.local', 'share')],
      '/home/me/bin': ['/home/me/bin'],
      '/home/me/.nvm/versions/node/v20/bin': ['/home/me/.nvm'],
      '/home/me/.nvmx/bin': ['/home/me/.nvmx/bin', ...prefix('/home/me/.nvmx', 'share')],
      '/p/node_modules/.bin': ['/p/node_modules'],
      '/p/node_modules': ['/p/node_modules'],
      '/p/node_modules/a/node_modules/.bin': ['/p/node_modules'],
      '/p/node_modulesx': ['/p/node_modulesx'],
      '/p/vendor/bin': ['/p/vendor'],
      '/p/vendor/binx': ['/p/vendor/binx'],
      '/p/vendor/bin/x': ['/p/vendor/bin/x'],
    };
    for (const [directory, expected] of Object.entries(cases))
      assert.deepEqual(reads(directory), [...expected].sort(), directory);
    assert.deepEqual(programPaths('/root-bin/.nvm/x', '/').reads, ['/root-bin/.nvm/x']);
    assert.deepEqual(programPaths('/.nvm/x', '/').reads, ['/.nvm'], 'a home that is the root');
  });

  it('is looked for where PATH says, absolute, each once, and at the end in the system', () => {
    const { search } = programPaths('.:/opt/a/:/opt/a:::bin:/opt//b:/usr/bin', home);
    assert.deepEqual(search.slice(0, 3), ['/opt/a', '/opt/b', '/usr/bin']);
    assert.equal(new Set(search).size, search.length);
    assert.deepEqual(programPaths(undefined, home), programPaths('', home));
    assert.deepEqual(programPaths(undefined, home).reads, []);
  });

  it('shows nothing where it would show a home, its secrets or what a jail makes', () => {
    assert.deepEqual(reads('/', '/home', home, `${home}/.ssh`, `${home}/.config`, '/etc', '/tmp', '/proc'), []);
    assert.deepEqual(reads(`${home}/.config/tool/bin`).length, prefixParts.length + 2);
    const tooMuch = showsTooMuchOf(home);
    for (const path of ['/', '/home', home, `${home}/.aws`, `${home}/.local`, '/var', '/dev'])
      assert.ok(tooMuch(path), path);
    for (const path of [`${home}/.aws/x`, `${home}/.local/bin`, '/var/x', '/opt', `${home}2`])
      assert.ok(!tooMuch(path), path);
    assert.ok(showsTooMuchOf('/')('/.ssh'));
  });

  it('of a link shows the program alone, unless it is installed there, and no kept secret', () => {
    assert.deepEqual(linkedReads('/srv/x/run', home), ['/srv/x/run']);
    assert.ok(linkedReads('/opt/x/bin/run', home).includes('/opt/x/bin'));
    assert.ok(linkedReads('/opt/x/sbin/run', home).includes('/opt/x/sbin'));
    for (const name of ['xbin', 'binx'])
      assert.deepEqual(linkedReads(`/opt/x/${name}/run`, home), [`/opt/x/${name}/run`]);
    assert.deepEqual(linkedReads(`${home}/bin/run`, home), [`${home}/bin/run`], 'beside it is anything');
    assert.deepEqual(linkedReads('/p/node_modules/a/cli.js', home), ['/p/node_modules']);
    for (const kept of ['.ssh/id', '.aws/credentials', '.config/x/bin/run', '.config/git/credentials']) {
      assert.deepEqual(linkedReads(`${home}/${kept}`, home), [], kept);
      assert.ok(isKeptSecret(`${home}/${kept}`, home));
    }
    for (const shown of ['.config/git/config', '.config/git', '.sshx/id', 'x/.ssh/id'])
      assert.ok(!isKeptSecret(`${home}/${shown}`, home), shown);
  });

  it('of Java has what a runtime reads, where it is one', () => {
    const java = (directory: string, has: boolean) =>
      javaReads(directory, (path) => has && path === '/opt/jdk/lib/modules');
    assert.deepEqual(
      java('/opt/jdk/bin', true),
      javaParts.map((part) => `/opt/jdk/${part}`),
    );
    assert.deepEqual(
      [java('/opt/jdk/bin', false), java('/opt/jdk/sbin', true), java('/opt/jre/bin', true)],
      [[], [], []],
    );
  });
});
