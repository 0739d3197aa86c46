/** Tools that are in no tier: those that every installation has, and those of sources. A file of the same name comes before them. */
import { type BuiltInTool, builtInTools } from '../../objects/built-in-tools.js';
import type { ObjectRoots } from '../../objects/layout.js';
import { findSource, listSources, sourceAndTool, ToolListFile } from '../../objects/source/source-store.js';
import { sourceToolName } from '../../objects/source/tool-list.js';

export interface ToolWithoutFiles {
  readonly name: string;
  readonly tier: 'built in' | 'source';
  /** What its control files would hold. */
  readonly files: Readonly<Record<string, string>>;
}

function builtIn({ name, description, input }: BuiltInTool): ToolWithoutFiles {
  return { name, tier: 'built in', files: { description, schema: JSON.stringify({ input }) } };
}

function ofSource(list: ToolListFile, source: string, tool: string): ToolWithoutFiles {
  const text = (part: 'description' | 'schema') => list.read(tool, part)?.toString('utf8') ?? '';
  const files = { description: text('description'), schema: text('schema'), origin: `mcp ${source} ${tool}` };
  return { name: sourceToolName(source, tool), tier: 'source', files };
}

export function toolsWithoutFiles(roots: ObjectRoots): readonly ToolWithoutFiles[] {
  const ofSources = listSources(roots).flatMap(({ name, directory }) => {
    const list = new ToolListFile(directory);
    return [...(list.index()?.tools.keys() ?? [])].map((tool) => ofSource(list, name, tool));
  });
  return [...builtInTools.map(builtIn), ...ofSources];
}

export function toolWithoutFiles(roots: ObjectRoots, name: string): ToolWithoutFiles | undefined {
  const own = builtInTools.find((tool) => tool.name === name);
  if (own !== undefined) return builtIn(own);
  const parts = sourceAndTool(name);
  const source = parts === undefined ? undefined : findSource(roots, parts.source);
  if (parts === undefined || source === undefined) return undefined;
  const list = new ToolListFile(source.directory);
  return list.index()?.tools.has(parts.tool) === true ? ofSource(list, parts.source, parts.tool) : undefined;
}
