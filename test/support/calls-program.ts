/** Runs one call of `ctx` after the other in this process, as its parent asks for each: `calls.ts`. */
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { run } from '../../src/main-verbs.js';
import type { Host } from '../../src/proxy/host.js';
import type { Asked } from './calls.js';

const { env } = process;
const own = { ...env };
// Every call listens for signals anew, since it has a process of its own otherwise.
process.setMaxListeners(0);
process.umask(0o022);
// A mount is served by a process that is started as this one was.
process.argv[1] = fileURLToPath(new URL('../../src/main.js', import.meta.url));

async function answer({ words, directory, environment, input }: Asked): Promise<void> {
  process.chdir(directory);
  for (const name of Object.keys(env)) if (own[name] === undefined) delete env[name];
  Object.assign(env, own, environment);
  closeSync(0);
  openSync(input, 'r');
  const hosts: Host[] = [];
  const code = await run(words, (host) => hosts.push(host));
  for (const host of hosts) host.release?.();
  process.send?.({ code });
}

process.on('message', (asked) => void answer(asked as Asked));
process.send?.({ code: -1 });
