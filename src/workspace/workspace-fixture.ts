/** A host for tests of verbs on forks and vaults: no command runs, and what the record is given is kept. */
import type { RecordEntry } from '../audit/record.js';
import { nativeProgram } from '../base/native-program.js';
import type { Host } from '../proxy/host.js';
import { freshVault, type VaultPlace } from '../vault/forks/vault-fixture.js';
import { openStore } from '../vault/store/store.js';

export interface WorkspacePlace extends VaultPlace {
  host(more?: Partial<Host>): Host;
  /** Of the host's. */
  readonly warnings: string[];
  /** Since it was asked before. */
  recorded(): readonly RecordEntry[];
}

export function freshWorkspace(): WorkspacePlace {
  const place = freshVault();
  const warnings: string[] = [];
  let entries: RecordEntry[] = [];
  return {
    ...place,
    warnings,
    host: (more = {}) => {
      const { tree } = place.request();
      return {
        store: openStore(place.at('store')),
        tree,
        recorder: { append: (entry: RecordEntry) => void entries.push(entry) },
        lockLibrary: nativeProgram('flock.node'),
        // As who is not root: its files are its own, whoever runs the tests.
        uid: process.getuid?.() || 1,
        gid: process.getgid?.() || 1,
        home: place.at('home'),
        hidden: [place.at('store')],
        now: () => new Date(),
        warn: (text: string) => void warnings.push(text),
        ...more,
      } as unknown as Host;
    },
    recorded: () => {
      const found = entries;
      entries = [];
      return found;
    },
  };
}
