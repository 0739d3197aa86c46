/** Verbs that promise that what they did survives a power cut wait for the disk before they say so: seen by the calls they make. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const skip = spawnSync('strace', ['-V']).status === 0 ? false : 'strace is not installed';
const calls = 'fsync,fdatasync,syncfs,sync_file_range,?rename,renameat,renameat2,linkat,?unlink,unlinkat';

/** Calls that succeeded, where they ended: one that waits is two lines where others call meanwhile. */
function ended(lines: readonly string[]): readonly string[] {
  const begun = new Map<string, string>();
  return lines.flatMap((line) => {
    const [process = ''] = line.split(' ');
    if (line.endsWith(' <unfinished ...>')) {
      begun.set(process, line.slice(0, -' <unfinished ...>'.length));
      return [];
    }
    const whole = line.replace(/^.*<\.\.\. \w+ resumed>/, () => begun.get(process) ?? '');
    return / = 0$/.test(whole) ? [whole] : [];
  });
}

forEitherUser((user) => {
  const stage = useStage(user);
  let traced = 0;

  /** The calls of a verb that wait for the disk or change a name, in order, with the paths of descriptors. */
  async function callsOf(project: string, words: readonly string[]): Promise<readonly string[]> {
    const log = join(stage.directory, `calls-${++traced}`);
    const argv = ['strace', '-f', '--seccomp-bpf', '-y', '-o', log, '-e', `trace=${calls}`, stage.program, ...words];
    const { code, stderr } = await stage.start(project, argv).finished;
    assert.equal(code, 0, stderr);
    return ended(readFileSync(log, 'utf8').split('\n'));
  }

  const changes = (line: string) => /^\S+ +(rename|link|unlink)/.test(line);
  const isStore = (line: string) => line.includes(`syncfs(`) && line.includes(`<${stage.store}>`);
  /** A state that names what was written: its bytes, then its name. */
  const isState = (line: string) => /fsync\(\d+<[^>]*\/fork\/main\/state\.new>/.test(line);
  const isStateName = (line: string) => /fsync\(\d+<[^>]*\/fork\/main>/.test(line);

  /** Each after the one before it. */
  const inOrder = (lines: readonly string[], steps: Readonly<Record<string, (line: string) => boolean>>, from = 0) => {
    let at = from;
    for (const [what, is] of Object.entries(steps)) {
      const found = lines.findIndex((line, index) => index >= at && is(line));
      assert.ok(found >= 0, `${what}, after line ${at} of\n${lines.join('\n')}`);
      at = found + 1;
    }
    return at;
  };

  const filled = 'mkdir d; for each in 1 2 3; do echo $each > d/$each; done; touch -d 2020-01-01 d/*';

  test('an apply and its undo: what was there is kept, then written, then said, each on the disk', {
    skip,
  }, async () => {
    const project = stage.project(filled);
    await stage.inside(project, 'echo new > d/1; rm d/2; mkdir e; echo x > e/x');
    for (const words of [['apply'], ['apply', '--undo']]) {
      const lines = await callsOf(project, words);
      const isWritten = (line: string) => changes(line) && line.includes(`<${project}/`);
      const [first, end] = [lines.findIndex(isWritten), lines.findLastIndex(isWritten) + 1];
      assert.ok(first >= 0, `${words.join(' ')} writes: ${lines.join('\n')}`);
      const kept = inOrder(lines, { 'the store waits': isStore, 'its state': isState, 'its name': isStateName });
      assert.ok(kept <= first, `what was there is kept first:\n${lines.join('\n')}`);
      const steps = {
        'the directory waits': (line: string) => line.includes('syncfs(') && line.includes(`<${project}>`),
        'the store waits': isStore,
        'its state': isState,
        'its name': isStateName,
        'the mark goes': (line: string) => /unlink\(".*\/writing"\)/.test(line),
      };
      inOrder(lines, steps, end);
      // A name is given to bytes that are on the disk: each file made is waited for before.
      for (const [index, line] of lines.entries()) {
        if (!/linkat\(.*\/proc\/self\/fd\/(\d+)".*\.old"|linkat\(.*"x"/.test(line)) continue;
        const before = lines.slice(0, index).some((each) => /sync_file_range\(.*SYNC_FILE_RANGE_WAIT_AFTER/.test(each));
        assert.ok(before, `${line}:\n${lines.join('\n')}`);
      }
    }
  });

  test('an apply to another directory waits for the disk of that', { skip }, async () => {
    const project = stage.project(filled);
    await stage.inside(project, 'echo new > d/1; echo x > x');
    const elsewhere = stage.project(`cp -a ${project}/d .`);
    const lines = await callsOf(project, ['apply', '--to', elsewhere]);
    const end = lines.findLastIndex((line) => changes(line) && line.includes(`<${elsewhere}`)) + 1;
    assert.ok(end > 0, lines.join('\n'));
    const isWaited = (line: string) => line.includes('syncfs(') && line.includes(`<${elsewhere}>`);
    inOrder(lines, { 'the directory waits': isWaited }, end);
  });

  test('a checkpoint by name: the store before the state that names it', { skip }, async () => {
    const project = stage.project('echo 1 > file');
    await stage.inside(project, 'echo 2 > file');
    const lines = await callsOf(project, ['checkpoint', 'save', 'named']);
    inOrder(lines, { 'the store waits': isStore, 'its state': isState, 'its name': isStateName });
  });

  test('a fork that is made, and that is chosen: its layer and its state, then their names', { skip }, async () => {
    const project = stage.project('echo 1 > file');
    await stage.inside(project, 'echo 2 > file');
    const synced = (path: string) => (line: string) => new RegExp(`fsync\\(\\d+<[^>]*/${path}>`).test(line);
    inOrder(await callsOf(project, ['fork', 'create', 'idea']), {
      'the names of layers': synced('layer'),
      'the name of the fork': synced('fork'),
      'its state': synced('fork/idea/state\\.new'),
      'its name': synced('fork/idea'),
    });
    const chosen = { 'the choice': synced('meta\\.json[^/]*'), 'its name': synced('vault/[0-9a-f]+') };
    inOrder(await callsOf(project, ['fork', 'use', 'idea']), chosen);
    inOrder(await callsOf(project, ['fork', 'delete', 'idea']), chosen);
  });
});
