/** The verb of a project's defaults. */
import { json } from '../input/common-options.js';
import type { Verb } from '../verb.js';

export const trustVerb: Verb = {
  name: 'trust',
  summary: "let this project's defaults count: what .ctx/project.toml asks for, as you are shown it",
  words: 'none',
  options: [
    json,
    { name: 'show', summary: 'only show what it asks for' },
    { name: 'digest', value: 'DIGEST', summary: 'confirm what has this digest, without being asked' },
    { name: 'revoke', summary: 'let nothing of it count any more' },
  ],
  details: [
    'The file names hosts, paths to read, variables, stored secrets and limits that commands here need (docs/project.md).',
    'Nothing of it counts until you confirm exactly these bytes, in this directory; when they change, it counts for nothing',
    'until you confirm them again. Commands run without it meanwhile, and their reports say so; --no-project leaves it out.',
  ],
  examples: ['ctx trust', 'ctx trust --show --json'],
  load: async () => (await import('./trust.js')).run,
};
