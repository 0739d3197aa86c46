/** A filesystem of a kind that can be named, in a file of its own: for rows that depend on it. Only root can mount one. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';

export interface LoopImage {
  /** Where it is mounted. */
  readonly directory: string;
  end(): void;
}

const makers = { ext4: ['mkfs.ext4', '-q', '-F'], btrfs: ['mkfs.btrfs', '-q'] } as const;
/** A sparse file: what is not written takes no room. */
const bytes = 24 * 2 ** 30;

function reasonAgainst(kind: keyof typeof makers): string | undefined {
  if (process.geteuid?.() !== 0) return 'only root can mount one';
  if (!readFileSync('/proc/filesystems', 'utf8').split('\n').includes(`\t${kind}`)) return 'this kernel has none';
  if (spawnSync('sh', ['-c', `command -v ${makers[kind][0]}`]).status !== 0)
    return `there is no ${makers[kind][0]} here`;
  return undefined;
}

function succeeds(command: string, words: readonly string[]): boolean {
  return spawnSync(command, words, { stdio: ['ignore', 'ignore', 'inherit'] }).status === 0;
}

/** At `path`, which is made; a text says why not. ext4 is made as everybody has it: with a journal. */
export function loopImage(kind: keyof typeof makers, path: string): LoopImage | string {
  const reason = reasonAgainst(kind);
  if (reason !== undefined) return reason;
  const file = `${path}.image`;
  const [maker, ...words] = makers[kind];
  writeFileSync(file, '');
  truncateSync(file, bytes);
  mkdirSync(path, { recursive: true });
  if (!succeeds(maker, [...words, file]) || !succeeds('mount', ['-o', 'loop', file, path])) {
    rmSync(file);
    return 'it could not be made and mounted';
  }
  return {
    directory: path,
    end() {
      // The host's record stays open as long as the process: it goes with the last of them.
      if (!succeeds('umount', ['--lazy', path])) throw new Error(`${path} stays mounted`);
      rmSync(file);
      rmSync(path, { recursive: true });
    },
  };
}
