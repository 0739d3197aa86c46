/**
 * The sources of one view: a server is started when one of its tools is first called, goes on for the calls that follow, is started again
 * where it died, and ends with the view. So no two agents ever share the process of one.
 */
import { setTimeout } from 'node:timers/promises';
import type { Recorder } from '../../audit/record.js';
import { ErrnoError } from '../../base/errno.js';
import { sourceRefreshMilliseconds } from '../../base/limits/objects.js';
import { sha256 } from '../../base/sha256.js';
import type { FoundSource } from '../../objects/projection/catalogue.js';
import type { SourceStates } from '../../objects/projection/with-sources.js';
import { readSource } from '../../objects/source/source-store.js';
import { printToolList } from '../../objects/source/tool-list.js';
import type { AgentViewRequest } from '../../proxy/agent-views.js';
import { toolGrants } from '../operator-tool.js';
import { askTools } from './ask-tools.js';
import { refreshList, type WhileChanging } from './refresh-list.js';
import { RunningServer } from './server.js';

export interface SourcesRequest extends Pick<AgentViewRequest, 'runServer'> {
  readonly views: string;
  readonly recorder: Recorder;
  /** Who calls; undefined: a person. */
  readonly agent: string | undefined;
  now(): Date;
  readonly changing: WhileChanging;
}

/** Of one tool. */
const shownEvents = 100;

export class ServedSources implements SourceStates {
  readonly #request: SourcesRequest;
  readonly #servers = new Map<string, Promise<RunningServer>>();
  readonly #calls = new Map<string, number>();
  /** Everything that was started and has not ended, also what has not answered yet. */
  readonly #living = new Set<RunningServer>();
  readonly #events = new Map<string, readonly string[]>();
  /** Digests of the lists that were written here. */
  readonly #lists = new Map<string, string>();
  #isOver = false;

  constructor(request: SourcesRequest) {
    this.#request = request;
  }

  /** One that answers. ENOTCONN, EIO or ETIMEDOUT where it does not start. */
  async server(source: FoundSource): Promise<RunningServer> {
    const found = this.#servers.get(source.directory);
    const known = await found?.catch(() => undefined);
    if (this.#isOver) throw new ErrnoError('ENOTCONN', { operation: source.name, reason: 'its view has ended' });
    if (known !== undefined && known.conversation.over === undefined) return known;
    // Another call has started it meanwhile.
    if (this.#servers.get(source.directory) !== found) return this.server(source);
    const started = this.#start(source, () => this.#forget(source.directory, started));
    this.#servers.set(source.directory, started);
    started.catch(() => this.#forget(source.directory, started));
    return started;
  }

  #forget(directory: string, started: Promise<RunningServer>): void {
    if (this.#servers.get(directory) === started) this.#servers.delete(directory);
  }

  async #start(source: FoundSource, onEnded: () => void): Promise<RunningServer> {
    const { name, directory } = source;
    const { server, cap } = readSource(directory);
    const running = new RunningServer({
      name,
      server,
      grants: toolGrants(`mcp.${name}`, cap, `${name}/cap`),
      views: this.#request.views,
      run: (command) => this.#request.runServer(command),
      onToolsChanged: () => void this.#refresh(source, running),
    });
    this.#living.add(running);
    void running.ended.then(() => {
      this.#living.delete(running);
      onEnded();
    });
    await running.greet();
    return running;
  }

  /** Those that are being asked for their tools, and whether they have said meanwhile that these changed again. */
  readonly #refreshing = new Map<RunningServer, { isAgain: boolean }>();

  /** What is said while it is asked is asked for afterwards, so that the last change counts; one that says so without end waits each time. */
  async #refresh(source: FoundSource, running: RunningServer): Promise<void> {
    const known = this.#refreshing.get(running);
    if (known !== undefined) {
      known.isAgain = true;
      return;
    }
    const refreshing = { isAgain: true };
    this.#refreshing.set(running, refreshing);
    while (refreshing.isAgain && running.conversation.over === undefined) {
      refreshing.isAgain = false;
      await this.#list(source, running);
      await Promise.race([running.ended, setTimeout(sourceRefreshMilliseconds, undefined, { ref: false })]);
    }
    this.#refreshing.delete(running);
  }

  /** What cannot be listed or written leaves the list as it was; one that is as it was is not recorded. */
  async #list({ name, directory }: FoundSource, running: RunningServer): Promise<void> {
    let tools: string | undefined;
    const ask = async () => {
      const list = printToolList(await askTools(name, running.conversation), running.serverName);
      const digest = `sha256:${sha256(list)}`;
      if (this.#lists.get(directory) === digest) return undefined;
      if (tools !== digest) {
        const facts = { tools: digest };
        this.#request.recorder.append({ type: 'source.refresh', object: `source/${name}`, status: 'ok', facts });
      }
      tools = digest;
      return list;
    };
    try {
      await refreshList(directory, this.#request.changing, ask);
      if (tools !== undefined) this.#lists.set(directory, tools);
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
    }
  }

  /** While it runs its source is busy. */
  async during<T>({ directory }: FoundSource, call: () => Promise<T>): Promise<T> {
    this.#calls.set(directory, (this.#calls.get(directory) ?? 0) + 1);
    try {
      return await call();
    } finally {
      this.#calls.set(directory, (this.#calls.get(directory) ?? 1) - 1);
    }
  }

  status(directory: string): string {
    if ((this.#calls.get(directory) ?? 0) > 0) return 'busy';
    return this.#servers.has(directory) ? 'idle' : 'ready';
  }

  /** Its calls by this view, newest last. */
  log(name: string): string {
    return (this.#events.get(name) ?? []).map((event) => `${event}\n`).join('');
  }

  /** The record is what counts; this is for anyone who looks. */
  noted(name: string, status: 'ok' | 'failed'): void {
    const { agent, now } = this.#request;
    const event = { ts: now().toISOString(), type: 'tool.call', agent: agent ?? null, object: `tool/${name}`, status };
    this.#events.set(name, [...(this.#events.get(name) ?? []), JSON.stringify(event)].slice(-shownEvents));
  }

  /** Resolves when nothing of any of them is left. */
  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#living].map((each) => each.end()));
  }
}
