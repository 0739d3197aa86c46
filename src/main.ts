/** The entry point. Everything else is loaded when it is needed. */
import { hasCode } from './base/errno.js';
import { version } from './base/version.js';
import { writeWhole } from './base/write-whole.js';

function sayVersion(): number {
  try {
    writeWhole(1, Buffer.from(`ctx ${version}\n`));
    return 0;
  } catch (error) {
    if (!hasCode(error, 'EPIPE')) process.stderr.write(`ctx: print: ${error}\n`);
    return 1;
  }
}

async function main(given: readonly string[]): Promise<number> {
  if (given.length === 1 && given[0] === '--version') {
    return sayVersion();
  }
  const { run } = given[0] === 'exec' ? await import('./main-exec.js') : await import('./main-verbs.js');
  return run(given);
}

void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
