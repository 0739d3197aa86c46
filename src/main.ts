/** The entry point. Everything else is loaded when it is needed. */
import { version } from './base/version.js';

async function main(given: readonly string[]): Promise<number> {
  if (given.length === 1 && given[0] === '--version') {
    process.stdout.write(`ctx ${version}\n`);
    return 0;
  }
  return (await import('./main-verbs.js')).run(given);
}

void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
