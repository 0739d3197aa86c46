/**
 * The entry point of a keeper (`keeper/keeper`): started by `native/call` with the bundle that its callers would start, the store, the name
 * of its directory and what the caller is. It runs a few calls in a store of its own, so that code is compiled when a call comes, shows
 * that a copy of it works, and waits. In the copy that a call gets this goes on as `main.ts` does.
 */
import { constants, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { buildOf } from './base/build.js';
import { nativeProgram } from './base/native-program.js';
import { Keeper, type TakenCall } from './keeper/keeper.js';
import { type KeeperLibrary, loadKeeperLibrary } from './keeper/keeper-library.js';
import { copiesWork, refuseUnknownNode } from './keeper/trial.js';
import { warmUp } from './keeper/warm-up.js';

/** Where `native/call` leaves the lock. */
const lock = 3;

type Run = (given: readonly string[]) => Promise<number>;

/** As `bin/ctx` and `main.ts` choose: a hook's call has a bundle of its own. */
async function runOf([verb = '']: readonly string[]): Promise<Run> {
  if (verb === 'hook') return (await import('./main-hook-call.js')).run;
  return verb === 'exec' ? (await import('./main-exec.js')).run : (await import('./main-verbs.js')).run;
}

/**
 * A call runs for milliseconds, in memory that is shared until it is written to. What V8 does for the long run is in its way there: code
 * is optimised on its one thread, and marking, compacting and forgetting bytecode touch every page.
 */
function forShortCalls(): void {
  const flags = [
    'opt',
    'maglev',
    'incremental-marking',
    'memory-reducer',
    'flush-bytecode',
    'lazy-feedback-allocation',
  ];
  for (const flag of flags) setFlagsFromString(`--no-${flag}`);
}

/** One that goes on computes: a diff of many files is quicker with optimised code. */
function forLongCalls(): void {
  setFlagsFromString('--opt');
}

const shortCallMilliseconds = 300;

async function becomeCall({ program, given }: TakenCall, library: KeeperLibrary): Promise<void> {
  process.on('exit', (code) => library.end(code));
  // As in the process that the caller would have started.
  Object.defineProperty(process, 'pid', { value: Number(readFileSync('/proc/self/stat', 'latin1').split(' ', 1)[0]) });
  process.argv = [process.execPath, program, ...given];
  process.execArgv = [];
  setTimeout(forLongCalls, shortCallMilliseconds).unref();
  const run = await runOf(given);
  library.endWhenIdle(await run(given));
}

async function main([program = '', store = '', key = '', traits = '']: readonly string[]): Promise<void> {
  forShortCalls();
  const library = loadKeeperLibrary(nativeProgram('keeper.node'));
  library.hold(lock);
  refuseUnknownNode(process.versions.node);
  const environment = readFileSync('/proc/self/environ', 'latin1').split('\0');
  const directory = join(store, 'keeper', key);
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const build = () => buildOf(program);
  const keeper = new Keeper(library, { directory, descriptor, lock }, { program, traits, environment, build });
  const { run: exec } = await import('./main-exec.js');
  const { run: verbs } = await import('./main-verbs.js');
  await warmUp([
    ...Array.from({ length: 3 }, () => [exec, 'exec', '--', 'true'] as const),
    [exec, 'exec', '--', 'touch', 'file'],
    [verbs, 'status'],
    [verbs, 'diff'],
    [verbs, 'status'],
  ]);
  await runOf(['hook']); // read, so that every copy has it
  await copiesWork(library);
  const call = keeper.serve();
  if (call === undefined) process.exit(0);
  await becomeCall(call, library);
}

void main(process.argv.slice(2));
