import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { gitConfigurationBytes } from '../../base/limits/store.js';
import { commonGitDirectories } from './git-worktree.js';
import { repositoryNeeds } from './repository-needs.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-worktree-')));
after(() => rmSync(base, { recursive: true, force: true }));
const home = join(base, 'home');
beforeEach(() => rmSync(base, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

describe('what a linked worktree needs', () => {
  const project = join(base, 'project');
  const common = join(base, 'main/.git');
  const link = join(project, '.git');

  function worktree(name = 'project', path = project, of = common): void {
    mkdirSync(path, { recursive: true });
    const place = join(of, 'worktrees', name);
    write(join(path, '.git'), `gitdir: ${place}\n`);
    write(join(place, 'commondir'), '../..\n');
    write(join(place, 'gitdir'), `${path}/.git\n`);
    write(join(of, 'HEAD'), 'ref: refs/heads/main\n');
  }

  it('is its repository, where that points back, is one, and is apart from it', () => {
    worktree();
    assert.deepEqual(commonGitDirectories(project), [common]);
    const place = join(common, 'worktrees/project');
    const damages: Readonly<Record<string, () => void>> = {
      'no link': () => write(link, 'x\n'),
      'another key': () => write(link, `dir: ${place}\n`),
      'of another worktree': () => write(join(place, 'gitdir'), `${base}/other/.git\n`),
      'nothing points back': () => rmSync(join(place, 'gitdir')),
      'no repository': () => rmSync(join(common, 'HEAD')),
      'another common directory': () => write(join(place, 'commondir'), '..\n'),
      'a missing one': () => rmSync(join(place, 'commondir')),
      'a link to itself': () => write(link, `gitdir: ${project}\n`),
      'a path that none can be': () => write(link, 'gitdir: /a\0b\n'),
      'a path longer than any': () => write(link, `gitdir: /${'x/'.repeat(3000)}\n`),
      'a circle of links': () => {
        rmSync(link);
        symlinkSync('.git', link);
      },
      'a long file': () => write(link, `gitdir: ${place}\n${' '.repeat(16 * 1024)}`),
    };
    for (const [what, damage] of Object.entries(damages)) {
      rmSync(base, { recursive: true, force: true });
      worktree();
      damage();
      assert.deepEqual(commonGitDirectories(project), [], what);
    }
    rmSync(base, { recursive: true, force: true });
    worktree();
    write(link, 'gitdir: ../main/.git/worktrees/project\n');
    assert.deepEqual(commonGitDirectories(project), [common], 'a relative one');
  });

  it('is not a repository that it lies in, or that lies in it', () => {
    worktree('inner', join(common, 'inner'));
    assert.deepEqual(commonGitDirectories(join(common, 'inner')), []);
    const around = join(base, 'around');
    worktree('around', around, join(around, 'repository'));
    assert.deepEqual(commonGitDirectories(around), []);
    worktree('beside', join(base, 'beside'), join(around, 'repository'));
    assert.deepEqual(commonGitDirectories(join(base, 'beside')), [join(around, 'repository')]);
  });

  it('is those of all worktrees right in a pool, once, but for a repository', () => {
    const pool = join(base, 'pool');
    for (const name of ['a', 'b']) worktree(name, join(pool, name));
    mkdirSync(join(pool, 'plain'));
    write(join(pool, 'file'), '');
    symlinkSync(join(pool, 'a'), join(pool, 'linked'));
    assert.deepEqual(commonGitDirectories(pool), [common]);
    worktree('c', join(pool, 'deep/c'));
    rmSync(join(pool, 'a'), { recursive: true });
    rmSync(join(pool, 'b'), { recursive: true });
    assert.deepEqual(commonGitDirectories(pool), []);
    worktree('a', join(pool, 'a'));
    mkdirSync(join(pool, '.git'));
    assert.deepEqual(commonGitDirectories(pool), []);
    assert.throws(() => commonGitDirectories(join(base, 'gone')), { code: 'ENOENT' });
  });
});

describe('what a repository keeps elsewhere', () => {
  const project = join(base, 'project');
  const needs = (...shown: readonly string[]) => repositoryNeeds(project, home, shown);
  const alternates = join(project, '.git/objects/info/alternates');

  it('is said, where it is there and not shown', () => {
    const [one, two] = [join(base, 'one'), join(base, 'two')];
    for (const path of [one, two, join(project, 'inside'), join(home, 'hooks')]) mkdirSync(path, { recursive: true });
    write(alternates, `# a comment\n\n${one}\n../../../two\n${base}/gone\n${project}/inside\n`);
    write(join(project, '.git/config'), '[core]\n\thooksPath = /gone\n\thooksPath = ~/hooks\n');
    assert.deepEqual(
      needs().map((text) => /--read (\S+)/.exec(text)?.[1]),
      [one, two, join(home, 'hooks')],
    );
    write(alternates, `${one}\n${two}\n`);
    const named = (...shown: readonly string[]) =>
      needs(...shown).map((text) => [/borrows|hooks/.exec(text)?.[0], /--read (\S+)/.exec(text)?.[1]]);
    assert.deepEqual(named(), [
      ['borrows', one],
      ['borrows', two],
      ['hooks', join(home, 'hooks')],
    ]);
    assert.deepEqual(named(one, home), [['borrows', two]]);
    rmSync(join(project, '.git'), { recursive: true });
    for (const make of [() => undefined, () => write(join(project, '.git'), 'gitdir: x\n')]) {
      make();
      assert.deepEqual(needs(), []);
    }
  });

  it('is nothing where no path can lead there', () => {
    write(join(project, '.git/config'), '[core]\n\thooksPath = /a\0b\n');
    write(alternates, `/a\0b\n/${'x/'.repeat(3000)}\n${base}/circle\n`);
    symlinkSync('circle', join(base, 'circle'));
    assert.deepEqual(needs(), []);
  });

  it('is looked for in so many places and no more', () => {
    const paths = Array.from({ length: 17 }, (_, index) => join(base, `store-${index}`));
    for (const path of paths) mkdirSync(path, { recursive: true });
    write(alternates, `# first\n${paths.join('\n')}\n`);
    assert.equal(needs().length, 16);
    write(alternates, `${paths[0]}\n#${'x'.repeat(gitConfigurationBytes)}`);
    assert.deepEqual(needs(), []);
  });
});
