/** Git on a repository with history. */
import { type Flow, known } from '../flow.js';

const environment = {
  GIT_AUTHOR_NAME: 'A U Thor',
  GIT_AUTHOR_EMAIL: 'author@example.org',
  GIT_AUTHOR_DATE: '2005-04-07T22:13:13',
  GIT_COMMITTER_NAME: 'C O Mitter',
  GIT_COMMITTER_EMAIL: 'committer@example.org',
  GIT_COMMITTER_DATE: '2005-04-07T22:13:13',
} as const;

/** Three commits, a branch, a directory. */
const history = `git init -q -b main .; mkdir -p d/e; echo 1 > a; echo 1 > d/b; echo 1 > d/e/c; git add .; git commit -qm one; \
echo 2 > a; git commit -qam two; git branch side; echo 3 > d/b; git commit -qam three`;

const git = (name: string, run: Flow['run'], more: Partial<Flow> = {}): Flow => ({
  name: `git: ${name}`,
  needs: ['git'],
  before: history,
  environment,
  run,
  ...more,
});

export const gitFlows: readonly Flow[] = [
  git(
    'status, log and diff',
    'git status --short --branch; git log --oneline; git diff HEAD~2 --stat; git blame -s d/b',
  ),
  git('edit and commit', 'echo x >> a; git diff; git commit -qam four; git log --stat --format=%s -1; git status -s', {
    quick: true,
  }),
  git('rename a directory', 'git mv d f; git status -s; git commit -qm moved; git log --follow --format=%s f/b', {
    quick: true,
  }),
  git(
    'switch and merge',
    'git switch -q side; echo s > s; git add s; git commit -qm side; git switch -q main; git merge -q --no-edit side; git log --oneline --graph',
  ),
  git(
    'a conflict',
    'git switch -q side; echo x > d/b; git commit -qam side; git merge main; cat d/b; git status -s; git merge --abort; git status -s',
  ),
  git(
    'rebase',
    'git switch -q side; echo s > s; git add s; git commit -qm side; git rebase -q main; git log --format="%h %s"',
  ),
  git(
    'interactive rebase',
    'GIT_SEQUENCE_EDITOR="sed -i 2s/pick/fixup/" git rebase -q -i --root; git log --format="%h %s"',
  ),
  git(
    'stash',
    'echo dirty > a; echo new > n; git stash -q -u; git status -s; git stash pop -q; git status -s; cat a n',
  ),
  git(
    'reset and clean',
    'echo dirty > a; echo new > n; git reset -q --hard HEAD~1; git clean -fdq; git status -s; git log --oneline',
  ),
  git(
    'bisect',
    "git bisect start -q HEAD HEAD~2; git bisect run sh -c '[ $(cat a) = 1 ]' | tail -5; git bisect reset -q",
  ),
  git(
    'tags, notes and describe',
    'git tag v1; git tag -a v2 -m two; git notes add -m n; git describe; git tag -n; git log -1 --format=%N',
  ),
  git(
    'gc',
    'git gc -q --prune=now; git count-objects -v | grep -v size; git fsck; git log --oneline; find .git/objects -type f -name "*.pack" | wc -l',
    {
      volatile: /\.git\/(objects\/(pack|info)\/|info\/)/,
      leftOut: /\.git\/objects\/pack\/.+/,
    },
  ),
  git(
    'worktrees',
    'git worktree add -q ../$(basename $PWD)-w side 2>&1; git worktree list | wc -l; git worktree remove --force ../$(basename $PWD)-w; git worktree prune; git worktree list | wc -l',
  ),
  git(
    'worktrees inside the tree',
    'git worktree add -q w side; cd w; echo w > w; git add w; git commit -qm w; cd ..; git worktree move w v; git -C v log --format=%s -1; git gc -q; git -C v status -s; git worktree remove v; git branch',
    {
      leftOut: /\.git\/objects\/pack\/.+/,
      volatile: /\.git\/(objects\/info\/|info\/)/,
    },
  ),
  git(
    'gc beside a worktree that is elsewhere',
    'git gc -q --prune=now; git worktree prune; git worktree list | wc -l',
    {
      before: `${history}; git worktree add -q "$PWD-elsewhere" side`,
      leftOut: /\.git\/objects\/pack\/.+/,
      volatile: /\.git\/(objects\/info\/|info\/)/,
    },
  ),
  git(
    'submodules',
    'git -c protocol.file.allow=always submodule add -q ./library.git library; git commit -qm sub; git submodule status | sed "s/(.*//"; cat library/f; git submodule deinit -q -f library; ls library',
    {
      before: `${history}; git init -q --bare library.git; git init -q -b main ../$(basename $PWD)-l; cd ../$(basename $PWD)-l; echo lib > f; git add f; git commit -qm lib; git push -q "$OLDPWD/library.git" main; cd "$OLDPWD"; git -C library.git symbolic-ref HEAD refs/heads/main; echo /library.git > .git/info/exclude`,
    },
  ),
  git('hooks', 'echo x > a; git commit -qam hooked; git log --format=%B -1; cat ran', {
    before: `${history}; printf '#!/bin/sh\\necho pre >> ran\\n' > .git/hooks/pre-commit; printf '#!/bin/sh\\necho signed >> $1\\n' > .git/hooks/commit-msg; chmod +x .git/hooks/*-*`,
  }),
  git('hooks by core.hooksPath', 'echo x > a; git commit -qam hooked; cat ran', {
    before: `${history}; mkdir .hooks; printf '#!/bin/sh\\necho pre >> ran\\n' > .hooks/pre-commit; chmod +x .hooks/pre-commit; git config core.hooksPath .hooks`,
  }),
  git(
    'signing with ssh',
    'echo x > a; git -c gpg.format=ssh -c user.signingkey=$PWD/key commit -qSam signed; git cat-file -p HEAD | grep -c "BEGIN SSH"',
    {
      needs: [known, 'git', 'ssh-keygen'],
      before: `${history}; ssh-keygen -q -t ed25519 -N '' -f key; printf 'key*\\n' > .git/info/exclude`,
    },
  ),
  git(
    'clone, fetch and push to a neighbour',
    'git clone -q . copy; cd copy; echo c > c; git add c; git commit -qm copy; git push -q origin HEAD:pushed; cd ..; git log --format=%s pushed -1; git fetch -q copy; git rev-parse FETCH_HEAD',
  ),
  git(
    'patches',
    'git format-patch -q -2; git switch -q side; git am -q *.patch; git log --format="%h %s"; git apply --stat *.patch',
    {},
  ),
  git(
    'configuration',
    'git config user.name local; git config --get user.name; git config --list --local | sort; git remote add origin https://example.org/x.git; git remote -v',
  ),
  git(
    'ignored files',
    'printf "*.log\\n" > .gitignore; touch a.log b; git add .; git status -s; git check-ignore -v a.log',
  ),
  git(
    'attributes and filters',
    "git config filter.up.clean 'tr a-z A-Z'; git config filter.up.smudge 'tr A-Z a-z'; echo '*.up filter=up' > .gitattributes; echo text > x.up; git add .; git show :x.up; rm x.up; git checkout -q -- x.up; cat x.up",
  ),
  git(
    'sparse checkout',
    'git sparse-checkout set d/e; find . -path ./.git -prune -o -type f -print | sort; git sparse-checkout disable; ls',
  ),
  git(
    'archive and bundle',
    'git archive HEAD | tar t; git bundle create -q x.bundle main; git bundle verify -q x.bundle; rm x.bundle',
  ),
];
