/**
 * The entry point of a keeper (`keeper/keeper`): started by `native/call` with the bundle that its callers would start, the store, the name
 * of its directory and what the caller is. It runs a few calls in a store of its own, so that code is compiled when a call comes, shows
 * that a copy of it works, and waits. In the copy that a call gets this goes on as `main.ts` does.
 */
import { constants, openSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { buildOf } from './base/build.js';
import { carryTerminal } from './base/carried-terminal.js';
import { watchInstallation } from './base/installation.js';
import { nativeProgram } from './base/native-program.js';
import { keepReady } from './base/ready-program.js';
import { Starter } from './base/starter.js';
import { copiesWork, inCopy, isCopy, learnPages, refuseUnknownNode } from './keeper/copy-trial.js';
import { Keeper, type TakenCall } from './keeper/keeper.js';
import { type KeeperLibrary, loadKeeperLibrary } from './keeper/keeper-library.js';
import { prepareCopy } from './keeper/prepared-copy.js';
import { type RunCall, warmUp } from './keeper/warm-up.js';
import { startServer } from './vault/tree/tree-channel.js';

/** Where `native/call` leaves the lock. */
const lock = 3;

/** Where it leaves a file whose name is a word: only a process that may trace this one can read it, and callers say it. */
const wordFile = 4;

function ownWord(): string {
  const [, word] = /^\/memfd:([0-9a-f]{32}) \(deleted\)$/.exec(readlinkSync(`/proc/self/fd/${wordFile}`)) ?? [];
  if (word === undefined) throw new Error('expected a file with a word');
  return word;
}

type Run = (given: readonly string[]) => Promise<number>;

/** What V8 does for the long run and touches every page: marking, compacting, forgetting bytecode. */
function forFirstCalls(): void {
  const flags = ['maglev', 'incremental-marking', 'memory-reducer', 'flush-bytecode', 'lazy-feedback-allocation'];
  for (const flag of flags) setFlagsFromString(`--no-${flag}`);
}

/** A call runs for milliseconds, on the one thread that would optimise its code: a copy has what the first calls made of it. */
function forShortCalls(): void {
  setFlagsFromString('--no-opt');
}

/** One that goes on computes: a diff of many files is quicker with optimised code. */
function forLongCalls(): void {
  setFlagsFromString('--opt');
}

/**
 * What the first calls left is not copied. Only of the young generation, twice, after which it is empty: a whole collection forgets the
 * shapes of objects that are not there just now, and with them what the code has learned of them.
 */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  for (let times = 0; times < 2; times++) collect({ type: 'minor' });
  setFlagsFromString('--no-expose-gc');
}

const shortCallMilliseconds = 300;

/** Every call asks this program. */
function startReady(starter: Starter): void {
  const program = nativeProgram('tree');
  keepReady(program, startServer(program, starter));
}

async function becomeCall(
  { program, given, process: own, carries }: TakenCall,
  run: Run,
  library: KeeperLibrary,
): Promise<void> {
  isCopy(own);
  process.argv = [process.execPath, program, ...given];
  if (carries) carryTerminal(library);
  setTimeout(forLongCalls, shortCallMilliseconds).unref();
  library.endWhenIdle(await run(given));
}

async function main([program = '', store = '', key = '', traits = '']: readonly string[]): Promise<void> {
  forFirstCalls();
  const library = loadKeeperLibrary(nativeProgram('keeper.node'));
  for (const descriptor of [lock, wordFile]) library.hold(descriptor);
  refuseUnknownNode(process.versions.node);
  const environment = readFileSync('/proc/self/environ', 'latin1').split('\0');
  const directory = join(store, 'keeper', key);
  const descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  const build = () => buildOf(program);
  const facts = { program, traits: `${traits} ${ownWord()}`, environment, build, isIntact: watchInstallation('cli') };
  const keeper = new Keeper(library, { directory, descriptor, lock }, facts);
  const { run: exec } = await import('./main-exec.js');
  const { run: verbs } = await import('./main-verbs.js');
  const { run: hook } = await import('./main-hook-call.js');
  const elsewhere = (given: readonly string[]) => inCopy(library, () => exec(given)).then(() => 0);
  const starter = new Starter(nativeProgram('start.node'));
  // As a copy finds it: what goes that way is compiled, too.
  const ready =
    (run: RunCall): RunCall =>
    (given, onHost) => {
      startReady(starter);
      return run(given, onHost);
    };
  await warmUp(
    [
      // So often that V8 optimises what every command runs.
      ...Array.from({ length: 16 }, () => [ready(exec), 'exec', '--', 'true'] as const),
      // What another process has written is read, and what this one has written is known.
      [elsewhere, 'exec', '--', 'touch', 'file'],
      [exec, 'exec', '--', 'true'],
      [ready(verbs), 'status'],
      [elsewhere, 'exec', '--', 'touch', 'another'],
      [ready(verbs), 'status'],
      [verbs, 'diff'],
      [exec, 'exec', '--', 'touch', 'file'],
      [verbs, 'status'],
    ],
    () => {
      forShortCalls();
      collectGarbage();
      return learnPages(library, () => exec(['exec', '--', 'true']).then(() => verbs(['status'])));
    },
  );
  await copiesWork(library);
  const call = keeper.serve(() => prepareCopy(library, wordFile, () => startReady(starter)));
  if (call === undefined) process.exit(0);
  // As `bin/ctx` and `main.ts` choose: a hook's call has a bundle of its own.
  await becomeCall(call, { exec, hook }[call.given[0] ?? ''] ?? verbs, library);
}

void main(process.argv.slice(2));
