/** A tool of a source: one call of its server. Input and output are held to as much of its schemas as is understood here. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { toolMilliseconds } from '../../base/limits/objects.js';
import { anything, mapOf, parsedAs } from '../../base/shape.js';
import { visible } from '../../base/visible-text.js';
import type { Catalogue, FoundSource } from '../../objects/projection/catalogue.js';
import { checkablePart, isRecord, type Schema } from '../../objects/schema-check.js';
import { readSource } from '../../objects/source/source-store.js';
import { damagedList } from '../../objects/source/tool-list.js';
import { type OperatorTool, toolGrants } from '../operator-tool.js';
import type { ToolRun } from '../tool-run.js';
import { callerGone, ServerRefusal } from './conversation.js';
import type { ServedSources } from './served-sources.js';
import { printedResult } from './tool-result.js';

const invalidParameters = -32_602;

function schemasOf(catalogue: Catalogue, place: string, name: string) {
  const text = catalogue.control(place, name, 'schema')?.read().toString('utf8') ?? '{}';
  const { input = {}, output } = parsedAs<Schema>(text, mapOf(anything)) ?? damagedList();
  return { input: isRecord(input) ? input : {}, output: isRecord(output) ? output : undefined };
}

/** What a server refuses with. */
function refusal(name: string, { number, message }: ServerRefusal): ErrnoError {
  const code = number === invalidParameters ? 'EINVAL' : 'EIO';
  return new ErrnoError(code, { operation: name, reason: `its server refused: ${visible(message)}` });
}

/** Its caller may go while a server starts, which takes as long as it likes: the call ends then, and the start goes on for others. */
function unlessGone<T>(name: string, signal: AbortSignal, waiting: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(callerGone(name));
    if (signal.aborted) gone();
    signal.addEventListener('abort', gone, { once: true });
    void waiting.then(resolve, reject).finally(() => signal.removeEventListener('abort', gone));
  });
}

export interface SourceHit {
  readonly place: string;
  readonly name: string;
  readonly source: FoundSource;
}

export function sourceTool(
  catalogue: Catalogue,
  { place, name, source }: SourceHit,
  sources: ServedSources,
): OperatorTool {
  const { input, output } = schemasOf(catalogue, place, name);
  const called: ToolRun = (call) =>
    sources.during(source, async () => {
      const { quota } = toolGrants(`mcp.${source.name}`, readSource(source.directory).cap, `${source.name}/cap`);
      const { conversation } = await unlessGone(name, call.signal, sources.server(source));
      let result: unknown;
      try {
        result = await conversation.request(
          'tools/call',
          { name: source.tool, arguments: call.input },
          { milliseconds: quota.wallTime ?? toolMilliseconds, signal: call.signal },
        );
      } catch (error) {
        throw error instanceof ServerRefusal ? refusal(name, error) : error;
      }
      const { failed, text } = printedResult(name, result, output);
      if (failed) {
        call.complain('the tool reported an error:');
        call.printError(text);
        return ExitCode.failed;
      }
      call.print(text);
      return ExitCode.ok;
    });
  const run: ToolRun = async (call) => {
    let code: number | undefined;
    try {
      code = await called(call);
      return code;
    } finally {
      sources.noted(name, code === ExitCode.ok ? 'ok' : 'failed');
    }
  };
  return { input: checkablePart(input) as Schema, run };
}
