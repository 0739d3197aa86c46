/** A catalogue with the built-in tools in its system tier. Pure. */
import { type BuiltInTool, builtInTools } from '../built-in-tools.js';
import type { Catalogue, ControlText, FoundObject } from './catalogue.js';

const place = 'tool';
const executable = { uid: 0, gid: 0, mode: 0o755 };

function textOf(text: string): ControlText {
  const bytes = Buffer.from(text);
  return { size: bytes.length, modified: 0n, read: () => bytes };
}

function filesOf({ name, description, input }: BuiltInTool): ReadonlyMap<string, ControlText> {
  const files = {
    name: `${name}\n`,
    description: `${description}\n`,
    schema: `${JSON.stringify({ input })}\n`,
    cap: '',
    status: 'ready\n',
    log: '',
  };
  return new Map(Object.entries(files).map(([file, text]) => [file, textOf(text)]));
}

const builtIns = new Map(builtInTools.map((tool) => [tool.name, filesOf(tool)]));

export function isBuiltIn(name: string): boolean {
  return builtIns.has(name);
}

export function withBuiltIns(inner: Catalogue): Catalogue {
  const both = (names: readonly string[]) => [...new Set([...names, ...builtIns.keys()])].sort();
  return {
    ...inner,
    tools: (at) => (at === place ? both(inner.tools(at)) : inner.tools(at)),
    tool: (at, name): FoundObject | undefined => {
      const found = inner.tool(at, name);
      if (found !== undefined || at !== place || !builtIns.has(name)) return found;
      const { policy, problem } = inner.policy(at, name);
      const facts = { exists: true, visible: true, file: executable, ...(policy === undefined ? {} : { policy }) };
      return { facts, problem, builtIn: true };
    },
    described: (at) => (at === place ? both(inner.described(at)) : inner.described(at)),
    isDescribed: (at, name) => inner.isDescribed(at, name) || (at === place && builtIns.has(name)),
    controls: (at, name) => {
      const own = inner.controls(at, name);
      const given = at === place ? builtIns.get(name) : undefined;
      return given === undefined ? own : [...new Set([...given.keys(), ...own])];
    },
    control: (at, name, file) =>
      inner.control(at, name, file) ?? (at === place ? builtIns.get(name)?.get(file) : undefined),
  };
}
