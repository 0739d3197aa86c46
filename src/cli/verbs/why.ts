/** `ctx why`: the verdict of every layer or step, and where it came from. */
import { ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { accesses, coach, objectQuestion, type PathAccess, type Verdict } from '../../sdk/workspace/permissions.js';
import type { Caller } from '../caller.js';
import { optionsOf } from '../input/asked-options.js';
import { workspaceHere } from '../input/workspace-here.js';
import { painter, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

interface Row {
  readonly name: string;
  readonly verdict: string;
  readonly text: string;
  readonly source?: string;
}

function print({ stdout, environment }: Caller, question: string, verdict: Verdict, rows: readonly Row[]): number {
  const paint = painter(stdout, environment);
  const answer = verdict.allowed ? paint('green', 'allowed') : paint('red', `refused (${verdict.code})`);
  const width = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(({ name, verdict: said, text, source }) => {
    const where = source === undefined || source === '' ? '' : `  ${paint('dim', source)}`;
    return `  ${name.padEnd(width)}  ${said.padEnd(9)}  ${text}${where}`;
  });
  stdout.write(`${[`${visible(question)}: ${answer}`, ...lines].join('\n')}\n`);
  return verdict.allowed ? ExitCode.ok : ExitCode.denied;
}

function isAccess(word: string): word is PathAccess {
  return accesses.some((access) => access === word);
}

const whyPath =
  (access: PathAccess): Run =>
  async (call, host, _hookHost, caller) => {
    const asked = call.words[1] ?? '';
    const workspace = await workspaceHere(host, optionsOf(call), caller.directory());
    const { path, verdict, source, host: behind, digest, layers } = await workspace.whyPath(access, asked);
    if (call.flag('json')) {
      const { allowed } = verdict;
      const code = verdict.allowed ? null : verdict.code;
      const question = { access, path: asked };
      printJson({ version: 1, question, path, allowed, code, source, host: behind, digest, layers }, caller.stdout);
      return allowed ? ExitCode.ok : ExitCode.denied;
    }
    const rows = layers.map(({ layer, verdict: said, text }) => ({ name: layer, verdict: said, text }));
    return print(caller, `${access} ${path}`, verdict, [{ name: 'source', verdict: '', text: source }, ...rows]);
  };

const whyHost: Run = async (call, host, _hookHost, caller) => {
  const asked = call.words[1] ?? '';
  const workspace = await workspaceHere(host, optionsOf(call), caller.directory());
  const { hostPort, verdict, source, addresses, digest } = await workspace.whyHost(asked);
  if (call.flag('json')) {
    const { allowed } = verdict;
    const code = verdict.allowed ? null : verdict.code;
    const reason = verdict.allowed ? null : coach(verdict.reason);
    const question = { access: 'connect', host: asked };
    printJson({ version: 1, question, hostPort, allowed, code, reason, source, addresses, digest }, caller.stdout);
    return allowed ? ExitCode.ok : ExitCode.denied;
  }
  const found = addresses.length === 0 ? 'not looked up, or not known now' : addresses.join(', ');
  return print(caller, `connect ${hostPort}`, verdict, [
    { name: 'source', verdict: '', text: source },
    { name: 'addresses', verdict: '', text: found },
    {
      name: 'proxy',
      verdict: verdict.allowed ? 'allow' : 'refuse',
      text: verdict.allowed ? 'may connect' : coach(verdict.reason),
    },
  ]);
};

const whyObject: Run = async (call, host, _hookHost, caller) => {
  const [object = '', asked = ''] = call.words;
  const question = objectQuestion(object, asked);
  const { permission } = question;
  const workspace = await workspaceHere(host, optionsOf(call), caller.directory());
  const { verdict, steps, digest } = await workspace.whyObject(question);
  if (call.flag('json')) {
    const code = verdict.allowed ? null : verdict.code;
    const { allowed } = verdict;
    printJson({ version: 1, question: { object, permission }, allowed, code, digest, steps }, caller.stdout);
    return verdict.allowed ? ExitCode.ok : ExitCode.denied;
  }
  const rows = steps.map(({ step, verdict: said, text, source }) => ({ name: step, verdict: said, text, source }));
  return print(caller, `${object} ${permission}`, verdict, rows);
};

export const run: Run = (...asked) => {
  const [first = ''] = asked[0].words;
  if (first === 'connect') return whyHost(...asked);
  return (isAccess(first) ? whyPath(first) : whyObject)(...asked);
};
