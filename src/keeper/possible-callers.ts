/**
 * Whether anyone is left whom a keeper could serve: a process of its user, in its namespaces and its control group, that is neither it nor one
 * of its kind. Without one it would only hold what its last caller was in: a session that has ended, a mount namespace or a group that should
 * go.
 */
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';

const kinds = ['mnt', 'net', 'pid', 'user'] as const;

/**
 * A keeper or a copy of it, and the program that a copy has ready. Where another process has started such a program,
 * that process is there, too.
 */
const ofKeepers = /\/(?:keeper\.cjs|tree\0serve)\0/;

function placeOf(process: string): string {
  const namespaces = kinds.map((kind) => readlinkSync(`/proc/${process}/ns/${kind}`));
  return [...namespaces, readFileSync(`/proc/${process}/cgroup`, 'latin1')].join(' ');
}

export class Company {
  readonly #user = process.geteuid?.();
  readonly #place = placeOf('self');
  #seen = '';

  /** The one that was seen last is looked at first: mostly it is there still. */
  isThere(): boolean {
    if (this.#seen !== '' && this.#isOther(this.#seen)) return true;
    this.#seen = readdirSync('/proc').find((name) => /^\d+$/.test(name) && this.#isOther(name)) ?? '';
    return this.#seen !== '';
  }

  #isOther(name: string): boolean {
    try {
      if (statSync(`/proc/${name}`).uid !== this.#user || placeOf(name) !== this.#place) return false;
      const words = readFileSync(`/proc/${name}/cmdline`, 'latin1');
      return words !== '' && !ofKeepers.test(words);
    } catch {
      return false; // it has ended, or is not to be seen
    }
  }
}
