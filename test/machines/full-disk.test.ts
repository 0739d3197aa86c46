/**
 * Every write of every verb fails in turn, or is cut short: a verb that says it is done has done it; one that says it failed has
 * done nothing half; and the same verb works when there is room again.
 *
 * `npm test` fails two writes of each verb in one of the ways, chosen by CTX_TEST_SEED: one of all, and one of the last, which make
 * durable what was done. CTX_SOAK=1 fails every write in every way.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ExitCode } from '../../src/base/errno.js';
import { checkout } from '../support/program.js';
import { randomFrom, testSeed } from '../support/random.js';
import { type Stage, useStage } from '../support/stage.js';
import { forEachUser, forEitherUser } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const lastWrites = 10;
const noSpace = '28';
const ways: readonly string[] = [noSpace, 'short'];
const notSoMany = 99;

const verbs: readonly (readonly string[])[] = [
  ['apply'],
  ['apply', '--undo'],
  ['checkpoint', 'save', 'named'],
  ['rollback'],
  ['exec', '--', 'sh', '-c', 'echo next > a'],
  ['flatten'],
  ['drop'],
  ['gc'],
  ['fork', 'create', 'second'],
  ['audit', 'seal'],
];

function build(stage: Stage): string | undefined {
  const injector = join(stage.directory, 'fail-call');
  const source = join(checkout, 'test', 'support', 'fail-call.c');
  return spawnSync('gcc', ['-O1', '-o', injector, source]).status === 0 ? injector : undefined;
}

forEachUser((user) => {
  const stage = useStage(user);

  const mapsItself = user.uid !== 0 && 'the jail of an unprivileged user maps itself';
  test('a command whose user namespace gets no identity ends with the reason', {
    skip: mapsItself,
  }, async (context) => {
    const injector = build(stage);
    if (injector === undefined) return context.skip('needs gcc');
    const project = stage.project();
    const without = (map: string) =>
      stage.start(project, [injector, map, '1', stage.program, 'exec', '--', 'true']).finished;
    for (const map of ['/uid_map', '/gid_map']) {
      const { code, stderr } = await without(map);
      if (code === notSoMany) return context.skip('this host does not let a program be traced');
      assert.equal(code, ExitCode.denied, stderr);
      assert.match(stderr, /\(EPERM\)/);
    }
  });
});

// Twice as many writes and verbs would be the same code of ours.
forEitherUser((user) => {
  const stage = useStage(user);

  test(`a verb whose write fails has not half happened, CTX_TEST_SEED=${testSeed}`, async (context) => {
    const random = randomFrom(testSeed + user.uid);
    const injector = build(stage);
    if (injector === undefined) return context.skip('needs gcc');
    const world = stage.makeDirectory('world');
    const project = join(world, 'project');
    // The configuration holds the software root of the record: it is put back with the store.
    const env = { CTX_DATA: join(world, 'store'), XDG_CONFIG_HOME: join(world, 'store', 'configuration') };
    const ctx = (words: readonly string[]) => stage.ctx(project, words, { env });
    const failing = (number: number, how: string, words: readonly string[]) =>
      stage.start(project, [injector, String(number), how, stage.program, ...words], { env }).finished;
    stage.shell(world, 'mkdir project; cd project; echo old > a; echo old > b; echo old > c');
    const ready = async (words: readonly string[]) => assert.equal((await ctx(words)).code, 0, words.join(' '));
    await ready(['exec', '--', 'sh', '-c', 'echo new > a; rm b']);
    await ready(['apply']);
    await ready(['exec', '--', 'sh', '-c', 'echo newer > a; echo newer > c; echo newer > d']);
    // Not as the user: what is copied has every owner and mode. The project stays the directory it is, as its vault knows it.
    const copy = (from: string, to: string) => {
      const script = `mkdir -p ${to}/project; rm -rf ${to}/store; find ${to}/project -mindepth 1 -delete
        cp -a ${from}/store ${to}/store && cp -a ${from}/project/. ${to}/project/`;
      const { status, stderr } = spawnSync('sh', ['-c', script], { cwd: stage.directory, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    };
    copy('world', 'saved');
    const probe = await failing(1, noSpace, ['--version']);
    if (probe.code === null || probe.signal !== null) return context.skip('this host does not let a program be traced');

    for (const verb of verbs) {
      for (const how of isSoak ? ways : [ways[Math.floor(random() * ways.length)] ?? noSpace]) {
        copy('saved', 'world');
        const counted = Number(/(\d+) calls\n$/.exec((await failing(0, how, verb)).stderr)?.[1]);
        assert.ok(counted > 0, verb.join(' '));
        const all = Array.from({ length: counted }, (_, index) => index + 1);
        const some = [all, all.slice(-lastWrites)].map((list) => list[Math.floor(random() * list.length)] ?? 1);
        for (const number of isSoak ? all : some) {
          copy('saved', 'world');
          const label = `write ${number} of ctx ${verb.join(' ')}: ${how === 'short' ? 'cut short' : 'no space'}`;
          const ended = await failing(number, how, verb);
          // How many there are depends a little on the moment.
          if (ended.code === notSoMany) continue;
          const said = `${label}\n${ended.stdout}${ended.stderr}`;
          // A full disk is no defect of ours.
          assert.notEqual(ended.code, ExitCode.internal, said);
          // The person's files are old or new, each whole, and all of them new where the verb says so.
          const text = (name: string) => stage.shell(project, `cat ${name} 2>/dev/null || true`).trimEnd();
          const state = ['a', 'b', 'c', 'd'].map(text).join(',');
          if (verb[0] !== 'apply') assert.equal(state, 'new,,old,', said);
          else if (ended.code === 0)
            assert.equal(state, verb[1] === undefined ? 'newer,,newer,newer' : 'old,old,old,', said);
          for (const name of ['a', 'b', 'c', 'd']) assert.match(text(name), /^(old|new|newer)?$/, said);
          // A short write is no failure to anybody who goes on after it.
          if (how === 'short' && ended.code !== null && verb[0] === 'checkpoint') assert.equal(ended.code, 0, said);
          const repaired = await stage.json(project, ['fsck', '--repair'], 0, { env });
          assert.deepEqual(repaired['faults'], [], said);
          if (ended.code !== 0 || verb[0] === 'exec') {
            const again = await ctx(verb);
            assert.equal(again.code, 0, `${said}\nagain: ${again.stdout}${again.stderr}`);
          }
          const verified = await ctx(['audit', 'verify']);
          assert.match(verified.stdout, /The record is intact/, `${said}\n${verified.stdout}${verified.stderr}`);
          if (verb[0] === 'apply' && verb[1] === undefined)
            assert.equal(readFileSync(join(project, 'a'), 'utf8'), 'newer\n', said);
        }
      }
    }
  });
});
