/**
 * One server of a source while it runs: in a jail of its own, by its stdin and stdout. It is started here and ends
 * here; if it dies, all who wait for it are told one error, and the process that asks next starts another.
 */
import { chmodSync, closeSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { ErrnoError, fromSystemError } from '../../base/errno.js';
import { sourceErrorBytes, sourceGraceMilliseconds, sourceStartMilliseconds } from '../../base/limits/objects.js';
import { nativeProgram } from '../../base/native-program.js';
import { version } from '../../base/version.js';
import { visible } from '../../base/visible-text.js';
import { fuseLibrary } from '../../fuse/mount.js';
import { isRecord } from '../../objects/schema-check.js';
import type { ServerConfig } from '../../objects/source/server-config.js';
import type { BesideEnd, ServerCommand, ToolGrants } from '../../proxy/agent-views.js';
import { ownDirectory } from '../view-socket.js';
import { ServerConversation, ServerRefusal } from './conversation.js';
import { startText } from './start-text.js';

export interface ServerStart {
  /** Of the source. */
  readonly name: string;
  readonly server: ServerConfig;
  readonly grants: ToolGrants;
  /** Directories of processes that serve: those of killed ones are taken away. */
  readonly views: string;
  run(command: ServerCommand): Promise<BesideEnd>;
  onToolsChanged?(): void;
}

const protocolVersion = '2025-06-18';
const shownLines = 4;
const shownCharacters = 600;

/** The end of what it wrote to stderr. */
class LastWords {
  #bytes = Buffer.alloc(0);

  add(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]).subarray(-sourceErrorBytes);
  }

  /** Its last lines that say something, as one. */
  get text(): string {
    const lines = this.#bytes
      .toString('utf8')
      .split('\n')
      .map((line) => line.trim());
    return visible(
      lines
        .filter((line) => line !== '')
        .slice(-shownLines)
        .join(' | ')
        .slice(-shownCharacters),
    );
  }
}

function howEnded({ exitCode, signal, timedOut }: BesideEnd): string {
  if (timedOut) return 'it reached its time limit';
  return signal === null ? `it ended with exit code ${exitCode}` : `it was ended by ${signal}`;
}

/** A server may send anything in its place. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function directoryFor(name: string, views: string): string {
  try {
    return ownDirectory(views);
  } catch (error) {
    throw fromSystemError(error, `start source ${name}`, views);
  }
}

export class RunningServer {
  readonly conversation: ServerConversation;
  /** What it calls itself; escaped. */
  serverName = '';
  /** Resolves when nothing of it is left. */
  readonly ended: Promise<void>;
  readonly #socket: Socket;
  readonly #killing = new AbortController();
  readonly #errors = new LastWords();

  constructor(start: ServerStart) {
    const { name, server, grants, views } = start;
    const directory = directoryFor(name, views);
    const pair = fuseLibrary(nativeProgram('fuse.node')).pair();
    if (typeof pair === 'number') {
      rmSync(directory, { recursive: true, force: true });
      throw new ErrnoError('EMFILE', {
        operation: `source ${name}`,
        reason: `no socket could be made (errno ${-pair})`,
      });
    }
    const [ours, theirs] = pair;
    this.#socket = new Socket({ fd: ours, readable: false, writable: true });
    // It has ended: that is told apart.
    this.#socket.on('error', () => undefined);
    this.conversation = new ServerConversation(
      {
        send: (bytes) => {
          if (!this.#socket.destroyed) this.#socket.write(bytes);
          return this.#socket.writableLength;
        },
      },
      (method) => {
        if (method === 'notifications/tools/list_changed') start.onToolsChanged?.();
      },
      () => this.kill(),
    );
    const path = join(directory, 'start');
    const run = async (): Promise<BesideEnd> => {
      let identity: string;
      try {
        writeFileSync(path, startText(server, grants), { mode: 0o700 });
        // Root's servers are other users on the host; no one else gets this far, since the store is its person's.
        chmodSync(path, 0o755);
        chmodSync(directory, 0o755);
        const { dev, ino } = statSync(path, { bigint: true });
        identity = `${dev}:${ino}`;
      } catch (error) {
        closeSync(theirs);
        throw fromSystemError(error, `start source ${name}`, path);
      }
      return start.run({
        name: `mcp.${name}`,
        program: { path, identity },
        input: theirs,
        grants,
        signal: this.#killing.signal,
        onOutput: (stream, chunk) => (stream === 'stdout' ? this.conversation.take(chunk) : this.#errors.add(chunk)),
      });
    };
    const told = (reason: string) => {
      const { text } = this.#errors;
      const said = text === '' ? '' : `; it said: ${text}`;
      const isAlone = [...grants.network, ...grants.privateHosts].length === 0;
      this.conversation.end(
        new ErrnoError('ENOTCONN', {
          operation: name,
          reason: `its server is gone: ${reason}${said}`,
          // One that npx or uvx fetches when it starts is the common case.
          remedy: isAlone
            ? 'its jail has no network, and of your files what is granted: add the source with --net HOST, --read PATH'
            : undefined,
        }),
      );
    };
    this.ended = run()
      .then(
        (end) => told(howEnded(end)),
        (error: unknown) => {
          if (error instanceof ErrnoError) this.conversation.end(error);
          else told(`this is a bug in ctx, please report it: ${String(error)}`);
        },
      )
      .finally(() => {
        this.#socket.destroy();
        rmSync(directory, { recursive: true, force: true });
      });
  }

  /** ETIMEDOUT, ENOTCONN or EIO where it does not speak the protocol. */
  async greet(): Promise<void> {
    let answer: unknown;
    try {
      answer = await this.conversation.request(
        'initialize',
        { protocolVersion, capabilities: {}, clientInfo: { name: 'ctx', version } },
        { milliseconds: sourceStartMilliseconds },
      );
    } catch (error) {
      this.kill();
      if (!(error instanceof ServerRefusal)) throw error;
      throw new ErrnoError('EIO', {
        operation: 'source',
        reason: `its server refused to start a session: ${visible(error.message)}`,
      });
    }
    const { serverInfo, capabilities } = (isRecord(answer) ? answer : {}) as {
      readonly serverInfo?: unknown;
      readonly capabilities?: unknown;
    };
    if (!isRecord(answer) || !isRecord(capabilities) || !isRecord(capabilities['tools'])) {
      this.kill();
      throw new ErrnoError('EIO', { operation: 'source', reason: 'its server does not offer tools' });
    }
    const { name, version: release } = isRecord(serverInfo) ? serverInfo : {};
    this.serverName = visible(`${textOf(name).slice(0, 64)} ${textOf(release).slice(0, 32)}`.trim());
    this.conversation.notify('notifications/initialized');
  }

  kill(): void {
    this.#killing.abort();
  }

  /** As the protocol has it: first its stdin, then, where that is not enough, its life. */
  async end(): Promise<void> {
    this.conversation.end(new ErrnoError('ENOTCONN', { operation: 'source', reason: 'its server is being ended' }));
    this.#socket.end();
    const clock = setTimeout(() => this.kill(), sourceGraceMilliseconds);
    await this.ended;
    clearTimeout(clock);
  }
}
