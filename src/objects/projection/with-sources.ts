/**
 * A catalogue with the tools of its sources, beside those that are files. An executable file of the same name comes first, and control
 * files that are there (`tool/mcp.NAME.TOOL.d/policy`) count, as for the tools that every installation has.
 */
import { join } from 'node:path';
import type { ObjectRoots } from '../layout.js';
import { readSource, sourceAndTool, sourceDirectory, sourceNames, ToolListFile } from '../source/source-store.js';
import { sourceToolName } from '../source/tool-list.js';
import type { Catalogue, ControlText, FoundObject, ObjectPlace } from './catalogue.js';

const executable = { uid: 0, gid: 0, mode: 0o755 };
const files = ['name', 'description', 'schema', 'cap', 'policy', 'status', 'log', 'origin'] as const;
type SourceControl = (typeof files)[number];

/** What a process that talks to the servers knows of one. */
export interface SourceStates {
  status(directory: string): string;
  /** Of one tool: events of calls, one a line. */
  log(name: string): string;
}

const quiet: SourceStates = { status: () => 'ready', log: () => '' };

function textOf(text: string, modified: bigint): ControlText {
  const bytes = Buffer.from(text);
  return { size: bytes.length, modified, read: () => bytes };
}

/** Root's for every user are in `tool` of the system's root, under the user's own. */
export function withSources(
  inner: Catalogue,
  { root, system }: Pick<ObjectRoots, 'root' | 'system'>,
  states: SourceStates = quiet,
): Catalogue {
  const rootsOf = (place: ObjectPlace) => (system === undefined || place.startsWith('home/') ? [root] : [root, system]);
  const lists = new Map<string, ToolListFile>();
  const listIn = (directory: string): ToolListFile => {
    const known = lists.get(directory);
    if (known !== undefined) return known;
    const list = new ToolListFile(directory);
    lists.set(directory, list);
    return list;
  };
  const located = (place: ObjectPlace, name: string) => {
    const parts = sourceAndTool(name);
    if (parts === undefined) return undefined;
    for (const from of rootsOf(place)) {
      const directory = sourceDirectory(join(from, place), parts.source);
      const list = listIn(directory);
      const index = list.index();
      const found = index?.tools.get(parts.tool);
      if (index !== undefined && found !== undefined) return { ...parts, directory, list, index, found };
      // A source of the user's own stands for the whole of it: no tool of another server comes in under its name.
      if (index !== undefined) return undefined;
    }
    return undefined;
  };
  const namesIn = (place: ObjectPlace) => {
    const known = new Set<string>();
    return rootsOf(place).flatMap((from) => {
      const tools = join(from, place);
      const sources = sourceNames(tools).filter((source) => !known.has(source));
      return sources.flatMap((source) => {
        known.add(source);
        const index = listIn(sourceDirectory(tools, source)).index();
        return [...(index?.tools.keys() ?? [])].map((tool) => sourceToolName(source, tool));
      });
    });
  };
  const both = (names: readonly string[], place: ObjectPlace) => [...new Set([...names, ...namesIn(place)])].sort();
  const control = (place: ObjectPlace, name: string, file: SourceControl): ControlText | undefined => {
    const at = located(place, name);
    if (at === undefined) return undefined;
    const { list, tool, source, directory, index, found } = at;
    const text = (content: string) => textOf(content, list.modified);
    const read = (part: 'description' | 'schema', size: number): ControlText => ({
      size,
      modified: list.modified,
      read: () => list.read(tool, part) ?? Buffer.alloc(0),
    });
    switch (file) {
      case 'name':
        return text(`${name}\n`);
      case 'description':
        return read('description', found.descriptionBytes);
      case 'schema':
        return read('schema', found.schemaBytes);
      case 'cap':
        return text(readSource(directory).cap);
      case 'policy':
        return undefined;
      case 'status':
        return text(`${states.status(directory)}\n`);
      case 'log':
        return text(states.log(name));
      case 'origin':
        return text(`mcp ${source} ${tool}\nserver ${index.server}\n`);
    }
  };
  return {
    ...inner,
    tools: (place) => both(inner.tools(place), place),
    tool: (place, name): FoundObject | undefined => {
      const own = inner.tool(place, name);
      const at = own === undefined ? located(place, name) : undefined;
      if (at === undefined) return own;
      const { policy, problem } = inner.policy(place, name);
      const facts = { exists: true, visible: true, file: executable, ...(policy === undefined ? {} : { policy }) };
      return { facts, problem, source: { name: at.source, tool: at.tool, directory: at.directory } };
    },
    described: (place) => both(inner.described(place), place),
    isDescribed: (place, name) => inner.isDescribed(place, name) || located(place, name) !== undefined,
    controls: (place, name) => {
      const own = inner.controls(place, name);
      return located(place, name) === undefined ? own : [...new Set([...files, ...own])];
    },
    control: (place, name, file) =>
      inner.control(place, name, file) ??
      (files.includes(file as SourceControl) ? control(place, name, file as SourceControl) : undefined),
  };
}
