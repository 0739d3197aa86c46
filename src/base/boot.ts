/**
 * Which start of the machine this is. What an earlier one wrote and did not sync may be on the disk or not, in part or whole.
 * `CTX_BOOT` stands for it where a disk outlives its machine, or a test pretends so.
 */
import { readFileSync } from 'node:fs';

let known: string | undefined;

export function currentBoot(): string {
  known ??= process.env['CTX_BOOT'] ?? readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  return known;
}
