/** `ctx agent` and `ctx tool`: make, show, list, change and remove. Each change is in the record before it happens. */
import { ErrnoError, ExitCode } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import { agentFrom, agentNamed, childrenOf, inspectAgent, readAgent } from '../objects/agent.js';
import { agentFiles, controlFiles, toolFiles } from '../objects/control-file.js';
import type { ObjectKind, Roots, Tier } from '../objects/layout.js';
import {
  type Located,
  listObjects,
  makeObject,
  readControlText,
  removeObject,
  requireObject,
  writeControlText,
} from '../objects/object-store.js';
import { readValues, wholeValues } from '../objects/read-values.js';
import { agentTexts, parseSpec, toolTexts } from '../objects/spec.js';
import { inspectTool, readTool, toolFrom } from '../objects/tool.js';
import type { Host } from '../proxy/host.js';
import { assertMayCreate, assertOwnAgent, assertWithinParent } from './agent-creation.js';
import { inputText } from './input-text.js';
import { painter, printJson } from './output.js';
import type { Arguments, Run } from './verb.js';

export interface ObjectRuns {
  readonly make: Run;
  readonly show: Run;
  readonly list: Run;
  readonly set: Run;
  readonly remove: Run;
}

function rootsOf({ root, uid }: Host): Roots {
  return { root, uid };
}

function recorded(
  host: Host,
  type: string,
  object: string,
  facts: Readonly<Record<string, string>>,
  act: () => void,
): void {
  host.recorder.append({ type, object, status: 'begin', facts });
  act();
  host.recorder.append({ type, object, status: 'ok', facts });
}

function done(call: Arguments, answer: Readonly<Record<string, unknown>>, text: string): number {
  if (call.flag('json')) printJson({ version: 1, ...answer });
  else process.stdout.write(`${painter(process.stdout)('green', text)}\n`);
  return ExitCode.ok;
}

async function agentMade(host: Host, call: Arguments, name: string): Promise<ReadonlyMap<string, string>> {
  const file = call.value('spec');
  const parentName = call.value('parent');
  const parent = parentName === undefined ? undefined : agentNamed(rootsOf(host), parentName);
  const spec = file === undefined ? {} : parseSpec(inputText(file), file);
  const texts = agentTexts(name, spec, { uid: host.uid, gid: host.gid, parent });
  const read = readValues(
    agentFiles,
    (each) => texts.get(each),
    (each) => `${file ?? name}#${each}`,
  );
  const agent = agentFrom(name, '', wholeValues(read, `agent ${name}`)); // stands nowhere yet
  if (parent === undefined) assertOwnAgent(host, agent);
  else await assertMayCreate(host, parent, agent);
  return texts;
}

function toolMade(call: Arguments, name: string): ReadonlyMap<string, string> {
  const file = call.value('spec');
  const texts = toolTexts(name, file === undefined ? {} : parseSpec(inputText(file), file));
  const read = readValues(
    toolFiles,
    (each) => texts.get(each),
    (each) => `${file ?? name}#${each}`,
  );
  toolFrom(name, wholeValues(read, `tool ${name}`));
  return texts;
}

function make(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const host = await hostOf();
    const [name = ''] = call.words;
    const tier = (call.value('tier') ?? 'system') as Tier;
    const texts = kind === 'agent' ? await agentMade(host, call, name) : toolMade(call, name);
    let made: Located | undefined;
    recorded(host, `${kind}.new`, `${kind}/${name}`, { tier }, () => {
      made = makeObject(rootsOf(host), tier, kind, name, texts);
    });
    return done(call, { kind, name, tier, directory: made?.directory }, `made ${kind} ${name}`);
  };
}

function show(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const [name = ''] = call.words;
    const object = requireObject(rootsOf(await hostOf()), kind, name);
    const { problems } = kind === 'agent' ? inspectAgent(object) : inspectTool(object);
    const names = Object.keys(controlFiles(kind)).filter((file) => file !== 'log');
    const files = names.map((file) => [file, readControlText(object, file) ?? ''] as const);
    const { tier, directory } = object;
    const reasons = problems.map(({ reason }) => reason);
    if (call.flag('json')) {
      printJson({ version: 1, kind, name, tier, directory, files: Object.fromEntries(files), problems: reasons });
    } else {
      const paint = painter(process.stdout);
      const shown = files.flatMap(([file, text]) =>
        text
          .trimEnd()
          .split('\n')
          .map((line, index) => `  ${paint('dim', (index === 0 ? file : '').padEnd(12))}${visible(line)}`.trimEnd()),
      );
      const lines = [
        paint('bold', visible(directory)),
        ...shown,
        ...reasons.map((reason) => paint('red', `  ${reason}`)),
      ];
      process.stdout.write(`${lines.join('\n')}\n`);
    }
    return problems.length === 0 ? ExitCode.ok : ExitCode.failed;
  };
}

function summary(kind: ObjectKind, object: Located): { readonly status: string; readonly about: string } {
  const { problems } = kind === 'agent' ? inspectAgent(object) : inspectTool(object);
  const first = (file: string) => (readControlText(object, file) ?? '').split('\n')[0] ?? '';
  const about = first(kind === 'agent' ? 'label' : 'description');
  return { status: problems.length === 0 ? first('status') : 'broken', about };
}

function list(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const objects = listObjects(rootsOf(await hostOf()), kind).map((object) => ({
      ...object,
      ...summary(kind, object),
    }));
    if (call.flag('json')) {
      const rows = objects.map(({ name, tier, directory, status, about }) => ({
        name,
        tier,
        directory,
        status,
        about,
      }));
      printJson({ version: 1, kind, objects: rows });
      return ExitCode.ok;
    }
    const width = Math.max(0, ...objects.map(({ name }) => name.length));
    for (const { name, tier, status, about } of objects) {
      const line = `${name.padEnd(width)}  ${tier.padEnd(6)}  ${status.padEnd(8)}  ${visible(about)}`;
      process.stdout.write(`${line.trimEnd()}
`);
    }
    return ExitCode.ok;
  };
}

function givenText(call: Arguments, kind: ObjectKind): string {
  const [, , text] = call.words;
  const from = call.value('from');
  if ((text === undefined) === (from === undefined)) {
    throw new ErrnoError('EINVAL', { operation: `ctx ${kind} set`, reason: 'expected a TEXT, or --from FILE' });
  }
  if (from !== undefined) return inputText(from);
  return text === undefined || text === '' || text.endsWith('\n') ? (text ?? '') : `${text}\n`;
}

function checkWritable(kind: ObjectKind, name: string, file: string): void {
  const files = controlFiles(kind);
  const operation = `${kind} ${name}`;
  const control = Object.hasOwn(files, file) ? files[file] : undefined;
  if (control === undefined) {
    throw new ErrnoError('EINVAL', {
      operation,
      reason: `expected one of ${Object.keys(files).join(', ')}, got '${file}'`,
    });
  }
  if (control.writer === 'operator') return;
  const who =
    control.writer === 'maker'
      ? 'is written when it is made, and never changes'
      : 'is written by the process that runs it';
  throw new ErrnoError('EPERM', { operation, reason: `${file} ${who}` });
}

function set(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const host = await hostOf();
    const [name = '', file = ''] = call.words;
    const object = requireObject(rootsOf(host), kind, name);
    checkWritable(kind, name, file);
    const text = givenText(call, kind);
    const changed = new Map([[file, text]]);
    if (kind === 'tool') readTool(object, changed);
    else {
      const agent = readAgent(object, changed);
      if (agent.parent === undefined) assertOwnAgent(host, agent);
      else await assertWithinParent(host, agent);
    }
    recorded(host, `${kind}.set`, `${kind}/${name}`, { file }, () => writeControlText(object, file, text));
    return done(call, { kind, name, file }, `set ${file} of ${kind} ${name}`);
  };
}

function remove(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const host = await hostOf();
    const [name = ''] = call.words;
    const object = requireObject(rootsOf(host), kind, name);
    const children = kind === 'agent' ? childrenOf(rootsOf(host), name) : [];
    if (children.length > 0) {
      throw new ErrnoError('EBUSY', {
        operation: `agent ${name}`,
        reason: `it is the parent of ${children.join(', ')}, or they cannot be read`,
        remedy: `ctx agent rm ${children[0]}`,
      });
    }
    recorded(host, `${kind}.rm`, `${kind}/${name}`, { tier: object.tier }, () => removeObject(object));
    return done(call, { kind, name }, `removed ${kind} ${name}`);
  };
}

export function objectRuns(kind: ObjectKind): ObjectRuns {
  return { make: make(kind), show: show(kind), list: list(kind), set: set(kind), remove: remove(kind) };
}
