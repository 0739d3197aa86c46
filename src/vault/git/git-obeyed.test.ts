/** What the person's git obeys in a workspace: every place that can say so, and what is not known counted as everything. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { it } from 'node:test';
import { gitConfigurationFiles } from '../../base/limits/store.js';
import { freshPlace } from '../tree/tree-fixture.js';
import { type ObeyedPaths, obeyedPaths } from './git-obeyed.js';
import { Git, type GitRun } from './git-program.js';

const { at, write } = freshPlace();
let count = 0;

interface Asked {
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly repositories?: readonly string[];
  readonly git?: Git | undefined;
}

function asked({ environment = {}, repositories = ['work/.git'], ...more }: Asked = {}): Promise<ObeyedPaths> {
  const scratch = at(`scratch-${count++}`);
  mkdirSync(scratch);
  mkdirSync(at('work'), { recursive: true });
  const path = { PATH: process.env['PATH'] ?? '', HOME: at('home'), GIT_CONFIG_NOSYSTEM: '1' };
  const roots = [at('work'), at('more')];
  const git = 'git' in more ? more.git : Git.outside(roots);
  return obeyedPaths({
    git,
    roots,
    scratch,
    repositories: repositories.map((each) => at(each)),
    environment: { ...path, ...environment },
  });
}

const repository = (path: string, config = '') => {
  write(`${path}/HEAD`, 'ref: refs/heads/main\n');
  for (const name of ['objects', 'refs']) mkdirSync(at(path, name), { recursive: true });
  write(`${path}/config`, config);
};
/** Of these paths those that are obeyed. */
const among = ({ whyObeyed }: ObeyedPaths, paths: readonly string[], isLink = false) =>
  paths.filter((path) => whyObeyed(at(path), isLink) !== undefined);

it('names in a repository’s own file, in those it includes, and in the person’s lead into the workspace', async () => {
  repository('work/.git', '[core]\n\thooksPath = own/hooks\n[include]\n\tpath = ../included\n');
  write('work/included', '[core]\n\tattributesFile = by/include\n[filter "x"]\n\tclean = tools/clean.sh %f\n');
  write('home/.gitconfig', `[core]\n\texcludesFile = ${at('more/ignore')}\n[alias]\n\tx = !run/it\n`);
  const found = await asked();
  const obeyed = [
    'work/own/hooks',
    'work/own/hooks/pre-commit',
    'work/included',
    'work/by/include',
    'work/tools/clean.sh',
    'more/ignore',
    'work/run/it',
    'more/run/it',
  ];
  const others = ['work/own', 'work/own/hooksx', 'work/by', 'work/other', 'more/other', 'work/run', 'home/.x'];
  assert.deepEqual(among(found, [...obeyed, ...others]), obeyed);
  // A link may stand above what is named.
  assert.deepEqual(among(found, others, true), ['work/own', 'work/by', 'work/run']);
});

it('an include under a condition counts where that does not hold now, and so does what it includes in turn', async () => {
  repository(
    'work/.git',
    '[includeIf "onbranch:other"]\n\tpath = conditional\n[includeIf "onbranch:none"]\n\tpath = missing\n',
  );
  write(
    'work/.git/conditional',
    `[core]\n\tattributesFile = when/it/holds\n[includeIf "onbranch:third"]\n\tpath = ${at('home/deeper')}\n`,
  );
  write('home/deeper', '[include]\n\tpath = beside\n');
  write('home/beside', '[core]\n\tattributesFile = from/beside\n');
  const found = await asked();
  assert.deepEqual(among(found, ['work/when/it/holds', 'work/from/beside', 'work/other']), [
    'work/when/it/holds',
    'work/from/beside',
  ]);
});

it('beyond so many files under conditions everything may be obeyed, and up to that what they name', async () => {
  for (const [files, isAll] of [
    [gitConfigurationFiles, false],
    [gitConfigurationFiles + 1, true],
  ] as const) {
    repository('work/.git', '[core]\n\teditor = x\n');
    for (let index = 0; index < files; index += 1) write(`work/.git/c${index}`);
    const settings = Array.from(
      { length: files },
      (_, index) => `file:config\0includeif.onbranch:b${index}.path\nc${index}\0`,
    );
    // As git answers: each of the files says nothing.
    const run = async ({ words }: GitRun) => ({
      code: 0,
      stdout: Buffer.from(words.includes('--file') ? '' : settings.join('')),
      reason: '',
    });
    const found = await asked({ git: { run } as unknown as Git });
    assert.deepEqual(among(found, ['work/any', 'more/any']), isAll ? ['work/any'] : []);
  }
});

it('links among hooks lead to what git runs, and the directory of hooks is obeyed wherever it is', async () => {
  repository('work/.git');
  write('work/.git/hooks/plain');
  symlinkSync('../../tools/check', at('work/.git/hooks/pre-commit'));
  symlinkSync(at('more/push'), at('work/.git/hooks/pre-push'));
  symlinkSync('/elsewhere', at('work/.git/hooks/out'));
  const found = await asked();
  assert.deepEqual(among(found, ['work/tools/check', 'more/push', 'work/.git/hooks/new', 'work/tools', 'work/plain']), [
    'work/tools/check',
    'more/push',
    'work/.git/hooks/new',
  ]);
  mkdirSync(at('work/store/hooks'), { recursive: true });
  symlinkSync(at('work/store/hooks'), at('linked-hooks'));
  repository('work/other/.git');
  symlinkSync('../../store/hooks', at('work/other/.git/hooks'));
  // From where the directory really is, by each hop, and whatever else is there.
  mkdirSync(at('work/deep/down/hooks'), { recursive: true });
  repository('work/third/.git');
  symlinkSync('../../deep/down/hooks', at('work/third/.git/hooks'));
  symlinkSync('../../hop', at('work/deep/down/hooks/pre-commit'));
  symlinkSync('../new/none', at('work/deep/down/hooks/pre-push'));
  symlinkSync('scripts/last', at('work/deep/hop'));
  write('work/deep/scripts/last');
  symlinkSync('nowhere', Buffer.concat([Buffer.from(at('work/deep/down/hooks/')), Buffer.from([0xff])]));
  const deep = ['work/deep/hop', 'work/deep/scripts/last', 'work/deep/down/new/none'];
  const third = await asked({ repositories: ['work/third/.git'] });
  assert.deepEqual(among(third, [...deep, 'work/deep/x', 'work/hop']), deep);
  // The same of what a setting names.
  repository('work/fourth/.git', '[core]\n\thooksPath = ../deep/down/hooks\n');
  const fourth = await asked({ repositories: ['work/fourth/.git'] });
  assert.deepEqual(among(fourth, [...deep, 'work/deep/x', 'work/hop']), deep);
  const linked = await asked({ repositories: ['work/other/.git'] });
  assert.deepEqual(among(linked, ['work/store/hooks/pre-commit', 'work/store/x']), ['work/store/hooks/pre-commit']);
});

it('variables name programs and files, and directories of programs in the workspace hold what they name', async () => {
  repository('work/.git', '[core]\n\tpager = show -x\n');
  const environment = {
    EDITOR: 'tools/edit',
    GIT_SSH_COMMAND: `${at('more/ssh')} -v`,
    OTHER: 'other/thing',
    PATH: `${process.env['PATH']}:${at('work/bin')}`,
  };
  const found = await asked({ environment });
  const obeyed = ['work/tools/edit', 'more/ssh', 'work/bin/show'];
  assert.deepEqual(among(found, [...obeyed, 'work/other/thing', 'work/bin/other']), obeyed);
  const config = await asked({ environment: { XDG_CONFIG_HOME: at('work/config'), HOME: at('more') } });
  assert.deepEqual(
    among(config, [
      'work/config/git/attributes',
      'work/config/git/ignore',
      'work/config/git/config',
      'more/.gitconfig',
      'work/config/git/x',
    ]),
    [...['work/config/git/attributes', 'work/config/git/ignore', 'work/config/git/config', 'more/.gitconfig']],
  );
});

it('what cannot be asked may be anything: in the working tree of a repository, or everywhere', async () => {
  // It answers for none, which is asked first, and for no repository.
  const run = async ({ cwd }: GitRun) => ({
    code: cwd.endsWith('/of-1') ? 0 : 128,
    stdout: Buffer.alloc(0),
    reason: '',
  });
  const git = { run } as unknown as Git;
  const configurations: readonly (readonly [string, boolean])[] = [
    ['', true],
    ['[core]\n\tbare = false\n[remote "origin"]\n\turl = https://x\n', true],
    ['[core]\n\teditor = x\n', false],
    ['[core]\n\tbare = "false"\n', false],
    ['[core', false],
    ['x = y\n', false],
  ];
  for (const [config, isPlain] of configurations) {
    repository('work/sub/.git', config);
    const found = await asked({ git, repositories: ['work/sub/.git'] });
    assert.deepEqual(among(found, ['work/sub/x', 'work/x', 'more/x']), isPlain ? [] : ['work/sub/x'], config);
  }
  for (const name of ['config.worktree', 'commondir']) {
    // Each alone: either makes git read settings that lie elsewhere.
    const own = `work/with-${name}`;
    repository(`${own}/.git`);
    write(`${own}/.git/${name}`, '');
    assert.deepEqual(among(await asked({ git, repositories: [`${own}/.git`] }), [`${own}/x`]), [`${own}/x`], name);
  }
  repository('work/bare.git', '[core]\n\teditor = x\n');
  assert.deepEqual(among(await asked({ git, repositories: ['work/bare.git'] }), ['work/x', 'more/x']), [
    'work/x',
    'more/x',
  ]);
  write('other/.gitconfig', '');
  for (const environment of [{ GIT_CONFIG_GLOBAL: at('none') }, { HOME: at('other') }]) {
    const found = await asked({ git: undefined, repositories: [], environment });
    assert.deepEqual(among(found, ['work/x', 'more/x']), ['work/x', 'more/x']);
  }
  repository('work/.git', '[core');
  assert.deepEqual(among(await asked(), ['work/x', 'more/x']), ['work/x']);
});

it('a pipe in the place of a file of settings is not waited for, and everything it could name counts as named', {
  timeout: 120_000,
}, async () => {
  const pipes = ['work/piped/.git/config', 'work/headless/.git/HEAD', 'home/waits'];
  const reasons: (string | undefined)[] = [];
  mkdirSync(at('home'), { recursive: true });
  for (const name of ['piped', 'headless']) repository(`work/${name}/.git`, '[core]\n\teditor = "x y"\n');
  for (const pipe of pipes) {
    rmSync(at(pipe), { force: true });
    execFileSync('mkfifo', [at(pipe)]);
  }
  for (const name of ['piped', 'headless']) {
    const found = await asked({ repositories: [`work/${name}/.git`] });
    reasons.push(found.whyObeyed(at(`work/${name}/file`), false));
    assert.equal(found.whyObeyed(at('work/other'), false), undefined);
  }
  repository('work/including/.git', `[includeIf "gitdir:/nowhere/"]\n\tpath = ${at('home/waits')}\n`);
  const including = await asked({ repositories: ['work/including/.git'] });
  reasons.push(including.whyObeyed(at('work/including/file'), false));
  assert.deepEqual(
    reasons,
    pipes.map((pipe) => `your git configuration may name it, and could not be read: ${at(pipe)} is a pipe`),
  );
});
