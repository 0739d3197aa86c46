/**
 * Names that mean the same to a program: other names and starts of a subcommand, the short and the long form of an option, a program
 * of git's by its own name. A rule that asks or denies is about all of them. Pure.
 */

/** By program, what a subcommand is called, too. */
const npm = {
  install: 'add i in ins inst insta instal isnt isnta isntal isntall',
  'install-test': 'it',
  'install-ci-test': 'cit clean-install-test sit',
  ci: 'clean-install ic install-clean isntall-clean',
  uninstall: 'unlink remove rm r un',
  update: 'u up upgrade udpate',
  publish: '',
  unpublish: '',
  run: 'run-script rum urn',
  test: 'tst t',
  exec: 'x',
  init: 'create innit',
  link: 'ln',
  config: 'c',
  view: 'info show v',
  search: 'find s se',
  rebuild: 'rb',
  dedupe: 'ddp',
  owner: 'author',
  docs: 'home',
  bugs: 'issues',
  ls: 'list',
  ll: 'la',
  explain: 'why',
  version: 'verison',
  help: 'hlep',
  org: 'ogr',
  'dist-tag': 'dist-tags',
  adduser: 'add-user',
};

/** What npm has beside those: it takes any start that is of one only. */
const npmOthers =
  'access approve-scripts audit cache completion deny-scripts deprecate diff doctor edit explore find-dupes fund get ' +
  'help-search hook install-scripts login logout outdated pack ping pkg prefix profile prune query repo restart root sbom ' +
  'set set-script shrinkwrap stage star stars start stop team token trust undeprecate unstar whoami bin';

const subcommands: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  npm,
  cnpm: npm,
  pnpm: { install: 'i', update: 'up upgrade', remove: 'rm uninstall un', list: 'ls la ll', link: 'ln', test: 't tst' },
  bun: { install: 'i', add: 'a', remove: 'rm' },
  cargo: { build: 'b', check: 'c', doc: 'd', run: 'r', test: 't', remove: 'rm' },
  git: { add: 'stage' },
};

const shortens: ReadonlySet<string> = new Set(['npm', 'cnpm']);

/** The subcommands of the program that this may be; itself where it has no other name. */
export function subcommandsMeant(program: string, given: string): readonly string[] {
  const known = Object.hasOwn(subcommands, program) ? Object.entries(subcommands[program] ?? {}) : [];
  const name = shortens.has(program) ? given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) : given;
  const whole = (text: string) =>
    known.find(([first, others]) => first === text || others.split(' ').includes(text))?.[0];
  const found = whole(name);
  if (found !== undefined) return [found];
  const all = [...known.flatMap(([first, others]) => [first, ...others.split(' ')]), ...npmOthers.split(' ')];
  if (!shortens.has(program) || name === '' || all.includes(name)) return [name];
  const starts = all.filter((each) => each.startsWith(name)).map((each) => whole(each) ?? each);
  return starts.length === 0 ? [name] : [...new Set(starts)];
}

const recursive = '-r=-R=--recursive';
const force = '-f=--force';

/** By program, or by program and subcommand; several between commas. */
const options: Readonly<Record<string, string>> = {
  rm: `${force} ${recursive} -d=--dir`,
  'cp,mv,ln': `${force} ${recursive} -a=--archive -n=--no-clobber -s=--symbolic -b=--backup`,
  'chmod,chown,chgrp': '-R=--recursive',
  mkdir: '-p=--parents -m=--mode',
  tee: '-a=--append',
  sort: '-o=--output',
  'sed,gsed': '-i=--in-place -f=--file -e=--expression',
  'tar,gtar,bsdtar':
    '-x=--extract=--get -c=--create -r=--append -u=--update -f=--file -C=--directory -P=--absolute-names',
  rsync: '-n=--dry-run -a=--archive -r=--recursive -e=--rsh',
  curl:
    '-k=--insecure -o=--output -O=--remote-name -X=--request -d=--data -F=--form -T=--upload-file -x=--proxy -u=--user ' +
    '-H=--header -L=--location -K=--config -b=--cookie -c=--cookie-jar',
  wget: '-O=--output-document -o=--output-file -i=--input-file -e=--execute -r=--recursive -m=--mirror',
  'make,gmake': '-C=--directory -f=--file=--makefile -B=--always-make -k=--keep-going',
  'npm,cnpm,pnpm': '-g=--global -f=--force -D=--save-dev -S=--save -E=--save-exact -O=--save-optional -y=--yes',
  'pip,pip3': '-r=--requirement -U=--upgrade -t=--target -e=--editable -i=--index-url -y=--yes',
  'apt,apt-get': '-y=--yes=--assume-yes',
  sudo: '-u=--user -E=--preserve-env -i=--login -s=--shell -n=--non-interactive -e=--edit',
  'docker run,docker exec,podman run,podman exec':
    '-v=--volume -p=--publish -e=--env -u=--user -d=--detach -w=--workdir',
  'kubectl delete,kubectl apply,kubectl replace,kubectl create': `${force} -f=--filename -n=--namespace -A=--all-namespaces -l=--selector`,
  'git add': `-A=--all=--no-ignore-removal ${force} -u=--update -p=--patch -i=--interactive -e=--edit -n=--dry-run`,
  'git branch': `-d=--delete ${force} -m=--move -c=--copy -u=--set-upstream-to`,
  'git checkout': `${force} -p=--patch -d=--detach -m=--merge`,
  'git clean': `${force} -n=--dry-run -i=--interactive -e=--exclude`,
  'git commit': '-a=--all -m=--message -n=--no-verify -e=--edit -p=--patch -s=--signoff -S=--gpg-sign -F=--file',
  'git fetch,git pull': `${force} -p=--prune -t=--tags -a=--append`,
  'git push': `${force} -d=--delete -n=--dry-run -u=--set-upstream -o=--push-option --all=--branches`,
  'git rebase': '-i=--interactive -x=--exec -f=--force-rebase=--no-ff',
  'git reset,git stash': '-p=--patch -q=--quiet -u=--include-untracked -a=--all',
  'git restore': '-s=--source -S=--staged -W=--worktree -p=--patch',
  'git rm,git mv': `${force} -n=--dry-run`,
  'git switch': '-f=--force=--discard-changes -c=--create -C=--force-create -d=--detach -m=--merge',
  'git tag': `-d=--delete ${force} -a=--annotate -s=--sign -m=--message`,
  'git worktree': force,
};

/** Every name of an option of the program, this one first. */
export function optionNames(program: string, subcommand: string | undefined, option: string): readonly string[] {
  const called = [program, `${program} ${subcommand}`];
  const lists = Object.entries(options).filter(([list]) => list.split(',').some((each) => called.includes(each)));
  const groups = lists.flatMap(([, list]) => list.split(' ').map((group) => group.split('=')));
  return [
    option,
    ...groups
      .filter((group) => group.includes(option))
      .flat()
      .filter((name) => name !== option),
  ];
}

/** `git-push`, which is where git keeps its programs, is `git push`; undefined for what is none. */
export function dashedSubcommand(name: string): string | undefined {
  return /^git-([a-z].*)$/.exec(name)?.[1];
}
