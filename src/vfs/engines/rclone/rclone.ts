/**
 * `rclone:REMOTE:PATH`: whatever Debian's rclone knows, by its own WebDAV server: on loopback, with a password that is made for it and is in no
 * list of processes, started by us and ended with us, however we end. Its configuration is the person's own.
 */
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { startProgram } from '../../../base/child-process.js';
import { ErrnoError } from '../../../base/errno.js';
import { rcloneEndSeconds, rcloneStartMilliseconds, remoteCallMilliseconds } from '../../../base/limits/trees.js';
import { systemPath } from '../../../base/system-programs.js';
import type { FileSystem } from '../../filesystem.js';
import type { RemoteStore } from '../remote/remote-store.js';
import { openedWebdav } from '../webdav/webdav.js';

export interface RcloneOptions {
  readonly remote: string;
  readonly writable: boolean;
  /** Where programs are, as PATH: by default the system's, and not the person's, in which a file of a project may come first. */
  readonly programs?: string | undefined;
  readonly startMilliseconds?: number | undefined;
}

/**
 * Until the stdin of the shell ends, which it does with the process that has the other end. Only rclone keeps stderr. One that does not
 * end, since its remote does not answer, is killed.
 */
const untilInputEnds = [
  'exec 3<&0; "$@" 3<&- </dev/null & server=$!; exec 2>/dev/null; read line <&3; kill $server',
  `(trap 'kill $clock' TERM; sleep ${rcloneEndSeconds} & clock=$!; wait $clock && kill -9 $server) & guard=$!`,
  'wait $server; kill $guard; wait',
].join('\n');
const startedLine = /Server started on \[?(http:\/\/[^\s\]]+)/;

export async function rcloneFileSystem({
  remote,
  writable,
  programs = systemPath,
  startMilliseconds = rcloneStartMilliseconds,
}: RcloneOptions): Promise<FileSystem> {
  const [user, password] = ['ctx', randomBytes(24).toString('base64url')];
  const words = ['serve', 'webdav', remote, '--addr', '127.0.0.1:0', '--dir-cache-time', '1s', '--log-level', 'INFO'];
  const child = startProgram(
    '/bin/sh',
    ['-c', untilInputEnds, 'sh', 'rclone', ...words, ...(writable ? [] : ['--read-only'])],
    {
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { ...process.env, PATH: programs, RCLONE_USER: user, RCLONE_PASS: password },
      // Not with the signals of our terminal: it ends after us.
      detached: true,
    },
  );
  const gone = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const end = async () => {
    child.stdin?.destroy();
    await gone;
  };
  try {
    const url = new URL(await started(child, remote, startMilliseconds));
    const access = { url, user, password, limit: remoteCallMilliseconds };
    return await openedWebdav(access, `rclone:${remote}`, writable, (store) => endedAfter(store, end));
  } catch (error) {
    await end();
    throw error;
  }
}

function endedAfter(store: RemoteStore, end: () => Promise<void>): RemoteStore {
  const close = async () => {
    await store.close();
    await end();
  };
  return new Proxy(store, {
    get: (target, member) => {
      if (member === 'close') return close;
      const value = Reflect.get(target, member, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The address it listens at; what it says instead is our error. */
function started(child: ChildProcess, remote: string, limit: number): Promise<string> {
  let said = '';
  return new Promise((resolve, reject) => {
    const refuse = (code: 'EINVAL' | 'EIO' | 'ENOSYS' | 'ETIMEDOUT', reason: string, remedy?: string) =>
      reject(new ErrnoError(code, { operation: 'open', path: `rclone:${remote}`, reason, remedy }));
    const late = setTimeout(() => {
      refuse('ETIMEDOUT', `rclone has not started within ${limit / 1000} s (rcloneStartMilliseconds)`);
    }, limit);
    child.stderr?.on('data', (chunk: Buffer) => {
      if (said.length < 65_536) said += chunk.toString();
      const address = startedLine.exec(said)?.[1];
      if (address === undefined) return;
      clearTimeout(late);
      resolve(address);
    });
    child.once('error', (error) => {
      clearTimeout(late);
      refuse('EIO', `it could not be started: ${error.message}`);
    });
    child.stderr?.once('end', () => {
      clearTimeout(late);
      if (/rclone: (?:command )?not found/.test(said)) {
        refuse('ENOSYS', 'rclone is not installed', `apt-get install rclone (it is looked for in ${systemPath})`);
      } else {
        const why =
          said
            .trim()
            .split('\n')
            .at(-1)
            ?.replace(/^[\d/]+ [\d:]+ [A-Z]+ *: */, '') ?? '';
        refuse('EINVAL', `rclone refused it: ${why || 'it said nothing'}`, 'rclone listremotes shows what it knows');
      }
    });
  });
}
