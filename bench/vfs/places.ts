/** Directories to measure in: the machine's memory, the kernel's overlay, C servers where they are installed, and our mounts. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { ctxProgram } from '../../src/base/native-program.js';

export interface Place {
  readonly name: string;
  readonly directory: string;
}

export interface Places {
  /** The first is the anchor. */
  readonly all: readonly Place[];
  /** What is missing here, and why. */
  readonly notes: readonly string[];
  end(): void;
}

const tmpfsType = 0x01021994;

function run(...[program = '', ...words]: readonly string[]): boolean {
  return spawnSync(program, words, { stdio: ['ignore', 'ignore', 'ignore'] }).status === 0;
}

export function makePlaces(): Places {
  if (!existsSync('/dev/shm') || statfsSync('/dev/shm').type !== tmpfsType)
    throw new Error('expected a tmpfs at /dev/shm');
  const home = mkdtempSync('/dev/shm/ctx-bench-');
  const notes: string[] = [];
  const ends: (() => void)[] = [() => rmSync(home, { recursive: true, force: true })];
  const made = (...names: readonly string[]) => {
    const path = join(home, ...names);
    mkdirSync(path, { recursive: true });
    return path;
  };
  const layers = (name: string) => ['lower', 'upper', 'work', 'at'].map((each) => made(name, each));
  const all: Place[] = [{ name: 'tmpfs', directory: made('tmpfs') }];
  const add = (name: string, directory: string, isMounted: boolean, why: string, end: () => void) => {
    if (!isMounted) {
      notes.push(`${name}: ${why}`);
      return;
    }
    all.push({ name, directory });
    ends.unshift(end);
  };
  const overlayOptions = (name: string) => {
    const [lower, upper, work, at = ''] = layers(name);
    return { options: `lowerdir=${lower},upperdir=${upper},workdir=${work}`, at };
  };
  const kernel = overlayOptions('overlay');
  const isOverlay = run('mount', '-t', 'overlay', 'overlay', '-o', `${kernel.options},userxattr`, kernel.at);
  add('kernel overlay', kernel.at, isOverlay, 'only root can mount it', () => void run('umount', kernel.at));
  const bound = made('bindfs', 'at');
  const isBound = run('bindfs', made('bindfs', 'of'), bound);
  add('bindfs', bound, isBound, 'not installed', () => void run('fusermount3', '-u', bound));
  // It keeps names and attributes for a second; without that it shows what others change as soon as our host trees do.
  const asking = made('bindfs-asking', 'at');
  const unkept = ['-o', 'attr_timeout=0,entry_timeout=0,negative_timeout=0'];
  const isAsking = run('bindfs', ...unkept, made('bindfs-asking', 'of'), asking);
  add('bindfs, nothing kept', asking, isAsking, 'not installed', () => void run('fusermount3', '-u', asking));
  const fuse = overlayOptions('fuse-overlayfs');
  const isFuse = run('fuse-overlayfs', '-o', fuse.options, fuse.at);
  add('fuse-overlayfs', fuse.at, isFuse, 'not installed', () => void run('fusermount3', '-u', fuse.at));
  const ours = {
    'memory:': 'ctx memory',
    [`chunked:${join(home, 'store')}`]: 'ctx chunked',
    [`host:${made('host')}`]: 'ctx host',
  };
  for (const [specification, name] of Object.entries(ours)) {
    const at = made(name);
    const ctx = (...words: readonly string[]) => run(process.execPath, ctxProgram(), 'vfs', ...words);
    const isMounted = ctx('mount', specification, at, '--writable');
    add(name, at, isMounted, 'it cannot be mounted: ctx doctor', () => void ctx('unmount', at));
  }
  const end = () => {
    for (const each of ends) each();
  };
  return { all, notes, end };
}
