/**
 * Tools that run: what an agent's jail has at /ctx, and who answers what is called there. The map of `src/tool`:
 *
 *   command-view  the view of one command, from its making to its end: what a launch waits for
 *   served-objects  this file: what is behind it, read when the view is first used
 *   view-socket   the socket that says who calls              caller      one connection to it
 *   answer-call   found, decided, recorded, run               wire        its frames
 *   built-in/     the tools that every installation has       tool-run    what one is given
 *   fork-work     what they asked of a fork, done at the end of the run
 *   jail-commands  commands beside the caller in its jail
 *   line-calls    JSON lines on the agent's own socket        call-by-line  one call of those
 *   caller-files  the caller's files, by its own process      source/     tools of MCP servers, each in a jail of its own
 *
 * Imports `objects`, `fuse`, `workspace` and what is below. The process that runs the command serves all of this from its event loop:
 * it must never wait for the jail in any other way.
 */
import { chmodSync, closeSync, constants, openSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { ErrnoError, fromSystemError } from '../base/errno.js';
import { lazily } from '../base/lazily.js';
import { viewCalls, viewConnections } from '../base/limits/objects.js';
import { nativeProgram } from '../base/native-program.js';
import { Dispatch } from '../fuse/dispatch.js';
import type { LoopDispatch } from '../fuse/serve-on-loop.js';
import { objectView } from '../objects/projection/object-view.js';
import { spacesIn } from '../objects/projection/shown-spaces.js';
import type { AgentView, AgentViewRequest, ForkWork, ViewPlace } from '../proxy/agent-views.js';
import { writesObjects } from '../proxy/grants/agent-view.js';
import type { Host } from '../proxy/host.js';
import { storePaths } from '../vault/store/layout.js';
import { whileChanging } from '../workspace/changing-objects.js';
import { type Answering, answerCall } from './answer-call.js';
import { CallEvents } from './call-events.js';
import { serveCaller } from './caller.js';
import type { ServedSources } from './source/served-sources.js';
import type { CreateAgent } from './tool-run.js';

/** Beside the socket that objects call by; there once the view has been looked into. */
const agentSocket = 'agent.sock';

interface Diffed {
  readonly cwd: string;
  readonly fork: string | undefined;
  readonly paths: readonly string[];
}

async function diffOf(host: Host, asked: Diffed, onText: (text: string) => void): Promise<void> {
  if (asked.fork === undefined) {
    const reason = 'this command runs on the directory itself, so there is no fork';
    throw new ErrnoError('ENOTSUP', { operation: 'fork.diff', reason });
  }
  const [{ diffOfFork }, { diffText }] = await Promise.all([
    import('../workspace/fork-diff.js'),
    import('../vault/forks/diff-text.js'),
  ]);
  const style = { paint: (_colour: string, text: string) => text, escaped: false };
  await diffOfFork(host, { ...asked, wait: false }, (text) => onText(diffText(text, style)));
}

/** What an agent does to those that descend from it. Its reach is compared in a directory; EACCES names each excess. */
export interface Descendants {
  create(
    parent: string,
    name: string,
    spec: Readonly<Record<string, unknown>>,
    directory: string,
  ): Promise<{ readonly directory: string }>;
  set(writer: string, name: string, file: string, text: string, directory: string): Promise<void>;
}

export interface ServedObjects {
  /** What answers the kernel. */
  readonly dispatch: LoopDispatch;
  /** Takes calls at a socket that listens, and owns it from then on. */
  takeCalls(descriptor: number): void;
  /** Does what tools left for the command's end. */
  settle: AgentView['settle'];
  /** Ends calls that run, and what they started. */
  end(): Promise<void>;
}

/** By its directory's descriptor: a path of the store may be longer than the address of a socket. */
function listenIn(directory: string, name: string, server: Server): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(directory, constants.O_RDONLY | constants.O_DIRECTORY);
    server.listen(`/proc/self/fd/${descriptor}/${name}`).unref();
    // In a jail of root's the caller is another user.
    chmodSync(join(directory, name), 0o666);
  } catch (error) {
    throw fromSystemError(error, 'listen for lines', directory);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** `directory` is the one that the jail has at /run/ctx. ENOENT where there is no such agent, EINVAL where its files are wrong. */
export function serveObjects(
  host: Host,
  asked: AgentViewRequest,
  descendants: Descendants,
  place: ViewPlace,
  directory: string,
): ServedObjects {
  const { agent, tool, authority, roots, run, runTool, runServer, pending } = asked;
  const createAgent: CreateAgent | undefined =
    agent === undefined ? undefined : (name, spec) => descendants.create(agent, name, spec, asked.directory);
  const { identity } = place;
  const connections = new Set<Promise<void>>();
  /** Of them those that call an object. A program may keep connections for lines that ask nothing. */
  let calls = 0;
  const log = new CallEvents(agent);
  const sockets = new Set<Socket>();
  const { views } = storePaths(host.store.directory);
  let served: Promise<ServedSources> | undefined;
  let sources: ServedSources | undefined;
  /** Read when a tool of one is first called. */
  const servedSources = () => {
    served ??= import('./source/served-sources.js').then((module) => {
      sources = new module.ServedSources({
        ...{ runServer, views, agent, recorder: host.recorder },
        now: () => host.now(),
        changing: (act) => whileChanging(host, act),
      });
      return sources;
    });
    return served;
  };
  const { filesystem, catalogue, viewing, inOneLook } = objectView({
    roots: host,
    agent,
    tool,
    client: nativeProgram('object'),
    owner: { uid: identity.uid, gid: identity.gid },
    home: agent === undefined ? undefined : { agent, target: place.home, socket: `/run/ctx/${agentSocket}` },
    writes:
      agent !== undefined && writesObjects(authority)
        ? (name, file, text) => descendants.set(agent, name, file, text, asked.directory)
        : undefined,
    spaces: () => spacesIn(authority.mounts),
    calls: (name) => log.of(name),
    sources: {
      status: (directory) => sources?.status(directory) ?? 'ready',
      log: (name) => sources?.log(name) ?? '',
    },
    now: () => host.now().getTime(),
  });
  const answeringNow = (isCrowded: boolean): Answering | undefined =>
    viewing && {
      agent,
      isCrowded,
      catalogue,
      recorder: host.recorder,
      noted: (name, status) => log.note(name, status, host.now()),
      roots,
      run,
      runTool,
      sources: servedSources,
      viewer: () => viewing.viewer(),
      createAgent,
      later: pending && ((work: ForkWork) => void pending.push(work)),
      diff: (path: string | undefined, onText: (text: string) => void) =>
        diffOf(host, { cwd: asked.directory, fork: place.fork, paths: path === undefined ? [] : [path] }, onText),
    };
  const serveCall = async (connection: Socket) => {
    const answering = answeringNow(calls >= viewCalls);
    if (answering === undefined) return void connection.destroy();
    calls += 1;
    await serveCaller(connection, (calling) => answerCall(answering, calling));
    calls -= 1;
  };
  const lineCalls = lazily(async () => {
    const [{ LineCalls }, { callByLine }] = await Promise.all([import('./line-calls.js'), import('./call-by-line.js')]);
    return new LineCalls({
      agent: agent ?? '',
      call: async (line) => {
        const answering = answeringNow(false);
        if (answering === undefined)
          throw new ErrnoError('EAGAIN', { operation: 'call', reason: 'no process serves this view' });
        return callByLine(answering, line, asked.directory);
      },
    });
  });
  const serveLines = async (connection: Socket) => {
    try {
      await (await lineCalls()).serve(connection);
    } catch {
      connection.destroy(); // a defect of ours ends this connection, and nothing else
    }
  };
  const serverOf = (serve: (connection: Socket) => Promise<void>): Server => {
    const made = createServer((socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      const served: Promise<void> = serve(socket).then(() => void connections.delete(served));
      connections.add(served);
    });
    made.maxConnections = viewConnections;
    // A full disk has no room for a socket, a process out of descriptors takes no connection: whoever asks is told, and we go on.
    made.on('error', () => undefined);
    return made;
  };
  const server = serverOf(serveCall);
  const lines = agent === undefined ? undefined : serverOf(serveLines);
  if (lines !== undefined) listenIn(directory, agentSocket, lines);
  const dispatch = new Dispatch({
    filesystem,
    mountedAt: '/ctx',
    shared: true,
    shift: identity.kind === 'shifted' ? identity.shift : 0,
    plainModes: true,
    laterWrites: true,
    ownLinks: true,
  });
  return {
    dispatch: { answer: (request, length) => inOneLook(() => dispatch.answer(request, length)) },
    takeCalls: (descriptor) => void server.listen({ fd: descriptor }).unref(),
    settle: async () =>
      pending === undefined || pending.length === 0
        ? []
        : (await import('./fork-work.js')).settleWork(host, { cwd: asked.directory, fork: place.fork }, pending),
    end: async () => {
      server.close();
      lines?.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all(connections);
      await (await served)?.end();
    },
  };
}
