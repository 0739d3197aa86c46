/**
 * `--secret 'HOST[:PORT] HEADER: VALUE'`: the value names variables of whoever calls (`Bearer $TOKEN`). One that names none would
 * be the secret itself, for everybody to read in the list of processes, and is refused. Pure.
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
  let named = false;
  const value = template.replace(variable, (_whole, name: string) => {
    const found = environment[name];
    if (found === undefined || found === '') return refuse(`expected the variable ${name} to be set here`);
    named = true;
    return found;
  });
  if (!named) return refuse('expected a variable ($NAME) in the value, which the shell has not replaced: quote it');
  const full = withDefaultPort(place);
  const colon = full.lastIndexOf(':');
  return { host: full.slice(0, colon), port: Number(full.slice(colon + 1)), header, value };
}
