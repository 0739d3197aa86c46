/**
 * A server as it will be run: variables of the file expanded once, now, and secrets taken out. A value that is a secret
 * by its name or its look never enters the jail by itself: it is stored, and added outside to requests for one host
 * (`--secret`); the server then has a word in its place, so that it starts. Anyone who wants it inside all the same
 * names it. Pure.
 */
import { refuseConfig, type ServerConfig } from './server-config.js';

export interface SettledServer {
  readonly server: ServerConfig;
  /** What a person should know. */
  readonly warnings: readonly string[];
}

export interface Settling {
  readonly file: string;
  readonly name: string;
  /** Variables of the person who adds it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** What `${workspaceFolder}` and `${userHome}` mean. */
  readonly folder: string;
  readonly home: string;
  /** Secrets that `cap` grants it. */
  readonly secrets: readonly { readonly name: string; readonly host: string; readonly header: string }[];
  /** Variables that it is given although they look like secrets. */
  readonly passed: readonly string[];
}

const secretName =
  /TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|_KEY$|^KEY$|_PAT$|COOKIE|AUTH/i;
const secretValue =
  /gh[opsu]_\w{20,}|github_pat_\w{20,}|\bsk-[\w-]{16,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|glpat-[\w-]{16,}|eyJ[\w-]{16,}\.[\w-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY/;

const reference = /\$\{([^}]*)\}/g;

/** What the server has in the place of a secret that is added outside. */
export function standIn(name: string): string {
  return `stored-secret-${name}`;
}

/** `${NAME}`, `${NAME:-DEFAULT}`, `${env:NAME}`, `${workspaceFolder}`, `${userHome}`. EINVAL for what has no value. */
function expanded(text: string, what: string, { file, environment, folder, home }: Settling): string {
  return text.replace(reference, (whole, inside: string) => {
    if (inside === 'workspaceFolder') return folder;
    if (inside === 'userHome') return home;
    const [, variable, , fallback] = /^(?:env:)?([A-Za-z_]\w*)(:-([\s\S]*))?$/.exec(inside) ?? [];
    if (variable === undefined) {
      const remedy = inside.startsWith('input:') ? 'store it by ctx secret set, and grant it by --secret' : undefined;
      return refuseConfig(file, `${what}: ${whole} cannot be replaced; expected a variable such as \${NAME}`, remedy);
    }
    return (
      environment[variable] ||
      (fallback ??
        refuseConfig(file, `${what}: the variable ${variable} is not set`, `set ${variable}, and add it again`))
    );
  });
}

function refuseSecret(
  { file, name }: Settling,
  what: string,
  variable: string,
  form: string,
  alternative: string,
): never {
  return refuseConfig(
    file,
    `${name}: ${what} looks like a secret, which a server in a jail must not hold`,
    `ctx secret set ${variable}, and add: --secret '${form}'${alternative}`,
  );
}

function settledVariable(name: string, value: string, settling: Settling): string {
  const { secrets, passed } = settling;
  if (secrets.some((secret) => secret.name === name || value === `\${${secret.name}}`)) return standIn(name);
  if (passed.includes(name)) return expanded(value, name, settling);
  const isSecret = secretName.test(name) ? value !== '' : secretValue.test(value);
  if (isSecret) {
    const form = `HOST HEADER: [SCHEME] $${name}`;
    refuseSecret(settling, `variable ${name}`, name, form, `, or pass it as it is: --pass-env ${name}`);
  }
  const text = expanded(value, name, settling);
  if (secretValue.test(text)) {
    const form = `HOST HEADER: [SCHEME] $${name}`;
    refuseSecret(settling, `variable ${name}`, name, form, `, or pass it as it is: --pass-env ${name}`);
  }
  return text;
}

/** Those that a secret is granted for are left to the proxy outside. */
function settledHeaders(headers: Readonly<Record<string, string>>, host: string, settling: Settling) {
  const { secrets, name: source } = settling;
  return Object.entries(headers).flatMap(([name, value]): (readonly [string, string])[] => {
    const isGranted = secrets.some(
      (secret) => secret.header.toLowerCase() === name.toLowerCase() && secret.host === host,
    );
    if (isGranted) return [];
    if (secretName.test(name) || secretValue.test(value)) {
      const [, scheme = '', variable] = /^(?:([A-Za-z][\w-]*) )?\$\{(?:env:)?([A-Za-z_]\w*)/.exec(value) ?? [];
      const own = variable ?? `${source.replaceAll('-', '_').toUpperCase()}_TOKEN`;
      const known = variable === undefined ? (/^([A-Za-z][\w-]*) /.exec(value)?.[1] ?? '') : scheme;
      const form = `${host} ${name}: ${known === '' ? '' : `${known} `}$${own}`;
      return refuseSecret(settling, `header ${name}`, own, form, '');
    }
    return [[name, expanded(value, name, settling)]];
  });
}

function checkedUrl(text: string, { file, name }: Settling): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return refuseConfig(file, `${name}: expected url to be a URL`);
  }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    refuseConfig(file, `${name}: expected url to be https or http`);
  if (url.username !== '' || url.password !== '') refuseConfig(file, `${name}: expected url to hold no password`);
  return url;
}

/** EINVAL with what to do. */
export function settledServer(config: ServerConfig, settling: Settling): SettledServer {
  if (config.kind === 'http') {
    const url = checkedUrl(expanded(config.url, 'url', settling), settling);
    const headers = Object.fromEntries(settledHeaders(config.headers, url.hostname, settling));
    return { server: { kind: 'http', url: url.href, headers }, warnings: [] };
  }
  const { command, args, environment, directory } = config;
  const own = Object.entries(environment).map(([name, value]) => [name, settledVariable(name, value, settling)]);
  const words = args.map((word) => expanded(word, 'args', settling));
  const warnings = words.flatMap((word, index) =>
    secretValue.test(word) ? [`argument ${index + 1} looks like a secret; the server can read it, and pass it on`] : [],
  );
  return {
    server: {
      kind: 'stdio',
      command: expanded(command, 'command', settling),
      args: words,
      environment: Object.fromEntries(own) as Readonly<Record<string, string>>,
      directory: directory === undefined ? undefined : expanded(directory, 'cwd', settling),
    },
    warnings,
  };
}
