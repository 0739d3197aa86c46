/**
 * Times, with make as the judge: what comes into a directory changes there now, so make never calls something up to date that
 * was built from what was there before; and where it was up to date inside, it is so outside.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const makefile = "printf 'out: in\\n\\tcp in out\\n' > Makefile; echo old > in";
/** Says whether make would do anything. */
const question = 'make -q && echo up to date || echo to be built';
const upToDate = 'up to date\n';
const toBeBuilt = 'to be built\n';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('what is applied is newer than what was built outside before, and again when it is undone', async () => {
    const project = stage.project(makefile);
    await stage.inside(project, 'echo agent > in');
    stage.shell(project, 'make');
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, question), toBeBuilt);
    assert.equal(stage.shell(project, 'make >/dev/null; cat out'), 'agent\n');
    await stage.json(project, ['apply', '--undo']);
    assert.equal(
      stage.shell(project, `${question}; make >/dev/null; cat out; ${question}`),
      `${toBeBuilt}old\n${upToDate}`,
    );
  });

  test('what was up to date inside is so outside, the times of directories included', async () => {
    const script = `${makefile}; printf 'list: d d/a\\n\\tls d > list\\n' >> Makefile; mkdir d; touch d/a; make out list`;
    const project = stage.project(script);
    await stage.inside(project, 'echo agent > in; touch d/b; mkdir -p e/f; make out list');
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, 'make -q out list && cat out list'), 'agent\na\nb\n');
    assert.equal(await stage.inside(project, 'make -q out list && cat out list'), 'agent\na\nb\n');
    const now = Date.now() / 1000;
    const times = stage.shell(project, 'stat -c %.9Y in out d d/b list e e/f').trim().split('\n').map(Number);
    assert.ok(
      times.every((time) => time <= now),
      `${now} ${times}`,
    );
  });

  test('a source that was changed, built and put back inside is newer than the product outside, too', async () => {
    const project = stage.project(`${makefile}; make`);
    await stage.inside(project, 'echo wrong > in; make');
    await stage.inside(project, 'echo old > in');
    assert.equal(await stage.inside(project, question), toBeBuilt);
    const applied = await stage.json(project, ['apply']);
    assert.deepEqual(applied['applied'], [{ action: 'put', path: 'out' }]);
    assert.equal(stage.shell(project, `${question}; make >/dev/null; cat out`), `${toBeBuilt}old\n`);
  });

  test('a path that is rolled back is newer than what was built from the later one', async () => {
    const project = stage.project(makefile);
    await stage.inside(project, 'echo first > in');
    await stage.inside(project, 'echo second > in; make');
    await stage.json(project, ['rollback', '2', 'in']);
    assert.equal(await stage.inside(project, `${question}; make >/dev/null; cat out`), `${toBeBuilt}first\n`);
  });

  test('a touch outside enters, and an edit that is older than what the fork has built enters as newer', async () => {
    const project = stage.project(makefile);
    await stage.inside(project, 'make');
    stage.shell(project, 'touch in');
    const touched = await stage.exec(project, ['sh', '-c', `${question}; make >/dev/null`]);
    assert.equal(touched.stdout?.text, toBeBuilt);
    assert.deepEqual([touched.entered, touched.clashes], [[], []]);
    stage.shell(project, "echo person > in; touch -d '1 hour ago' in");
    assert.equal(await stage.inside(project, `${question}; make >/dev/null; cat out`), `${toBeBuilt}person\n`);
    assert.deepEqual(
      ((await stage.json(project, ['diff']))['changes'] as { path: string }[]).map(({ path }) => path),
      ['out'],
    );
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, `${question}; cat in out`), `${upToDate}person\nperson\n`);
  });

  test('a product that git ignores does not become newer than a source that was edited after it was built', async () => {
    const project = stage.project(`git init -q .; echo out > .gitignore; ${makefile}`);
    await stage.inside(project, 'make; echo more > other');
    stage.shell(project, 'echo person > in');
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, `cat out; ${question}; make >/dev/null; cat out`), `old\n${toBeBuilt}person\n`);
  });

  const objects = `printf 'MAKEFLAGS += -r\\nall: a.o b.o\\n%%.o: %%\\n\\tcp $< $@\\n' > Makefile; echo 0 > a; echo 0 > b; sleep 0.02; make -s all`;
  const inEachView = async (project: string, script: string) => [
    await stage.inside(project, script),
    stage.shell(project, script),
  ];

  test('of a person and a fork that both worked, sources are newer than the products of the other', async () => {
    const project = stage.project(objects);
    await stage.inside(project, 'echo fork > a; sleep 0.02; touch b; make -s b.o; echo > c.o');
    stage.shell(project, 'sleep 0.02; echo person > b; touch a; sleep 0.02; make -s all');
    const question = 'make -q a.o || echo a; make -q b.o || echo b';
    assert.equal(await stage.inside(project, question), 'a\nb\n');
    await stage.json(project, ['apply']);
    assert.deepEqual(await inEachView(project, 'make -s all; cat a.o b.o'), ['fork\nperson\n', 'fork\nperson\n']);
  });

  test('a product of a version that did not come home is older than the one that stays', async () => {
    const project = stage.project(objects);
    await stage.inside(project, 'echo fork > a; echo fork > b; sleep 0.02; make -s all');
    await stage.json(project, ['apply', 'a.o', 'b']);
    assert.equal(stage.shell(project, 'cat a.o; make -s all; cat a.o b.o'), 'fork\n0\nfork\n');
  });

  test('an undo leaves the time of a product that was built since', async () => {
    const project = stage.project(objects);
    await stage.inside(project, 'touch a; sleep 0.02; make -s all; sleep 0.02; echo fork > a');
    await stage.json(project, ['apply']);
    stage.shell(project, 'make -s all');
    await stage.json(project, ['apply', '--undo']);
    assert.equal(stage.shell(project, 'make -s all; cat a.o'), '0\n');
  });

  test('what stays in the fork keeps its place in the order', async () => {
    const project = stage.project(`${makefile}; make`);
    await stage.inside(project, 'touch out; echo agent > in');
    await stage.inside(project, 'echo b > out');
    await stage.inside(project, 'echo later > in');
    await stage.json(project, ['apply', 'out']);
    assert.equal(await stage.inside(project, question), toBeBuilt);
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, question), toBeBuilt);
  });

  test('what is written again of a repository has its place among what comes as it is', async () => {
    const names = ['.git/COMMIT_EDITMSG', 'b', '.git/refs/heads/main', '.git/config', '.git/logs/HEAD'];
    const project = stage.project(
      'git init -q -b main .; git config user.name a; git config user.email a@b; echo a > a; git add a; git commit -qm one',
    );
    // A program to run, so that the configuration is nothing that is judged harmless and written again.
    const work = `echo b > b; git add b; git commit -qm two; git config core.pager true
      i=0; for name in ${names.join(' ')}; do i=$((i + 1)); touch -d @170000000$i $name; done`;
    await stage.inside(project, work);
    await stage.json(project, ['apply', '--allow-sensitive']);
    assert.equal(stage.shell(project, `ls -tr ${names.join(' ')}; git status --short`), `${names.join('\n')}\n`);
  });

  test('names of one file come home as names of one file, and are so again when that is undone', async () => {
    const project = stage.project('echo 1 > a; ln a b; echo 2 > other');
    const links = 'stat -c %h a b other c 2>/dev/null | tr "\\n" " "';
    await stage.inside(
      project,
      'ln other c; echo 3 > new; ln new new2; mkdir d; ln new d/new3; rm b; echo 4 > a; ln a b',
    );
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, `${links}; stat -c %h new d/new3 | tr "\\n" " "; cat b c`), '2 2 2 2 3 3 4\n2\n');
    await stage.json(project, ['apply', '--undo']);
    assert.equal(stage.shell(project, `${links}; cat a b; ls`), '2 2 1 1\n1\na\nb\nother\n');
  });
});
