/** The composition root: the only place where defaults are wired. */

import { availableParallelism, totalmem } from 'node:os';
import { writableTime } from './base/clock.js';
import { ErrnoError } from './base/errno.js';
import { mostProcesses } from './base/limits/commands.js';
import { nativeProgram } from './base/native-program.js';
import { Starter } from './base/starter.js';
import { harmlessOutput } from './base/visible-text.js';
import { composePlaces } from './compose-places.js';
import type { AgentViewRequest } from './proxy/agent-views.js';
import type { WrittenTree } from './proxy/asked-tree.js';
import type { Host, SourceInView } from './proxy/host.js';
import { Tree } from './vault/tree/tree.js';

const sayOnStderr = (text: string): void => void process.stderr.write(harmlessOutput(`ctx: ${text}\n`));

/** `alone`: for a process that runs one command and ends. `warn` is where a person is warned. `make`: as of `openStore`. */
export function composeHost(
  env: Host['environment'] = process.env,
  alone = false,
  warn = sayOnStderr,
  make = true,
): Host {
  const { geteuid, getegid, getgroups } = process;
  if (process.platform !== 'linux' || !geteuid || !getegid || !getgroups) {
    throw new ErrnoError('ENOSYS', { operation: 'ctx', reason: 'expected Linux: the jail is made of its namespaces' });
  }
  const { arch } = process;
  if (arch !== 'x64' && arch !== 'arm64') {
    throw new ErrnoError('ENOSYS', { operation: 'ctx', reason: `expected x86_64 or arm64, got ${arch}` });
  }
  writableTime(); // before anything is written
  const uid = geteuid();
  const { store, recorder, home, root, system, audit, hidden, operatorDirectories } = composePlaces(env, uid, make);
  const starter = alone ? new Starter(nativeProgram('start.node')) : undefined;
  const tree = new Tree({ program: nativeProgram('tree'), lockLibrary: nativeProgram('flock.node'), starter });
  const host: Host = Object.freeze({
    store,
    tree,
    recorder,
    audit,
    jailProgram: nativeProgram('jail'),
    starter,
    lockLibrary: nativeProgram('flock.node'),
    architecture: arch,
    processes: mostProcesses(availableParallelism(), totalmem()),
    uid,
    gid: getegid(),
    groups: getgroups(),
    home,
    root,
    system,
    agents: async (name: string) => (await import('./objects/agent.js')).agentNamed({ root, uid, system }, name),
    askTrees: async (trees: readonly (string | WrittenTree)[], directory: string, agent: string | undefined) =>
      (await import('./sdk/vfs/virtual-files.js')).askedTrees(trees, {
        directory,
        agent,
        library: nativeProgram('fuse.node'),
        environment: env,
      }),
    views: async (asked: AgentViewRequest) =>
      (await import('./tool/command-view.js')).agentView(host, asked, {
        create: async (...child) => (await import('./sdk/operator/child-agents.js')).createChild(host, ...child),
        set: async (...change) => (await import('./sdk/operator/child-agents.js')).setOfDescendant(host, ...change),
      }),
    listSource: async (asked: SourceInView) => (await import('./tool/source/list-source.js')).listSource(host, asked),
    operatorDirectories,
    hidden,
    environment: env,
    now: () => writableTime(),
    release: () => {
      tree.release();
      recorder.close();
    },
    warn,
  });
  return host;
}
