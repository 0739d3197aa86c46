/**
 * A catalogue in which every tool and model has each of its control files: what is not there is shown as what it counts as. Decisions do
 * not read these: an absent policy stays one. Pure.
 */
import { type Catalogue, type ControlText, kindOf, type ObjectPlace } from './catalogue.js';

const noPolicy = '# no policy of its own: the policies of agents decide\n';

function absentText(place: ObjectPlace, name: string, file: string): string | undefined {
  const kind = kindOf(place);
  const either: Readonly<Record<string, string>> = { name: `${name}\n`, description: '', policy: noPolicy, log: '' };
  if (kind === 'tool') return { ...either, schema: '{}\n', cap: '', status: 'ready\n' }[file];
  // None is served yet.
  return kind === 'model' ? { ...either, status: 'dead\n', 'meta.json': '{}\n' }[file] : undefined;
}

const whole = {
  tool: ['name', 'description', 'schema', 'cap', 'policy', 'status', 'log'],
  model: ['name', 'description', 'policy', 'status', 'log', 'meta.json'],
  agent: [],
} as const;

function textOf(text: string): ControlText {
  const bytes = Buffer.from(text);
  return { size: bytes.length, modified: 0n, read: () => bytes };
}

export function withWholeControls(inner: Catalogue): Catalogue {
  return {
    ...inner,
    controls: (place, name) => [...new Set([...whole[kindOf(place)], ...inner.controls(place, name)])],
    control: (place, name, file) => {
      const text = inner.control(place, name, file);
      const absent = text === undefined ? absentText(place, name, file) : undefined;
      return absent === undefined ? text : textOf(absent);
    },
  };
}
