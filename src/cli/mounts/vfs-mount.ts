/** `ctx vfs mount SPEC DIR` and `ctx vfs unmount DIR`. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { nativeProgram } from '../../base/native-program.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import type { Host } from '../../sdk/host.js';
import type { GrantsFile } from '../../sdk/vfs/virtual-files.js';
import { painter, print, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';
import { endedBySignals, serveAt } from './background-server.js';

const part = async () => import('../../sdk/vfs/virtual-files.js');

function sayMounted(call: Arguments, directory: string): void {
  const [specification = ''] = call.words;
  if (call.flag('json')) printJson({ version: 1, specification, directory, writable: call.flag('writable') });
  else print(`${painter(process.stdout)('green', `mounted ${visible(specification)} at ${visible(directory)}`)}\n`);
}

async function serveHere(call: Arguments, hostOf: () => Promise<Host>): Promise<number> {
  const { mountTree } = await part();
  const [specification = '', target = ''] = call.words;
  const place = resolve(currentDirectory(), target);
  const grants = call.value('grants');
  await mountTree({
    specification,
    target: place,
    directory: currentDirectory(),
    lockLibrary: nativeProgram('flock.node'),
    library: nativeProgram('fuse.node'),
    writable: call.flag('writable'),
    grants: grants === undefined ? undefined : { path: grants, refused: recordedRefusals(await hostOf(), place) },
    signal: endedBySignals(),
    mounted: (directory) => sayMounted(call, directory),
  });
  return ExitCode.ok;
}

/** A refusal that cannot be recorded ends the mount: nobody goes on trying unseen. */
const recordedRefusals =
  ({ recorder }: Host, directory: string, agent?: string): GrantsFile['refused'] =>
  ({ count, scope, operation, path, code }) => {
    const facts = { operation, path, scope, error: code };
    recorder.append({ type: 'vfs', object: `vfs${directory}`, agent, status: 'denied', layer: 'guard', count, facts });
  };

/** What `ctx exec --mount` starts: it reads its plan from stdin, has opened the tree when it says a word, and ends with the jail. */
async function serveJailHere(call: Arguments, text: string, hostOf: () => Promise<Host>): Promise<number> {
  const { mountTreeInJail, planFromText } = await part();
  const [numbers, agent] = /^(\d+:\d+:\d+)(?::(.+))?$/.exec(text)?.slice(1) ?? [];
  const [uid, gid, shift] = (numbers ?? '').split(':').map(Number);
  if (uid === undefined || gid === undefined || shift === undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx vfs mount',
      reason: `--jail: expected UID:GID:SHIFT[:AGENT], got '${text}'`,
    });
  }
  const [specification = '', mountedAt = ''] = call.words;
  const grants = call.value('grants');
  const outcome = await mountTreeInJail({
    plan: planFromText(readFileSync(0, 'utf8')),
    lockLibrary: nativeProgram('flock.node'),
    library: nativeProgram('fuse.node'),
    writable: call.flag('writable'),
    grants:
      grants === undefined ? undefined : { path: grants, refused: recordedRefusals(await hostOf(), mountedAt, agent) },
    signal: endedBySignals(),
    ready: () => printJson({ version: 1, specification, directory: mountedAt, writable: call.flag('writable') }),
    channel: 3,
    mountedAt,
    shift,
    uid,
    gid,
  });
  if (outcome !== undefined) printJson(outcome);
  return ExitCode.ok;
}

export const mount: Run = async (call, hostOf) => {
  const jail = call.value('jail');
  if (jail !== undefined) return serveJailHere(call, jail, hostOf);
  if (call.flag('foreground')) return serveHere(call, hostOf);
  const { checkTreeText, mountPoint } = await part();
  const [specification = '', target = ''] = call.words;
  // Before another process is started: what is refused is refused here.
  checkTreeText({ specification, directory: currentDirectory() });
  const flags = ['writable', 'json'].filter((name) => call.flag(name)).map((name) => `--${name}`);
  const grants = call.value('grants');
  const guarded = grants === undefined ? [] : ['--grants', grants];
  const words = ['vfs', 'mount', ...flags, ...guarded, '--foreground', '--', ...call.words];
  return serveAt(resolve(currentDirectory(), target), mountPoint, words);
};
