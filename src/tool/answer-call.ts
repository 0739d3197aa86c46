/**
 * A call of an object by its name: found along the caller's path, decided in six steps by the policies as they are now,
 * recorded before it has any effect, and then run. Whatever happens becomes one exit code and, where it is not a
 * success, one line that says why.
 */
import type { Recorder, RecordStatus } from '../audit/record.js';
import { coach, tell } from '../authority/refusal.js';
import { ErrnoError, ExitCode, exitCodeFor } from '../base/errno.js';
import { viewCalls } from '../base/limits/objects.js';
import { sha256 } from '../base/sha256.js';
import { visible } from '../base/visible-text.js';
import { builtInTools } from '../objects/built-in-tools.js';
import { type ToolHit, toolHit, verdictOnAgent, verdictOnTool } from '../objects/projection/visible.js';
import { checkedInput, type Schema } from '../objects/schema-check.js';
import { agentTools } from './built-in/agent-tools.js';
import { commandTools } from './built-in/command-tools.js';
import { fileTools } from './built-in/file-tools.js';
import { forkTools } from './built-in/fork-tools.js';
import type { Calling } from './caller.js';
import { CallerFiles } from './caller-files.js';
import { type OperatorTool, operatorTool } from './operator-tool.js';
import type { ServedSources } from './source/served-sources.js';
import type { ToolRun, ToolRunCall } from './tool-run.js';

export interface Answering
  extends Pick<ToolRunCall, 'roots' | 'run' | 'runTool' | 'diff' | 'createAgent' | 'later' | 'catalogue' | 'viewer'> {
  /** Undefined: a person calls. */
  readonly agent: string | undefined;
  /** As many calls of this view are being answered as may be. */
  readonly isCrowded: boolean;
  readonly recorder: Recorder;
  /** Told what is recorded, for the logs of this view. */
  noted?(tool: string, status: RecordStatus): void;
  /** Servers of tool sources, as long as the view lasts. */
  sources(): Promise<ServedSources>;
}

const objectPath = /^\/ctx\/((?:home\/\d+\/|shared\/[^/]+\/)?tool)\/([^/]+)$/;
const agentPath = /^\/ctx\/agent\/([^/]+)$/;
const modelPath = /^\/ctx\/(?:home\/\d+\/)?model\/([^/]+\/[^/]+)$/;
const tools: Readonly<Record<string, ToolRun>> = { ...fileTools, ...commandTools, ...forkTools, ...agentTools };
const inputs: ReadonlyMap<string, Schema> = new Map(builtInTools.map(({ name, input }) => [name, input]));

interface Found {
  readonly name: string;
  readonly hit: ToolHit;
}

/** Agents and models are shown as files that can be executed; what would run them is not built. EACCES without the permission, else ENOTSUP. */
function refuseOthers({ catalogue, viewer, recorder, agent }: Answering, path: string): void {
  const [, name] = agentPath.exec(path) ?? [];
  if (name !== undefined) {
    const verdict = verdictOnAgent(catalogue, viewer(), name, 'start');
    if (!verdict.allowed) {
      const facts = { step: verdict.step, reason: coach(verdict.reason) };
      const object = `agent/${name}`;
      recorder.append({ type: 'agent.start', object, agent, status: 'denied', layer: 'guard', facts });
      throw new ErrnoError(verdict.code, { operation: name, reason: tell(verdict) });
    }
    const reason = 'running an agent needs the agent runtime, which this version of ctx does not have';
    throw new ErrnoError('ENOTSUP', { operation: name, reason });
  }
  const [, model] = modelPath.exec(path) ?? [];
  if (model === undefined) return;
  throw new ErrnoError('ENOTSUP', { operation: model, reason: 'this version of ctx does not ask models' });
}

function recordOf({ recorder, agent, noted }: Answering, name: string) {
  return (status: RecordStatus, facts: Readonly<Record<string, string | number | undefined>>) => {
    const layer = status === 'denied' ? ({ layer: 'guard' } as const) : {};
    recorder.append({ type: 'tool.call', object: `tool/${name}`, agent, status, facts, ...layer });
    noted?.(name, status);
  };
}

/** EINVAL for what was not run as an object; ENOENT for what this view does not have; EACCES for what is not allowed. */
function permitted(answering: Answering, path: string): Found {
  const [, place, name = ''] = objectPath.exec(path) ?? [];
  if (place === undefined) {
    refuseOthers(answering, path);
    const reason = `expected to be run as /ctx/tool/NAME, not as ${path}`;
    throw new ErrnoError('EINVAL', { operation: 'call', reason });
  }
  const viewer = answering.viewer();
  const hit = toolHit(answering.catalogue, viewer, name);
  if (hit === undefined || hit.place !== place) {
    throw new ErrnoError('ENOENT', { operation: name, reason: 'there is no such tool in this view' });
  }
  const verdict = verdictOnTool(viewer, name, hit);
  if (verdict.allowed && hit.problem === undefined) return { name, hit };
  const reason = hit.problem ?? (verdict.allowed ? '' : coach(verdict.reason));
  recordOf(answering, name)('denied', { step: verdict.allowed ? 'object policy' : verdict.step, reason });
  const told = hit.problem === undefined && !verdict.allowed ? tell(verdict) : 'its policy cannot be read';
  throw new ErrnoError('EACCES', { operation: name, reason: told });
}

async function toolOf({ catalogue, sources }: Answering, { name, hit }: Found): Promise<OperatorTool> {
  const { source, place } = hit;
  if (source !== undefined) {
    const { sourceTool } = await import('./source/source-tool.js');
    return sourceTool(catalogue, { name, place, source }, await sources());
  }
  const run = hit.builtIn === true ? tools[name] : undefined;
  return run === undefined ? operatorTool(catalogue, name, hit) : { input: inputs.get(name) ?? {}, run };
}

function refuseBytes(name: string): never {
  throw new ErrnoError('EINVAL', { operation: name, reason: 'expected an input that is UTF-8' });
}

/** What is recorded of an input: where it points to, and what it was; not what it holds. */
function inputFacts(input: Schema, text: string): Readonly<Record<string, string>> {
  const { path } = input;
  return { ...(typeof path === 'string' ? { path: path.slice(0, 4_096) } : {}), input: `sha256:${sha256(text)}` };
}

function saidOf(error: unknown, name: string): string {
  if (!(error instanceof ErrnoError)) return `ctx: ${name}: this is a bug in ctx, please report it: ${String(error)}\n`;
  const { path, reason, code, remedy } = error;
  const where = path === undefined ? '' : `${path}: `;
  return `ctx: ${name}: ${visible(`${where}${reason}`)} (${code})\n${remedy === undefined ? '' : `  ${visible(remedy)}\n`}`;
}

export async function answerCall(answering: Answering, calling: Calling): Promise<number> {
  const { call, print, printError, signal } = calling;
  let name = call.path.slice(call.path.lastIndexOf('/') + 1);
  let ended:
    | ((status: RecordStatus, facts: { readonly exitCode: number; readonly error?: string }) => void)
    | undefined;
  let code: number;
  try {
    const found = permitted(answering, call.path);
    name = found.name;
    if (answering.isCrowded) {
      const reason = `${viewCalls} calls of this view are running`;
      throw new ErrnoError('EAGAIN', { operation: name, reason, remedy: 'wait for one of them to end' });
    }
    const tool = await toolOf(answering, found);
    const { roots, run, runTool, diff, createAgent, later, catalogue } = answering;
    // What is read in its place would be the name of another file.
    const text = call.input ?? refuseBytes(name);
    const input = checkedInput(name, text, tool.input);
    const record = recordOf(answering, name);
    record('begin', inputFacts(input, text));
    ended = record;
    code = await tool.run({
      name,
      input,
      directory: call.directory,
      roots,
      run,
      runTool,
      diff,
      createAgent,
      later,
      catalogue,
      viewer: () => answering.viewer(),
      files: new CallerFiles(name, (request) => calling.reach(request)),
      print,
      printError,
      complain: (text) => printError(`ctx: ${name}: ${visible(text)}\n`),
      signal,
    });
    ended(code === ExitCode.ok ? 'ok' : 'failed', { exitCode: code });
  } catch (error) {
    code = exitCodeFor(error);
    const errno = error instanceof ErrnoError ? error.code : 'defect';
    ended?.('failed', { exitCode: code, error: errno });
    if (error instanceof ErrnoError) calling.fails?.(error);
    printError(saidOf(error, name));
  }
  return code;
}
