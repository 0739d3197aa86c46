/** Calls of tools by their names, for a person: as an agent that may call it would, or as themselves. */
import { coach } from '../../authority/refusal.js';
import { ErrnoError } from '../../base/errno.js';
import { agentViewer } from '../../objects/projection/agent-viewer.js';
import type { ObjectPlace } from '../../objects/projection/catalogue.js';
import { personViewer } from '../../objects/projection/person-viewer.js';
import { searchedPlaces, seenTools, toolHit, verdictOnTool } from '../../objects/projection/visible.js';
import { wholeCatalogue } from '../../objects/projection/whole-catalogue.js';
import { parseObject } from '../../objects/small-formats.js';
import type { Host } from '../../proxy/host.js';

function hitOf(host: Host, agent: string | undefined, name: string) {
  const { uid, gid } = host;
  const catalogue = wholeCatalogue(host);
  const now = () => host.now().getTime();
  const viewing = agent === undefined ? personViewer({ uid, gid }, name, now) : agentViewer(host, agent, now);
  const viewer = viewing.viewer();
  const hit = toolHit(catalogue, viewer, name);
  if (hit === undefined) {
    throw new ErrnoError('ENOENT', {
      operation: `tool ${name}`,
      reason: `there is no executable tool of that name on ${agent === undefined ? 'your path' : `the path of agent ${agent}`}`,
      remedy: 'ctx tool new NAME --exec FILE makes one; ctx view mount shows what there is',
    });
  }
  return { catalogue, viewer, hit };
}

export interface CalledTool {
  /** Where the caller finds it. */
  readonly path: string;
  /** What it has by its cap file. */
  readonly cap: readonly string[];
}

/** ENOENT where the caller has none of that name, EACCES where it may not call it; that is recorded. */
export function calledTool(host: Host, agent: string | undefined, name: string): CalledTool {
  const { recorder } = host;
  const { catalogue, viewer, hit } = hitOf(host, agent, name);
  const verdict = verdictOnTool(viewer, name, hit);
  const reason = hit.problem ?? (verdict.allowed ? undefined : coach(verdict.reason));
  if (reason === undefined) {
    const cap = catalogue.control(hit.place, name, 'cap')?.read().toString('utf8') ?? '';
    return { path: `/ctx/${hit.place}/${name}`, cap: cap.split('\n').filter((line) => line.trim() !== '') };
  }
  const step = verdict.allowed ? 'object policy' : verdict.step;
  recorder.append({
    type: 'tool.call',
    object: `tool/${name}`,
    agent,
    status: 'denied',
    layer: 'guard',
    facts: { step, reason },
  });
  throw new ErrnoError('EACCES', { operation: `tool ${name}`, reason });
}

/** The inputs that its schema names as examples. EINVAL where the schema is wrong. */
export function toolExamples(host: Host, agent: string | undefined, name: string): readonly unknown[] {
  const { catalogue, hit } = hitOf(host, agent, name);
  const text = catalogue.control(hit.place, name, 'schema')?.read().toString('utf8');
  const { input } = text === undefined ? {} : parseObject(text, `${hit.place}/${name}.d/schema`);
  const { examples } = (typeof input === 'object' && input !== null ? input : {}) as { readonly examples?: unknown };
  return Array.isArray(examples) ? examples : [];
}

/** A tool as its caller finds it. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of what it takes, and of what it says where it says so. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: Readonly<Record<string, unknown>> | undefined;
}

const isSchema = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the agent may call, as its files and those of the tools say now. A schema that is wrong is left out: a call says what is. */
export function agentTools(host: Host, agent: string): readonly AgentTool[] {
  const catalogue = wholeCatalogue(host);
  const viewer = agentViewer(host, agent, () => host.now().getTime()).viewer();
  const textOf = (place: ObjectPlace, name: string, file: string) =>
    catalogue.control(place, name, file)?.read().toString('utf8');
  const schemasOf = (place: ObjectPlace, name: string) => {
    try {
      return parseObject(textOf(place, name, 'schema') ?? '{}', `${place}/${name}.d/schema`);
    } catch (error) {
      if (!(error instanceof ErrnoError)) throw error;
      return {};
    }
  };
  const found = searchedPlaces(catalogue, viewer).flatMap(({ place }) =>
    seenTools(catalogue, viewer, place).map((name): AgentTool => {
      const { input, output } = schemasOf(place, name) as { readonly input?: unknown; readonly output?: unknown };
      return {
        name,
        description: (textOf(place, name, 'description') ?? '').trim(),
        input: isSchema(input) ? input : {},
        output: isSchema(output) ? output : undefined,
      };
    }),
  );
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}
