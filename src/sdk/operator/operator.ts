/**
 * What a person governs agents with, for a program that acts for that person: the store's vaults, rules, approvals,
 * agents and tools, and the record. It is apart from the workspace, which a program may hand to a model; this it must
 * not.
 */
import type { Host } from '../../proxy/host.js';
import { KeptJails } from '../workspace/kept-jails.js';
import { Agents } from './agents.js';
import { Approvals } from './approvals.js';
import { type Diagnosis, examine } from './doctor.js';
import { Profiles } from './harness.js';
import type { Living } from './living.js';
import { Objects } from './objects.js';
import { AuditRecord, type RecordOptions } from './record.js';
import { Rules } from './rules.js';
import { Secrets } from './secrets.js';
import { Sources } from './sources.js';
import type { Stopping } from './stopping.js';
import { Trust } from './trust.js';
import { Vaults } from './vaults.js';

export class Operator {
  readonly #host: Host;
  readonly vaults: Vaults;
  readonly rules: Rules;
  readonly approvals: Approvals;
  readonly agents: Agents;
  readonly tools: Objects;
  readonly profiles: Profiles;
  readonly keptJails: KeptJails;
  readonly secrets: Secrets;
  readonly sources: Sources;
  readonly trust: Trust;

  /** Callers of the package use `operate`. */
  constructor(host: Host) {
    this.#host = host;
    this.vaults = new Vaults(host);
    this.rules = new Rules(host);
    this.approvals = new Approvals(host);
    this.agents = new Agents(host);
    this.tools = new Objects(host, 'tool');
    this.profiles = new Profiles(host);
    this.keptJails = new KeptJails(host);
    this.secrets = new Secrets(host);
    this.sources = new Sources(host);
    this.trust = new Trust(host);
  }

  /** Of this host, or one that was exported; all of it, or what an agent may read. */
  record(options: RecordOptions = {}): AuditRecord {
    return new AuditRecord(this.#host, options);
  }

  /** What goes on running: commands, kept jails, mounts, MCP servers, background deletion; oldest first. */
  async running(): Promise<readonly Living[]> {
    return (await import('./living.js')).listLiving(this.#host);
  }

  /** Ends them by their process numbers, or all; each says why it goes on, where it does. */
  async stop(wanted: readonly number[] | 'all'): Promise<readonly Stopping[]> {
    return (await import('./stopping.js')).stopLiving(this.#host, wanted);
  }

  /** Can this host hold a jail, and what to do where it cannot. */
  doctor(): Promise<Diagnosis> {
    return examine(this.#host);
  }
}
