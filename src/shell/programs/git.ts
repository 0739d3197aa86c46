/** Git, by subcommand. What it runs for a configuration value is in `read-git`. */
import { each, type Program, type Programs } from '../program.js';

const look: Program = { is: 'r', with: { '--output --ext-diff --textconv': 'm' }, unsure: 'm' };
/** To others `-n` and `-L` are letters without a value. */
const walk: Program = { ...look, values: '-n -S -G -L' };
/** What follows is a command of git's, or a program whose name begins with `git`. */
const bisectView: Program = { ...walk, operands: { 1: 'd' }, unsure: 'd' };
const remoteRun = { text: '--upload-pack --receive-pack --exec', matching: { '^ext::': 'h' } } as const;

const subcommands: Programs = {
  ...each('log diff show rev-list diff-tree diff-index diff-files whatchanged', walk),
  ...each('status shortlog rev-parse ls-files ls-tree describe', look),
  'cat-file': { ...look, with: { '--textconv --filters': 'm' } },
  'symbolic-ref': { is: 'r', operands: { 2: 'm' }, with: { '-d --delete -m': 'm' }, values: '-m', unsure: 'm' },
  'hash-object': { is: 'r', with: { '-w': 'm' }, values: '-t', unsure: 'm' },
  'format-patch': {
    is: 'm',
    only: { '--stdout': 'r' },
    with: { '-o --output-directory --output --ext-diff --textconv': 'm' },
    values: '-o',
    unsure: 'm',
  },
  'sparse-checkout': { is: 'm', subcommands: { list: { is: 'r' } }, otherwise: { is: 'm' } },
  rerere: { is: 'm', subcommands: each('status diff remaining', { is: 'r' }), otherwise: { is: 'm' } },
  bundle: { is: 'm', subcommands: each('verify list-heads', { is: 'r' }), otherwise: { is: 'm' } },
  ...each('blame annotate', { ...look, values: '-L -S' }),
  ...each('merge-base for-each-ref show-ref check-ignore check-attr cherry count-objects var version help', look),
  ...each('name-rev range-diff verify-commit verify-tag merge-tree', look),
  ...each('show-branch get-tar-commit-id patch-id stripspace column check-mailmap', look),
  grep: { ...look, text: '-O --open-files-in-pager', values: '-e -f -m -A -B -C' },
  fsck: { ...look, with: { '--lost-found': 'm' } },
  'interpret-trailers': {
    is: 'r',
    with: { '--in-place': 'm' },
    values: '--trailer --where --if-exists --if-missing',
    unsure: 'm',
  },
  branch: {
    is: 'r',
    operands: { 1: 'm' },
    only: { '-l --list --contains --no-contains --merged --no-merged --points-at --show-current': 'r' },
    with: {
      '-d -D --delete': 'd',
      '-m -M --move -c -C --copy -u --set-upstream-to --unset-upstream -f --force': 'm',
      '--edit-description': 'mi',
    },
    values: '-u --set-upstream-to --sort --format',
    unsure: 'd',
  },
  tag: {
    is: 'r',
    operands: { 1: 'm' },
    only: { '-l --list -n --contains --points-at --merged -v --verify': 'r' },
    with: { '-d --delete -f --force': 'd' },
    values: '-m -F -u --sort --format',
    unsure: 'd',
  },
  remote: {
    is: 'r',
    subcommands: {
      ...each('add rename set-url set-head set-branches', { is: 'm', matching: { '^ext::': 'h' } }),
      ...each('remove rm', { is: 'm' }),
      ...each('update prune', { is: 'mn' }),
      show: { is: 'n', only: { '-n': 'r' } },
      'get-url': { is: 'r' },
    },
    otherwise: { is: 'm' },
    unsure: 'm',
  },
  config: {
    is: 'r',
    subcommands: {
      ...each('get list get-all get-regexp get-urlmatch', { is: 'r' }),
      ...each('set unset rename-section remove-section', { is: 'm' }),
      edit: { is: 'mi' },
    },
    otherwise: { is: 'r', operands: { 1: 'm' }, unsure: 'm' },
    only: { '--get --list -l --get-all --get-regexp --get-color': 'r', '-e --edit': 'mi' },
    with: { '--unset --unset-all --add --replace-all --rename-section --remove-section': 'm' },
    values: '-f --file --blob --type --default',
    unsure: 'm',
  },
  stash: {
    is: 'm',
    subcommands: { ...each('list show', walk), ...each('drop clear', { is: 'd' }) },
    otherwise: { is: 'm', with: { '-p --patch': 'i' } },
  },
  reflog: {
    is: 'r',
    subcommands: { ...each('expire delete', { is: 'd' }), ...each('show exists list', walk) },
    otherwise: walk,
  },
  worktree: {
    is: 'r',
    subcommands: { list: { is: 'r' }, ...each('remove prune', { is: 'd' }) },
    otherwise: { is: 'm' },
  },
  notes: { is: 'r', subcommands: each('list show', look), otherwise: { is: 'm' } },
  bisect: {
    is: 'm',
    subcommands: { run: { is: 'm', runs: 0 }, log: { is: 'r' }, ...each('view visualize', bisectView) },
    otherwise: { is: 'm' },
  },
  submodule: {
    is: 'r',
    subcommands: {
      foreach: { is: 'm', runsText: true },
      ...each('status summary', { is: 'r' }),
      deinit: { is: 'd' },
      ...each('init absorbgitdirs set-branch set-url', { is: 'm' }),
    },
    otherwise: { is: 'mn', ...remoteRun },
  },
  apply: {
    is: 'm',
    only: { '--check --stat --numstat --summary': 'r' },
    with: { '--apply --build-fake-ancestor': 'm' },
    unsure: 'm',
  },
  archive: { is: 'r', with: { '-o --output': 'm', '--remote': 'n', '--exec': 'm' }, values: '-o', unsure: 'm' },
  commit: {
    is: 'mi',
    only: { '-m --message -F --file -C --reuse-message --no-edit --fixup --dry-run': 'm' },
    with: { '-p --patch --interactive -e --edit': 'i' },
    values: '-m -F -C -c -t --author --date',
  },
  mv: { is: 'm', only: { '-n --dry-run': 'r' }, unsure: 'm' },
  add: { is: 'm', only: { '-n --dry-run': 'r' }, unsure: 'm', with: { '-p --patch -i --interactive -e --edit': 'i' } },
  rebase: {
    is: 'm',
    with: { '-i --interactive --edit-todo': 'i', '--abort --quit --skip': 'd' },
    text: '-x --exec',
    values: '-x -X -s --onto',
  },
  ...each('merge cherry-pick am revert', {
    is: 'm',
    with: { '-e --edit -i --interactive': 'i', '--abort --quit --skip': 'd' },
    values: '-m -s -X -F',
  }),
  reset: { is: 'm', with: { '--hard --merge --keep': 'd', '-p --patch': 'i' }, unsure: 'd' },
  clean: { is: 'd', only: { '-n --dry-run': 'r' }, with: { '-i --interactive': 'i' } },
  checkout: {
    is: 'm',
    with: { '-- -f --force --ours --theirs -B': 'd', '-p --patch': 'i' },
    matching: { '^(\\.|:/.*|\\*.*)$': 'd' },
    values: '-b -B --orphan',
    unsure: 'd',
  },
  switch: { is: 'm', with: { '--discard-changes -f --force -C --force-create': 'd' }, unsure: 'd' },
  restore: { is: 'd', only: { '-S --staged': 'm' }, with: { '-W --worktree': 'd' }, values: '-s --source' },
  rm: { is: 'd', only: { '-n --dry-run --cached': 'm' } },
  gc: { is: 'm', with: { '--prune': 'd' } },
  prune: { is: 'd' },
  'update-ref': { is: 'm', with: { '-d --stdin': 'd' } },
  ...each('filter-branch filter-repo', {
    is: 'd',
    text: '--setup --env-filter --tree-filter --index-filter --parent-filter --msg-filter --commit-filter --tag-name-filter',
    values: '--subdirectory-filter --original -d',
  }),
  ...each('difftool mergetool', { is: 'mi', text: '-x --extcmd' }),
  push: {
    is: 'n',
    ...remoteRun,
    with: { '-f --force --force-with-lease -d --delete --mirror --prune': 'd' },
    matching: { '^[+:]': 'd', '^ext::': 'h' },
    values: '-o --push-option',
    unsure: 'd',
  },
  ...each('fetch pull clone', {
    is: 'mn',
    ...remoteRun,
    text: '--upload-pack -u',
    values: '-b -o -j --depth --branch --origin --reference --template -c --config --filter --shallow-since',
  }),
  'ls-remote': { is: 'n', ...remoteRun },
  lfs: { is: 'r', subcommands: each('ls-files status env version', { is: 'r' }), otherwise: { is: 'mn' } },
  ...each('svn p4 cvsimport archimport fetch-pack', { is: 'mn' }),
  'send-email': { is: 'n', text: '--sendmail-cmd --to-cmd --cc-cmd --header-cmd', with: { '--smtp-server': 'm' } },
  ...each('imap-send request-pull daemon http-fetch http-push send-pack instaweb', { is: 'n' }),
};

export const gitProgram: Program = {
  is: 'r',
  values: '-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source --exec-path',
  with: { '--config-env --exec-path': 'm', '--git-dir --work-tree': 'r' },
  subcommands,
  // It may be an alias of the repository's own, which can run anything.
  otherwise: { is: 'm' },
  bare: 'r',
};
