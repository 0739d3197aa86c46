/**
 * Two NV indices of a TPM 2.0, by tpm2-tools: a counter, which only ever goes up, and a value that can only be
 * extended. Anyone who holds every file and every key of this machine can add to them, and cannot take back.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ErrnoError } from '../../base/errno.js';
import { type Anchor, type AnchorState, nothingExtended } from '../anchor.js';
import { runAnchor } from './command-anchor.js';

export interface TpmOptions {
  readonly counterIndex: string;
  readonly headIndex: string;
  /** How to reach it, as tpm2-tools say it; without one, their own choice. */
  readonly tcti?: string | undefined;
}

export const defaultTpm: TpmOptions = { counterIndex: '0x01500c70', headIndex: '0x01500c71' };

export function tpmAnchor({ counterIndex, headIndex, tcti }: TpmOptions): Anchor {
  const through = tcti === undefined ? [] : ['-T', tcti];
  const tool = (name: string, ...words: readonly string[]) => runAnchor([`tpm2_${name}`, ...words, ...through]);
  const isDefined = (index: string) =>
    tool('getcap', 'handles-nv-index').toLowerCase().includes(index.slice(2).replace(/^0+/, ''));
  const bytes = (index: string, size: number): string => {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-tpm-'));
    try {
      const file = join(directory, 'value');
      tool('nvread', index, '-C', 'o', '-s', String(size), '-o', file);
      return readFileSync(file).toString('hex');
    } finally {
      rmSync(directory, { recursive: true });
    }
  };
  const counter = () => Number(BigInt(`0x${bytes(counterIndex, 8)}`));
  const define = () => {
    if (!isDefined(counterIndex)) {
      tool('nvdefine', counterIndex, '-C', 'o', '-a', 'ownerread|ownerwrite|authread|authwrite|no_da|nt=counter');
      // A counter has no value before it first counted.
      tool('nvincrement', counterIndex, '-C', 'o');
    }
    if (!isDefined(headIndex)) {
      tool(
        'nvdefine',
        headIndex,
        '-C',
        'o',
        '-g',
        'sha256',
        '-a',
        'ownerread|ownerwrite|authread|authwrite|no_da|nt=extend',
      );
    }
  };
  return {
    name: `tpm:${counterIndex}:${headIndex}`,
    next() {
      define();
      return counter() + 1;
    },
    commit({ counter: wanted, head }) {
      const directory = mkdtempSync(join(tmpdir(), 'ctx-tpm-'));
      try {
        const file = join(directory, 'head');
        writeFileSync(file, Buffer.from(head, 'hex'));
        tool('nvextend', headIndex, '-C', 'o', '-i', file);
      } finally {
        rmSync(directory, { recursive: true });
      }
      tool('nvincrement', counterIndex, '-C', 'o');
      if (counter() === wanted) return;
      throw new ErrnoError('EBUSY', {
        operation: 'anchor',
        path: counterIndex,
        reason: `expected its counter to be ${wanted}, found ${counter()}: another program increments it`,
      });
    },
    read(): AnchorState {
      if (!isDefined(counterIndex) || !isDefined(headIndex)) return { kind: 'empty' };
      const count = counter();
      try {
        return { kind: 'extended', counter: count, value: bytes(headIndex, 32) };
      } catch (error) {
        // What was never extended cannot be read.
        if (error instanceof ErrnoError && /before being initialized/.test(error.reason)) {
          return { kind: 'extended', counter: count, value: nothingExtended };
        }
        throw error;
      }
    },
  };
}
