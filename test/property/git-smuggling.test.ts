/**
 * Smuggling: random repositories of a person's, configured by every scope and include, and random changes of an agent's, in the
 * repositories' own directories and beside them. After a plain apply the person works with git in a copy: nothing of the agent's
 * runs. The same changes without the hold-back run in some of them (in the soak). And whatever differs between the fork and the
 * person's directory was named as held back or left out.
 *
 * CTX_TEST_SEED repeats a run; CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differing } from '../support/fork-and-home.js';
import { randomFrom, testSeed } from '../support/random.js';
import { parseJson, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const isLong = process.env['CTX_SOAK'] === '1';
const rounds = isLong ? 40 : 1;
const repositories = isLong ? 24 : 5;

type Random = () => number;
const pick = <T>(random: Random, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
const some = <T>(random: Random, list: readonly T[], most: number): readonly T[] =>
  Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(random, list));

/** Paths of the working tree that the person's configuration may lead to. */
const named = ['tools/x.sh', 'hooks', 'a b/run', 'deep/er/script', 'x', 'inc/shared', 'link/x'];
const hooks = ['pre-commit', 'post-checkout', 'post-index-change', 'reference-transaction', 'prepare-commit-msg'];
const running = [
  'core.fsmonitor',
  'core.editor',
  'diff.external',
  'alias.st',
  'core.pager',
  'filter.f.clean',
  'gpg.program',
];
const ownFiles = [
  'config',
  'config.worktree',
  'info/attributes',
  'info/exclude',
  'commondir',
  'HEAD',
  'packed-refs',
  'index',
];
const places = ['.git', '.git', '.git', 'bare', 'sub/deep/.git'];

/** Where the person's configuration says something: each scope and each way to include a file. */
const scopes: readonly ((setting: string) => string)[] = [
  (setting) => `git config ${setting}`,
  (setting) => `git config extensions.worktreeConfig true; git config --worktree ${setting}`,
  (setting) => `git config -f .git/more ${setting}; git config include.path more`,
  (setting) => `git config -f inc/own ${setting}; git config include.path ../inc/own`,
  (setting) => `git config -f .git/if ${setting}; git config includeIf.gitdir:**.path if`,
  (setting) => `git config -f .git/on ${setting}; git config includeIf.onbranch:*.path on`,
  (setting) => `git config -f "$HOME/$ID.inc" ${setting}; git config include.path "~/$ID.inc"`,
];

function settingsOf(random: Random): string {
  const path = pick(random, named);
  return pick(random, [
    `core.hooksPath '${path}'`,
    `core.fsmonitor './${path}'`,
    `core.fsmonitor "\\"$PWD/${path}\\""`,
    `filter.f.clean 'sh "${path}" %f'`,
    `core.editor 'sh "./${path}"'`,
    `diff.external '"./${path}"'`,
    `include.path '../${path}'`,
  ]);
}

const script = (path: string) =>
  `mkdir -p "$(dirname "${path}")" && [ ! -d "${path}" ] && printf '#!/bin/sh\\ntouch "%s"\\ncat < /dev/null\\n' "$RAN" > "${path}" && chmod +x "${path}"`;
const setting = (file: string, key: string) => `git config -f "${file}" ${key} "touch '$RAN'; cat < /dev/null"`;

/** One thing that an agent does, hostile or not. */
function deed(random: Random): string {
  const place = pick(random, places);
  const key = pick(random, running);
  const own = pick(random, ownFiles);
  const hook = pick(random, hooks);
  return pick(random, [
    script(pick(random, named)),
    script(`${pick(random, named)}/${hook}`),
    script(`${place}/hooks/${hook}`),
    setting(`${place}/config`, key),
    setting(`${place}/config.worktree`, key),
    setting(pick(random, ['inc/shared', 'inc/own', 'inc/other', '.gitconfig']), key),
    `printf '[include]\\n\\tpath = ../inc/other\\n' >> ${place}/config`,
    `printf '[branch "x"][core]fsmonitor=touch %s\\n' "$RAN" >> ${place}/config`,
    `{ head -c 1050000 /dev/zero | tr '\\0' '#'; echo; } >> ${place}/config; ${setting(`${place}/config`, key)}`,
    `mkdir -p ${place}/info; echo '* filter=f diff=f' > ${place}/info/attributes`,
    `echo '* filter=f' > .gitattributes`,
    `head -c ${Math.floor(random() * 300)} /dev/urandom > ${place}/${own}`,
    `rm -rf ${place}/${own}; ln -s ../evil/${own} ${place}/${own}`,
    `rm -rf tools; ln -s evil tools; ${script('evil/x.sh')}`,
    `cp -r .git evil; ${setting('evil/config', key)}; echo 'gitdir: ../evil' > sub/.git`,
    `cp -r .git evil; ${setting('evil/config', key)}; echo ../evil > .git/commondir`,
    `git update-index --assume-unchanged f; echo changed > f`,
    `git checkout -qb b${Math.floor(random() * 1e6)}; echo $$ >> f; git add f; git commit -qm deed`,
    `git stash -q; git tag -f t; git gc -q; git pack-refs --all`,
    `mkdir -p .git/rebase-merge; printf 'exec touch "%s"\\n' "$RAN" > .git/rebase-merge/git-rebase-todo; : > .git/rebase-merge/interactive`,
    `git replace -f HEAD $(git commit-tree -m EVIL HEAD^{tree})`,
  ]);
}

const use = [
  ...[
    'git status',
    'git st',
    'git log -p',
    'echo y >> f; git diff',
    'git add f',
    'git commit -qm mine',
    'git checkout -qb mine',
  ],
  ...[
    'git commit --amend --allow-empty',
    'git rebase --continue',
    'git stash',
    '(cd sub; git status)',
    '(cd bare; git branch new)',
  ],
]
  .map((line) => `timeout 5 sh -c '${line}'`)
  .join('; ');

const first = `git init -q -b main --template=; git config user.name a; git config user.email a@b; mkdir sub inc hooks; echo f > f
  git add f; git commit -qm first; git clone -q --bare . bare`;

forEitherUser((user) => {
  const stage = useWarmStage(user);

  for (let round = 0; round < rounds; round += 1) {
    test(`nothing of an agent’s runs after an apply, CTX_TEST_SEED=${testSeed}, round ${round}`, async () => {
      const random = randomFrom(testSeed + round * 7919);
      const worlds = Array.from({ length: repositories }, () => ({
        prepare: some(random, scopes, 3)
          .map((scope) => scope(settingsOf(random)))
          .join('; '),
        deeds: some(random, [0, 1, 2], 4)
          .map(() => deed(random))
          .join('\n'),
      }));
      // The home is that of all rounds, which run side by side: what one includes from there is not another's to change.
      const all = (part: (world: (typeof worlds)[number]) => string, ran: string) =>
        worlds
          .map(
            (world, at) =>
              `( ID=r${round}w${at}; RAN="${ran}/${at}"; export RAN ID; cd r${at}; ${part(world)}\n) > /dev/null 2>&1 || true`,
          )
          .join('\n');
      const copies = `mkdir r0; (cd r0; ${first}); for i in $(seq ${repositories - 1}); do cp -r r0 r$i; done`;
      const prepared = (ran: string) => `${copies}; ${all(({ prepare }) => prepare, ran)}`;

      const open = stage.makeDirectory(`open-${round}`);
      if (isLong) {
        const plain = stage.project(prepared(open));
        stage.shell(
          plain,
          all(({ deeds }) => deeds, open),
        );
        stage.shell(plain, `rm -f ${open}/*; ${all(() => use, open)}`);
      }
      const ran = stage.makeDirectory(`ran-${round}`);
      const project = stage.project(prepared(ran));
      await stage.inside(
        project,
        all(({ deeds }) => deeds, ran),
      );
      stage.shell(project, `rm -f ${ran}/*`);
      const { stdout, stderr } = await stage.ctx(project, ['apply', '--json']);
      assert.match(stdout, /"done":true/, stderr);
      assert.deepEqual(await differing(stage, project, parseJson(stdout) as Record<string, unknown>), []);
      stage.shell(
        project,
        `cp -a . ../copy-${round}; cd ../copy-${round}; ${all(() => use, ran)}; rm -rf ../copy-${round}`,
      );
      const smuggled = stage.shell(ran, 'ls').split('\n').slice(0, -1);
      assert.deepEqual(
        smuggled.map((at) => worlds[Number(at)]),
        [],
      );
      if (isLong) assert.notEqual(stage.shell(open, 'ls'), '', 'without the hold-back some have to run');
    });
  }
});
