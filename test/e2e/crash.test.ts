/**
 * kill -9 at random moments, of ctx alone or of everything it started. Afterwards every verb works, no file of the person
 * is half written, and what was confirmed is still there. CTX_TEST_SEED repeats a run, CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { trashIsEmptied } from '../support/leftovers.js';
import { randomFrom, testSeed } from '../support/random.js';
import { snapshot } from '../support/snapshot.js';
import { type Stage, useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const rounds = process.env['CTX_SOAK'] === '1' ? 160 : 5;

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

/**
 * Kills verbs at moments spread over their whole length, on a machine of any speed: a kill that came too late makes the next
 * one of that verb come sooner, and one that hit lets it come a little later.
 */
class Killer {
  readonly #random: () => number;
  readonly #lengths = new Map<string, number>();

  constructor(random: () => number) {
    this.#random = random;
  }

  async kill(stage: Stage, project: string, argv: readonly string[], data?: string): Promise<void> {
    const verb = argv.slice(0, 2).join(' ');
    const length = this.#lengths.get(verb) ?? 400;
    const env = data === undefined ? {} : { CTX_DATA: data };
    const running = stage.startCtx(project, argv, { detached: true, env });
    await sleep(this.#random() * length);
    const everything = this.#random() < 0.5;
    let late = running.child.exitCode !== null;
    try {
      process.kill(everything ? -running.pid : running.pid, 'SIGKILL');
    } catch {
      late = true; // It had ended before.
    }
    this.#lengths.set(verb, length * (late ? 0.8 : 1.15));
    await running.finished;
  }
}

async function assertWhole(stage: Stage, project: string, data?: string): Promise<void> {
  const env = data === undefined ? {} : { CTX_DATA: data };
  const { faults } = await stage.json(project, ['fsck'], 0, { env });
  assert.deepEqual(faults, []);
}

forEitherUser(
  (user) => {
    const stage = useWarmStage(user);

    test(`kill -9 at ${rounds} random moments, CTX_TEST_SEED=${testSeed}`, async () => {
      const random = randomFrom(testSeed + user.uid);
      const killer = new Killer(random);
      const project = stage.project(write('first'));
      let origin = 'first';
      for (let round = 0; round < rounds; round++) {
        const word = `round${round}`;
        const before = snapshot(project);

        // An import that is killed: the next one in the same store starts afresh.
        if (round % 3 === 0) {
          const data = join(stage.directory, `store-${round}`);
          await killer.kill(stage, project, ['vault', 'import'], data);
          const next = await stage.ctx(project, ['exec', '--wait', '--', 'sh', '-c', 'sort -u f*'], {
            env: { CTX_DATA: data },
          });
          assert.deepEqual([next.code, next.stdout], [0, `${origin}\n`], next.stderr);
          await assertWhole(stage, project, data);
        }

        // A command that is killed, and one that is confirmed.
        await killer.kill(stage, project, ['exec', '--wait', '--', 'sh', '-c', write(`${word}lost`)]);
        await assertWhole(stage, project);
        assert.deepEqual(snapshot(project), before, 'a command changed the directory itself');
        await stage.inside(project, write(word));
        assert.equal(await stage.inside(project, 'sort -u f* extra-*'), `${word}\n`);

        if (random() < 0.3) {
          await killer.kill(stage, project, ['drop', '--wait']);
          await assertWhole(stage, project);
          const { changes } = (await stage.json(project, ['diff', '--wait'])) as { changes: unknown[] };
          assert.ok(changes.length === 0 || changes.length >= count, `half dropped: ${changes.length}`);
          await stage.json(project, ['drop', '--wait']);
          assert.deepEqual(snapshot(project), before);
          continue;
        }
        await killer.kill(stage, project, ['apply', '--wait']);
        await assertWhole(stage, project);
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
      await trashIsEmptied(stage.store);
    });

    test(`kill -9 in the middle of every verb of history and upkeep, CTX_TEST_SEED=${testSeed}`, async () => {
      const killer = new Killer(randomFrom(testSeed + user.uid + 1));
      const project = stage.project('for f in $(seq 10); do echo first > f$f; done');
      const set = (word: string) => `for f in $(seq 10); do echo ${word} > f$f; done; echo x > only-${word}`;
      const seen = async () => (await stage.inside(project, 'sort -u f*')).trimEnd();
      const yours = () => stage.shell(project, 'sort -u f*').trimEnd();
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
        const isUndo = verb[1] === '--undo';
        const before = snapshot(project, { times: false });
        const origin = yours();
        // What an undo has to bring back: an apply of its own, which is confirmed.
        if (isUndo) assert.equal((await stage.json(project, ['apply', '--wait']))['done'], true);
        await killer.kill(stage, project, verb);
        await assertWhole(stage, project);
        // Nothing confirmed is lost, and nothing is half done: all files are of one command. An undo writes file by file.
        const now = await seen();
        if (verb[0] === 'rollback') assert.ok(now === next || now === word, now);
        else if (isUndo) for (const found of now.split('\n')) assert.ok(found === origin || found === next, now);
        else if (verb[0] === 'apply') assert.ok(!now.includes('\n'), now);
        else assert.equal(now, next, verb.join(' '));
        for (const found of yours().split('\n')) assert.ok(found === origin || found === next, found);
        if (verb[0] !== 'apply') assert.deepEqual(snapshot(project, { times: false }), before);
        // Whatever was begun can be begun again, and ends.
        if (verb[0] === 'apply' && !isUndo) {
          assert.equal((await stage.json(project, ['apply', '--wait']))['done'], true);
          assert.equal(yours(), next);
        }
        if (isUndo && yours() !== origin) {
          assert.equal((await stage.json(project, [...verb]))['done'], true);
          assert.deepEqual(snapshot(project, { times: false }), before);
        }
        await stage.json(project, ['gc']);
        await assertWhole(stage, project);
        word = await seen();
      }
    });
  },
  { concurrency: 1 },
);
