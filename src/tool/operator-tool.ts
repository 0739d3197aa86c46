/**
 * A tool of the operator's: an executable file of a tier, run in a jail of its own with what its `cap` says and nothing of its caller's:
 * not its network, its home, its environment or its processes; of its fork, what `cap` says. It reads its input from stdin.
 */

import { parseCapabilities, type ToolCapability } from '../authority/capability.js';
import { ErrnoError, ExitCode } from '../base/errno.js';
import { toolMilliseconds, toolOutputBytes } from '../base/limits/objects.js';
import { parseJson } from '../base/shape.js';
import type { Catalogue } from '../objects/projection/catalogue.js';
import type { ToolHit } from '../objects/projection/visible.js';
import { type Schema, schemaFault, valueFault } from '../objects/schema-check.js';
import { parseObject } from '../objects/small-formats.js';
import type { ToolGrants } from '../proxy/agent-views.js';
import type { ToolRun } from './tool-run.js';

/** EINVAL where one of its files is wrong, ENOTSUP for what is not built. */
export interface OperatorTool {
  /** Of what it takes. */
  readonly input: Schema;
  readonly run: ToolRun;
}

function textIn(catalogue: Catalogue, { place }: ToolHit, name: string, file: string): string | undefined {
  return catalogue.control(place, name, file)?.read().toString('utf8');
}

function schemasOf(catalogue: Catalogue, hit: ToolHit, name: string) {
  const file = `${hit.place}/${name}.d/schema`;
  const text = textIn(catalogue, hit, name, 'schema');
  const schema = text === undefined ? {} : parseObject(text, file);
  const { input = {}, output } = schema as { readonly input?: Schema; readonly output?: Schema };
  for (const part of [input, output]) {
    const fault = part === undefined ? undefined : schemaFault(part);
    if (fault !== undefined) throw new ErrnoError('EINVAL', { operation: name, reason: `${file}: ${fault}` });
  }
  return { input, output };
}

const of = <Kind extends ToolCapability['kind']>(all: readonly ToolCapability[], kind: Kind) =>
  all.filter((each): each is Extract<ToolCapability, { readonly kind: Kind }> => each.kind === kind);

function grantsOf(name: string, all: readonly ToolCapability[]): ToolGrants {
  const [beyond] = all.filter(({ kind }) => kind === 'tool' || kind === 'model');
  if (beyond !== undefined) {
    const reason = `its cap file asks for a ${beyond.kind}, and tools cannot call other tools or models yet`;
    throw new ErrnoError('ENOTSUP', { operation: name, reason });
  }
  const quota = Object.fromEntries(of(all, 'quota').map(({ field, value }) => [field, value]));
  return {
    fork: of(all, 'fork')[0]?.access,
    reads: of(all, 'fs.read').map(({ path }) => path),
    writes: of(all, 'fs.write').map(({ path }) => path),
    network: of(all, 'net.connect').flatMap(({ host, isPrivate }) => (isPrivate ? [] : [host])),
    privateHosts: of(all, 'net.connect').flatMap(({ host, isPrivate }) => (isPrivate ? [host] : [])),
    secrets: of(all, 'secret').map(({ name: secret, host, port, header, scheme }) => ({
      host,
      port,
      header,
      template: scheme === undefined ? `$${secret}` : `${scheme} $${secret}`,
    })),
    quota,
  };
}

/** What a tool says is one JSON value, as its schema has it; nothing of it is told before it is known to be. */
function checkedOutput(name: string, bytes: Buffer, schema: Schema): void {
  let value: unknown;
  try {
    value = parseJson(bytes.toString('utf8'));
  } catch {
    throw new ErrnoError('EIO', {
      operation: name,
      reason: 'the output of the tool is not JSON, which its schema asks for',
    });
  }
  const fault = valueFault(value, schema, '');
  if (fault === undefined) return;
  throw new ErrnoError('EIO', {
    operation: name,
    reason: `the tool broke its schema: ${fault.replace('the input', 'its output')}`,
  });
}

/** What a cap grants. EINVAL where it is wrong, ENOTSUP for what is not built. */
export function toolGrants(name: string, cap: string, file: string): ToolGrants {
  return grantsOf(name, parseCapabilities(cap, file));
}

/** A failure in words for the caller, who is shown nothing of where the tool is on the host. */
async function told<T>(name: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    const { code, operation, reason, cause } = error;
    // Of an approval that holds no more the reason is said.
    if (code === 'ESTALE' && operation !== 'decide') {
      const replaced = 'its program was replaced while it was called';
      throw new ErrnoError(code, { operation: name, reason: replaced, remedy: 'call it again', cause });
    }
    throw new ErrnoError(code, { operation: name, reason, cause });
  }
}

export function operatorTool(catalogue: Catalogue, name: string, hit: ToolHit): OperatorTool {
  const { input, output } = schemasOf(catalogue, hit, name);
  const cap = textIn(catalogue, hit, name, 'cap') ?? '';
  const grants = toolGrants(name, cap, `${hit.place}/${name}.d/cap`);
  const run: ToolRun = async (call) => {
    const held: Buffer[] = [];
    let bytes = 0;
    const flooded = new AbortController();
    const take = (chunk: Buffer) => {
      bytes += chunk.length;
      if (output === undefined) return call.print(chunk);
      if (bytes > toolOutputBytes) flooded.abort();
      else held.push(chunk);
      return undefined;
    };
    const { exitCode, signal, timedOut } = await told(name, () =>
      call.runTool({
        name,
        program: { path: hit.program ?? '', identity: hit.identity ?? '' },
        input: Buffer.from(JSON.stringify(call.input)),
        grants,
        timeoutMilliseconds: grants.quota.wallTime ?? toolMilliseconds,
        signal: AbortSignal.any([call.signal, flooded.signal]),
        onOutput: (stream, chunk) => (stream === 'stdout' ? take(chunk) : call.printError(chunk)),
      }),
    );
    if (flooded.signal.aborted) {
      const reason = `the tool printed more than ${toolOutputBytes} bytes, the most for output that a schema checks`;
      throw new ErrnoError('EIO', { operation: name, reason });
    }
    if (exitCode !== 0) {
      call.complain(
        timedOut
          ? 'timed out'
          : signal === null
            ? `the tool ended with exit code ${exitCode}`
            : `the tool was ended by ${signal}`,
      );
      return ExitCode.failed;
    }
    if (output !== undefined) {
      const all = Buffer.concat(held);
      checkedOutput(name, all, output);
      call.print(all);
    }
    return ExitCode.ok;
  };
  return { input, run };
}
