/**
 * Every way of git 2.39 to run a program, to read a path or to hide a change that something in a working tree or a repository's own
 * directory can ask for (git-config(1), githooks(5), gitattributes(5), gitrepository-layout(5), gitremote-helpers(7)). Each begins in
 * a repository of the person's with one commit of a file `f`; `plant` is the agent's, `use` what the person does next. Whatever is
 * smuggled makes the file `$RAN`, outside of the workspace.
 */

export interface Mechanism {
  readonly name: string;
  /** The person's own, before. */
  readonly prepare?: string;
  readonly plant: string;
  readonly use: string;
}

const set = (key: string, value: string) => `git config ${key} ${value}`;
const script = (path: string) =>
  `mkdir -p "$(dirname ${path})"; printf '#!/bin/sh\\ntouch "%s"\\ncat\\n' "$RAN" > ${path}; chmod +x ${path}`;
const commit = 'echo more >> f; git commit -qam x';
const look = 'git status';

const programs: readonly Mechanism[] = [
  { name: 'a hook', plant: script('.git/hooks/pre-commit'), use: commit },
  {
    name: 'core.hooksPath',
    plant: `${script('h/post-checkout')}; ${set('core.hooksPath', 'h')}`,
    use: 'git checkout -q --detach',
  },
  { name: 'core.fsmonitor', plant: set('core.fsmonitor', `"touch '$RAN'; false"`), use: look },
  {
    name: 'filter.clean',
    plant: `echo 'f filter=x' > .gitattributes; ${set('filter.x.clean', `"touch '$RAN'; cat"`)}`,
    use: commit,
  },
  {
    name: 'filter.smudge',
    plant: `echo 'f filter=x' > .gitattributes; ${set('filter.x.smudge', `"touch '$RAN'; cat"`)}`,
    use: 'rm f; git checkout f',
  },
  {
    name: 'filter.process',
    plant: `echo 'f filter=x' > .gitattributes; ${set('filter.x.process', `"touch '$RAN'"`)}`,
    use: commit,
  },
  {
    name: 'diff.textconv',
    plant: `echo 'f diff=x' > .gitattributes; ${set('diff.x.textconv', `"touch '$RAN'; cat"`)}`,
    use: 'echo y > f; git diff',
  },
  {
    name: 'diff.command',
    plant: `echo 'f diff=x' > .gitattributes; ${set('diff.x.command', `"touch '$RAN'; true"`)}`,
    use: 'echo y > f; git diff',
  },
  { name: 'diff.external', plant: set('diff.external', `"touch '$RAN'; true"`), use: 'echo y > f; git diff' },
  {
    name: 'merge.driver',
    prepare: 'git checkout -qb o; echo o > f; git commit -qam o; git checkout -q main; echo m > f; git commit -qam m',
    plant: `echo 'f merge=x' > .gitattributes; ${set('merge.x.driver', `"touch '$RAN'; true"`)}`,
    use: 'git merge o',
  },
  { name: 'core.editor', plant: set('core.editor', `"touch '$RAN'; true"`), use: 'git commit --amend' },
  {
    name: 'sequence.editor',
    prepare: commit,
    plant: set('sequence.editor', `"touch '$RAN'; true"`),
    use: 'git rebase -i HEAD~1',
  },
  { name: 'core.pager', plant: set('core.pager', `"touch '$RAN'; cat"`), use: 'script -qec "git log" /dev/null' },
  { name: 'pager.log', plant: set('pager.log', `"touch '$RAN'; cat"`), use: 'script -qec "git log" /dev/null' },
  { name: 'an alias', plant: set('alias.st', `"!touch '$RAN'"`), use: 'git st' },
  {
    name: 'credential.helper',
    plant: set('credential.helper', `"!touch '$RAN'; true"`),
    use: "printf 'protocol=https\\nhost=h\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill",
  },
  {
    name: 'core.askPass',
    plant: `${script('ask')}; ${set('core.askPass', '"$PWD/ask"')}`,
    use: "printf 'protocol=https\\nhost=h\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill",
  },
  { name: 'core.sshCommand', plant: set('core.sshCommand', `"touch '$RAN'; false"`), use: 'git fetch ssh://h/x' },
  {
    name: 'core.gitProxy',
    plant: `${script('proxy')}; ${set('core.gitProxy', '"$PWD/proxy"')}`,
    use: 'git fetch git://h/x < /dev/null',
  },
  {
    name: 'gpg.program',
    plant: `${script('gpg')}; ${set('gpg.program', '"$PWD/gpg"')}; git config commit.gpgSign true`,
    use: commit,
  },
  {
    name: 'trailer.command',
    plant: set('trailer.x.command', `"touch '$RAN'"`),
    use: "echo | git interpret-trailers --trailer 'x: y'",
  },
  { name: 'tar.command', plant: set('tar.x.command', `"touch '$RAN'; cat"`), use: 'git archive --format=x HEAD' },
  { name: 'difftool.cmd', plant: set('difftool.x.cmd', `"touch '$RAN'"`), use: 'echo y > f; git difftool -y -t x' },
  {
    name: 'mergetool.cmd',
    prepare: 'git checkout -qb o; echo o > f; git commit -qam o; git checkout -q main; echo m > f; git commit -qam m',
    plant: set('mergetool.x.cmd', `"touch '$RAN'"`),
    use: 'git merge o; git mergetool -y -t x < /dev/null',
  },
  {
    name: 'interactive.diffFilter',
    plant: set('interactive.diffFilter', `"touch '$RAN'; cat"`),
    use: 'echo y > f; echo q | TERM=xterm script -qec "git add -p" /dev/null',
  },
  {
    name: 'remote.uploadpack',
    prepare: 'git remote add up .',
    plant: set('remote.up.uploadpack', `"touch '$RAN'; git-upload-pack"`),
    use: 'git fetch up',
  },
  {
    name: 'remote.receivepack',
    prepare: 'git remote add up .',
    plant: set('remote.up.receivepack', `"touch '$RAN'; git-receive-pack"`),
    use: 'git push up main:x',
  },
  {
    name: 'a remote helper',
    plant: `${set('remote.up.url', `"ext::sh -c touch% '$RAN'"`)}; git config protocol.ext.allow always`,
    use: 'git fetch up',
  },
  {
    name: 'an exec line of a rebase',
    plant: `mkdir .git/rebase-merge; cd .git/rebase-merge; git rev-parse HEAD | tee onto > orig-head; echo refs/heads/main > head-name
      : > interactive; : > done; echo 1 > end; echo 1 > msgnum; printf 'exec touch "%s"\\n' "$RAN" > git-rebase-todo; : > quiet`,
    use: 'git rebase --continue',
  },
  {
    name: 'submodule.update',
    prepare:
      'git init -q sub; git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m s; git -c protocol.file.allow=always submodule --quiet add ./sub sub; git commit -qm sub; git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m t',
    plant: set('submodule.sub.update', `"!touch '$RAN'; true"`),
    use: 'git submodule update',
  },
  {
    name: 'include.path',
    plant: `printf '[core]\\n\\tfsmonitor = touch %s; false\\n' "$RAN" > inc; ${set('include.path', '../inc')}`,
    use: look,
  },
  {
    name: 'includeIf.gitdir',
    plant: `printf '[core]\\n\\tfsmonitor = touch %s; false\\n' "$RAN" > inc; ${set('includeIf.gitdir:**.path', '../inc')}`,
    use: look,
  },
  {
    name: 'config.worktree',
    prepare: 'git config extensions.worktreeConfig true',
    plant: `printf '[core]\\n\\tfsmonitor = touch %s; false\\n' "$RAN" > .git/config.worktree`,
    use: look,
  },
  {
    name: 'a configuration of more than a MiB',
    plant: `{ head -c 1100000 /dev/zero | tr '\\0' '#'; printf '\\n[core]\\n\\tfsmonitor = touch %s; false\\n' "$RAN"; } >> .git/config`,
    use: look,
  },
  {
    name: 'commondir',
    plant: `cp -r .git evil; printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch %s; false\\n' "$RAN" > evil/config; echo ../evil > .git/commondir`,
    use: look,
  },
  {
    name: 'a file in place of .git',
    prepare: 'mkdir plain',
    plant: `cp -r .git evil; git --git-dir evil config core.fsmonitor "touch '$RAN'; false"; git --git-dir evil config core.worktree "$PWD/plain"; echo 'gitdir: ../evil' > plain/.git`,
    use: 'cd plain; git status',
  },
  {
    name: 'a bare repository whose directory has a newline',
    prepare: `git clone -q --bare . 'b
b'`,
    plant: `cd 'b
b'; git config core.fsmonitor "touch '$RAN'; false"; mkdir -p hooks; printf '#!/bin/sh\\ntouch "%s"\\n' "$RAN" > hooks/reference-transaction; chmod +x hooks/reference-transaction`,
    use: `cd 'b
b'; git branch new`,
  },
  {
    name: 'a new bare repository',
    plant: `git clone -q --bare . new; git -C new config core.fsmonitor "touch '$RAN'; false"; git -C new config core.bare false; git -C new config core.worktree .`,
    use: 'cd new; git status',
  },
  {
    name: 'attributes of the repository',
    prepare: set('filter.own.clean', `"touch '$RAN'; cat"`),
    plant: "mkdir -p .git/info; echo 'f filter=own' > .git/info/attributes",
    use: commit,
  },
];

/** What the person's own configuration names in the workspace. */
const obeyed: readonly Mechanism[] = [
  {
    name: 'hooks that yours names',
    prepare: 'mkdir -p tools/h; git config core.hooksPath tools/h',
    plant: script('tools/h/pre-commit'),
    use: commit,
  },
  {
    name: 'a script that yours has as core.fsmonitor',
    prepare: `printf '#!/bin/sh\\nfalse\\n' > mon; chmod +x mon; git config core.fsmonitor ./mon`,
    plant: script('mon'),
    use: look,
  },
  {
    name: 'a script with a space in its name that yours has as core.fsmonitor, in quotes',
    prepare: `mkdir 'a b'; git config core.fsmonitor "\\"$PWD/a b/run\\""`,
    plant: script('a\\ b/run'),
    use: look,
  },
  {
    name: 'a script that yours has as filter.clean',
    prepare: `echo cat > clean.sh; echo 'f filter=x' > .gitattributes; git config filter.x.clean 'sh clean.sh %f'`,
    plant: script('clean.sh'),
    use: commit,
  },
  {
    name: 'a file that yours includes, which names hooks',
    prepare:
      'mkdir hk; git config core.hooksPath none; printf "[core]\\n\\thooksPath = hk\\n" > .git/more; git config include.path more',
    plant: script('hk/pre-commit'),
    use: commit,
  },
  {
    name: 'a file that yours includes',
    prepare: 'git config include.path ../shared.inc',
    plant: `printf '[core]\\n\\tfsmonitor = touch %s; false\\n' "$RAN" > shared.inc`,
    use: look,
  },
  {
    name: 'a file that yours includes by a link to nothing yet',
    prepare: 'ln -s ../later.inc .git/more; git config include.path more',
    plant: `printf '[core]\\n\\tfsmonitor = touch %s; false\\n' "$RAN" > later.inc`,
    use: look,
  },
  {
    name: 'hooks that your config.worktree names',
    prepare:
      'git config extensions.worktreeConfig true; mkdir wh; printf "[core]\\n\\thooksPath = wh\\n" > .git/config.worktree',
    plant: script('wh/pre-commit'),
    use: commit,
  },
  {
    name: 'hooks that a condition of yours includes on another branch',
    prepare:
      'mkdir bh; printf "[core]\\n\\thooksPath = bh\\n" > .git/on-topic; git config includeIf.onbranch:topic.path on-topic',
    plant: script('bh/pre-commit'),
    use: `git checkout -qb topic; ${commit}`,
  },
  {
    name: 'a hook of yours that is a link into the workspace',
    prepare: 'mkdir -p lh .git/hooks; echo true > lh/pre; chmod +x lh/pre; ln -s ../../lh/pre .git/hooks/pre-commit',
    plant: script('lh/pre'),
    use: commit,
  },
  {
    name: 'hooks that a nested repository of yours names beside it',
    prepare:
      'mkdir nh; git init -q --template= in; cd in; git config user.name a; git config user.email a@b; git config core.hooksPath ../nh; echo f > f; git add f; git commit -qm f',
    plant: script('nh/pre-commit'),
    use: `cd in; ${commit}`,
  },
  {
    name: 'a nested repository of yours, by its own directory',
    prepare:
      'git init -q --template= in; cd in; git config user.name a; git config user.email a@b; echo f > f; git add f; git commit -qm f',
    plant: `cd in; ${script('.git/hooks/pre-commit')}`,
    use: `cd in; ${commit}`,
  },
  {
    name: 'hooks in your home that are the workspace’s',
    prepare:
      'mkdir homed; ln -s "$PWD/homed" "$HOME/$(basename "$PWD")-hooks"; git config core.hooksPath "~/$(basename "$PWD")-hooks"',
    plant: script('homed/pre-commit'),
    use: commit,
  },
];

/** What git would read, hide or send elsewhere. */
const readings: readonly Mechanism[] = [
  {
    name: 'info/exclude',
    plant: 'mkdir -p .git/info; echo new >> .git/info/exclude',
    use: 'echo x > new; git status --short | grep -q new || touch "$RAN"',
  },
  {
    name: 'core.excludesFile',
    plant: 'echo new > ig; git config core.excludesFile ig',
    use: 'echo x > new; git status --short | grep -q new || touch "$RAN"',
  },
  {
    name: 'assume-unchanged',
    plant: 'git update-index --assume-unchanged f',
    use: 'echo x > f; git status --short | grep -q f || touch "$RAN"',
  },
  {
    name: 'skip-worktree',
    plant: 'git update-index --skip-worktree f',
    use: 'echo x > f; git status --short | grep -q f || touch "$RAN"',
  },
  {
    name: 'core.fileMode',
    plant: 'git config core.fileMode false',
    use: 'chmod +x f; git status --short | grep -q f || touch "$RAN"',
  },
  {
    name: 'a pipe in place of HEAD',
    plant: 'rm .git/HEAD; mkfifo .git/HEAD',
    use: 'timeout 2 git status; [ $? != 124 ] || touch "$RAN"',
  },
  {
    name: 'alternates',
    plant: `git init -q other; echo hidden > other/h; id=$(git -C other hash-object -w h); echo "$PWD/other/.git/objects" > .git/objects/info/alternates`,
    use: 'id=$(echo hidden | git hash-object --stdin); git cat-file -e $id && touch "$RAN"',
  },
  {
    name: 'a replace ref',
    plant: `id=$(git cat-file commit HEAD | sed 's/^first/EVIL/' | git hash-object -t commit -w --stdin); git replace HEAD $id`,
    use: 'git log | grep -q EVIL && touch "$RAN"',
  },
  {
    name: 'a replace ref that is packed',
    plant: `id=$(git cat-file commit HEAD | sed 's/^first/EVIL/' | git hash-object -t commit -w --stdin); git replace HEAD $id; git pack-refs --all --prune`,
    use: 'git log | grep -q EVIL && touch "$RAN"',
  },
  {
    name: 'grafts',
    prepare: commit,
    plant: 'mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts',
    use: '[ $(git log --oneline | wc -l) = 1 ] && touch "$RAN"',
  },
  {
    name: 'shallow',
    prepare: commit,
    plant: 'git rev-parse HEAD > .git/shallow',
    use: '[ $(git log --oneline | wc -l) = 1 ] && touch "$RAN"',
  },
  { name: 'notes', plant: 'git notes add -m EVIL', use: 'git log | grep -q EVIL && touch "$RAN"' },
  {
    name: 'mailmap.file',
    plant: `echo 'EVIL <a@b>' > mm; git config mailmap.file mm`,
    use: 'git log --use-mailmap | grep -q EVIL && touch "$RAN"',
  },
  {
    name: 'core.attributesFile',
    prepare: set('filter.own.clean', `"touch '$RAN'; cat"`),
    plant: `echo 'f filter=own' > at; git config core.attributesFile at`,
    use: commit,
  },
  {
    name: 'core.worktree',
    plant: 'mkdir wt; git config core.worktree ../wt',
    use: 'git checkout -q -f HEAD; [ -e wt/f ] && touch "$RAN"',
  },
  {
    name: 'a removed pushurl',
    prepare:
      'git init -q --bare own.git; git init -q --bare evil.git; git remote add up evil.git; git config remote.up.pushurl own.git',
    plant: 'git config --unset remote.up.pushurl',
    use: 'git push -q up main; git -C evil.git rev-parse -q --verify main && touch "$RAN"',
  },
  {
    name: 'url.insteadOf',
    prepare: 'git init -q --bare own.git; git init -q --bare evil.git; git remote add up own.git',
    plant: 'git config url.evil.git.insteadOf own.git',
    use: 'git push -q up main; git -C evil.git rev-parse -q --verify main && touch "$RAN"',
  },
  {
    name: 'a branch that another remote gets',
    prepare:
      'git init -q --bare own.git; git init -q --bare evil.git; git remote add up own.git; git remote add evil evil.git; git config branch.main.remote up; git config branch.main.merge refs/heads/main',
    plant: 'git config branch.main.remote evil',
    use: 'git push -q; git -C evil.git rev-parse -q --verify main && touch "$RAN"',
  },
  {
    name: 'remotes in a file',
    prepare: 'git init -q --bare evil.git',
    plant: "mkdir -p .git/remotes; printf 'URL: evil.git\\n' > .git/remotes/origin",
    use: 'git push -q origin main; git -C evil.git rev-parse -q --verify main && touch "$RAN"',
  },
  {
    name: 'a sparse checkout',
    plant: "mkdir -p .git/info; git config core.sparseCheckout true; printf '/none\\n' > .git/info/sparse-checkout",
    use: 'git update-index -q --refresh; git read-tree -mu HEAD; [ -e f ] || touch "$RAN"',
  },
  {
    name: 'user.email',
    plant: 'git config user.email EVIL@x',
    use: `${commit}; git log | grep -q EVIL && touch "$RAN"`,
  },
];

export const mechanisms: readonly Mechanism[] = [...programs, ...obeyed, ...readings];
