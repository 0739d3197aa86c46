/** The entry point. Everything else is loaded when it is needed: `ctx --version` costs a start of Node and no more. */
import { version } from './base/version.js';

async function main(given: readonly string[]): Promise<number> {
  if (given.length === 1 && given[0] === '--version') {
    process.stdout.write(`ctx ${version}\n`);
    return 0;
  }
  const { runCommandLine } = await import('./cli/command-line.js');
  return runCommandLine(
    given,
    async () => (await import('./compose.js')).composeHost(),
    async () => (await import('./compose-hook.js')).composeHookHost(),
  );
}

void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
