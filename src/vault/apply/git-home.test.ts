/** Repositories that come home, each as a whole or as far as it may: one apply of many, and of each what is written and what stays. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { it } from 'node:test';
import { freshVault, lookAt } from '../forks/vault-fixture.js';
import { applyFork } from './apply.js';
import { undoApply } from './undo-apply.js';

const { at, withFork, command } = freshVault();

/** As a person who has no configuration, at a time that does not change. */
const environment = {
  PATH: process.env['PATH'],
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_TEMPLATE_DIR: '',
  // To look at a repository changes nothing of it.
  GIT_OPTIONAL_LOCKS: '0',
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b',
  GIT_AUTHOR_DATE: '1700000000 +0000',
  GIT_COMMITTER_DATE: '1700000000 +0000',
};
const shell = (cwd: string, script: string) =>
  execFileSync('sh', ['-euc', script], { cwd, env: { ...environment, T: at('made') }, encoding: 'utf8' });

/** Made once and copied, since each is several processes of git. */
const made = `git init -q -b main first; cd first; mkdir .git/info; echo a > a; echo b > b; git add .; git commit -qm first; git branch old
  cp -a . ../second; cd ../second; echo z > a; git commit -qam second`;
const first = 'cp -a $T/first/. .';
/** Their configuration stays. */
const second = 'cp -p .git/config $T/config; cp -a $T/second/. .; cp -p $T/config .git/config';
const log = 'git log --format=%s --all | sort; git status --short';
const logAndFsck = `${log}; git fsck --strict --no-dangling 2>&1`;
const none = 'f'.repeat(40);

/** Of two commits the later one, with the tree of the earlier, and the other way round. */
const twoPacks = (last: string) => `${second}; echo y > b; git commit -qam third
  printf '%s\\n' $(git rev-parse HEAD HEAD^^{tree} HEAD^:a) | git pack-objects -q .git/objects/pack/pack > /dev/null
  printf '%s\\n' $(git rev-parse HEAD^ HEAD^{tree}) ${last} | git pack-objects -q .git/objects/pack/pack > /dev/null
  git prune-packed -q; for id in $(git rev-parse HEAD:b); do rm -f .git/objects/$(echo $id | sed 's,..,&/,'); done`;

interface Flow {
  readonly prepare?: string;
  readonly inside: string;
  /** Below the repository; of objects only how many there are. */
  readonly held?: readonly string[];
  readonly shows?: string;
  readonly expected: string;
}

const ofCommit = [
  '.git/COMMIT_EDITMSG',
  '.git/index',
  '.git/logs/HEAD',
  '.git/logs/refs/heads/main',
  '.git/refs/heads/main',
];

const flows: Readonly<Record<string, Flow>> = {
  'a commit': { inside: second, expected: 'first\nsecond\n' },
  'a commit of sha256': {
    prepare: 'git init -q -b main --object-format=sha256; echo a > a; git add .; git commit -qm first',
    inside: 'echo z > a; git commit -qam second',
    expected: 'first\nsecond\n',
  },
  'a commit of which an object is missing': {
    inside: `${second}; rm -f .git/objects/$(git rev-parse HEAD^{tree} | sed 's,..,&/,')`,
    held: [...ofCommit, 'objects 2'],
    expected: 'first\n M a\n',
  },
  'a commit of which an object is damaged': {
    inside: `${second}; f=.git/objects/$(git rev-parse HEAD:a | sed 's,..,&/,'); chmod u+w $f; echo x > $f`,
    held: [...ofCommit, 'objects 3'],
    expected: 'first\n M a\n',
  },
  'a branch at an object that is nowhere, beside a commit': {
    inside: `${second}; echo ${none} > .git/refs/heads/evil`,
    held: [...ofCommit, '.git/refs/heads/evil'],
    expected: 'first\n M a\n',
  },
  'a branch at a file, beside a commit': {
    inside: `${second}; git rev-parse HEAD:a > .git/refs/heads/evil`,
    held: [...ofCommit, '.git/refs/heads/evil'],
    expected: 'first\n M a\n',
  },
  'a tag of a file': {
    inside: 'git tag t/file HEAD:a; chmod 777 .git/refs/tags/t .git/refs/tags/t/file',
    shows: 'git tag',
    expected: 't/file\n',
  },
  'a HEAD that leads elsewhere, beside a commit': {
    inside: `${second}; echo 'ref: refs/tags/x' > .git/HEAD`,
    held: [...ofCommit, '.git/HEAD'],
    expected: 'first\n M a\n',
  },
  'a branch that goes, with what it was before': {
    inside: 'git branch -qD old',
    shows: 'git branch; ls .git/logs/refs/heads',
    expected: '* main\nmain\n',
  },
  'what a branch was before, without the branch': {
    inside: 'rm .git/logs/refs/heads/old',
    held: ['.git/logs/refs/heads/old'],
    shows: 'ls .git/logs/refs/heads',
    expected: 'main\nold\n',
  },
  'what a branch was before, where it is packed': {
    inside: 'git pack-refs --all; rm .git/logs/refs/heads/old',
    held: ['.git/logs/refs/heads/old'],
    shows: 'git branch; ls .git/logs/refs/heads',
    expected: '* main\n  old\nmain\nold\n',
  },
  'what a packed branch was before': {
    prepare: `${first}; git pack-refs --all`,
    inside: 'rm .git/logs/refs/heads/old',
    held: ['.git/logs/refs/heads/old'],
    expected: 'first\n',
  },
  'a branch that is packed and goes': {
    inside: 'git pack-refs --all; git branch -qD old',
    shows: 'git branch; ls .git/logs/refs/heads',
    expected: '* main\nmain\n',
  },
  'a branch that goes beside what stays': {
    inside: `${second}; git branch -qD old; echo ${none} > .git/refs/heads/evil`,
    held: [
      ...ofCommit,
      ...['.git/logs/refs/heads/old', '.git/packed-refs', '.git/refs/heads/evil', '.git/refs/heads/old'],
    ],
    shows: 'git branch',
    expected: '* main\n  old\n',
  },
  'a merge that is under way': {
    inside:
      'git checkout -q old; echo o > b; git commit -qam o; git checkout -q main; echo m > a; git commit -qam m; git merge -q --no-commit old 2>/dev/null',
    held: [
      ...[
        '.git/COMMIT_EDITMSG',
        '.git/MERGE_HEAD',
        '.git/MERGE_MODE',
        '.git/MERGE_MSG',
        '.git/ORIG_HEAD',
        '.git/index',
      ],
      ...['.git/logs/HEAD', '.git/logs/refs/heads/main', '.git/logs/refs/heads/old'],
      ...['.git/refs/heads/main', '.git/refs/heads/old'],
    ],
    expected: 'first\n M a\n M b\n',
  },
  'what rerere notes, beside a commit': {
    inside: `${second}; echo x > .git/MERGE_RR`,
    held: ['.git/MERGE_RR'],
    expected: 'first\nsecond\n',
  },
  'refs that make another history, packed beside a tag': {
    inside:
      'git tag t; git update-ref refs/replace/$(git rev-parse HEAD) HEAD^{tree}; export GIT_NO_REPLACE_OBJECTS=1; git pack-refs --all',
    held: ['.git/refs/replace'],
    shows: 'git for-each-ref --format="%(refname)"',
    expected: 'refs/heads/main\nrefs/heads/old\nrefs/tags/t\n',
  },
  'flags that hide a change': {
    inside: 'git update-index --assume-unchanged a; echo h > a',
    shows: 'git status --short',
    expected: ' M a\n',
  },
  'a commit where the index is a link': {
    prepare: `${first}; mv .git/index .git/other; ln -s other .git/index`,
    inside: `rm .git/index; cp .git/other .git/index; ${second}`,
    held: [...ofCommit],
    expected: 'first\n M a\n',
  },
  'a commit whose objects are there already': {
    inside: second,
    prepare: `${first}; ${second}; git reset -q --hard old; rm .git/ORIG_HEAD .git/COMMIT_EDITMSG; rm .git/logs/HEAD`,
    expected: 'first\nsecond\n',
  },
  'a commit in one pack': { inside: `${second}; git repack -qad`, shows: logAndFsck, expected: 'first\nsecond\n' },
  'commits in packs': {
    inside: `${second}; git repack -qd; echo y > b; git commit -qam third; git repack -qd; echo w > b; git commit -qam fourth`,
    expected: 'first\nfourth\nsecond\nthird\n',
  },
  'a pack that is damaged, beside a commit': {
    inside: `${second}; git repack -qd; f=$(ls .git/objects/pack/*.pack); chmod u+w $f; printf x | dd of=$f bs=1 seek=30 conv=notrunc 2>/dev/null`,
    held: [...ofCommit, 'pack 2'],
    expected: 'first\n M a\n',
  },
  'packs that need each other': {
    inside: twoPacks('$(git rev-parse HEAD:b)'),
    shows: logAndFsck,
    expected: 'first\nsecond\nthird\n',
  },
  'packs that need each other, and what is in neither': {
    inside: twoPacks(''),
    held: [...ofCommit, 'pack 4'],
    expected: 'first\n M a\n M b\n',
  },
  'a configuration with a branch that is followed, beside a commit': {
    prepare: `${first}; git remote add origin https://a.example/x`,
    inside: `${second}; git config branch.main.remote origin`,
    shows: 'git config branch.main.remote; git log --format=%s',
    expected: 'origin\nsecond\nfirst\n',
  },
  'a configuration that runs, beside a commit': {
    inside: `${second}; git config core.fsmonitor ./evil`,
    held: ['.git/config'],
    shows: 'git config core.fsmonitor; git log --format=%s',
    expected: 'second\nfirst\n',
  },
  'a configuration that cannot be read': {
    inside: "echo '[core' >> .git/config",
    held: ['.git/config'],
    expected: 'first\n',
  },
  'a configuration that is damaged where it was': {
    prepare: `${first}; echo '[core' >> .git/config`,
    inside: "sed -i '$d' .git/config",
    held: ['.git/config'],
    shows: 'tail -n 1 .git/config',
    expected: '[core\n',
  },
  'a configuration of a branch that goes': {
    prepare: `${first}; git remote add origin https://a.example/x; git config branch.old.remote origin`,
    inside: 'git branch -qD old',
    shows: 'git config branch.old.remote; git branch',
    expected: '* main\n',
  },
  'a configuration of a branch that stays': {
    prepare: `${first}; git remote add origin https://a.example/x; git config branch.old.remote origin`,
    inside: 'git config --unset branch.old.remote',
    held: ['.git/config'],
    shows: 'git config branch.old.remote',
    expected: 'origin\n',
  },
  'a new repository without a commit': {
    prepare: ':',
    inside: 'git init -q -b main; echo a > a',
    shows: 'git status --short; ls .git/objects',
    expected: '?? a\ninfo\npack\n',
  },
  'a new repository with a commit': { prepare: ':', inside: first, shows: logAndFsck, expected: 'first\n' },
  'a new repository at a name that git has not, with one inside': {
    prepare: ':',
    inside:
      'git init -q --bare -b main bare.git; git init -q -b main w; cd w; echo a > a; git add .; git commit -qm in',
    held: ['bare.git/HEAD'],
    shows: 'git -C w log --format=%s; test -e bare.git/HEAD || echo none',
    expected: 'in\nnone\n',
  },
  'a commit of a linked worktree': {
    prepare: `${first}; git worktree add -q wt old 2>/dev/null; echo gitdir: ../.git/worktrees/wt > wt/.git`,
    inside: 'cd wt; echo w > w; git add w; git commit -qm w',
    shows: 'git -C wt log --format=%s; git -C wt status --short',
    expected: 'w\nfirst\n',
  },
  'flags of a linked worktree': {
    prepare: `${first}; git worktree add -q wt old 2>/dev/null; echo gitdir: ../.git/worktrees/wt > wt/.git`,
    inside:
      'cd wt; echo w > a; git update-index --skip-worktree a; git update-index --add --cacheinfo 100644,$(git hash-object -w a),n',
    shows: 'git -C wt status --short',
    expected: ' M a\nAD n\n',
  },
  'a commit on a shallow one': {
    prepare: `${first}; ${second}; git rev-parse HEAD > .git/shallow; git branch -qf old`,
    inside: 'echo y > b; git commit -qam third',
    shows: 'git log --format=%s',
    expected: 'third\nsecond\n',
  },
  'a list that says where history ends, beside a commit': {
    inside: `${second}; git rev-parse HEAD > .git/shallow`,
    held: ['.git/shallow'],
    expected: 'first\nsecond\n',
  },
  'a new repository whose history ends': {
    prepare: ':',
    inside: `${first}; ${second}; git branch -qf old; h=$(git rev-parse HEAD); rm .git/objects/$(git rev-parse HEAD^ | sed 's,..,&/,'); echo $h > .git/shallow; git reflog expire --expire=now --all`,
    shows: 'git log --format=%s',
    expected: 'second\n',
  },
  'rules that hide files, beside a commit': {
    inside: `${second}; echo '*.o' > .git/info/exclude`,
    held: ['.git/info/exclude'],
    expected: 'first\nsecond\n',
  },
};

const names = Object.keys(flows);
const repository = (name: string) => `r${names.indexOf(name)}`;

/** Of objects how many, since their names say nothing. */
function counted(paths: readonly string[]): readonly string[] {
  // Older versions of git write no AUTO_MERGE.
  const rest = paths.filter((path) => !path.startsWith('.git/objects/') && path !== '.git/AUTO_MERGE');
  const loose = paths.filter((path) => /^\.git\/objects\/[0-9a-f]{2}\//.test(path)).length;
  const packed = paths.filter((path) => /^\.git\/objects\/pack\//.test(path)).length;
  return [...rest.sort(), ...(loose > 0 ? [`objects ${loose}`] : []), ...(packed > 0 ? [`pack ${packed}`] : [])];
}

it('what git made comes home whole, and what would run, hide or break anything stays, each repository by itself', async () => {
  const each = (directory: string, script: (flow: Flow) => string) => {
    const all = names.map(
      (name) => `(cd ${repository(name)}\n${script(flows[name] as Flow)}\n) || echo ${name}; echo ====`,
    );
    return shell(directory, all.join('\n')).split('====\n').slice(0, -1);
  };
  const act = (directory: string, script: (flow: Flow) => string) =>
    assert.deepEqual(
      each(directory, script).filter((text) => text !== ''),
      [],
    );
  for (const name of names) mkdirSync(at('project', repository(name)), { recursive: true });
  mkdirSync(at('made'));
  shell(at('made'), made);
  act(at('project'), ({ prepare = first }) => prepare);
  const before = lookAt(at('project'));
  await command((directory) => act(directory, ({ inside }) => inside));
  rmSync(at('made'), { recursive: true });
  const applied = await withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: false }));
  assert.deepEqual([applied.done, applied.undecided], [true, []]);
  const shown = each(at('project'), ({ shows = log }) => `${shows}`);
  const heldIn = (name: string) => {
    const top = `${repository(name)}/`;
    const paths = applied.sensitive.map(({ path }) => path).filter((path) => path.startsWith(top));
    return counted(paths.map((path) => path.slice(top.length)));
  };
  const found = names.map((name, index) => [name, heldIn(name), shown[index]]);
  const expected = names.map((name) => [name, [...(flows[name]?.held ?? [])].sort(), flows[name]?.expected]);
  assert.deepEqual(
    applied.problems.map(({ path }) => path).sort(),
    [
      `${repository('flags of a linked worktree')}/.git/worktrees/wt/index`,
      `${repository('flags that hide a change')}/.git/index`,
      `${repository('refs that make another history, packed beside a tag')}/.git/packed-refs`,
    ].sort(),
  );
  assert.deepEqual(found, expected);
  // Whatever modes the fork gave them: objects are closed to writing, and what git writes again is not.
  const modes = new Set(
    Object.keys(lookAt(at('project')))
      .filter((path) => path.includes('/.git/') && !(path in before))
      .map(
        (path) =>
          `${/objects\/(?:..|pack)\/./.test(path) ? 'object' : 'other'} ${statSync(at('project', path)).mode.toString(8)}`,
      ),
  );
  assert.deepEqual([...modes].sort(), ['object 100444', 'other 100644', 'other 40755']);
  const undone = await withFork((fork) => undoApply(fork));
  assert.equal(undone.done, true);
  const after = lookAt(at('project'));
  // Objects stay: who has one has it by its content.
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (path) => !path.includes('/.git/objects/'),
  );
  assert.deepEqual(
    paths.filter((path) => before[path] !== after[path]),
    [],
  );
});
