/**
 * The view of one command, from its making to its end. A launch waits for this: a directory, a socket that listens and a channel to the
 * jail. What is behind them (`served-objects`) is read when a program first looks into /ctx or calls a tool; most never do.
 */
import { closeSync, constants, openSync } from 'node:fs';
import { ErrnoError } from '../base/errno.js';
import { nativeProgram } from '../base/native-program.js';
import { type FuseLibrary, fuseLibrary } from '../fuse/fuse-library.js';
import { type LoopServer, serveOnLoop } from '../fuse/serve-on-loop.js';
import type { AgentView, AgentViewRequest } from '../proxy/agent-views.js';
import { writesObjects } from '../proxy/grants/agent-view.js';
import type { Host } from '../proxy/host.js';
import { storePaths } from '../vault/store/layout.js';
import { JailCommands } from './jail-commands.js';
import type { Descendants, ServedObjects } from './served-objects.js';
import { listenForCalls } from './view-socket.js';

/** Calls back once, when somebody has connected; what is returned ends that, and may be called again. */
function onFirstCall(library: FuseLibrary, descriptor: number, called: () => void): () => void {
  let watching: (() => void) | undefined;
  const stop = () => {
    watching?.();
    watching = undefined;
  };
  const watch = library.watch(descriptor, () => {
    stop();
    called();
  });
  if (typeof watch === 'number') {
    throw new ErrnoError('EIO', { operation: 'view', reason: `the socket cannot be watched (errno ${-watch})` });
  }
  watching = watch;
  return stop;
}

export async function agentView(host: Host, asked: AgentViewRequest, descendants: Descendants): Promise<AgentView> {
  const { agent, authority } = asked;
  const library = fuseLibrary(nativeProgram('fuse.node'));
  const socket = listenForCalls(storePaths(host.store.directory).views, library);
  const commands = new JailCommands(library);
  let server: LoopServer | undefined;
  let objects: Promise<ServedObjects> | undefined;
  let stopWaiting: (() => void) | undefined;
  let isTaken = false;
  let ending: Promise<void> | undefined;
  const end = async () => {
    commands.lose();
    server?.end();
    socket.remove();
    stopWaiting?.();
    if (!isTaken) closeSync(socket.descriptor);
    await (await objects?.catch(() => undefined))?.end();
  };
  return {
    socketDirectory: socket.directory,
    commands,
    home: agent === undefined ? undefined : `/ctx/home/${authority.identity.uid}/agent/${agent}`,
    isWritten: agent !== undefined && writesObjects(authority),
    start: async (place) => {
      const served = () => {
        objects ??= import('./served-objects.js').then((module) =>
          module.serveObjects(host, asked, descendants, place, socket.directory),
        );
        return objects;
      };
      const takeCalls = async () => {
        try {
          const { takeCalls: take } = await served();
          if (ending !== undefined) return;
          isTaken = true;
          take(socket.descriptor);
        } catch (error) {
          // The agent is gone, or its files are wrong: the caller is told that no one answers.
          server?.end();
          socket.remove();
          if (!(error instanceof ErrnoError)) throw error;
        }
      };
      const pair = library.pair();
      if (typeof pair === 'number') {
        throw new ErrnoError('EMFILE', { operation: 'view', reason: `no socket could be made (errno ${-pair})` });
      }
      const [channel, theirs] = pair;
      try {
        server = serveOnLoop({ library, channel, dispatch: async () => (await served()).dispatch });
        stopWaiting = onFirstCall(library, socket.descriptor, () => void takeCalls());
        return { channel: theirs, sockets: openSync(socket.directory, constants.O_RDONLY | constants.O_DIRECTORY) };
      } catch (error) {
        closeSync(theirs);
        throw error;
      }
    },
    // Only what was called can have left something to do.
    settle: async () => (await objects?.catch(() => undefined))?.settle() ?? [],
    end: () => {
      ending ??= end();
      return ending;
    },
  };
}
