/** What a kept jail is made with: its jail, its place in the fork's group, its control group, its network, its record. */
import { allOf } from '../base/turns.js';
import { type ControlGroup, makeGroup } from '../jail/cgroup.js';
import { keptPlan } from '../jail/plan.js';
import { ServedJail } from '../jail/serve.js';
import type { AgentView, AgentViewRequest } from '../proxy/agent-views.js';
import { agentViewFor, viewServer, withAgentView } from '../proxy/grants/agent-view.js';
import type { ResolvedAuthority } from '../proxy/grants/authority-of.js';
import { enforcedPlan } from '../proxy/grants/enforced-plan.js';
import { secretsFor } from '../proxy/grants/injected-secrets.js';
import { ownersOf } from '../proxy/grants/jail-identity.js';
import { serversOf, type TreeServers, withTrees } from '../proxy/grants/served-trees.js';
import type { Host, Place } from '../proxy/host.js';
import { heldCachesText } from '../proxy/report/held-caches.js';
import type { Permitted } from '../proxy/run/authority-for.js';
import type { EditsFollowed } from '../proxy/run/follow-edits.js';
import { mountsOf } from '../proxy/run/fork-mounts.js';
import { joinedFork, refuseOthers } from '../proxy/run/join-fork.js';
import { readyFork } from '../proxy/run/ready-fork.js';
import { type JailNetwork, networkFor } from '../proxy/run/run.js';
import { viewOf } from '../proxy/run/view.js';
import { rootKey, workspaceRoot } from '../vault/store/layout.js';
import { Member } from '../vault/store/member.js';
import { type KeptPlace, keepPlace, leavePlace } from '../vault/store/worker-file.js';
import type { OpenFork } from '../vault/vault.js';
import { KeptJailRecord } from './jail-record.js';
import type { KeptJailRequest } from './jail-request.js';

/** Goes with the kept jail. */
export interface Equipment {
  readonly jail: ServedJail;
  readonly kept: KeptPlace;
  readonly group: ControlGroup | undefined;
  readonly network: JailNetwork | undefined;
  /** Of the trees that its commands see. */
  readonly servers: TreeServers | undefined;
  /** What its agent sees at /ctx, in every command; one of the servers. */
  readonly view: AgentView | undefined;
  readonly record: KeptJailRecord;
  readonly resolved: ResolvedAuthority;
  readonly origin: string;
  readonly fork: string;
}

/** The fork while the jail has it mounted: while a command runs, or something that one left. */
export interface MountedFork {
  readonly fork: OpenFork;
  readonly member: Member;
  readonly isReadOnly: boolean;
  /** Its overlays are taken down, and its place in the group is still held. */
  isDown: boolean;
  /** Commands that run now. */
  readonly running: Set<{ readonly text: string }>;
  /** What the person edits meanwhile; undefined until a command has started. */
  followed?: EditsFollowed | undefined;
}

/** As far as there are any yet. */
interface Parts {
  readonly jail: ServedJail | undefined;
  readonly network: JailNetwork | undefined;
  readonly servers: TreeServers | undefined;
  readonly view: AgentView | undefined;
  /** The channels to the servers are the jail's. */
  readonly handedOver: boolean;
  readonly group: ControlGroup | undefined;
  readonly member: Member | undefined;
  readonly kept: KeptPlace | undefined;
}

/** Where a start failed: whatever is there already goes. */
export async function dismantle(parts: Parts): Promise<void> {
  const { jail, network, servers, view, handedOver, group, member, kept } = parts;
  await allOf(
    () => jail?.end(),
    () => servers?.end(handedOver),
    () => view?.end(),
    () => network?.end(),
    () => group?.remove(),
    () => member?.leave(),
    () => kept && leavePlace(kept),
  );
}

export interface EquipmentRequest {
  readonly host: Host;
  readonly id: string;
  readonly request: KeptJailRequest;
  readonly place: Place;
  readonly resolved: Permitted;
  /** Locked by the caller, which closes it. */
  readonly opened: OpenFork;
  /** How tools of its agent run commands. */
  readonly runs: Pick<AgentViewRequest, 'run' | 'runTool' | 'runServer' | 'pending'>;
}

/** The jail has the fork mounted, and nothing runs in it. */
export async function makeEquipment(asked: EquipmentRequest): Promise<[Equipment, MountedFork]> {
  const { host, id, request, place, resolved, opened, runs } = asked;
  const { authority } = resolved;
  const { origin } = place;
  const whole = { ...request, argv: ['ctx', 'jail'], streams: 'capture' } as const;
  const roots = [workspaceRoot, ...resolved.roots.map(rootKey)];
  let kept: KeptPlace | undefined;
  let member: Member | undefined;
  let group: ControlGroup | undefined;
  let network: JailNetwork | undefined;
  let servers: TreeServers | undefined;
  let view: AgentView | undefined;
  let handedOver = false;
  let jail: ServedJail | undefined;
  try {
    const owners = ownersOf(place, resolved);
    refuseOthers(opened, owners, false);
    const synced =
      opened.others.length === 0
        ? await readyFork(host, place, opened, resolved, whole)
        : await joinedFork(host, opened, resolved, whole);
    kept = await keepPlace(host.tree, opened.place);
    const checkpoint = synced.checkpoint ?? opened.others[0]?.checkpoint ?? null;
    const facts = { command: 'ctx jail start', roots, owners, checkpoint };
    member = await Member.enter(host.tree, opened.place, facts, opened.others, kept);
    const mounts = mountsOf(synced.fork, resolved.roots, { cache: request.cache });
    const offered = await agentViewFor(host, place, { ...resolved, tool: undefined }, runs);
    view = offered.view;
    const own = viewOf({ ...whole, host, place, resolved, mounts, agentHome: view?.home });
    const shown = withAgentView(withTrees(host, own, request.trees ?? []), view);
    const fork = opened.name;
    const record = new KeptJailRecord(host, { id, origin, vault: synced.fork.id, fork, resolved });
    const { privateHosts = [] } = request;
    const secrets = secretsFor(host, request.secrets);
    network = await networkFor({ authority, privateHosts, secrets, view: shown, onConnection: record.connections });
    group = makeGroup(authority.quota, host.lockLibrary);
    servers = await serversOf(shown, [...(request.trees ?? []), ...viewServer(view, shown, fork)])?.();
    const plan = enforcedPlan({ ...shown, jail: { ...shown.jail, controlGroups: group?.directories ?? [] } }, keptPlan);
    handedOver = true;
    jail = await ServedJail.make({
      program: host.jailProgram,
      plan,
      lockDescriptor: kept.descriptor,
      onServer: network?.onServer,
      channels: servers?.channels,
    });
    kept.jail = jail.pid;
    // Said now, and with the first command, which another process may run.
    const warnings = [...(opened.warnings ?? []), ...offered.warnings, ...heldCachesText(jail.heldCaches)];
    for (const text of warnings) host.warn?.(text);
    record.sayLater(warnings);
    const equipment = { jail, kept, group, network, servers, view, record, resolved, origin, fork };
    return [equipment, { fork: synced.fork, member, isReadOnly: false, isDown: false, running: new Set() }];
  } catch (error) {
    await dismantle({ jail, network, servers, view, handedOver, group, member, kept });
    throw error;
  }
}
