/** A change as tests of what comes home name it: a new file, unless they say otherwise. */
import type { Change } from './tree.js';

export const change = (path: string, more: Partial<Change> = {}): Change => ({
  kind: 'added',
  type: 'file',
  path,
  mode: 0o644,
  size: 1,
  content: true,
  stamp: '',
  ...more,
});
