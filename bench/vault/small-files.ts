/** Trees to measure with, and a repository of one. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileNames, run } from '../stage/stage.js';

/** `count` files of `lines` lines each, a hundred a directory. */
export function fillWithFiles(directory: string, count: number, lines: number): void {
  const made = new Set<string>();
  for (const name of fileNames(count)) {
    const parent = dirname(join(directory, name));
    if (!made.has(parent)) mkdirSync(parent, { recursive: true });
    made.add(parent);
    writeFileSync(join(directory, name), `${name}\n`.repeat(lines));
  }
}

const git = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'gc.auto=0', '-c', 'init.defaultBranch=main'];

export async function commitAll(directory: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const options = { cwd: directory, env: environment };
  await run('git', [...git, 'init', '-q'], options);
  await run('git', [...git, 'add', '.'], options);
  await run('git', [...git, 'commit', '-qm', 'all'], options);
}
