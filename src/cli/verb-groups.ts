/** The verbs as a person meets them: the eight of every day first, then the rest by what it is about. Pure. */
import { groupOf } from './find-verb.js';
import type { Verb } from './verb.js';

/** In the order in which they are used. */
export const everyday: readonly string[] = ['exec', 'run', 'status', 'diff', 'apply', 'drop', 'rollback', 'doctor'];

/** By first word; `more` takes what is listed nowhere, which a test does not allow. */
const subjects: Readonly<Record<string, readonly string[]>> = {
  'checkpoints, forks and files': ['checkpoint', 'fork', 'blame', 'inspect', 'prepare', 'vfs'],
  'what may run': ['classify', 'rules', 'approvals', 'trust', 'secret', 'why', 'surface', 'preamble'],
  'agents and tools': ['agent', 'tool', 'model', 'view', 'policy', 'mount'],
  'jails, and what is running': ['jail', 'ps', 'stop'],
  'your programs': ['hook', 'mcp', 'completion'],
  'the record': ['audit'],
  'the store': ['vault', 'gc', 'fsck', 'flatten', 'uninstall'],
};

export interface VerbGroup {
  readonly title: string;
  readonly verbs: readonly Verb[];
}

const firstWord = (verb: Verb) => groupOf(verb) ?? verb.name;

export function verbGroups(verbs: readonly Verb[]): readonly VerbGroup[] {
  const listed = new Set([...everyday, ...Object.values(subjects).flat()]);
  const groups: readonly VerbGroup[] = [
    {
      title: 'every day',
      verbs: everyday.flatMap((name) => verbs.filter((verb) => verb.name === name)),
    },
    ...Object.entries(subjects).map(([title, words]) => ({
      title,
      verbs: words.flatMap((word) => verbs.filter((verb) => firstWord(verb) === word)),
    })),
    { title: 'more', verbs: verbs.filter((verb) => !listed.has(firstWord(verb))) },
  ];
  return groups.filter((group) => group.verbs.length > 0);
}
