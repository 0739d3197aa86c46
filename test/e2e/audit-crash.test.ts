/**
 * kill -9 at random moments of processes that record as fast as they can: nothing that was acknowledged is lost, every chain
 * verifies, and what was refused is counted exactly. CTX_SOAK=1 makes it long.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileAnchor } from '../../src/audit/anchor/file-anchor.js';
import { recordsIn } from '../../src/audit/query.js';
import { directoryReader } from '../../src/audit/reader.js';
import { library, type RecordPlace, recordPlace } from '../../src/audit/record-fixture.js';
import { ChainRecorder } from '../../src/audit/recorder.js';
import { sealAll } from '../../src/audit/seal.js';
import { verify } from '../../src/audit/verify.js';
import { until } from '../support/process.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const rounds = isSoak ? 100 : 4;
const operations = isSoak ? 250_000 : 1_500;
const writers = 4;
const module = (name: string) => JSON.stringify(new URL(`../../src/${name}.js`, import.meta.url).href);

/**
 * A million operations count as exactly in memory, and end within minutes: on a disk every refusal waits for a rename, which
 * ext4 writes out at once. Killed writers, above, are on the disk always.
 */
function countedIn(): string {
  const memory = '/dev/shm';
  if (!isSoak || !existsSync(memory)) return tmpdir();
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > 2 ** 30 ? memory : tmpdir();
}

let place: RecordPlace;
before(() => {
  place = recordPlace();
});
after(() => place.remove());

/** Says on stdout which numbers it was told are in the chain. */
const killedWriter = (record: string, name: string) => `
  import { Chain } from ${module('audit/chain')};
  import { loadFileLock } from ${module('base/file-lock')};
  import { Hasher } from ${module('audit/format')};
  import { Reserve } from ${module('audit/reserve')};
  import { writeSync } from 'node:fs';
  const record = ${JSON.stringify(record)};
  const chain = new Chain({ record, chain: 'person', lock: loadFileLock(${JSON.stringify(library)}), hasher: new Hasher(),
    reserve: new Reserve(record + '/reserve'), now: () => new Date(), segmentBytes: 60_000 });
  for (let number = 0; ; ) {
    const first = number;
    const batch = Array.from({ length: 1 + number % 40 }, () => {
      const index = number++;
      const status = index % 7 === 0 ? { status: 'denied', layer: 'guard' } : { status: 'ok' };
      return { type: 'x', object: ${JSON.stringify(name)}, facts: { index }, ...status };
    });
    const { seqs } = chain.appendAll(batch, { durable: true });
    seqs.forEach((seq, index) => seq === undefined || writeSync(1, first + index + '\\n'));
  }`;

describe('the record and kill -9', () => {
  it(`loses nothing that was acknowledged, in ${rounds} rounds of ${writers} writers`, async () => {
    new ChainRecorder({ record: place.directory, library, now: () => new Date() }).append({
      type: 'first',
      object: 'x',
      status: 'ok',
    });
    const acknowledged = new Map<string, number[]>();
    for (let round = 0; round < rounds; round += 1) {
      const children = Array.from({ length: writers }, (_, index) => {
        const name = `${round}-${index}`;
        const argv = ['--input-type=module', '-e', killedWriter(place.directory, name)];
        const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
        const numbers: number[] = [];
        acknowledged.set(name, numbers);
        createInterface({ input: child.stdout }).on('line', (line) => numbers.push(Number(line)));
        return child;
      });
      await until(
        () => [...acknowledged].some(([name, { length }]) => name.startsWith(`${round}-`) && length > 0),
        'one has begun',
      );
      for (const child of children) {
        await sleep(Math.random() * 300);
        const closed = once(child, 'close');
        child.kill('SIGKILL');
        await closed;
      }
    }
    const recorder = new ChainRecorder({ record: place.directory, library, now: () => new Date() });
    const root = fileAnchor(`${place.directory}/../root.jsonl`, 'root');
    const sealed = sealAll(recorder, [root]);
    const reader = directoryReader(place.directory);
    const verification = verify({ reader, anchors: [root], trusted: [sealed.root] });
    assert.deepEqual(verification.problems, []);
    const found = new Map<string, Set<unknown>>();
    for (const { body } of recordsIn(reader, 'person')) {
      const numbers = found.get(body.object) ?? new Set();
      numbers.add(body.facts?.['index']);
      found.set(body.object, numbers);
    }
    let count = 0;
    for (const [name, numbers] of acknowledged) {
      for (const number of numbers) assert.ok(found.get(name)?.has(number), `${name} lost ${number}`);
      count += numbers.length;
    }
    assert.ok(count > 0, 'something was acknowledged');
  });

  it(`counts exactly: ${writers * operations} operations with random refusals by ${writers} processes`, async () => {
    const own = recordPlace(countedIn());
    try {
      const script = `
        import { ChainRecorder } from ${module('audit/recorder')};
        const recorder = new ChainRecorder({ record: ${JSON.stringify(own.directory)}, library: ${JSON.stringify(library)}, now: () => new Date() });
        const counted = { hook: 0, proxy: 0, network: 0, jail: 0 };
        const layers = Object.keys(counted);
        for (let index = 0; index < ${operations}; index += 1) {
          const entry = { type: 'x', object: 'y', agent: index % 3 === 0 ? 'coder' : 'tester' };
          if (Math.random() < 0.3) {
            const layer = layers[Math.floor(Math.random() * layers.length)];
            const count = 1 + Math.floor(Math.random() * 3);
            counted[layer] += count;
            recorder.append({ ...entry, status: 'denied', layer, count, facts: { kind: index % 5 } });
          } else recorder.append({ ...entry, status: 'ok' });
        }
        console.log(JSON.stringify(counted));`;
      const totals: Record<string, number> = {};
      await Promise.all(
        Array.from({ length: writers }, async () => {
          const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
            stdio: ['ignore', 'pipe', 'inherit'],
          });
          let text = '';
          child.stdout.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          const [code] = await once(child, 'close');
          assert.equal(code, 0);
          for (const [layer, count] of Object.entries(JSON.parse(text) as Record<string, number>))
            totals[layer] = (totals[layer] ?? 0) + count;
        }),
      );
      const recorder = new ChainRecorder({ record: own.directory, library, now: () => new Date() });
      sealAll(recorder, []);
      const { problems, chains } = verify({ reader: directoryReader(own.directory), anchors: [] });
      assert.deepEqual(problems, []);
      const recorded: Record<string, number> = {};
      for (const { denials } of chains) {
        for (const [layer, count] of Object.entries(denials)) recorded[layer] = (recorded[layer] ?? 0) + count;
      }
      assert.deepEqual(recorded, totals);
    } finally {
      own.remove();
    }
  });
});
