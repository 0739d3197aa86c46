/** `ctx secret`: values go in, and none comes out. */
import { ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { Secrets } from '../../sdk/operator/secrets.js';
import { readHidden } from '../input/read-hidden.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** The command has a session of its own: what ends this call at a terminal would not reach it. */
async function endable<T>(act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController();
  const end = () => ending.abort();
  for (const name of endings) process.once(name, end);
  try {
    return await act(ending.signal);
  } finally {
    for (const name of endings) process.off(name, end);
  }
}

export const set: Run = async (call, hostOf) => {
  const [name = ''] = call.words;
  const command = call.value('command');
  const secrets = new Secrets(await hostOf());
  const { replaced } =
    command === undefined
      ? await secrets.set(name, { value: await readHidden(`value of ${visible(name)} (not shown): `) })
      : await endable((signal) => secrets.set(name, { command, signal }));
  if (call.flag('json')) printJson({ version: 1, name, replaced });
  else print(`${painter(process.stdout)('green', `${replaced ? 'replaced' : 'stored'} ${name}`)}\n`);
  return ExitCode.ok;
};

export const list: Run = async (call, hostOf) => {
  const secrets = new Secrets(await hostOf()).list();
  if (call.flag('json')) {
    printJson({ version: 1, secrets });
    return ExitCode.ok;
  }
  const paint = painter(process.stdout);
  for (const { name, command, shadowed, problem } of secrets) {
    const from = command === null ? '' : `  printed by: ${visible(command)}`;
    const hidden = shadowed ? `  ${paint('yellow', `the variable ${name} is set here and comes first`)}` : '';
    const wrong = problem === null ? '' : `  ${paint('red', visible(problem))}`;
    print(`${name}${from}${hidden}${wrong}\n`);
  }
  if (secrets.length === 0) print('no secrets are stored\n');
  return ExitCode.ok;
};

export const remove: Run = async (call, hostOf) => {
  const [name = ''] = call.words;
  new Secrets(await hostOf()).remove(name);
  if (call.flag('json')) printJson({ version: 1, removed: name });
  else print(`${painter(process.stdout)('green', `removed ${name}`)}\n`);
  return ExitCode.ok;
};
