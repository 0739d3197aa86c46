/**
 * The power goes at a random time in every verb. After it fsck finds nothing, or repairs it; every verb works; what was
 * synced before is there, and every file of the person is one that they or an apply had written, whole.
 *
 * CTX_TEST_SEED repeats the choices, though not the moments; CTX_SOAK=1 makes it hundreds of cuts.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CutDisk } from '../support/cut-disk.js';
import { randomFrom, testSeed } from '../support/random.js';
import { type Stage, useStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';
/** Each round is one verb, with some moments of it. */
const rounds = isSoak ? 60 : 1;
const cutsOfOne = isSoak ? 8 : 3;
const files = 12;
const write = (word: string) => `for f in $(seq ${files}); do yes ${word} | head -2000 > f$f; done`;

/** What each file consists of; a file of two words, or cut short, is half written. */
function wordsIn(project: string): Set<string> {
  const found = new Set<string>();
  for (let number = 1; number <= files; number++) {
    const text = readFileSync(join(project, `f${number}`), 'utf8');
    const word = text.slice(0, text.indexOf('\n'));
    assert.ok(text === `${word}\n`.repeat(2000), `f${number} is half written: ${text.length} bytes of '${word}'`);
    found.add(word);
  }
  return found;
}

interface World {
  readonly stage: Stage;
  readonly project: string;
  boot: number;
  env(): Record<string, string>;
}

async function ctx(world: World, words: readonly string[], code = 0): Promise<string> {
  const ended = await world.stage.ctx(world.project, words, { env: world.env() });
  assert.equal(ended.code, code, `ctx ${words.join(' ')}\n${ended.stdout}${ended.stderr}`);
  return ended.stdout;
}

const inside = (world: World, script: string) => ctx(world, ['exec', '--wait', '--', 'sh', '-c', script]);

forEitherUser(
  (user) => {
    const stage = useStage(user);

    test(`the power goes at ${rounds * cutsOfOne} random moments, CTX_TEST_SEED=${testSeed}`, async (context) => {
      const random = randomFrom(testSeed + user.uid);
      const memory = existsSync('/dev/shm') ? '/dev/shm' : stage.directory;
      const disk = new CutDisk(mkdtempSync(join(memory, 'ctx-cut-')), user);
      context.after(() => disk.remove());
      const reason = disk.make();
      if (reason !== undefined) return context.skip(reason);
      const project = join(disk.mounted, 'project');
      const world: World = {
        stage,
        project,
        boot: 1,
        // The configuration holds the software root of the record: it goes back in time with the rest of the disk.
        env: () => ({
          CTX_DATA: join(disk.mounted, 'store'),
          XDG_CONFIG_HOME: join(disk.mounted, 'configuration'),
          CTX_BOOT: `boot ${world.boot}`,
        }),
      };
      stage.shell(disk.mounted, `mkdir project; cd project; ${write('first')}`);
      spawnSync('sync', ['-f', disk.mounted]);
      const verbs: readonly (readonly string[])[] = [
        ['exec', '--wait', '--', 'sh', '-c', write('cut')],
        ['apply', '--wait'],
        ['apply', '--undo', '--wait'],
        ['checkpoint', 'save', '--wait', 'cut'],
        ['rollback', '--wait'],
        ['flatten', '--wait'],
        ['gc'],
        ['audit', 'seal'],
        ['vault', 'import'],
      ];
      let yours = 'first';
      for (let round = 0; round < rounds; round++) {
        const verb = verbs[Math.floor(random() * verbs.length)] ?? [];
        const label = `round ${round}: ${verb.join(' ').slice(0, 30)}`;
        // Confirmed: a checkpoint by name is synced. Two more commands are not.
        await inside(world, write(`synced${round}`));
        await ctx(world, ['checkpoint', 'save', `synced${round}`]);
        await inside(world, write(`later${round}`));
        await inside(world, write(`last${round}`));
        if (verb[1] === '--undo') {
          await ctx(world, ['apply', '--wait']);
          await inside(world, write(`after${round}`));
        }
        if (verb[0] === 'vault') {
          for (const name of ['store', 'configuration'])
            rmSync(join(disk.mounted, name), { recursive: true, force: true });
          // Deleting is the person's: what is cut is the import.
          spawnSync('sync', ['-f', disk.mounted]);
        }
        const running = stage.startCtx(project, verb, { env: world.env() });
        const copies: string[] = [];
        for (let cut = 0; cut < cutsOfOne; cut++) {
          await sleep((random() * 1200) / cutsOfOne);
          copies.push(disk.copy());
        }
        await running.finished;
        const applied = new Set([yours, 'cut', `last${round}`, `synced${round}`]);
        for (const [number, copy] of copies.entries()) {
          await disk.restore(copy);
          world.boot += 1;
          const at = `${label}, cut ${number}`;
          for (const found of wordsIn(project)) assert.ok(applied.has(found), `${at}: ${found}`);
          const { faults, repaired } = await stage.json(project, ['fsck', '--repair'], 0, { env: world.env() });
          assert.deepEqual(faults, [], `${at}: ${JSON.stringify(repaired)}`);
          if (verb[0] === 'vault') continue;
          assert.match(await ctx(world, ['audit', 'verify']), /The record is intact/, at);
          // The fork is of one command, and what was synced is there, whatever came later.
          const now = (await inside(world, 'sort -u f*')).trimEnd();
          if (verb[0] !== 'apply') assert.match(now, /^\w+$/, at);
          await ctx(world, ['rollback', '--wait', `synced${round}`]);
          assert.equal(await inside(world, 'sort -u f*'), `synced${round}\n`, at);
        }
        await inside(world, write(`next${round}`));
        await ctx(world, ['diff', '--names']);
        await ctx(world, ['gc']);
        assert.match(await ctx(world, ['audit', 'verify']), /The record is intact/, label);
        await ctx(world, ['apply', '--wait', '--conflicts', 'theirs']);
        yours = `next${round}`;
        assert.deepEqual([...wordsIn(project)], [yours], label);
        assert.deepEqual(
          readdirSync(project).filter((name) => !/^f\d+$/.test(name)),
          [],
          label,
        );
        spawnSync('sync', ['-f', disk.mounted]);
      }
    });
  },
  { concurrency: 1 },
);
