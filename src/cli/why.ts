/** `ctx why`: the verdict of every layer or step, and where it came from. */

import { explainDecision, explainPath } from '../authority/explain.js';
import { isObjectClass, nameFault, objectClasses, type Permission, permissionTable } from '../authority/permission.js';
import type { Verdict } from '../authority/refusal.js';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import { objectFacts } from '../objects/object-facts.js';
import { pathInView } from '../proxy/path-in-view.js';
import { askedAuthority } from './asked-authority.js';
import { currentDirectory } from './current-directory.js';
import { painter, printJson } from './output.js';
import type { Run } from './verb.js';

const accesses = ['read', 'write', 'exec'] as const;
type Access = (typeof accesses)[number];

interface Row {
  readonly name: string;
  readonly verdict: string;
  readonly text: string;
  readonly source?: string;
}

function print(question: string, verdict: Verdict, rows: readonly Row[]): number {
  const paint = painter(process.stdout);
  const answer = verdict.allowed ? paint('green', 'allowed') : paint('red', `refused (${verdict.code})`);
  const width = Math.max(...rows.map(({ name }) => name.length));
  const lines = rows.map(({ name, verdict: said, text, source }) => {
    const where = source === undefined ? '' : `  ${paint('dim', source)}`;
    return `  ${name.padEnd(width)}  ${said.padEnd(9)}  ${text}${where}`;
  });
  process.stdout.write(`${[`${visible(question)}: ${answer}`, ...lines].join('\n')}\n`);
  return verdict.allowed ? ExitCode.ok : ExitCode.denied;
}

function isAccess(word: string): word is Access {
  return accesses.some((access) => access === word);
}

const whyPath =
  (access: Access): Run =>
  async (call, hostOf) => {
    const host = await hostOf();
    const { authority, digest } = await askedAuthority(host, call);
    const asked = call.words[1] ?? '';
    const path = pathInView(authority.view, asked, currentDirectory());
    const now = host.now().getTime();
    const found = explainPath({ authority, path, access: access === 'write' ? 'write' : 'read', now, used: 0 });
    const entry = authority.view.covering(path);
    const withoutExecution = access === 'exec' && found.verdict.allowed && entry?.options.includes('noexec') === true;
    const verdict: Verdict = withoutExecution
      ? {
          allowed: false,
          step: 'visibility',
          code: 'EACCES',
          reason: { kind: 'read-only', path, entry: entry?.target ?? path },
        }
      : found.verdict;
    const source = withoutExecution ? `${found.source}, noexec` : found.source;
    const exitCode = verdict.allowed ? ExitCode.ok : ExitCode.denied;
    if (call.flag('json')) {
      const { allowed } = verdict;
      const code = verdict.allowed ? null : verdict.code;
      const { host: behind = null, layers } = found;
      printJson({
        version: 1,
        question: { access, path: asked },
        path,
        allowed,
        code,
        source,
        host: behind,
        digest,
        layers,
      });
      return exitCode;
    }
    const rows = found.layers.map(({ layer, verdict: said, text }) => ({ name: layer, verdict: said, text }));
    return print(`${access} ${path}`, verdict, [{ name: 'source', verdict: '', text: source }, ...rows]);
  };

const whyObject: Run = async (call, hostOf) => {
  const [object = '', asked = ''] = call.words;
  const colon = object.indexOf(':');
  const objectClass = object.slice(0, colon);
  const name = object.slice(colon + 1);
  const fail = (reason: string): never => {
    throw new ErrnoError('EINVAL', { operation: 'ctx why', reason, remedy: 'ctx why --help shows the usage' });
  };
  if (colon < 0 || !isObjectClass(objectClass)) {
    return fail(`expected ${accesses.join(', ')} PATH, or a CLASS:NAME with a class of ${objectClasses.join(', ')}`);
  }
  const fault = nameFault(objectClass, name);
  if (fault !== undefined) fail(`expected ${fault}, got '${name}'`);
  const permissions: readonly Permission[] = permissionTable[objectClass];
  const permission =
    permissions.find((known) => known === asked) ?? fail(`expected ${permissions.join(', ')}, got '${asked}'`);
  const host = await hostOf();
  const { authority, digest } = await askedAuthority(host, call);
  const { uid, gid } = authority.identity;
  const { verdict, steps } = explainDecision({
    authority,
    credential: { uid, gid },
    class: objectClass,
    name,
    permission,
    object: objectFacts({ root: host.root, uid }, authority, objectClass, name),
    now: host.now().getTime(),
    used: 0,
  });
  if (call.flag('json')) {
    const code = verdict.allowed ? null : verdict.code;
    printJson({ version: 1, question: { object, permission }, allowed: verdict.allowed, code, digest, steps });
    return verdict.allowed ? ExitCode.ok : ExitCode.denied;
  }
  const rows = steps.map(({ step, verdict: said, text, source }) => ({ name: step, verdict: said, text, source }));
  return print(`${object} ${permission}`, verdict, rows);
};

export const run: Run = (call, host, hookHost) => {
  const [first = ''] = call.words;
  return (isAccess(first) ? whyPath(first) : whyObject)(call, host, hookHost);
};
