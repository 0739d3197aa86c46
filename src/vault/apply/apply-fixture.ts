/** What tests of an apply and of its undo share: a fork, the person's directory, and a conflict between both. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach } from 'node:test';
import { freshVault, lookAt, type Shown, tree, type VaultPlace } from '../forks/vault-fixture.js';
import { type ForkMeta, readForkMeta } from '../store/fork-meta.js';
import type { Step } from '../tree/tree.js';
import { type Applied, type ApplyRequest, applyFork } from './apply.js';
import { type Undone, type UndoRequest, undoApply } from './undo-apply.js';

export const put = (path: string, text: string) => (directory: string) => writeFileSync(join(directory, path), text);
export const listed = (steps: readonly Step[]) => steps.map(({ action, path }) => `${action} ${path}`);

export interface ApplyPlace extends VaultPlace {
  apply(more?: Partial<ApplyRequest>): Promise<Applied>;
  undo(more?: UndoRequest): Promise<Undone>;
  /** The person's directory, and what the fork shows. */
  home(): Shown;
  inFork(): Promise<Shown>;
  state(): ForkMeta;
  /** The person has `own`, `both` and `dir/x`; the fork changes all, and the person `both` as well. */
  conflict(): Promise<void>;
}

export function freshApplies(): ApplyPlace {
  const place = freshVault();
  const { at, write, withFork, command, access, shown } = place;
  beforeEach(() => {
    tree.before = undefined;
    tree.done.length = 0;
  });
  return {
    ...place,
    apply: (more = {}) => withFork((fork) => applyFork(fork, { conflicts: 'refuse', allowSensitive: true, ...more })),
    undo: (more = {}) => withFork((fork) => undoApply(fork, more)),
    home: () => lookAt(at('project')),
    inFork: () => withFork((fork) => shown(fork)),
    state: () => readForkMeta(access().paths.fork('main').directory) as ForkMeta,
    async conflict() {
      for (const name of ['own', 'both', 'dir/x']) write(`project/${name}`, 'mine');
      await command((directory) => {
        for (const name of ['own', 'both', 'new']) put(name, 'inside')(directory);
        rmSync(join(directory, 'dir'), { recursive: true });
      });
      write('project/both', 'edited');
    },
  };
}
