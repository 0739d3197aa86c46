/**
 * Tools that run: what an agent's jail has at /ctx, and who answers what is called there. The map of `src/tool`:
 *
 *   served-objects  this file: the view of one command, from its making to its end
 *   view-socket   the socket that says who calls              caller      one connection to it
 *   answer-call   found, decided, recorded, run               wire        its frames
 *   built-in/     the tools that every installation has       tool-run    what one is given
 *   fork-work     what they asked of a fork, done at the end of the run
 *   hands         the caller's files, by its own process      source/     tools of MCP servers, each in a jail of its own
 *
 * Imports `objects`, `fuse`, `workspace` and what is below. The process that runs the command serves all of this from its event loop:
 * it must never wait for the jail in any other way.
 */
import { closeSync } from 'node:fs';
import { ErrnoError } from '../base/errno.js';
import { viewCalls } from '../base/limits.js';
import { nativeProgram } from '../base/native-program.js';
import { fuseLibrary } from '../fuse/mount.js';
import { type LoopServer, serveOnLoop } from '../fuse/serve-on-loop.js';
import { objectView } from '../objects/projection/object-view.js';
import type { AgentView, AgentViewRequest, ForkWork, ViewPlace } from '../proxy/agent-views.js';
import { writesObjects } from '../proxy/grants/agent-view.js';
import type { Host } from '../proxy/host.js';
import { storePaths } from '../vault/store/layout.js';
import { answerCall } from './answer-call.js';
import { serveCaller } from './caller.js';
import type { ServedSources } from './source/served-sources.js';
import type { CreateAgent } from './tool-run.js';
import { listenForCalls } from './view-socket.js';

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

/** ENOENT where there is no such agent, EINVAL where its files are wrong. */
export async function agentView(host: Host, asked: AgentViewRequest, descendants: Descendants): Promise<AgentView> {
  const { agent, tool, authority, roots, run, runTool, runServer, pending } = asked;
  const createAgent: CreateAgent | undefined =
    agent === undefined ? undefined : (name, spec) => descendants.create(agent, name, spec, asked.directory);
  const isWritten = agent !== undefined && writesObjects(authority);
  const { uid } = authority.identity;
  const home = agent === undefined ? undefined : `/ctx/home/${uid}/agent/${agent}`;
  const calls = new Set<Promise<void>>();
  let server: LoopServer | undefined;
  let place: ViewPlace | undefined;
  const { views } = storePaths(host.store.directory);
  let served: Promise<ServedSources> | undefined;
  let sources: ServedSources | undefined;
  /** Read when a tool of one is first called. */
  const servedSources = () => {
    served ??= import('./source/served-sources.js').then((module) => {
      sources = new module.ServedSources({ runServer, views, recorder: host.recorder });
      return sources;
    });
    return served;
  };
  const view = (owner: { readonly uid: number; readonly gid: number }, target: string) =>
    objectView({
      roots: host,
      agent,
      tool,
      client: nativeProgram('object'),
      owner,
      home: agent === undefined ? undefined : { agent, target },
      writes:
        agent !== undefined && isWritten
          ? (name, file, text) => descendants.set(agent, name, file, text, asked.directory)
          : undefined,
      sources: {
        status: (directory) => sources?.status(directory) ?? 'ready',
        log: (name) => sources?.log(name) ?? '',
      },
      now: () => host.now().getTime(),
    });
  let shown: ReturnType<typeof view> | undefined;
  const socket = await listenForCalls(views, (connection) => {
    const { viewing, catalogue } = shown ?? {};
    if (viewing === undefined || catalogue === undefined) return void connection.destroy();
    const isCrowded = calls.size >= viewCalls;
    const answering = {
      agent,
      isCrowded,
      catalogue,
      recorder: host.recorder,
      roots,
      run,
      runTool,
      sources: servedSources,
      viewer: () => viewing.viewer(),
      createAgent,
      later: pending && ((work: ForkWork) => void pending.push(work)),
      diff: (path: string | undefined, onText: (text: string) => void) =>
        diffOf(host, { cwd: asked.directory, fork: place?.fork, paths: path === undefined ? [] : [path] }, onText),
    };
    const call: Promise<void> = serveCaller(connection, (calling) => answerCall(answering, calling)).then(() => {
      calls.delete(call);
    });
    calls.add(call);
  });
  const end = async () => {
    server?.end();
    server = undefined;
    socket.close();
    await Promise.all(calls);
    await (await served)?.end();
  };
  return {
    socketDirectory: socket.directory,
    home,
    isWritten,
    start: async (at) => {
      place = at;
      const { identity } = at;
      const { uid: ownUid, gid } = identity;
      shown = view({ uid: ownUid, gid }, at.home);
      const library = fuseLibrary(nativeProgram('fuse.node'));
      const pair = library.pair();
      if (typeof pair === 'number') {
        throw new ErrnoError('EMFILE', { operation: 'view', reason: `no socket could be made (errno ${-pair})` });
      }
      const [channel, theirs] = pair;
      try {
        server = serveOnLoop({
          filesystem: shown.filesystem,
          library,
          channel,
          mountedAt: '/ctx',
          shared: true,
          shift: identity.kind === 'shifted' ? identity.shift : 0,
          plainModes: true,
          laterWrites: true,
          ownLinks: true,
        });
      } catch (error) {
        closeSync(theirs);
        throw error;
      }
      return theirs;
    },
    settle: async () =>
      pending === undefined || pending.length === 0
        ? []
        : (await import('./fork-work.js')).settleWork(host, { cwd: asked.directory, fork: place?.fork }, pending),
    end,
  };
}
