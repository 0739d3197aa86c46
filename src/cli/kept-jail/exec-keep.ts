/** `ctx exec --keep`: the command in a kept jail with the same grants, which is started where none lives and goes on after it. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { isUtf8Text } from '../../base/path-bytes.js';
import { commandOf } from '../exec/exec.js';
import { grantsOf } from '../input/asked-grants.js';
import { directoryAsked } from '../input/directory-asked.js';
import { keptJailGrants } from '../input/kept-jail-grants.js';
import type { Arguments, Option, Run } from '../verb.js';
import { pathsOf, startKeptJail } from './kept-jail.js';

/** The options of a call, written again. */
function wordsOf(call: Arguments, options: readonly Option[]): readonly string[] {
  return options.flatMap(({ name, value }) => {
    if (value === undefined) return call.flag(name) ? [`--${name}`] : [];
    return call.values(name).map((each) => `--${name}=${each}`);
  });
}

/** What a terminal sends goes to the whole group: the client has it already. */
function passSignalsTo(child: ReturnType<typeof spawn>): void {
  const fromTerminal = process.stdin.isTTY === true ? ['SIGINT', 'SIGQUIT'] : [];
  for (const name of ['SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => void (fromTerminal.includes(name) || child.kill(name)));
  }
}

/** Node gives a program that it starts nothing but text. */
function refuseBytes({ words, values }: Arguments): void {
  const other = [...words, ...values('env')].find((word) => !isUtf8Text(word));
  if (other === undefined) return;
  throw new ErrnoError('EINVAL', {
    operation: 'ctx exec --keep',
    reason: `expected text in UTF-8, got '${other}'`,
    remedy: 'start the jail first, ctx jail start; then without --keep: ctx exec -- COMMAND',
  });
}

/** `options` are those of `ctx exec`. */
export function keep(options: readonly Option[]): Run {
  return async (call, hostOf) => {
    // Before anything is started: a call that is refused leaves nothing behind.
    commandOf(call);
    refuseBytes(call);
    grantsOf(call);
    const host = await hostOf();
    // Both are started there: a kept jail is of the workspace it is started in, and the client looks for it where it stands.
    const cwd = directoryAsked(call.value('cwd'));
    const ofFork = options.filter(({ name }) => name === 'fork');
    const grants = wordsOf(call, [...keptJailGrants, ...ofFork]);
    const started = await startKeptJail(host, {
      directory: cwd,
      fork: call.value('fork'),
      grants,
      paths: pathsOf(call),
    });
    if (started !== ExitCode.ok) return started;
    const again = wordsOf(
      call,
      options.filter(({ name }) => name !== 'keep' && name !== 'cwd'),
    );
    // The native client, as any command for a kept jail has it.
    const client = join(dirname(host.jailProgram), 'call');
    const child = spawn(client, [process.argv[1] ?? '', 'exec', ...again, '--', ...call.words], {
      cwd,
      stdio: 'inherit',
    });
    passSignalsTo(child);
    return new Promise((settle, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => settle(code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 9)));
    });
  };
}
