/**
 * A day in one fork: commands cold, kept and joined, at full speed and paced, some of them killed. What the store, the process and the
 * machine hold at its end is what they held in its morning, and every checkpoint that is kept leads back to what was there.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { open, type Workspace } from 'ctxfs';
import { processesMounting, trashIsEmptied } from '../support/leftovers.js';
import { randomFrom, testSeed } from '../support/random.js';
import { useStage } from '../support/stage.js';
import { asOneUser } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const commands = isSoak ? Number(process.env['CTX_DAY'] ?? 100_000) : 400;
const partSize = isSoak ? 100 : 20;
/** A short day ends early on a machine that is too busy for it, and says after how many commands. */
const mostMilliseconds = isSoak ? Number.POSITIVE_INFINITY : 120_000;
const files = 8;
/** 64 checkpoints and the layers of a stack, now and in the state that was synced last; and what 64 more leave before it is collected. */
const mostLayers = 2 * (64 + 34) + 64 + 16;
/** Of objects, from morning to evening: compiled code comes first, and what the test itself remembers. A day has 100,000 commands. */
const mostMegabytesMore = 32;
/** Far more checkpoints than are kept: what the test remembers is bounded, too. */
const mostMoments = 5_000;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

type Part = 'cold' | 'kept' | 'joined' | 'paced' | 'killed';
const parts: readonly Part[] = ['cold', 'kept', 'joined', 'paced', 'killed'];

/** What the commands have to have left: the last number in each file, and how many lines were appended. */
class Expected {
  readonly last: string[] = Array.from({ length: files }, () => 'none');
  lines = 0;

  /** One command of the day. */
  command(number: number): string {
    this.last[number % files] = String(number);
    this.lines += 1;
    return `echo ${number} > n${number % files}; echo ${number} >> log`;
  }

  toString(): string {
    return `${this.last.map((each) => `${each}\n`).join('')}${this.lines}\n`;
  }
}

const look = `cat ${Array.from({ length: files }, (_, number) => `n${number}`).join(' ')}; wc -l < log`;

asOneUser((user) => {
  const stage = useStage(user);

  const day = async (context: TestContext, project: string, workspace: Workspace) => {
    const random = randomFrom(testSeed);
    const expected = new Expected();
    const moments = new Map<number, string>();
    const latencies: number[] = [];
    const remember = (checkpoint: number | null, before: string) => {
      if (checkpoint === null || moments.has(checkpoint)) return;
      moments.set(checkpoint, before);
      moments.delete(checkpoint - mostMoments);
    };
    type Run = (script: string) => Promise<{ exitCode: number | null; checkpoint: number | null }>;
    const timed = async (run: Run, number: number) => {
      const before = String(expected);
      const begun = performance.now();
      const { exitCode, checkpoint } = await run(expected.command(number));
      latencies.push(performance.now() - begun);
      assert.equal(exitCode, 0);
      remember(checkpoint, before);
    };
    const cold: Run = (script) => workspace.exec({ shell: script }, { streams: 'capture' });
    let number = 0;
    const each = async (run: Run, pause: () => Promise<unknown> = async () => undefined) => {
      for (const end = number + partSize; number < end; number++) {
        await timed(run, number);
        await pause();
      }
    };
    const play: Record<Part, () => Promise<void>> = {
      cold: () => each(cold),
      paced: () => each(cold, () => sleep(random() * (isSoak ? 50 : 5))),
      kept: async () => {
        const jail = await workspace.keepJail();
        try {
          await each((script) => jail.exec({ shell: script }));
        } finally {
          await jail.end();
        }
      },
      joined: async () => {
        const script = 'echo up; until test -e stop; do sleep 0.02; done; rm stop';
        const server = stage.startCtx(project, ['exec', '--', 'sh', '-c', script], { timeoutSeconds: 3_600 });
        await server.printed('up');
        // Several at once, with numbers of one turn of the files: their order says nothing about the result.
        const most = Math.min(4, files);
        for (const end = number + partSize; number < end; number += most) {
          await Promise.all(Array.from({ length: most }, (_, at) => timed(cold, number + at)));
        }
        await cold('touch stop');
        assert.equal((await server.finished).code, 0);
      },
      killed: async () => {
        const before = String(expected);
        const victim = stage.startCtx(project, ['exec', '--', 'sh', '-c', 'echo ready; echo half > half; sleep 1000']);
        await victim.printed('ready');
        await sleep(random() * 20);
        victim.child.kill('SIGKILL');
        await victim.finished;
        // It may still have been in its group: then the next one joins what is left of no one.
        const first = await cold('rm -f half');
        remember(first.checkpoint, before);
        await each(cold);
      },
    };
    const inMorning = () => readdirSync('/proc/self/fd').length;
    await play.cold();
    await play.joined();
    const descriptors = inMorning();
    const megabytes = liveMegabytes();
    const evening = performance.now() + mostMilliseconds;
    while (number < commands && performance.now() < evening) {
      const part = parts[Math.floor(random() * parts.length)] ?? 'cold';
      await play[part]();
      if (isSoak && number % 1000 < partSize)
        process.stderr.write(`${number} commands; ${latencyText(latencies)}; ${memoryText()}\n`);
    }
    context.diagnostic(`${number} of ${commands} commands, CTX_TEST_SEED=${testSeed}; ${latencyText(latencies)}`);
    assert.equal((await cold(look)).exitCode, 0);
    assert.ok(inMorning() <= descriptors + 4, `${descriptors} descriptors in the morning, ${inMorning()} at the end`);
    const more = liveMegabytes() - megabytes;
    assert.ok(
      more <= mostMegabytesMore,
      `${megabytes.toFixed(1)} MB of objects in the morning, ${more.toFixed(1)} more at the end`,
    );
    return { expected: String(expected), moments, random, latencies };
  };

  test('a day of commands leaves what its checkpoints need, and each of them leads back', async (context) => {
    const project = stage.project(`: > log; for i in $(seq 0 ${files - 1}); do echo none > n$i; done`);
    const workspace = await open({ directory: project, data: stage.store });
    try {
      const { expected, moments, random, latencies } = await day(context, project, workspace);
      const seen = async () => (await workspace.exec({ shell: look }, { streams: 'capture' })).stdout?.text;
      assert.equal(await seen(), expected);

      const [vault = ''] = readdirSync(join(stage.store, 'vault'));
      const place = join(stage.store, 'vault', vault);
      const layers = readdirSync(join(place, 'layer')).length;
      context.diagnostic(`${layers} layers, ${memoryText()}`);
      assert.ok(layers <= mostLayers, `${layers} layers at the end of the day`);
      const own = readdirSync(join(place, 'fork', 'main'));
      assert.ok(own.length < 32, own.join(' '));
      assert.ok(readdirSync(join(place, 'fork', 'main', 'group')).length <= 16);
      assert.deepEqual(processesMounting(project), []);
      await trashIsEmptied(stage.store);

      for (let time = 0; time < (isSoak ? 40 : 5); time++) {
        // Each way back makes checkpoints, too, and the oldest go.
        const kept = (await workspace.checkpoints()).filter(({ id }) => moments.has(id));
        if (time === 0) assert.ok(kept.length > 16, 'checkpoints are kept');
        const { id } = kept[Math.floor(random() * kept.length)] ?? { id: undefined };
        if (id === undefined) break;
        await workspace.rollback({ checkpoint: String(id) });
        assert.equal(await seen(), moments.get(id), `checkpoint ${id}`);
      }
      // A machine that others use may be slow at any time: only where somebody asked for the whole day.
      if (isSoak) assert.ok(medianOf(latencies.slice(-1000)) < 3 * medianOf(latencies.slice(0, 1000)) + 10);
    } finally {
      await workspace.close();
    }
  });
});

function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((left, right) => left - right)[numbers.length >> 1] ?? 0;
}

function latencyText(latencies: readonly number[]): string {
  const part = Math.ceil(latencies.length / 10);
  const [first, last] = [latencies.slice(0, part), latencies.slice(-part)].map(medianOf);
  return `median of the first tenth ${first?.toFixed(1)} ms, of the last ${last?.toFixed(1)} ms`;
}

/** Of this process, in which most commands are run, without what nobody holds any more. */
function liveMegabytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1e6;
}

function memoryText(): string {
  const live = liveMegabytes();
  return `${live.toFixed(1)} MB of objects, ${Math.round(process.memoryUsage().rss / 1e6)} MB in all`;
}
