/**
 * kill -9 at random moments, of ctx alone or of everything it started. Afterwards every verb works, no file of the person
 * is half written, and what was confirmed is still there. CTX_TEST_SEED repeats a run, CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom, testSeed } from '../support/random.js';
import { snapshot } from '../support/snapshot.js';
import { type Stage, useStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const rounds = process.env['CTX_SOAK'] === '1' ? 160 : 8;

const count = 30;
const lines = 3000;
const write = (word: string) =>
  `for f in $(seq ${count}); do yes ${word} | head -${lines} > f$f; done; rm -f extra-*; echo ${word} > extra-${word}`;

/** The word that each file consists of; a file of two words, or of half a word, is half written. */
function words(project: string): Set<string> {
  const found = new Set<string>();
  for (let number = 1; number <= count; number++) {
    const text = readFileSync(join(project, `f${number}`), 'utf8');
    const word = text.slice(0, text.indexOf('\n'));
    assert.ok(text === `${word}\n`.repeat(lines), `f${number} is half written`);
    found.add(word);
  }
  return found;
}

async function killAtRandom(
  stage: Stage,
  project: string,
  argv: readonly string[],
  random: () => number,
  within: number,
  data?: string,
) {
  const env = data === undefined ? {} : { CTX_DATA: data };
  const running = stage.startCtx(project, argv, { detached: true, env });
  await sleep(random() * within);
  const everything = random() < 0.5;
  try {
    process.kill(everything ? -running.pid : running.pid, 'SIGKILL');
  } catch {
    // It had ended before.
  }
  return running.finished;
}

forEachUser(
  (user) => {
    const stage = useStage(user);

    test(`kill -9 at ${rounds} random moments, CTX_TEST_SEED=${testSeed}`, async () => {
      const random = randomFrom(testSeed + user.uid);
      const project = stage.project(write('first'));
      let origin = 'first';
      const within = 500;
      for (let round = 0; round < rounds; round++) {
        const word = `round${round}`;
        const before = snapshot(project);

        // An import that is killed: the next one in the same store starts afresh.
        if (round % 3 === 0) {
          const data = join(stage.directory, `store-${round}`);
          await killAtRandom(stage, project, ['exec', '--', 'true'], random, within, data);
          const next = await stage.ctx(project, ['exec', '--wait', '--', 'sh', '-c', 'sort -u f*'], {
            env: { CTX_DATA: data },
          });
          assert.deepEqual([next.code, next.stdout], [0, `${origin}\n`], next.stderr);
        }

        // A command that is killed, and one that is confirmed.
        await killAtRandom(stage, project, ['exec', '--wait', '--', 'sh', '-c', write(`${word}lost`)], random, within);
        assert.deepEqual(snapshot(project), before, 'a command changed the directory itself');
        await stage.inside(project, write(word));
        assert.equal(await stage.inside(project, 'sort -u f* extra-*'), `${word}\n`);

        if (random() < 0.3) {
          await killAtRandom(stage, project, ['drop', '--wait'], random, within);
          const { changes } = (await stage.json(project, ['diff', '--wait'])) as { changes: unknown[] };
          assert.ok(changes.length === 0 || changes.length >= count, `half dropped: ${changes.length}`);
          await stage.json(project, ['drop', '--wait']);
          assert.deepEqual(snapshot(project), before);
          continue;
        }
        await killAtRandom(stage, project, ['apply', '--wait'], random, within);
        for (const found of words(project)) assert.ok(found === origin || found === word, found);
        const applied = await stage.json(project, ['apply', '--wait']);
        assert.equal(applied['done'], true, JSON.stringify(applied));
        assert.deepEqual([...words(project)], [word]);
        assert.deepEqual(
          readdirSync(project).filter((name) => !/^f\d+$/.test(name)),
          [`extra-${word}`],
        );
        origin = word;
      }
      await stage.json(project, ['drop']);
      assert.deepEqual(readdirSync(join(stage.store, 'trash')), []);
    });

    test(`kill -9 in the middle of every verb of history and upkeep, CTX_TEST_SEED=${testSeed}`, async () => {
      const random = randomFrom(testSeed + user.uid + 1);
      const project = stage.project('for f in $(seq 10); do echo first > f$f; done');
      const set = (word: string) => `for f in $(seq 10); do echo ${word} > f$f; done; echo x > only-${word}`;
      const check = async () => {
        const { faults } = (await stage.json(project, ['fsck'])) as { faults: unknown[] };
        assert.deepEqual(faults, []);
      };
      const seen = async () => (await stage.inside(project, 'sort -u f*')).trimEnd();
      const verbs: readonly (readonly string[])[] = [
        ['rollback', '--wait'],
        ['checkpoint', 'save', '--wait'],
        ['fork', 'create', '--from', 'main'],
        ['flatten', '--wait'],
        ['gc'],
        ['vault', 'sync', '--wait'],
        ['apply', '--wait'],
        ['apply', '--undo', '--wait'],
      ];
      await stage.inside(project, set('zero'));
      let word = 'zero';
      for (let round = 0; round < rounds; round++) {
        const next = `round${round}`;
        await stage.inside(project, set(next));
        const verb = verbs[round % verbs.length] ?? [];
        const before = snapshot(project, { times: false });
        await killAtRandom(stage, project, verb, random, 400);
        await check();
        // Nothing confirmed is lost, and nothing is half done: all files are of one command.
        const now = await seen();
        if (verb[0] === 'rollback') assert.ok(now === next || now === word, now);
        else if (verb[0] === 'apply') assert.ok(!now.includes('\n'), now);
        else assert.equal(now, next, verb.join(' '));
        if (verb[0] !== 'apply') assert.deepEqual(snapshot(project, { times: false }), before);
        // Whatever was begun can be begun again, and ends.
        if (verb[0] === 'apply' && verb[1] !== '--undo') {
          assert.equal((await stage.json(project, ['apply', '--wait']))['done'], true);
          assert.equal(stage.shell(project, 'sort -u f*'), `${next}\n`);
        }
        await stage.json(project, ['gc']);
        await check();
        word = await seen();
      }
    });
  },
  { concurrency: 1 },
);
