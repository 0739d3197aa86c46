/** `ctx tool test NAME`: calls a tool with each example of its schema, and says which of the calls it answers as its schema has it. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { execIn, placeAt } from '../../sdk/workspace/command.js';
import { approvalsFor } from '../exec/run-command.js';
import { counted } from '../text/change-text.js';
import { painter, print, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

interface TriedExample {
  readonly input: string;
  readonly exitCode: number | null;
  /** What it said, where it failed. */
  readonly error: string;
}

export const testTool: Run = async (call, hostOf) => {
  const [name = ''] = call.words;
  const { calledTool, toolExamples } = await import('../../sdk/workspace/tool-calls.js');
  const host = await hostOf();
  const agent = call.value('agent');
  const { path, cap } = calledTool(host, agent, name);
  const examples = toolExamples(host, agent, name);
  if (examples.length === 0) {
    throw new ErrnoError('EINVAL', {
      operation: `tool ${name}`,
      reason: 'its schema has no examples to try',
      remedy: 'put inputs into "examples" of the input in its schema, or try one by ctx tool call',
    });
  }
  const place = placeAt(host, { agent, fork: call.value('fork'), directory: currentDirectory() });
  const isJson = call.flag('json');
  const paint = painter(process.stdout);
  const asking = approvalsFor(call, hostOf, () => undefined);
  const tried: TriedExample[] = [];
  for (const example of examples) {
    const input = JSON.stringify(example);
    const seen = { calledTool: agent === undefined ? name : undefined, toolCall: { name, cap } };
    const { exitCode, stderr } = await execIn(place, [path, input], { streams: 'capture', ...seen, ...asking });
    const result = { input, exitCode, error: exitCode === 0 ? '' : (stderr?.text.trim() ?? '') };
    tried.push(result);
    if (isJson) continue;
    print(`${exitCode === 0 ? paint('green', 'ok    ') : paint('red', 'failed')}  ${visible(input)}\n`);
    for (const line of result.error.split('\n').filter(Boolean)) print(`        ${visible(line)}\n`);
  }
  const passed = tried.filter(({ exitCode }) => exitCode === 0).length;
  if (isJson) printJson({ version: 1, tool: name, passed, tried });
  else print(`${passed} of ${counted(tried.length, 'example')} passed\n`);
  return passed === tried.length ? ExitCode.ok : ExitCode.failed;
};
