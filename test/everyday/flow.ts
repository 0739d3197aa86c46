/** A flow: a few lines of everyday work, played outside and inside on equal trees. */
export interface Flow {
  /** As docs/differences.md names it. */
  readonly name: string;
  /** Programs, files, or what a shell finds true behind a `!`, without which it is skipped. */
  readonly needs?: readonly string[];
  /** Makes the tree, outside, once: both sides start with equal copies. */
  readonly before?: string;
  /** What is played, each text a command of its own (`sh -c`), one after the other. */
  readonly run: string | readonly string[];
  /** Part of `npm test`; the others are played by `npm run soak -- everyday`. */
  readonly quick?: true;
  /** Files whose content is never twice the same: only their kind and mode are compared. */
  readonly volatile?: RegExp;
  /** Files that come and go by chance. */
  readonly leftOut?: RegExp;
  /** Variables, on both sides. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Further options of `ctx exec`. */
  readonly options?: readonly string[];
  /** Before the texts are compared. */
  readonly tidy?: (text: string) => string;
  /** Whom it is for, where it is not for both. */
  readonly only?: 'root' | 'an unprivileged user';
  /** How long a command of it may take. */
  readonly seconds?: number;
}

/** Some programs do not start for a user without a name. Inside, everybody has one. */
export const known = '!getent passwd "$(id -u)" > /dev/null';

/** In what the two sides can differ. */
export const aspects = [
  'exit',
  'output',
  'errors',
  'apply',
  'tree',
  'times',
  'undo',
  'again',
  'rollback',
  'drop',
] as const;

export type Aspect = (typeof aspects)[number];

export interface Difference {
  readonly aspect: Aspect;
  readonly text: string;
}
