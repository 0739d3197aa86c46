/** Where everything of a user's is, and the record that is there: the same for every verb and for the hook. */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { type AuditPlaces, auditPlaces } from './audit/places.js';
import type { ChainRecorder } from './audit/recorder.js';
import { nativeProgram } from './base/native-program.js';
import { keepOwnRights } from './base/own-umask.js';
import { composeRecorder } from './compose-recorder.js';
import { storePaths } from './vault/store/layout.js';
import { otherNames } from './vault/store/mounted-names.js';
import { openStore, type Store } from './vault/store/store.js';
import {
  canonicalPlace,
  configurationDirectory,
  objectRoot,
  ownHome,
  ownPlace,
  storeDirectory,
  systemObjectsBeside,
} from './vault/store/store-place.js';

export interface Places {
  readonly home: string;
  readonly store: Store;
  /** Of agents and tools: the user's, and those that root keeps for everybody. */
  readonly root: string;
  readonly system: string | undefined;
  readonly audit: AuditPlaces;
  readonly recorder: ChainRecorder;
  /** What no command sees or writes. */
  readonly hidden: readonly string[];
  readonly operatorDirectories: readonly string[];
}

/** Opens the store, or makes it, unless that is not wished. */
export function composePlaces(env: Readonly<Record<string, string | undefined>>, uid: number, make = true): Places {
  keepOwnRights();
  const library = nativeProgram('flock.node');
  const home = canonicalPlace(ownHome(homedir));
  const opened = openStore(ownPlace(storeDirectory(env, home), uid), library, make);
  // Once more: one that was just made has a path without links from now on, and is hidden by that.
  const directory = canonicalPlace(opened.directory);
  const root = ownPlace(objectRoot(env, directory), uid);
  const configuration = ownPlace(configurationDirectory(env, home), uid);
  const system = systemObjectsBeside(root);
  const own = [directory, root, configuration, ...(system === undefined ? [] : [system])];
  const audit = auditPlaces(storePaths(directory).record, configuration, library);
  return {
    home,
    store: Object.freeze({ ...opened, directory }),
    root,
    system,
    audit,
    recorder: composeRecorder(audit, { root, uid, system }),
    hidden: Object.freeze([...own, ...otherNames(own, readFileSync('/proc/self/mountinfo', 'latin1'))]),
    operatorDirectories: Object.freeze([root, configuration]),
  };
}
