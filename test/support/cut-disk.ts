/**
 * A disk whose power can be cut: a journaled ext4 in a file, mounted by a loop device. What a cut leaves is what the kernel has
 * written to the file by then; a copy of it is mounted elsewhere, and recovers its journal as after a real one.
 *
 * The file is on a file system of its own, which is frozen while it is copied: a copy of a file that is being written has late blocks
 * beside missing early ones, which no disk would leave. Freezing writes out the outer file system, never the disk inside.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describeProcess, processesEmptying, processesUsing } from './leftovers.js';
import { until } from './process.js';
import { isRoot, type TestUser } from './users.js';

function run(argv: readonly string[]): string | undefined {
  const { status, stderr, error } = spawnSync(argv[0] ?? '', argv.slice(1), { encoding: 'utf8' });
  return status === 0 ? undefined : `${argv.join(' ')}: ${error?.message ?? stderr}`;
}

function required(argv: readonly string[]): void {
  const problem = run(argv);
  if (problem !== undefined) throw new Error(problem);
}

const isMounted = (place: string) => statSync(place).dev !== statSync(dirname(place)).dev;

export class CutDisk {
  readonly #directory: string;
  readonly #image: string;
  readonly #user: TestUser;
  #cuts = 0;

  /** `directory` is on a fast disk or in memory: the machine's own cache must not stand for the disk's. */
  constructor(directory: string, user: TestUser) {
    this.#directory = directory;
    this.#image = join(this.#host, 'disk.img');
    this.#user = user;
    chmodSync(directory, 0o755);
    for (const place of [this.#host, this.mounted]) mkdirSync(place, { recursive: true });
  }

  get mounted(): string {
    return join(this.#directory, 'disk');
  }

  get #host(): string {
    return join(this.#directory, 'host');
  }

  /** Why it cannot be, or undefined. The journal is committed often, so that cuts meet names without their bytes. */
  make(): string | undefined {
    if (!isRoot) return 'needs root to mount a disk image';
    // Room for two: a loop device lets go of the one before shortly after it was unmounted.
    const host = join(this.#directory, 'host.img');
    const made =
      run(['truncate', '-s', '160M', host]) ??
      run(['mkfs.ext4', '-q', '-F', '-O', '^has_journal', '-m', '0', '-N', '16', host]) ??
      run(['mount', '-o', 'loop,noatime', host, this.#host]) ??
      run(['truncate', '-s', '48M', this.#image]) ??
      run(['mkfs.ext4', '-q', '-F', '-N', '12000', '-J', 'size=4', '-E', 'lazy_itable_init=0', this.#image]) ??
      this.#mount();
    if (made === undefined) chownSync(this.mounted, this.#user.uid, this.#user.gid);
    return made;
  }

  #mount(): string | undefined {
    return run(['mount', '-o', 'loop,commit=1', this.#image, this.mounted]);
  }

  /** What a cut right now would leave. */
  copy(): string {
    this.#cuts += 1;
    const copy = join(this.#directory, `cut-${this.#cuts}.img`);
    required(['fsfreeze', '--freeze', this.#host]);
    try {
      copyFileSync(this.#image, copy);
    } finally {
      required(['fsfreeze', '--unfreeze', this.#host]);
    }
    return copy;
  }

  /** Nothing uses it but what frees the trash: another process of ours that outlives its verb fails the test. */
  async #unmount(): Promise<void> {
    const { dev } = statSync(this.mounted);
    await until(() => processesEmptying(this.mounted).length === 0, `nobody empties a trash of ${this.mounted}`, 120);
    const problem = run(['umount', this.mounted]);
    if (problem === undefined) return;
    const users = processesUsing(dev).map(describeProcess);
    throw new Error(`${problem.trim()} Used by: ${users.join(', ') || 'no process that is still there'}`);
  }

  /** The power comes back: the disk is what had reached it. */
  async restore(copy: string): Promise<void> {
    await this.#unmount();
    rmSync(this.#image);
    required(['mv', copy, this.#image]);
    const problem = this.#mount();
    if (problem !== undefined) throw new Error(problem);
  }

  async remove(): Promise<void> {
    try {
      if (isMounted(this.mounted)) await this.#unmount();
    } finally {
      // Nothing of a test that failed is in the way of the next: its last user takes the disk along.
      for (const place of [this.mounted, this.#host]) if (isMounted(place)) required(['umount', '--lazy', place]);
      rmSync(this.#directory, { recursive: true, force: true });
    }
  }
}
