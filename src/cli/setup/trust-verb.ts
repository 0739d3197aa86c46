/** The verb of a project's defaults. */
import { json } from '../input/common-options.js';
import type { Verb } from '../verb.js';

export const trustVerb: Verb = {
  name: 'trust',
  summary: "accept this project's defaults: what .ctx/project.toml asks for",
  words: 'none',
  options: [
    json,
    { name: 'show', summary: 'only show what it asks for' },
    { name: 'digest', value: 'DIGEST', summary: 'confirm what has this digest, without being asked' },
    { name: 'revoke', summary: 'stop accepting them' },
  ],
  details: [
    'The file names hosts, paths to read, variables, stored secrets and limits that commands here need (docs/project.md).',
    'It is ignored until you confirm exactly these bytes, in this directory; when they change, it is ignored again',
    'until you confirm the new ones. Commands run without it meanwhile, and their reports say so; --no-project leaves it out.',
  ],
  examples: ['ctx trust', 'ctx trust --show --json'],
  load: async () => (await import('./trust.js')).run,
};
