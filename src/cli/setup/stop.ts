/** `ctx stop`, and `ctx uninstall`, which stops everything and says what stays. */
import { accessSync, constants } from 'node:fs';
import { dirname } from 'node:path';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { installationRoot } from '../../base/installation.js';
import { visible, visibleCommand } from '../../base/visible-text.js';
import { type Host, leftPlaces } from '../../sdk/host.js';
import { type Stopping, stopLiving } from '../../sdk/operator/stopping.js';
import { counted } from '../text/change-text.js';
import { print, printError, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

function line({ pid, kind, origin, what, problem }: Stopping): string {
  const where = origin === null ? '' : ` of ${visible(origin)}`;
  const how = problem === null ? 'ended' : `still running: ${visible(problem)}`;
  return `${pid}  ${kind}${where}, ${visible(what)}: ${how}\n`;
}

function refuseLeft(stopped: readonly Stopping[]): void {
  const left = stopped.filter(({ problem }) => problem !== null);
  if (left.length === 0) return;
  throw new ErrnoError('EBUSY', {
    operation: 'stop',
    reason: `${counted(left.length, 'process is', 'processes are')} still running: ${left.map(({ pid }) => pid).join(', ')}`,
    remedy: 'ctx ps lists what is running',
  });
}

function pidsOf(words: readonly string[], all: boolean): readonly number[] | 'all' {
  if (all === words.length > 0 || words.some((word) => !/^[1-9]\d{0,9}$/.test(word))) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx stop',
      reason: 'expected process numbers, or --all, and not both',
      remedy: 'ctx ps lists what is running, with its numbers',
    });
  }
  return all ? 'all' : words.map(Number);
}

export const run: Run = async (call, hostOf) => {
  const wanted = pidsOf(call.words, call.flag('all'));
  const stopped = await stopLiving(await hostOf({ looks: true }), wanted);
  if (call.flag('json')) printJson({ version: 1, stopped });
  else if (stopped.length === 0) print('nothing of ctx is running\n');
  else for (const each of stopped) (each.problem === null ? print : printError)(line(each));
  if (!call.flag('json')) refuseLeft(stopped);
  return stopped.every(({ problem }) => problem === null) ? ExitCode.ok : ExitCode.failed;
};

function mayWrite(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function removalWords(root: string): readonly string[] {
  const [, globally] = /^(.*)\/lib\/node_modules\/ctxfs$/s.exec(root) ?? [];
  if (globally !== undefined) return ['npm', 'uninstall', '--global', '--prefix', globally || '/', 'ctxfs'];
  // A dependency of a project, whose package.json names it.
  const [, project] = /^(.*)\/node_modules\/ctxfs$/s.exec(root) ?? [];
  if (project !== undefined) return ['npm', 'uninstall', '--prefix', project || '/', 'ctxfs'];
  return root === '/usr/lib/ctxfs' ? ['apt-get', 'remove', 'ctxfs'] : ['rm', '-r', root];
}

/** How this installation is taken away. */
export function removal(root: string, isOwn = mayWrite(dirname(root))): string {
  return visibleCommand([...(isOwn ? [] : ['sudo']), ...removalWords(root)]);
}

export const uninstall: Run = async (call, hostOf) => {
  const host: Host = await hostOf({ looks: true });
  const stopped = await stopLiving(host, 'all');
  refuseLeft(stopped);
  const left = leftPlaces(host);
  const remove = removal(installationRoot());
  if (call.flag('json')) {
    printJson({ version: 1, stopped, left, remove });
    return ExitCode.ok;
  }
  for (const each of stopped) print(line(each));
  print('nothing of ctx runs or is mounted any more. Left as they are:\n');
  for (const { path, what } of left) print(`  ${visible(path)}  ${what}\n`);
  print('  entries of ctx in settings of your harnesses: ctx hook uninstall claude-code, in each project\n');
  print(`the program itself: ${remove}\n`);
  return ExitCode.ok;
};
