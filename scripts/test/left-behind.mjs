/** The temporary directory of a run: every user may use it, and what is in it when all tests have ended was left behind. */
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function makeTemporary() {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-t'));
  chmodSync(directory, 0o1777);
  return directory;
}

const isMountedBelow = (directory) => readFileSync('/proc/self/mountinfo', 'utf8').includes(` ${directory}/`);

/** Lines for the end of the run. */
export function leftIn(directory) {
  const names = readdirSync(directory).sort();
  if (names.length === 0) return [];
  const stays = isMountedBelow(directory) ? `; something is mounted there, so ${directory} stays` : '';
  return [`left behind by tests: ${names.join(', ')}${stays}`];
}

/** Never through a mount, which may show files of somebody else. */
export function removeTemporary(directory) {
  if (isMountedBelow(directory)) return;
  try {
    rmSync(directory, { recursive: true, force: true });
  } catch (error) {
    console.error(`${directory} cannot be removed: ${error.message}`);
  }
}
