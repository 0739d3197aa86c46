/** A copy that says how far it is of how much: somebody else counts while it goes on, so that it starts at once. */
import type { CopyOptions, Problem, Progress, Tree } from './tree.js';
import { watchUsage } from './usage.js';

export async function copyWithTotals(
  tree: Tree,
  onProgress: ((progress: Progress) => void) | undefined,
  options: Omit<CopyOptions, 'onProgress'>,
): Promise<readonly Problem[]> {
  if (onProgress === undefined) return tree.copy(options);
  let total: Progress['of'];
  const count = watchUsage({
    program: tree.program,
    roots: [options.root],
    onUsage: ({ files, content }) => {
      total = { files, bytes: content };
      void count.stop();
    },
    // A total that is not to be had is no reason to stop.
    onLost: () => undefined,
  });
  try {
    return await tree.copy({ ...options, onProgress: (progress) => onProgress({ ...progress, of: total }) });
  } finally {
    await count.stop();
  }
}
