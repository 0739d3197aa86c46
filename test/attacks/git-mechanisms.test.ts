/** Every mechanism of git by which a file of an agent's could act for the person, each tried: with a plain copy it does, with apply never. */
import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { differing } from '../support/fork-and-home.js';
import { mechanisms as all, type Mechanism } from '../support/git-mechanisms.js';
import { randomFrom, testSeed } from '../support/random.js';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const isLong = process.env['CTX_SOAK'] === '1';

/** Those by which people were attacked are tried each time, of the others some by the seed; all of them in the soak. */
const always = new Set([
  ...['core.fsmonitor', 'filter.clean', 'include.path', 'config.worktree', 'a configuration of more than a MiB'],
  ...['a bare repository whose directory has a newline', 'a script that yours has as filter.clean', 'info/exclude'],
  ...['hooks in your home that are the workspace’s', 'a removed pushurl', 'a pipe in place of HEAD', 'skip-worktree'],
  ...['hooks that a nested repository of yours names beside it', 'assume-unchanged'],
  'a file that yours includes by a link to nothing yet',
  ...['a script with a space in its name that yours has as core.fsmonitor, in quotes'],
]);
const random = randomFrom(testSeed);
const mechanisms = all.filter(({ name }) => {
  const isDrawn = random() < 0.08;
  return isLong || always.has(name) || isDrawn;
});

const identity = 'git config user.name a; git config user.email a@b';
const first = `git init -q -b main --template=; ${identity}; echo f > f; git add f; git commit -qm first`;

/** One repository for each, side by side, so that all of them cost one command and one apply. */
function script(part: (mechanism: Mechanism) => string, ran: string): string {
  return mechanisms
    .map((each, at) => `( RAN="${ran}/${at}"; cd r${at}; ${part(each)}\n) > log${at} 2>&1 || true; rm -f log${at}`)
    .join('\n');
}

forEitherUser((user) => {
  const stage = useWarmStage(user);
  const namesIn = (directory: string) =>
    stage
      .shell(directory, 'ls')
      .split('\n')
      .slice(0, -1)
      .map((at) => mechanisms[Number(at)]?.name ?? at)
      .sort();

  test(`whatever git runs, reads or hides by an agent’s file does not come home unasked, CTX_TEST_SEED=${testSeed}`, async () => {
    const copies = `mkdir r0; (cd r0; ${first}); for i in $(seq ${mechanisms.length - 1}); do cp -r r0 r$i; done`;
    const prepare = (ran: string) => `${copies}; ${script(({ prepare = ':' }) => prepare, ran)}`;
    const use = (ran: string) => script((each) => each.use, ran);
    // Without the hold-back each of them has to work: otherwise that it does not come home says nothing.
    if (isLong) {
      const open = stage.makeDirectory('ran-open');
      const plain = stage.project(prepare(open));
      stage.shell(
        plain,
        script(({ plant }) => plant, open),
      );
      stage.shell(plain, `rm -f ${open}/*; ${use(open)}`);
      assert.deepEqual(namesIn(open), mechanisms.map(({ name }) => name).sort());
    }

    const ran = stage.makeDirectory('ran');
    const project = stage.project(prepare(ran));
    stage.shell(project, `rm -f ${ran}/*`);
    await stage.inside(
      project,
      script(({ plant }) => plant, ran),
    );
    const answer = await stage.json(project, ['apply'], 3);
    assert.equal(answer['done'], true);
    assert.deepEqual(await differing(stage, project, answer), []);
    stage.shell(project, use(ran));
    assert.deepEqual(namesIn(ran), []);
  });

  test('a second directory is judged as the first one: its own repository, and what the configuration of either names in the other', async () => {
    const ran = stage.makeDirectory('ran-second');
    const second = stage.project(`${first}; mkdir hooks2`);
    const project = stage.project(`${first}; mkdir tools; git config core.hooksPath ${second}/hooks2`);
    stage.shell(second, `git config core.fsmonitor ${project}/tools/monitor`);
    const canary = (file: string) =>
      `mkdir -p "$(dirname ${file})"; printf '#!/bin/sh\ntouch ${ran}/ran\n' > ${file}; chmod +x ${file}`;
    const planted = `${canary(`${second}/hooks2/pre-commit`)}; ${canary(`${project}/tools/monitor`)}
      cd ${second}; echo g > g; git add g; git commit -qm second; ${canary('.git/hooks/post-checkout')}
      git config filter.x.clean 'touch ${ran}/ran; cat'; mkdir -p .git/info; echo hidden >> .git/info/exclude`;
    const { code, stderr } = await stage.ctx(project, ['exec', '--write', second, '--', 'sh', '-c', planted]);
    assert.equal(code, 0, stderr);
    const answer = await stage.json(project, ['apply'], 3);
    const held = (answer['heldBack'] as string[]).map((path) => resolve(project, path)).sort();
    for (const name of ['.git/config', '.git/hooks/post-checkout', '.git/info/exclude', 'hooks2/pre-commit']) {
      assert.ok(held.includes(join(second, name)), `${name}: ${held.join(' ')}`);
    }
    assert.ok(held.includes(join(project, 'tools/monitor')), held.join(' '));
    for (const each of [project, second]) {
      stage.shell(each, 'git status > /dev/null; echo more >> f; git commit -qam more; git checkout -q --detach');
    }
    assert.equal(stage.shell(ran, 'ls'), '');
    assert.equal(stage.shell(second, 'git log --format=%s'), 'more\nsecond\nfirst\n');
  });
});
