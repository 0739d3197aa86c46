/**
 * The catalogue of every message of ours that a person can read, with where it is written: node scripts/messages.mjs [WORD...]
 * prints those of files whose path contains a WORD. `--avoided` prints only texts with a form that STYLE avoids.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { avoidedIn } from './messages/avoided.mjs';
import { messagesInC, messagesInShell, messagesInTypeScript } from './messages/collect.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

function sourcesIn(directory, ending) {
  const entries = readdirSync(join(root, directory), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && ending.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** Of everything that is installed: the TypeScript, the C, the starter. Tests and what only they use are left out. */
export function catalogue() {
  const read = (file) => readFileSync(join(root, file), 'utf8');
  const typescript = sourcesIn('src', /(?<!\.test|-fixture)\.ts$/);
  return [
    ...typescript.flatMap((file) => messagesInTypeScript(file, read(file))),
    ...sourcesIn('native', /\.[ch]$/).flatMap((file) => messagesInC(file, read(file))),
    ...messagesInShell('bin/ctx', read('bin/ctx')),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
  const onlyAvoided = process.argv.includes('--avoided');
  const shown = catalogue()
    .filter(({ file }) => words.length === 0 || words.some((word) => file.includes(word)))
    .filter(({ text }) => !onlyAvoided || avoidedIn(text).length > 0);
  let last = '';
  for (const { file, line, kind, text } of shown) {
    if (file !== last) process.stdout.write(`${last === '' ? '' : '\n'}${file}\n`);
    last = file;
    process.stdout.write(`  ${String(line).padStart(4)} ${kind.padEnd(6)} ${text}\n`);
  }
  process.stdout.write(`\n${shown.length} messages\n`);
}
