/**
 * `--secret 'HOST[:PORT] HEADER: VALUE'`: the value names variables of the caller (`Bearer $TOKEN`), or secrets that
 * `ctx secret set` stored, for names that no variable has. One that names none would be the secret itself, for
 * everybody to read in the list of processes, and is refused. Pure.
 */
import { ErrnoError } from '../../base/errno.js';
import { withDefaultPort } from '../../sdk/network-name.js';
import type { Grants } from '../../sdk/options.js';

type Secret = NonNullable<Grants['secrets']>[number];
type Environment = Readonly<Record<string, string | undefined>>;

const form = /^(\S+)\s+([A-Za-z0-9-]+):\s*(\S.*)$/;
const variable = /\$(\w+)/g;

function refuse(reason: string): never {
  throw new ErrnoError('EINVAL', {
    operation: '--secret',
    reason,
    remedy: "for example: --secret 'api.github.com Authorization: Bearer $GITHUB_TOKEN'",
  });
}

export function parseSecret(text: string, environment: Environment): Secret {
  const [, place, header, template] = form.exec(text) ?? [];
  if (place === undefined || header === undefined || template === undefined) {
    return refuse("expected 'HOST HEADER: VALUE', with $NAME in the value");
  }
  const names = [...template.matchAll(variable)].map(([, name = '']) => name);
  if (names.length === 0)
    refuse('expected a variable such as $NAME in the value; use single quotes, or the shell replaces it');
  // Of the environment alone, whose object has names of its own: constructor, toString.
  const given = (name: string) => (Object.hasOwn(environment, name) ? (environment[name] ?? '') : '');
  const isSet = (name: string) => given(name) !== '';
  const full = withDefaultPort(place);
  const colon = full.lastIndexOf(':');
  const at = { host: full.slice(0, colon), port: Number(full.slice(colon + 1)), header };
  if (names.every(isSet)) {
    return { ...at, value: template.replace(variable, (_whole, name: string) => given(name)) };
  }
  // A variable's value may hold a $NAME of its own, which names nothing.
  if (names.some(isSet)) refuse('expected either variables that are set here or stored secrets in one value, got both');
  return { ...at, template };
}
