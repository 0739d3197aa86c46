/** One connection to a kept jail: what the native client asks, and how it is answered. */

import type { Socket } from 'node:net';
import { constants } from 'node:os';
import { ErrnoError, exitCodeFor, orSystemError } from '../../base/errno.js';
import { terminationGraceMilliseconds } from '../../base/limits/commands.js';
import { pathFrom } from '../../base/path-from.js';
import { harmlessJson, harmlessOutput } from '../../base/visible-text.js';
import {
  type ClientRequest,
  type Conversation,
  encodeBytes,
  encodeFrame,
  FrameReader,
  type RunningCommand,
  readRequest,
  readSize,
  type Served,
  type WireFrame,
  wireKind,
} from '../../sdk/jail-wire.js';
import type { Asked, Spoken } from '../../sdk/operator/approvals.js';
import { formOf } from '../../sdk/options.js';
import { exitCodeOfCommand } from '../../sdk/report.js';
import { commandOf } from '../exec/exec.js';
import { exitCodeOfRefusal, streamOf, wantsReport } from '../exec/run-command.js';
import { findVerb } from '../find-verb.js';
import { answerOf, questionFor, waitingText } from '../input/ask-approval.js';
import { HeldInput } from '../input/held-input.js';
import { mayRunWith } from '../input/kept-jail-grants.js';
import { ownWords, parseArguments, parseDuration } from '../input/parse-arguments.js';
import { errorJson, errorText, painter } from '../text/output.js';
import { reportText, untoldText } from '../text/report-text.js';
import type { Arguments, Verb } from '../verb.js';
import type { VerbRelay } from './relayed-verb.js';

/** What a client may ask for, beside the kept jail itself. */
export interface Offered extends Served {
  /** Where the kept jail was started. */
  readonly directory: string;
  /** What the kept jail was started with, as `grantWords` has it. */
  readonly grants: string;
  /** Which defaults of the project count now, as `projectWord` has it. */
  project(): string;
  /** Of the code that the kept jail runs. */
  readonly build: string;
  /** Whether the programs and bundles are those of then: the jail starts some of them later. */
  isIntact(): boolean;
  /** What a client may ask: exec, jail exec, jail stop, and verbs that are run for it. */
  readonly verbs: readonly Verb[];
  readonly relay: VerbRelay;
}

const otherBuild =
  'ctx: another build of ctx keeps the jail here, so this runs without it: ctx jail stop, then ctx jail start\n';

const questionBytes = 32_768;

const signalNames = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

export class ClientConnection {
  readonly #socket: Socket;
  readonly #served: Offered;
  readonly #frames = new FrameReader();
  /** Cancels what comes before the command: the wait for an approval, for one. */
  readonly #beforeCommand = new AbortController();
  #command: RunningCommand | undefined;
  /** Whoever reads the client's stdin, where that is no command. */
  #reader: ((chunk: Buffer) => void) | undefined;
  #answering: ((line: string) => void) | undefined;
  #interrupts = 0;
  #asked = false;
  #answered: Promise<void> = Promise.resolve();

  constructor(socket: Socket, served: Offered) {
    this.#socket = socket;
    this.#served = served;
    // A client that went away has nobody to be told; what it started is ended below.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#beforeCommand.abort();
      this.#hangUp();
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const frame of this.#frames.push(chunk)) this.#take(frame);
      } catch (error) {
        if (!(error instanceof ErrnoError)) throw error;
        socket.destroy();
      }
    });
  }

  /** Resolves when what was asked so far has its answer. */
  get answered(): Promise<void> {
    return this.#answered;
  }

  #take({ kind, payload }: WireFrame): void {
    if (kind === wireKind.request && !this.#asked) {
      this.#asked = true;
      this.#answered = this.#answer(readRequest(payload));
    } else if (kind === wireKind.input) {
      const reader = this.#reader;
      this.#reader = undefined;
      if (reader !== undefined) reader(payload);
      else if (payload.length === 0) this.#command?.endInput();
      else void this.#command?.write(payload).then(() => this.#send(encodeFrame(wireKind.more)));
    } else if (kind === wireKind.answer) {
      const answering = this.#answering;
      this.#answering = undefined;
      answering?.(payload.toString('utf8'));
    } else if (kind === wireKind.signal) {
      this.#interrupt(signalNames.get(payload[0] ?? 0));
    } else if (kind === wireKind.size) {
      const size = readSize(payload);
      if (size !== undefined) this.#command?.resize(size);
    }
  }

  /** Nobody hears the command any more: told so, then ended, since others wait for their turn. */
  #hangUp(): void {
    const command = this.#command;
    if (command === undefined) return;
    command.signal('SIGHUP');
    const timer = setTimeout(() => command.kill(), terminationGraceMilliseconds);
    command.done.finally(() => clearTimeout(timer)).catch(() => undefined);
  }

  /** As at a terminal of ctx's own: asked, told, killed; and after a grace where the terminal is gone. */
  #interrupt(name: NodeJS.Signals | undefined): void {
    if (name === undefined) return;
    // They mean what the command takes them for, each time.
    if (name === 'SIGUSR1' || name === 'SIGUSR2') return void this.#command?.signal(name);
    this.#interrupts += 1;
    if (this.#command === undefined) this.#beforeCommand.abort();
    else if (this.#interrupts <= 1) this.#command.signal(name);
    else this.#command.signal(this.#interrupts === 2 ? 'SIGTERM' : 'SIGKILL');
    if (name === 'SIGHUP') setTimeout(() => this.#command?.kill(), terminationGraceMilliseconds).unref();
  }

  /** Resolves when there is room for more. */
  #send(bytes: Buffer): void | Promise<void> {
    if (this.#socket.destroyed || this.#socket.writableEnded || this.#socket.write(bytes)) return undefined;
    return new Promise((resolve) => {
      this.#socket.once('drain', resolve);
      this.#socket.once('close', resolve);
    });
  }

  async #print(kind: 'O' | 'E', text: string): Promise<void> {
    for (const frame of encodeBytes(kind, Buffer.from(harmlessOutput(text)))) await this.#send(frame);
  }

  #end(exitCode: number): void {
    if (!this.#socket.writableEnded) this.#socket.end(encodeFrame(wireKind.exit, Buffer.from([exitCode & 0xff])));
  }

  async #answer(request: ClientRequest): Promise<void> {
    const { jail, grants, verbs } = this.#served;
    const { verb, rest } = findVerb(verbs, request.words);
    try {
      if (verb?.name === 'jail stop' && this.#served.isOwn(this.#socket)) {
        // Answered by the end of the connection, when nothing of the kept jail is left.
        return this.#served.stop();
      }
      if (verb === undefined || !this.#served.isOwn(this.#socket)) return this.#refuse();
      // Help is the same everywhere, and not ours to give.
      if (ownWords(verb, rest).some((word) => word === '--help' || word === '-h')) return this.#refuse();
      const isExec = verb.name === 'exec';
      // Code that was replaced meanwhile answers nobody. The hook's words are for a model, and `jail exec` says it itself.
      // Where it is damaged, a start of Node says so.
      if (request.build !== this.#served.build || !this.#served.isIntact())
        return this.#refuse(isExec ? otherBuild : '');
      if (!isExec && verb.name !== 'jail exec') return await this.#relay(verb, rest, request);
      const call = parseArguments(verb, rest);
      // Another fork, other grants, other rules: that is no command for this jail, and runs in one of its own.
      if ((call.value('fork') ?? jail.fork) !== jail.fork) return this.#refuse();
      if (isExec && (call.flag('alone') || call.flag('live'))) return this.#refuse();
      // The same words of a mount may mean another tree elsewhere.
      if (call.values('mount').length > 0 && request.directory !== this.#served.directory) return this.#refuse();
      if (isExec && !mayRunWith(call, request.environment, this.#served.project(), grants)) return this.#refuse();
      if (isExec && !this.#served.relay.standsFor(request)) return this.#refuse();
      this.#end(await this.#exec(call, request));
    } catch (thrown) {
      const error = orSystemError(thrown);
      if (!(error instanceof ErrnoError)) throw error;
      const paint = painter({ isTTY: request.isTerminal.stderr }, request.environment);
      const exitCode = exitCodeOfRefusal(error) ?? exitCodeFor(error);
      // What follows the command is its own.
      if (ownWords(verb, rest).includes('--json'))
        await this.#print('O', `${harmlessJson(JSON.stringify(errorJson(error, exitCode)))}\n`);
      else await this.#print('E', errorText(error, paint));
      this.#end(exitCode);
    }
  }

  /** A call that cannot be understood is not ours to explain: Node says it. */
  async #relay(verb: Verb, rest: readonly string[], request: ClientRequest): Promise<void> {
    let call: Arguments;
    try {
      call = parseArguments(verb, rest);
    } catch {
      return this.#refuse();
    }
    const { relay } = this.#served;
    if (!relay.takes(verb, call, request)) return this.#refuse();
    return relay.run(verb, call, request, {
      print: (stream, text) => void this.#print(stream === 'stdout' ? 'O' : 'E', text),
      nextInput: () => this.#nextInput(),
      end: (exitCode) => this.#end(exitCode),
    });
  }

  #nextInput(): Promise<Buffer> {
    return new Promise((resolve) => {
      this.#reader = resolve;
      // A client that has gone sends no more.
      if (this.#socket.destroyed) resolve(Buffer.alloc(0));
      else this.#socket.once('close', () => resolve(Buffer.alloc(0)));
      void this.#send(encodeFrame(wireKind.more));
    });
  }

  #refuse(why = ''): void {
    this.#socket.end(encodeFrame(wireKind.refused, Buffer.from(why)));
  }

  #conversation({ terminal }: ClientRequest): Conversation {
    return {
      input: terminal ?? 'pipe',
      onOutput: (stream, chunk) =>
        this.#send(encodeFrame(stream === 'stdout' ? wireKind.output : wireKind.error, chunk)),
    };
  }

  /** Of whoever sits at the client's terminal; undefined where it was answered elsewhere. */
  #ask(asked: Asked, text: string, signal: AbortSignal): Promise<Spoken | undefined> {
    return new Promise((resolve) => {
      this.#answering = (line) => resolve(answerOf(line, asked));
      signal.addEventListener(
        'abort',
        () => {
          // Anything that is said takes the question back.
          if (this.#answering !== undefined) void this.#print('E', '\n');
          this.#answering = undefined;
          resolve(undefined);
        },
        { once: true },
      );
      // The client shows it when the terminal is its own to ask at; what no frame can hold is shown by itself.
      const whole = Buffer.from(harmlessOutput(text) + questionFor(asked));
      const fits = whole.length <= questionBytes;
      if (!fits) void this.#print('E', text);
      void this.#send(encodeFrame(wireKind.question, fits ? whole : Buffer.from(questionFor(asked))));
    });
  }

  async #beginInput(command: RunningCommand, held: HeldInput | undefined): Promise<void> {
    if ((await held?.giveTo(command)) !== true) void this.#send(encodeFrame(wireKind.more));
  }

  async #exec(call: Arguments, request: ClientRequest): Promise<number> {
    const json = call.flag('json');
    const report = wantsReport(call.value('report'), request.environment, request.isTerminal.stderr);
    const timeout = call.value('timeout');
    const approvalWait = call.value('approval-wait');
    const paint = painter({ isTTY: request.isTerminal.stderr }, request.environment);
    const told = streamOf(call, (line) => this.#print('O', `${harmlessJson(JSON.stringify(line))}\n`));
    const held = request.stdin === 'file' && !json ? new HeldInput(() => this.#nextInput()) : undefined;
    const envelope = await this.#served.jail.exec({
      ...formOf(commandOf(call)),
      cwd: pathFrom(request.directory, call.value('cwd') ?? '.'),
      environmentAdditions: call.values('env'),
      readonly: call.flag('readonly'),
      // Of a pipe the client sends what comes, and nobody knows it before.
      ...(request.isTerminal.stdin || request.stdin === 'nothing' || json ? { input: 'nothing' as const } : {}),
      ...(held === undefined ? {} : { input: held }),
      environment: request.environment,
      timeoutMilliseconds: timeout === undefined ? undefined : parseDuration(timeout),
      approvalMilliseconds: approvalWait === undefined ? undefined : parseDuration(approvalWait),
      onApproval: async (asked, signal) => {
        const { stdin, stderr } = request.isTerminal;
        const text = waitingText(asked, paint);
        if (stdin && stderr) return this.#ask(asked, text, signal);
        await this.#print('E', text);
        return undefined;
      },
      signal: this.#beforeCommand.signal,
      onOutput: told?.onOutput,
      onLimit: told?.onLimit,
      conversation: json ? undefined : this.#conversation(request),
      onStarted: (command) => {
        this.#command = command as RunningCommand;
        if (this.#beforeCommand.signal.aborted) this.#hangUp();
        // The client, which reads nothing then, hears that its command runs: where this process is killed it does not run it again.
        if (json) void this.#send(encodeFrame(wireKind.output));
        else void this.#beginInput(command as RunningCommand, held);
      },
    });
    this.#command = undefined;
    await told?.end();
    if (json) await this.#print('O', `${harmlessJson(JSON.stringify(envelope))}\n`);
    else if (report) {
      const text = reportText(envelope, paint);
      // The client's terminal is raw until the call has ended.
      await this.#print('E', request.terminal === undefined ? text : text.replaceAll('\n', '\r\n'));
    } else if (wantsReport(call.value('report'), request.environment, true)) {
      await this.#print('E', untoldText(envelope));
    }
    return exitCodeOfCommand(envelope, constants.signals);
  }
}
