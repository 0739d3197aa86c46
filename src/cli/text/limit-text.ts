/** A threshold of a limit as people read it. Pure. */
import type { LimitEvent } from '../../sdk/report.js';
import { counted, sizeText } from './change-text.js';

const amounts: Readonly<Record<LimitEvent['limit'], (amount: number) => string>> = {
  memory: (bytes) => `${sizeText(bytes)} of memory`,
  pids: (count) => counted(count, 'process', 'processes'),
  disk: (bytes) => `${sizeText(bytes)} of disk`,
  inodes: (count) => counted(count, 'file'),
  vaultBytes: (bytes) => `${sizeText(bytes)} of the vault`,
  vaultFiles: (count) => `${counted(count, 'file')} of the vault`,
  vaultFileBytes: (bytes) => `${sizeText(bytes)} of one file in the vault`,
  wallTime: (milliseconds) => `${(milliseconds / 1000).toFixed(1)} s`,
};

export function limitText({ limit, percent, used, most }: LimitEvent): string {
  const amount = amounts[limit];
  if (percent === 100) return `limit of ${amount(most)} reached`;
  return `${percent} % of its limit used: ${amount(used).replace(/ of .*/, '')} of ${amount(most)}`;
}
