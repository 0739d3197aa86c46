/** A host of a test's own: a store, a record and a home in a directory that is gone afterwards, with the programs that were built. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after } from 'node:test';
import { auditPlaces } from '../audit/places.js';
import type { RecordEntry } from '../audit/record.js';
import { ChainRecorder } from '../audit/recorder.js';
import { nativeProgram } from '../base/native-program.js';
import type { Architecture } from '../jail/system-calls.js';
import { storePaths } from '../vault/store/layout.js';
import { openStore } from '../vault/store/store.js';
import { Tree } from '../vault/tree/tree.js';
import type { Host } from './host.js';

export interface TestHost {
  readonly host: Host;
  /** Of everything: a project, the store and the home are beside each other below it. */
  readonly base: string;
  /** What was recorded, in order. */
  readonly recorded: RecordEntry[];
  /** What a person was warned of. */
  readonly warned: string[];
  /** A new directory with files, each named by its path. */
  project(files?: Readonly<Record<string, string>>): string;
}

function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
}

/** Whoever the test runs as: root works shifted, anybody else as themselves. */
export function testHost(given: Partial<Host> = {}): TestHost {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-host-')));
  // Root's commands run as others.
  chmodSync(base, 0o755);
  const library = nativeProgram('flock.node');
  const home = join(base, 'home');
  const configuration = join(base, 'configuration');
  for (const directory of [home, configuration]) mkdirSync(directory);
  const store = openStore(join(base, 'store'), library);
  const audit = auditPlaces(storePaths(store.directory).record, configuration, library);
  const recorded: RecordEntry[] = [];
  const recorder = new ChainRecorder({
    record: audit.record,
    library,
    now: () => new Date(),
    onRecorded: (entry) => recorded.push(entry),
  });
  const tree = new Tree({ program: nativeProgram('tree'), lockLibrary: library, starter: undefined });
  const warned: string[] = [];
  const host: Host = {
    ...{ store, tree, recorder, audit, home, lockLibrary: library },
    jailProgram: nativeProgram('jail'),
    architecture: process.arch as Architecture,
    processes: 200,
    uid: process.geteuid?.() ?? 0,
    gid: process.getegid?.() ?? 0,
    groups: [],
    root: configuration,
    agents: () => Promise.reject(new Error('this host has no agents')),
    operatorDirectories: [configuration],
    hidden: [store.directory, configuration],
    environment: { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' },
    now: () => new Date(),
    warn: (text) => void warned.push(text),
    ...given,
  };
  after(() => {
    tree.release();
    recorder.close();
    // What a jail or a test left may have any mode; root needs no permission.
    if (host.uid !== 0) spawnSync('chmod', ['-R', 'u+rwX', base]);
    rmSync(base, { recursive: true, force: true });
  });
  let projects = 0;
  return {
    ...{ host, base, recorded, warned },
    project: (files = {}) => {
      projects += 1;
      const directory = join(base, `project-${projects}`);
      mkdirSync(directory);
      write(directory, files);
      return directory;
    },
  };
}
