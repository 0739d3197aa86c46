/** The entry point. Everything else is loaded when it is needed. */
import { type ErrnoError, exitCodeFor, hasCode } from './base/errno.js';
import { checkInstallation, installationRoot, installedBuild, ownCacheDirectory } from './base/installation.js';
import { keepOwnRights } from './base/own-umask.js';
import { exactWords } from './base/process-table.js';
import { version } from './base/version.js';
import { writeWhole } from './base/write-whole.js';

/** Of a checkout, what git says. */
function commit(): string {
  const packaged = installedBuild()?.commit;
  if (packaged !== undefined) return packaged;
  const git = ['-C', installationRoot(), 'rev-parse', 'HEAD'];
  const { status, stdout } = process.getBuiltinModule('node:child_process').spawnSync('git', git, { encoding: 'utf8' });
  return status === 0 ? `checkout at ${stdout.trim()}` : 'checkout';
}

function sayVersion(): number {
  try {
    writeWhole(1, Buffer.from(`ctx ${version} (${commit()})\n`));
    return 0;
  } catch (error) {
    if (!hasCode(error, 'EPIPE')) process.stderr.write(`ctx: print: ${error}\n`);
    return 1;
  }
}

/** What V8 compiles of a package is kept for the next start, where Node can: a checkout has that beside its bundles. */
function keepCompiled(): void {
  const { enableCompileCache } = process.getBuiltinModule('node:module') as {
    enableCompileCache?: (directory: string) => unknown;
  };
  const directory = ownCacheDirectory(process.env);
  if (directory !== undefined) enableCompileCache?.(`${directory}/code`);
}

async function main(given: readonly string[]): Promise<number> {
  let isPackage = false;
  keepOwnRights();
  try {
    isPackage = checkInstallation('cli');
  } catch (error) {
    // Code that is damaged itself may fail in any way here.
    const { path, reason, remedy } = error as Partial<ErrnoError>;
    const where = path === undefined ? '' : `${path}: `;
    const what = reason === undefined ? `the installation is damaged, and is not used (${error})` : where + reason;
    process.stderr.write(`ctx: ${what}\n  try: ${remedy ?? 'install it again'}\n`);
    return exitCodeFor(error as ErrnoError);
  }
  if (given.length === 1 && given[0] === '--version') {
    return sayVersion();
  }
  if (isPackage) keepCompiled();
  const { run } = given[0] === 'exec' ? await import('./main-exec.js') : await import('./main-verbs.js');
  return run(given);
}

const given = exactWords(process.argv.slice(2));
// What is started anew by its words, and a keeper of jails that is asked by them, gets the same.
process.argv.splice(2, given.length, ...given);

void main(given).then((exitCode) => {
  process.exitCode = exitCode;
});
