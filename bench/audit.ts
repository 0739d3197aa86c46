/** The record: records appended, chained and on the disk, against a plain append, SQLite and fdatasync in the same run. */
import { spawnSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Chain } from '../src/audit/chain.js';
import { Hasher } from '../src/audit/format.js';
import { directoryReader } from '../src/audit/reader.js';
import type { RecordEntry } from '../src/audit/record.js';
import { library } from '../src/audit/record-fixture.js';
import { ChainRecorder } from '../src/audit/recorder.js';
import { replay } from '../src/audit/replay.js';
import { Reserve } from '../src/audit/reserve.js';
import { sealAll } from '../src/audit/seal.js';
import { verify } from '../src/audit/verify.js';
import { loadFileLock } from '../src/base/file-lock.js';
import { measure, print, type Subject } from './measure.js';
import { setStage } from './stage/stage.js';

const stage = setStage('audit');
const records = 20_000;
const durableRecords = 200;

function entry(index: number): RecordEntry {
  const facts = { bytes: 1234, path: `src/file${index}.ts` };
  return { type: 'tool.call', object: 'tool/fs.read', status: 'ok', session: 'default', facts };
}

const entries = Array.from({ length: records }, (_, index) => entry(index));
/** What one of them comes to, for those who do not chain. */
const line = Buffer.from(`${JSON.stringify({ ...entry(0), ts: new Date().toISOString(), seq: 0 })}\n`);

function chainAt(name: string): Chain {
  const record = join(stage.directory, name);
  const reserve = new Reserve(join(record, 'reserve'));
  return new Chain({
    record,
    chain: 'person',
    lock: loadFileLock(library),
    hasher: new Hasher(),
    reserve,
    now: () => new Date(),
  });
}

function plain(name: string, count: number, durable: boolean): Subject {
  const path = join(stage.directory, 'plain.jsonl');
  return {
    name,
    run: () => {
      const descriptor = openSync(path, 'a');
      for (let index = 0; index < count; index += 1) {
        writeSync(descriptor, line);
        if (durable) fdatasyncSync(descriptor);
      }
      closeSync(descriptor);
    },
    after: () => rmSync(path),
  };
}

function sqlite(name: string, statements: (insert: string) => string): Subject {
  const path = join(stage.directory, 'sqlite.db');
  const insert = `insert into record(body) values('${line.toString().trim().replaceAll("'", "''")}');`;
  const script = `pragma journal_mode=wal; pragma synchronous=full; create table record(seq integer primary key, body text);\n${statements(insert)}`;
  return {
    name,
    run: () => {
      const { status, stderr } = spawnSync('sqlite3', [path], { input: script, encoding: 'utf8' });
      if (status !== 0) throw new Error(`sqlite3: ${stderr}`);
    },
    after: () => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
    },
  };
}

function inBatches(size: number, count: number, durable: boolean): Subject {
  const name = `chained, batches of ${size}${durable ? ', fdatasync' : ''}`;
  const chain = chainAt(name);
  return {
    name,
    run: () => {
      for (let from = 0; from < count; from += size) chain.appendAll(entries.slice(from, from + size), { durable });
    },
  };
}

function perSecond(milliseconds: number, count: number): string {
  return `${Math.round(count / (milliseconds / 1000)).toLocaleString('en')}/s`;
}

try {
  const durableChain = chainAt('durable');
  const oneChain = chainAt('one');
  const verified = join(stage.directory, 'verified');
  const recorder = new ChainRecorder({ record: verified, library, now: () => new Date() });
  recorder.append(entry(0));
  const large = chainAt('verified');
  for (let from = 0; from < records; from += 1000) large.appendAll(entries.slice(from, from + 1000));
  large.close();
  sealAll(recorder, []);
  const reader = directoryReader(verified);
  const hasSqlite = spawnSync('sqlite3', ['--version']).status === 0;

  const many = await measure({
    title: `${records.toLocaleString('en')} records of one process, none waiting for the disk on its own`,
    anchor: 'plain append',
    rounds: 7,
    directory: stage.directory,
    subjects: [
      plain('plain append', records, false),
      {
        name: 'chained, one at a time',
        run: () => {
          for (const each of entries) oneChain.appendAll([each]);
        },
      },
      inBatches(16, records, false),
      inBatches(256, records, false),
      inBatches(4096, records, false),
      inBatches(4096, records, true),
      ...(hasSqlite
        ? [sqlite('SQLite, one transaction, fsync', (insert) => `begin;\n${`${insert}\n`.repeat(records)}commit;`)]
        : []),
      { name: 'replay', run: () => replay(reader, 'person', new Hasher(), () => undefined) },
      { name: 'verify', run: () => verify({ reader, anchors: [] }) },
    ],
  });
  const bytes = statSync(join(verified, 'person', '000000000001.jsonl')).size / records;
  const notes = many.results.map(({ name, median }) => `${name}: ${perSecond(median, records)}`);
  print({
    ...many,
    notes: [
      ...notes,
      `${bytes.toFixed(0)} bytes a record, of which 72 are its head and ${line.length} the plain line.`,
    ],
  });

  const durable = await measure({
    title: `${durableRecords} records, each synced before the next`,
    anchor: 'plain append and fdatasync',
    rounds: 7,
    directory: stage.directory,
    subjects: [
      plain('plain append and fdatasync', durableRecords, true),
      {
        name: 'chained, fdatasync',
        run: () => {
          for (const each of entries.slice(0, durableRecords)) durableChain.appendAll([each], { durable: true });
        },
      },
      inBatches(durableRecords, durableRecords, true),
      ...(hasSqlite
        ? [sqlite('SQLite, insert and fsync (with its start)', (insert) => `${insert}\n`.repeat(durableRecords))]
        : []),
    ],
  });
  print({
    ...durable,
    notes: [
      ...durable.results.map(({ name, median }) => `${name}: ${perSecond(median, durableRecords)}`),
      'In memory a sync costs nothing: CTX_BENCH_DIRECTORY=DIR measures a disk.',
    ],
  });
} finally {
  stage.end();
}
