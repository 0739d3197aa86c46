/**
 * A program of the operator's: `COMMAND... commit` is given a point as one line of JSON on stdin, `COMMAND... read` prints all
 * points it has, one a line. What it does with them, a remote log or a printer, is its own business.
 */
import { spawnSync } from 'node:child_process';
import { canonicalJson } from '../../base/canonical-json.js';
import { ErrnoError } from '../../base/errno.js';
import { anchorMilliseconds } from '../../base/limits/store.js';
import type { Anchor, AnchorState } from '../anchor.js';
import { parsePoints } from './file-anchor.js';

/** Its stdout; what fails or takes too long is an error. */
export function runAnchor(argv: readonly string[], input: string | Buffer = ''): string {
  const [program = '', ...words] = argv;
  const { status, stdout, stderr, error } = spawnSync(program, words, {
    input,
    encoding: 'utf8',
    timeout: anchorMilliseconds,
  });
  if (status === 0) return stdout;
  throw new ErrnoError('EIO', {
    operation: 'anchor',
    path: program,
    reason: error === undefined ? `ended with ${status}: ${stderr.trim().slice(0, 500)}` : error.message,
  });
}

export function commandAnchor(argv: readonly string[]): Anchor {
  const points = () => parsePoints(runAnchor([...argv, 'read']), argv.join(' '));
  return {
    name: `command:${argv.join(' ')}`,
    next: () => (points().at(-1)?.counter ?? 0) + 1,
    commit: (point) => {
      runAnchor([...argv, 'commit'], `${canonicalJson({ ...point })}\n`);
    },
    read(): AnchorState {
      const found = points();
      return found.length === 0 ? { kind: 'empty' } : { kind: 'points', points: found };
    },
  };
}
