/**
 * Agents, and what a person grants them as their supervisor: a child may then have what its parent has not. Each such grant
 * names one thing, stands in the child's `supervised` file with who gave it, and is in the record.
 */
import { resolve } from 'node:path';
import { contains } from '../../authority/absolute-path.js';
import type { Agent } from '../../authority/agent.js';
import { type Excess, excessFact, isGrantable } from '../../authority/excess.js';
import { parseHostPort } from '../../authority/network.js';
import { printGrant } from '../../authority/permission.js';
import { makePolicy } from '../../authority/policy.js';
import type { Json } from '../../base/canonical-json.js';
import { canonicalPath } from '../../base/canonical-path.js';
import { ErrnoError } from '../../base/errno.js';
import { readAgent } from '../../objects/agent.js';
import {
  type AgentGrant,
  type ChangedTexts,
  grantedTexts,
  isAbout,
  printAgentGrant,
  revokedTexts,
} from '../../objects/granted-texts.js';
import { type LocatedObject, readControlText, requireObject, writeControlText } from '../../objects/object-store.js';
import { printSupervised } from '../../objects/supervised.js';
import { excessOf } from '../../proxy/grants/line-authority.js';
import { checkedPlace } from '../../proxy/grants/surface-at.js';
import type { Host } from '../../proxy/host.js';
import { recordedRefusal } from '../../proxy/report/recorded-refusal.js';
import { whileChanging } from '../../workspace/changing-objects.js';
import { type RecordedVerb, recordedAct } from '../../workspace/recorded-verb.js';
import { currentDirectory } from '../current-directory.js';
import { assertOwnAgent, assertWithinParent } from './agent-creation.js';
import { Objects } from './objects.js';
import { recordedFiles } from './recorded-files.js';

export type { AgentGrant };
export { printAgentGrant };

export interface ChangedAgent {
  /** Control files that were changed; none where there was nothing to do. */
  readonly files: readonly string[];
  /** What it has beyond its parent by this grant, in words. */
  readonly beyond: readonly string[];
}

const nothing: ChangedAgent = Object.freeze({ files: [], beyond: [] });

export class Agents extends Objects {
  readonly #host: Host;

  constructor(host: Host) {
    super(host, 'agent');
    this.#host = host;
  }

  /** Gives an agent one thing more; a child also what its parent has not. `directory`: where its reach is compared. */
  grant(name: string, grant: AgentGrant, directory = currentDirectory()): Promise<ChangedAgent> {
    return whileChanging(this.#host, () => this.#grant(name, grant, directory));
  }

  async #grant(name: string, grant: AgentGrant, directory: string): Promise<ChangedAgent> {
    const object = this.#found(name);
    const agent = readAgent(object);
    const textOf = (file: string) => readControlText(object, file) ?? '';
    const checked = this.#checked(grant);
    const changed = grantedTexts(agent, textOf, checked);
    if (changed.size === 0) return nothing;
    const verb = this.#verb('grant', name, checked, changed);
    const given = await recordedRefusal(
      this.#host,
      () => verb,
      () => this.#excessesOf(agent, readAgent(object, changed), directory),
    );
    // Before what they allow: alone they change nothing.
    const supervised = `${textOf('supervised')}${printSupervised(given.map((excess) => ({ by: this.#by, excess })))}`;
    const texts = given.length === 0 ? changed : new Map([['supervised', supervised], ...changed]);
    const beyond = given.map((excess): Json => ({ ...excess }));
    this.#write(object, { ...verb, facts: { ...verb.facts, beyond } }, texts);
    return { files: [...changed.keys()], beyond: given.map(excessFact) };
  }

  /** Takes it away again, and what was granted as a supervisor for it. */
  revoke(name: string, grant: AgentGrant): Promise<ChangedAgent> {
    return whileChanging(this.#host, () => this.#revoke(name, grant));
  }

  #revoke(name: string, grant: AgentGrant): ChangedAgent {
    const object = this.#found(name);
    const agent = readAgent(object);
    const checked = this.#checked(grant, resolve);
    const changed = new Map(revokedTexts(agent, (file) => readControlText(object, file) ?? '', checked));
    const { policy, identity } = readAgent(object, changed);
    const rules = new Set(policy.rules.filter(({ subject }) => subject === identity.label.type).map(printGrant));
    const kept = agent.supervised.filter(
      (each) => !isAbout(each, checked) && (each.excess.kind !== 'permission' || rules.has(each.excess.rule)),
    );
    if (kept.length < agent.supervised.length) changed.set('supervised', printSupervised(kept));
    if (changed.size === 0) return nothing;
    this.#write(object, this.#verb('revoke', name, checked, changed), changed);
    return { files: [...changed.keys()], beyond: [] };
  }

  get #by(): string {
    return `operator:${this.#host.uid}`;
  }

  /**
   * As control files have it: a path that is there and canonical, a host in its canonical form. What was granted and is gone since can
   * be taken back all the same: `gone` says by which name.
   */
  #checked(grant: AgentGrant, gone?: (path: string) => string): AgentGrant {
    if (grant.kind === 'connect') return { kind: 'connect', host: parseHostPort(grant.host) };
    if (grant.kind === 'permission') {
      makePolicy('', [{ subject: 'any_t', ...grant }]);
      return grant;
    }
    if (grant.kind === 'group') return grant;
    const fail = (reason: string): never => {
      throw new ErrnoError('EINVAL', { operation: gone === undefined ? 'grant' : 'revoke', path: grant.path, reason });
    };
    if (!grant.path.startsWith('/')) fail('expected an absolute path');
    const path = canonicalPath(grant.path) ?? gone?.(grant.path) ?? fail('there is no such path');
    if (this.#host.hidden.some((hidden) => contains(hidden, path))) fail('ctx keeps its own files there');
    return { kind: grant.kind, path: checkedPlace(path, 'a path that is granted') };
  }

  #found(name: string): LocatedObject {
    return requireObject(this.#host, 'agent', name);
  }

  #verb(verb: 'grant' | 'revoke', name: string, grant: AgentGrant, changed: ChangedTexts): RecordedVerb {
    const facts = { what: printAgentGrant(grant), by: this.#by, files: recordedFiles(changed) };
    return { type: `agent.${verb}`, object: `agent/${name}`, facts };
  }

  /** What the changed agent asks for beyond its parent. One that asks for too much already is refused: that was not granted. */
  async #excessesOf(agent: Agent, wanted: Agent, directory: string): Promise<readonly Excess[]> {
    if (agent.parent === undefined) {
      assertOwnAgent(this.#host, wanted);
      return [];
    }
    await assertWithinParent(this.#host, agent, directory);
    try {
      await assertWithinParent(this.#host, wanted, directory);
      return [];
    } catch (error) {
      const beyond = excessOf(error);
      if (beyond?.agent === agent.name && beyond.excesses.every(isGrantable)) return beyond.excesses;
      throw error;
    }
  }

  #write(object: LocatedObject, verb: RecordedVerb, texts: ChangedTexts): void {
    recordedAct(this.#host, verb, () => {
      for (const [file, text] of texts) writeControlText(object, file, text);
    });
  }
}
