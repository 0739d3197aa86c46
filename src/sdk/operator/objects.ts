/**
 * Agents and tools, which are directories of small files: `ctx agent`, `ctx tool`. No one gives away what they do not
 * have, and each change is in the record before it happens.
 */
import { parseObjectName } from '../../authority/name.js';
import { ErrnoError } from '../../base/errno.js';
import { agentFrom, agentNamed, childrenOf, inspectAgent, readAgent } from '../../objects/agent.js';
import { agentFiles, controlFiles, toolFiles } from '../../objects/control-file.js';
import type { ObjectKind, ObjectRoots, Tier } from '../../objects/layout.js';
import {
  findObject,
  installProgram,
  type LocatedObject,
  listObjects,
  makeObject,
  readControlText,
  removeObject,
  requireObject,
  writeControlText,
} from '../../objects/object-store.js';
import { readValues, wholeValues } from '../../objects/read-values.js';
import { agentTexts, parseSpec, type Spec, toolTexts } from '../../objects/spec.js';
import { inspectTool, readTool, toolFrom } from '../../objects/tool.js';
import { agentHomeDirectory, removeAgentHome } from '../../proxy/grants/agent-home.js';
import type { Host } from '../../proxy/host.js';
import { recordedRefusal } from '../../proxy/report/recorded-refusal.js';
import { makeSystemObjects } from '../../vault/store/store-place.js';
import { whileChanging } from '../../workspace/changing-objects.js';
import { type RecordedVerb, recordedAct } from '../../workspace/recorded-verb.js';
import { currentDirectory } from '../current-directory.js';
import { assertMayCreate, assertOwnAgent, assertWithinParent } from './agent-creation.js';
import { recordedFiles, recordedText } from './recorded-files.js';
import { type ToolWithoutFiles, toolsWithoutFiles, toolWithoutFiles } from './tools-without-files.js';

export { type LocatedObject, type ObjectKind, parseSpec, type Spec, type Tier };

export interface NewObject {
  /** The files it is to have; what it does not name is as for every new one. */
  readonly spec?: Spec | undefined;
  /** Where the specification comes from, for messages. */
  readonly file?: string | undefined;
  readonly tier?: Tier | undefined;
  /** Of a tool: the file that is copied and run where it is called. */
  readonly program?: string | undefined;
  /** Of an agent: the one that makes it, which can only give away what it has. */
  readonly parent?: string | undefined;
  /** Of a child: where its reach is compared with its parent's; without one, where this process is. */
  readonly directory?: string | undefined;
}

type Allowed = () => Promise<void> | void;

/** Who it is where it is not the operator, for the record, and whether they may. */
export interface OtherWriter {
  /** By its name: what it does is in its own chain. */
  readonly agent?: string | undefined;
  readonly allowed?: Allowed | undefined;
}

/** Where it is: a tool that is in no tier has no directory. */
type Standing = Pick<LocatedObject, 'kind' | 'name'> & {
  readonly tier: Tier | ToolWithoutFiles['tier'];
  readonly directory: string | null;
};

export interface ShownObject extends Standing {
  /** Its control files by their names. */
  readonly files: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

export interface ListedObject extends Standing {
  /** `broken` where one of its files is wrong. */
  readonly status: string;
  /** The label of an agent, the description of a tool. */
  readonly about: string;
}

const firstLine = (text: string): string => text.split('\n')[0] ?? '';

export class Objects {
  readonly #host: Host;
  readonly #kind: ObjectKind;

  constructor(host: Host, kind: ObjectKind) {
    this.#host = host;
    this.#kind = kind;
  }

  get #roots(): ObjectRoots {
    const { root, uid, system } = this.#host;
    return { root, uid, system };
  }

  #verb(verb: string, name: string, facts: RecordedVerb['facts'], agent?: string): RecordedVerb {
    const about = { type: `${this.#kind}.${verb}`, object: `${this.#kind}/${name}` };
    return agent === undefined ? { ...about, facts } : { ...about, agent, facts: { ...facts, by: `agent:${agent}` } };
  }

  #problems(object: LocatedObject): readonly string[] {
    const { problems } = this.#kind === 'agent' ? inspectAgent(object) : inspectTool(object);
    return problems.map(({ reason }) => reason);
  }

  async #agentTexts(
    name: string,
    given: NewObject,
    verb: (texts: ReadonlyMap<string, string>) => RecordedVerb,
  ): Promise<ReadonlyMap<string, string>> {
    const { spec = {}, file = name, directory = currentDirectory() } = given;
    const { uid, gid } = this.#host;
    const parent = given.parent === undefined ? undefined : agentNamed(this.#roots, given.parent);
    const texts = agentTexts(name, spec, { uid, gid, parent });
    const read = readValues(
      agentFiles,
      (each) => texts.get(each),
      (each) => `${file}#${each}`,
    );
    const agent = agentFrom(name, '', wholeValues(read, `agent ${name}`)); // is nowhere yet
    await recordedRefusal(
      this.#host,
      () => verb(texts),
      () =>
        parent === undefined
          ? assertOwnAgent(this.#host, agent)
          : assertMayCreate(this.#host, parent, agent, directory),
    );
    return texts;
  }

  #toolTexts(name: string, { spec = {}, file = name }: NewObject): ReadonlyMap<string, string> {
    const texts = toolTexts(name, spec);
    const read = readValues(
      toolFiles,
      (each) => texts.get(each),
      (each) => `${file}#${each}`,
    );
    toolFrom(name, wholeValues(read, `tool ${name}`), texts.has('policy'));
    return texts;
  }

  /** `allowed` is asked first, while nobody else changes objects. */
  make(name: string, given: NewObject = {}, other: OtherWriter = {}): Promise<LocatedObject> {
    return whileChanging(this.#host, async () => {
      await other.allowed?.();
      return this.#make(name, given, other.agent);
    });
  }

  async #make(name: string, given: NewObject, by: string | undefined): Promise<LocatedObject> {
    const { tier = 'system', parent } = given;
    parseObjectName(name);
    const facts = { tier, ...(parent === undefined ? {} : { parent }) };
    const verb = (files: ReadonlyMap<string, string>) =>
      this.#verb('new', name, { ...facts, files: recordedFiles(files) }, by);
    const texts = this.#kind === 'agent' ? await this.#agentTexts(name, given, verb) : this.#toolTexts(name, given);
    const { program } = given;
    return recordedAct(this.#host, verb(texts), () => {
      makeSystemObjects(this.#host.root, this.#kind);
      const made = makeObject(this.#roots, tier, this.#kind, name, texts);
      try {
        if (program !== undefined) installProgram(made, program);
      } catch (error) {
        removeObject(made);
        throw error;
      }
      return made;
    });
  }

  /** ENOENT where there is none of that name. */
  show(name: string): ShownObject {
    const isFile = this.#kind === 'agent' || findObject(this.#roots, this.#kind, name) !== undefined;
    const other = isFile ? undefined : toolWithoutFiles(this.#roots, name);
    if (other !== undefined) return { ...other, kind: this.#kind, directory: null, problems: [] };
    const object = requireObject(this.#roots, this.#kind, name);
    const names = Object.keys(controlFiles(this.#kind)).filter((file) => file !== 'log');
    const files = Object.fromEntries(names.map((file) => [file, readControlText(object, file) ?? '']));
    return { ...object, files, problems: this.#problems(object) };
  }

  /** Those with files first; of tools, the built-in ones and those of sources behind them. */
  list(): readonly ListedObject[] {
    const own = listObjects(this.#roots, this.#kind).map((object): ListedObject => {
      const first = (file: string) => firstLine(readControlText(object, file) ?? '');
      const status = this.#problems(object).length === 0 ? first('status') : 'broken';
      return { ...object, status, about: first(this.#kind === 'agent' ? 'label' : 'description') };
    });
    if (this.#kind === 'agent') return own;
    const names = new Set(own.map(({ name }) => name));
    const others = toolsWithoutFiles(this.#roots).filter(({ name }) => !names.has(name));
    const listed = others.map(({ name, tier, files }): ListedObject => {
      const about = firstLine(files['description'] ?? '');
      return { kind: 'tool', name, tier, directory: null, status: 'ready', about };
    });
    return [...own, ...listed];
  }

  #checkWritable(name: string, file: string): void {
    const files = controlFiles(this.#kind);
    const operation = `${this.#kind} ${name}`;
    const control = Object.hasOwn(files, file) ? files[file] : undefined;
    if (control === undefined) {
      const reason = `expected one of ${Object.keys(files).join(', ')}, got '${file}'`;
      throw new ErrnoError('EINVAL', { operation, reason });
    }
    if (control.writer === 'operator') return;
    const writers = {
      maker: 'is written when it is made, and never changes',
      supervisor: 'is written by ctx agent grant and ctx agent revoke',
      process: 'is written by the process that runs it',
    } as const;
    const who = writers[control.writer];
    throw new ErrnoError('EPERM', { operation, reason: `${file} ${who}` });
  }

  /** Writes one of its files, where what comes out is whole and within what its maker has. `other`: where that is not the operator. */
  set(
    name: string,
    file: string,
    text: string,
    directory = currentDirectory(),
    other: OtherWriter = {},
  ): Promise<void> {
    return whileChanging(this.#host, async () => {
      await other.allowed?.();
      await this.#set(name, file, text, directory, other.agent);
    });
  }

  async #set(name: string, file: string, text: string, directory: string, by: string | undefined): Promise<void> {
    const object = requireObject(this.#roots, this.#kind, name);
    this.#checkWritable(name, file);
    const was = recordedText(readControlText(object, file) ?? '');
    const verb = this.#verb('set', name, { file, was, is: recordedText(text) }, by);
    const changed = new Map([[file, text]]);
    if (this.#kind === 'tool') readTool(object, changed);
    else {
      const agent = readAgent(object, changed);
      await recordedRefusal(
        this.#host,
        () => verb,
        () =>
          agent.parent === undefined
            ? assertOwnAgent(this.#host, agent)
            : assertWithinParent(this.#host, agent, directory),
      );
    }
    recordedAct(this.#host, verb, () => writeControlText(object, file, text));
  }

  /** EBUSY where it is the parent of others. */
  remove(name: string): Promise<void> {
    return whileChanging(this.#host, () => this.#remove(name));
  }

  #remove(name: string): void {
    const object = requireObject(this.#roots, this.#kind, name);
    const children = this.#kind === 'agent' ? childrenOf(this.#roots, name) : [];
    if (children.length > 0) {
      throw new ErrnoError('EBUSY', {
        operation: `agent ${name}`,
        reason: `it has children, or agents whose parent cannot be read: ${children.join(', ')}`,
        remedy: `remove them first: ctx agent rm ${children[0]}`,
      });
    }
    const { root } = this.#host;
    const uid = this.#kind === 'agent' ? inspectAgent(object).values.uid : undefined;
    recordedAct(this.#host, this.#verb('rm', name, { tier: object.tier }), () => {
      removeObject(object);
      if (uid !== undefined) removeAgentHome(this.#host, agentHomeDirectory(root, uid, name));
    });
  }
}
