/** `ctx agent` and `ctx tool`: make, show, list, change and remove. Each change is in the record before it happens. */
import { resolve } from 'node:path';
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { currentDirectory } from '../../sdk/current-directory.js';
import { type ObjectKind, Objects, parseSpec, type Tier } from '../../sdk/operator/objects.js';
import { askedToolGrants } from '../input/asked-tool-grants.js';
import { inputText } from '../input/input-text.js';
import { toolSpec } from '../input/tool-spec.js';
import { painter, print, printJson } from '../text/output.js';
import type { Arguments, Run } from '../verb.js';

export interface ObjectRuns {
  readonly make: Run;
  readonly show: Run;
  readonly list: Run;
  readonly set: Run;
  readonly remove: Run;
}

function done(call: Arguments, answer: Readonly<Record<string, unknown>>, text: string): number {
  if (call.flag('json')) printJson({ version: 1, ...answer });
  else print(`${painter(process.stdout)('green', text)}\n`);
  return ExitCode.ok;
}

function askedTool(call: Arguments) {
  const schema = call.value('schema');
  return toolSpec({
    description: call.value('description'),
    schema: schema === undefined ? undefined : { text: inputText(schema), file: schema },
    ...askedToolGrants(call),
  });
}

function make(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const objects = new Objects(await hostOf(), kind);
    const [name = ''] = call.words;
    const file = call.value('spec');
    const spec = file === undefined ? undefined : parseSpec(inputText(file), file);
    const program = call.value('exec');
    const { tier, directory } = await objects.make(name, {
      spec: kind === 'tool' ? { ...spec, ...askedTool(call) } : spec,
      program: program === undefined ? undefined : resolve(currentDirectory(), program),
      file,
      tier: call.value('tier') as Tier | undefined,
      parent: call.value('parent'),
      directory: currentDirectory(),
    });
    return done(call, { kind, name, tier, directory }, `made ${kind} ${name}`);
  };
}

function show(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const { name, tier, directory, files, problems } = new Objects(await hostOf(), kind).show(call.words[0] ?? '');
    if (call.flag('json')) printJson({ version: 1, kind, name, tier, directory, files, problems });
    else {
      const paint = painter(process.stdout);
      const shown = Object.entries(files).flatMap(([file, text]) =>
        text
          .trimEnd()
          .split('\n')
          .map((line, index) => `  ${paint('dim', (index === 0 ? file : '').padEnd(12))}${visible(line)}`.trimEnd()),
      );
      const lines = [
        paint('bold', directory === null ? `${visible(name)} (${tier})` : visible(directory)),
        ...shown,
        ...problems.map((reason) => paint('red', `  ${reason}`)),
      ];
      print(`${lines.join('\n')}\n`);
    }
    return problems.length === 0 ? ExitCode.ok : ExitCode.failed;
  };
}

function list(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const objects = new Objects(await hostOf(), kind).list();
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
      const line = `${name.padEnd(width)}  ${tier.padEnd(8)}  ${status.padEnd(8)}  ${visible(about)}`;
      print(`${line.trimEnd()}\n`);
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

function set(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const [name = '', file = ''] = call.words;
    const objects = new Objects(await hostOf(), kind);
    await objects.set(name, file, givenText(call, kind), currentDirectory());
    return done(call, { kind, name, file }, `set ${file} of ${kind} ${name}`);
  };
}

function remove(kind: ObjectKind): Run {
  return async (call, hostOf) => {
    const [name = ''] = call.words;
    await new Objects(await hostOf(), kind).remove(name);
    return done(call, { kind, name }, `removed ${kind} ${name}`);
  };
}

export function objectRuns(kind: ObjectKind): ObjectRuns {
  return { make: make(kind), show: show(kind), list: list(kind), set: set(kind), remove: remove(kind) };
}
