/** A kept jail on the fork of a workspace: commands one after the other, and files as those commands see them. */
import { ErrnoError } from '../../base/errno.js';
import { capturedOutputBytes, sdkAnswerBytes, sdkFileBytes, sdkFileMilliseconds } from '../../base/limits/commands.js';
import type { RunningCommand } from '../../jail/asked-commands.js';
import type { RunningJail } from '../../jail/launch.js';
import type { KeptJail } from '../../kept-jail/kept-jail.js';
import type { Conversation } from '../../kept-jail/run-kept.js';
import type { Host, Place } from '../../proxy/host.js';
import { CapturedOutput } from '../../proxy/report/captured-output.js';
import type { Envelope } from '../../proxy/report/envelope.js';
import { type Command, formOf, type RunOptions } from '../options.js';
import { startingPlace } from '../place.js';
import { endedBy } from './cancellation.js';
import { type Edit, edited, halfPair } from './edit.js';
import {
  entriesOf,
  failureOf,
  type ListedEntry,
  listCommand,
  matchesOf,
  readCommand,
  type SearchMatch,
  type SearchOptions,
  searchCommand,
  writeCommand,
} from './file-answers.js';
import { GuardedCallbacks } from './guarded-callbacks.js';

/** Of a file operation. */
export interface FileOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface Listing {
  readonly entries: readonly ListedEntry[];
  /** There is more than an answer holds. */
  readonly truncated: boolean;
}

export interface FoundMatches {
  readonly matches: readonly SearchMatch[];
  readonly truncated: boolean;
}

interface Spoken {
  readonly envelope: Envelope;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly truncated: boolean;
}

export class WorkspaceJail {
  readonly #host: Host;
  readonly #place: Place;
  readonly #jail: KeptJail;

  constructor(host: Host, place: Place, jail: KeptJail) {
    this.#host = host;
    this.#place = place;
    this.#jail = jail;
  }

  /** The fork it works on. */
  get fork(): string {
    return this.#jail.fork;
  }

  /** Resolves when everything inside is dead and unmounted. */
  get ended(): Promise<void> {
    return this.#jail.ended;
  }

  /** Runs a command after those before it. What it leaves running goes on until the kept jail ends. */
  exec(command: Command, options: RunOptions = {}): Promise<Envelope> {
    const callbacks = new GuardedCallbacks();
    const onApproval = callbacks.guard('onApproval', options.onApproval);
    const guarded: RunOptions = {
      ...options,
      signal: callbacks.signalWith(options.signal),
      onOutput: callbacks.guard('onOutput', options.onOutput),
      onLimit: callbacks.guard('onLimit', options.onLimit),
      onApproval: onApproval && (async (...asked) => onApproval(...asked)),
    };
    return callbacks.during(this.#captured(command, guarded));
  }

  async #captured(command: Command, options: RunOptions): Promise<Envelope> {
    const { input, onOutput } = options;
    if (input === undefined && onOutput === undefined) return this.#run(command, options, undefined);
    const kept = { stdout: new CapturedOutput(capturedOutputBytes), stderr: new CapturedOutput(capturedOutputBytes) };
    const envelope = await this.#run(command, options, (stream, chunk) => {
      kept[stream].add(chunk);
      return onOutput?.(stream, chunk);
    });
    return { ...envelope, stdout: kept.stdout.finish(), stderr: kept.stderr.finish() };
  }

  #run(command: Command, options: RunOptions, onOutput: Conversation['onOutput'] | undefined): Promise<Envelope> {
    const { input, directory, environment = [], signal, onOutput: _told, ...rest } = options;
    const endOn = endedBy(signal);
    return this.#jail.exec({
      ...rest,
      input: input === undefined ? 'nothing' : typeof input === 'string' ? Buffer.from(input) : input,
      ...formOf(command),
      cwd: startingPlace(this.#host, this.#place, directory),
      environmentAdditions: environment,
      signal,
      conversation: onOutput && { input: input === undefined ? 'nothing' : 'pipe', onOutput },
      onStarted: (jail: RunningJail) => {
        endOn(jail);
        if (input === undefined) return;
        const running = jail as RunningCommand;
        const bytes = typeof input === 'string' ? Buffer.from(input) : Buffer.from(input);
        // A command that reads no more has ended, or closed its input: that is not the caller's business.
        running.write(bytes).then(
          () => running.endInput(),
          () => undefined,
        );
      },
    });
  }

  /** A command of ours, whose answer is read here and not kept in the report. */
  async #speak(
    argv: readonly string[],
    { signal, input, most = sdkAnswerBytes }: FileOptions & { readonly input?: Uint8Array; readonly most?: number },
  ): Promise<Spoken> {
    const chunks: Buffer[] = [];
    const errors = new CapturedOutput(4_096);
    const enough = new AbortController();
    let size = 0;
    const options: RunOptions = {
      input,
      environment: ['LC_ALL=C'],
      timeoutMilliseconds: sdkFileMilliseconds,
      signal: enough.signal,
    };
    // Not by `AbortSignal.any`, which leaves a reference at a signal that may outlive every call.
    const cancelled = () => enough.abort(signal?.reason);
    signal?.addEventListener('abort', cancelled, { once: true });
    if (signal?.aborted === true) cancelled();
    const envelope = await this.#run(argv, options, (stream, chunk) => {
      if (stream === 'stderr') errors.add(chunk);
      else if (size <= most) chunks.push(chunk);
      if (stream === 'stdout') size += chunk.length;
      if (size > most) enough.abort();
    }).finally(() => signal?.removeEventListener('abort', cancelled));
    if (signal?.aborted === true) {
      throw new ErrnoError('ECANCELED', { operation: argv[0] ?? '', reason: 'interrupted' });
    }
    if (envelope.timedOut) {
      throw new ErrnoError('ETIMEDOUT', {
        operation: argv[0] ?? '',
        reason: `it took more than ${sdkFileMilliseconds / 1000} s`,
        remedy: 'is it a pipe or a device? A command of your own can take longer',
      });
    }
    return { envelope, stdout: Buffer.concat(chunks), stderr: errors.finish().text, truncated: size > most };
  }

  /** A file's bytes, as a command in the jail sees them. EFBIG beyond `sdkFileBytes`. */
  async read(path: string, options: FileOptions = {}): Promise<Buffer> {
    const { envelope, stdout, stderr } = await this.#speak(readCommand(path, sdkFileBytes + 1), {
      ...options,
      most: 2 * sdkFileBytes,
    });
    if (envelope.exitCode !== 0) throw failureOf('read', path, stderr);
    if (stdout.length <= sdkFileBytes) return stdout;
    throw new ErrnoError('EFBIG', {
      operation: 'read',
      path,
      reason: `expected a file of at most ${sdkFileBytes} bytes`,
      remedy: 'a command can read a part of it, such as head or sed -n 1,100p',
    });
  }

  /** Makes or overwrites a file in the fork, and the directories above it. One rollback undoes it. */
  async write(path: string, content: string | Uint8Array, options: FileOptions = {}): Promise<Envelope> {
    if (typeof content === 'string' && halfPair.test(content)) {
      throw new ErrnoError('EINVAL', {
        operation: 'write',
        path,
        reason: 'expected a text without half of a surrogate pair',
        remedy: 'take the whole character',
      });
    }
    const input = typeof content === 'string' ? Buffer.from(content) : content;
    if (input.length > sdkFileBytes) {
      throw new ErrnoError('EFBIG', {
        operation: 'write',
        path,
        reason: `expected at most ${sdkFileBytes} bytes, got ${input.length}`,
        remedy: 'let a command write it',
      });
    }
    const { envelope, stderr } = await this.#speak(writeCommand(path), { ...options, input });
    if (envelope.exitCode !== 0) throw failureOf('write', path, stderr);
    return envelope;
  }

  /** Replaces a text in a file that is UTF-8. */
  async edit(path: string, edit: Edit, options: FileOptions = {}): Promise<{ readonly count: number }> {
    const bytes = await this.read(path, options);
    const text = bytes.toString('utf8');
    if (!Buffer.from(text).equals(bytes)) {
      throw new ErrnoError('EINVAL', {
        operation: 'edit',
        path,
        reason: 'expected a text in UTF-8',
        remedy: 'a command can change other files, such as sed with LC_ALL=C',
      });
    }
    const { text: after, count } = edited(path, text, edit);
    await this.write(path, after, options);
    return { count };
  }

  /** What a directory holds, `depth` levels of it. */
  async list(path = '.', options: FileOptions & { readonly depth?: number | undefined } = {}): Promise<Listing> {
    const { stdout, stderr, truncated, envelope } = await this.#speak(listCommand(path, options.depth ?? 1), options);
    const entries = entriesOf(stdout);
    if (envelope.exitCode !== 0 && !truncated && entries.length === 0) throw failureOf('list', path, stderr);
    return { entries, truncated };
  }

  /** Lines that match, in all files that are text, but those of `.git`. */
  async search(pattern: string, options: SearchOptions & FileOptions = {}): Promise<FoundMatches> {
    const { stdout, stderr, truncated, envelope } = await this.#speak(searchCommand(pattern, options), options);
    const matches = matchesOf(stdout);
    // 1 says that nothing matches, 2 that something could not be read.
    if (envelope.exitCode === 2 && matches.length === 0) throw failureOf('search', options.path ?? '.', stderr);
    return { matches, truncated };
  }

  /** Ends the jail and everything that runs in it. */
  end(): Promise<void> {
    return this.#jail.end();
  }
}
