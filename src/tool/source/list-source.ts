/** A source that is added or refreshed: its server is started once, asked for its tools, and ended. */

import { readSource } from '../../objects/source/source-store.js';
import { printToolList } from '../../objects/source/tool-list.js';
import { execute } from '../../proxy/execute.js';
import type { Host, SourceInView } from '../../proxy/host.js';
import { hostApart } from '../../proxy/run/beside-runs.js';
import { onFork } from '../../proxy/run/open-fork-target.js';
import { runServer } from '../../proxy/run/server-run.js';
import { storePaths } from '../../vault/store/layout.js';
import { whileChanging } from '../../workspace/changing-objects.js';
import { toolGrants } from '../operator-tool.js';
import { askTools } from './ask-tools.js';
import { refreshList } from './refresh-list.js';
import { RunningServer } from './server.js';

export async function listSource(host: Host, { name, directory, cwd, signal }: SourceInView): Promise<void> {
  const { server, cap } = readSource(directory);
  const own = hostApart(host);
  const running = new RunningServer({
    name,
    server,
    grants: toolGrants(`mcp.${name}`, cap, `${name}/cap`),
    views: storePaths(host.store.directory).views,
    run: (command) => runServer(own(), { cwd, weakened: [] }, command, { execute, on: onFork }),
  });
  const cancel = () => running.kill();
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    await running.greet();
    const ask = async () => printToolList(await askTools(name, running.conversation), running.serverName);
    await refreshList(directory, (act) => whileChanging(host, act), ask);
  } finally {
    signal?.removeEventListener('abort', cancel);
    await running.end();
  }
}
