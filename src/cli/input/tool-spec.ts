/** The options of `ctx tool new` as the members of a spec: what a tool needs becomes lines of its `cap`. Pure. */

import { ErrnoError } from '../../base/errno.js';
import { parseJson } from '../../base/shape.js';
import { withDefaultPort } from '../../sdk/network-name.js';

export interface ToolOptions {
  readonly description?: string | undefined;
  /** The text of a file, and its name. */
  readonly schema?: { readonly text: string; readonly file: string } | undefined;
  readonly net: readonly string[];
  readonly privateNet: readonly string[];
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly secrets: readonly string[];
  readonly fork?: string | undefined;
}

function refuse(option: string, reason: string, remedy?: string): never {
  throw new ErrnoError('EINVAL', { operation: option, reason, remedy });
}

const secretForm = /^(\S+)\s+([A-Za-z0-9-]+):\s*(?:([A-Za-z][A-Za-z0-9-]*) )?\$([A-Za-z_]\w*)$/;

/** `HOST HEADER: [SCHEME ]$NAME`, of stored secrets alone: a tool outlives the one whose variables are set now. */
function secretLine(text: string): string {
  const [, host, header, scheme, name] = secretForm.exec(text) ?? [];
  if (host === undefined) {
    const remedy =
      "for example: --secret 'api.github.com Authorization: Bearer $GITHUB_TOKEN', after ctx secret set GITHUB_TOKEN";
    return refuse('--secret', "expected 'HOST HEADER: [SCHEME] $NAME'", remedy);
  }
  return `secret ${name} ${withDefaultPort(host)} ${header}${scheme === undefined ? '' : ` ${scheme}`}`;
}

/** A schema of the input alone may be given as it is. */
function schemaOf({ text, file }: NonNullable<ToolOptions['schema']>): unknown {
  let schema: unknown;
  try {
    schema = parseJson(text);
  } catch (error) {
    return refuse('--schema', `${file}: expected JSON: ${error instanceof Error ? error.message : 'not JSON'}`);
  }
  const isWhole = typeof schema === 'object' && schema !== null && ('input' in schema || 'output' in schema);
  return isWhole ? schema : { input: schema };
}

/** Lines of cap v0. Paths are in full. */
export function capLines({ net, privateNet, reads, writes, secrets, fork }: ToolOptions): readonly string[] {
  return [
    ...net.map((host) => `net.connect ${withDefaultPort(host)}`),
    ...privateNet.map((host) => `net.connect ${withDefaultPort(host)} private`),
    ...secrets.map(secretLine),
    ...reads.map((path) => `fs.read ${path}`),
    ...writes.map((path) => `fs.write ${path}`),
    ...(fork === undefined ? [] : [`fork ${fork}`]),
  ];
}

export function toolSpec(options: ToolOptions): Readonly<Record<string, unknown>> {
  const { description, schema } = options;
  const lines = capLines(options);
  return {
    ...(description === undefined ? {} : { description }),
    ...(schema === undefined ? {} : { schema: schemaOf(schema) }),
    ...(lines.length === 0 ? {} : { cap: lines }),
  };
}
