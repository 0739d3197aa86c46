/**
 * One launch and all that goes with it: the control group that holds its limits, the network it is granted, the clock. When
 * this returns or throws, all of it is gone.
 */

import type { Server } from 'node:net';
import type { Authority } from '../../authority/authority.js';
import type { Starter } from '../../base/starter.js';
import { allOf } from '../../base/turns.js';
import { makeGroup } from '../../jail/cgroup.js';
import type { OutputListener } from '../../jail/command-streams.js';
import { type Launch, launch, type RunningJail } from '../../jail/launch.js';
import { canLaunchAtOnce, launchAtOnce } from '../../jail/launch-at-once.js';
import type { BesideAsker } from '../../jail/launch-request.js';
import { jailPlan, openPlan } from '../../jail/plan.js';
import type { Outcome } from '../../jail/report.js';
import type { ConnectionEvent } from '../../network/events.js';
import type { NetworkProxy } from '../../network/proxy.js';
import { type EnforcedView, enforcedPlan, temporaryOf } from '../grants/enforced-plan.js';
import type { SecretsFor } from '../grants/injected-secrets.js';
import type { TreeServers } from '../grants/served-trees.js';
import { capturedStreams } from '../report/captured-output.js';
import { type ConnectionListener, ConnectionRouter } from '../report/connection-records.js';
import type { CapturedStream, LimitError } from '../report/envelope.js';
import type { LimitEvents } from '../report/limit-events.js';
import { type LimitsByOutcome, limitsByOutcome, withTimeout } from './time-limit.js';
import { type LimitWatch, type VaultWatch, watchLimits } from './watch-limits.js';

export interface RunRequest {
  readonly program: string;
  readonly starter?: Starter | undefined;
  /** Path of `flock.node`. */
  readonly lockLibrary: string;
  readonly view: EnforcedView;
  readonly authority: Authority;
  /** `host:port` the operator lets it reach although they are not public. */
  readonly privateHosts: readonly string[];
  /** What the proxy adds to its requests. */
  readonly secrets: SecretsFor;
  readonly streams: 'inherit' | 'capture';
  /** What the command reads: this process's stdin, unless it is to read nothing. */
  readonly input?: 'inherit' | 'nothing' | number | undefined;
  /** Where output goes that a report has no room for: `.stdout` and `.stderr` are added. */
  readonly outputs: string;
  readonly onOutput?: OutputListener | undefined;
  readonly keepsNoOutput?: boolean | undefined;
  readonly timeoutMilliseconds?: number | undefined;
  /** Told as thresholds of limits are reached. */
  readonly events: LimitEvents;
  readonly onConnection: ConnectionListener;
  /** Path of the native tree program, and the directories that a limit of disk or files counts. */
  readonly treeProgram: string;
  readonly counted: readonly string[];
  readonly vault?: VaultWatch | undefined;
  /** Servers of the trees that the view has, which end with the jail. */
  readonly servers?: (() => Promise<TreeServers>) | undefined;
  readonly lockDescriptor?: number;
  /** Asks the jail for commands beside this one. */
  readonly beside?: BesideAsker | undefined;
  readonly onStarted?: ((jail: RunningJail) => void) | undefined;
}

export interface JailRun {
  readonly outcome: Outcome;
  readonly timedOut: boolean;
  readonly durationMilliseconds: number;
  /** Null when the streams were passed through. */
  readonly stdout: CapturedStream | null;
  readonly stderr: CapturedStream | null;
  readonly connections: readonly ConnectionEvent[];
  /** Limits that were hit, in words. */
  readonly limitsReached: readonly string[];
  /** Why the run failed, however the command ended: what it may write was not enough for it. */
  readonly limitError?: LimitError | undefined;
}

type NetworkRequest = Pick<RunRequest, 'authority' | 'privateHosts' | 'secrets' | 'view' | 'onConnection'>;

export interface JailNetwork {
  onServer(server: Server): void;
  /** So far. */
  connections(): readonly ConnectionEvent[];
  /** Connections are this listener's, until what is returned is called. */
  attribute(command: ConnectionListener): () => void;
  end(): Promise<readonly ConnectionEvent[]>;
}

/** Loaded only where a network is granted: most commands have none. */
export async function networkFor(request: NetworkRequest): Promise<JailNetwork | undefined> {
  const { authority, privateHosts, view } = request;
  if (view.jail.proxyPort === undefined) return undefined;
  const { startNetworkProxy } = await import('../../network/proxy.js');
  const ended = new AbortController();
  const secrets = await request.secrets(ended.signal);
  const { rootCertificates } = await import('node:tls');
  const { certificates: own = [] } = view;
  const certificates = own.length === 0 ? {} : { certificates: [...rootCertificates, ...own] };
  const router = new ConnectionRouter(request.onConnection);
  let proxy: NetworkProxy | undefined;
  return {
    onServer: (server) => {
      // The end of a quick command may be known before its listener arrives: no one would stop a proxy that is started then.
      if (ended.signal.aborted) return void server.close();
      proxy = startNetworkProxy({
        server,
        grant: authority.network,
        privateHosts,
        secrets,
        ...certificates,
        onOpened: (event) => router.opened(event),
        onEvent: (event) => router.ended(event),
      });
    },
    connections: () => proxy?.connections() ?? [],
    attribute: (command) => {
      proxy?.flush();
      const leave = router.attribute(command);
      return () => {
        proxy?.flush();
        leave();
      };
    },
    end: async () => {
      ended.abort();
      await proxy?.stop();
      return proxy?.connections() ?? [];
    },
  };
}

function endingWith(jail: RunningJail, servers: TreeServers): RunningJail {
  const kill = () => {
    servers.jailKilled();
    jail.kill();
  };
  return { ...jail, kill };
}

/** What the fork may hold is an error where it is not enough; what the kernel holds is the command's own to deal with. */
export function limitsOf(
  heldByGroup: readonly string[],
  reached: readonly string[],
  { beyond, held }: LimitsByOutcome,
): Pick<JailRun, 'limitsReached' | 'limitError'> {
  const [reason] = [...reached, ...beyond];
  // A control group has counted what looks from outside only guess.
  const limitOf = (text: string) => text.slice(0, text.indexOf(':'));
  const counted = new Set(heldByGroup.map(limitOf));
  return {
    limitsReached: [...heldByGroup, ...reached, ...beyond, ...held.filter((text) => !counted.has(limitOf(text)))],
    ...(reason === undefined ? {} : { limitError: { code: 'EDQUOT', reason } }),
  };
}

export async function runInJail(request: RunRequest): Promise<JailRun> {
  const { view, authority } = request;
  const captured = request.streams === 'capture';
  const streams = capturedStreams(request.outputs);
  const network = await networkFor(request);
  const group = makeGroup(authority.quota, request.lockLibrary);
  const start = process.hrtime.bigint();
  let connections: readonly ConnectionEvent[] = [];
  let heldByGroup: readonly string[] = [];
  let ended: [Outcome, boolean];
  let jail: RunningJail | undefined;
  let watch: LimitWatch | undefined;
  let servers: TreeServers | undefined;
  let areHandedOver = false;
  try {
    servers = await request.servers?.();
    watch = await watchLimits({
      quota: authority.quota,
      events: request.events,
      group,
      treeProgram: request.treeProgram,
      roots: request.counted,
      vault: request.vault,
      temporary: temporaryOf(view),
      end: () => jail?.kill(),
    });
    const { starter } = request;
    const asked: Launch = {
      program: request.program,
      plan: enforcedPlan(
        { ...view, jail: { ...view.jail, controlGroups: group?.directories ?? [] } },
        request.beside === undefined ? jailPlan : openPlan,
      ),
      streams: request.streams,
      input: request.input ?? 'inherit',
      onOutput: (stream, chunk) => {
        if (request.keepsNoOutput !== true) streams[stream].add(chunk);
        return request.onOutput?.(stream, chunk);
      },
      onHeld: watch.held,
      channels: servers?.channels,
      beside: request.beside,
      ...(request.lockDescriptor === undefined ? {} : { lockDescriptor: request.lockDescriptor }),
      ...(network === undefined ? {} : { onServer: network.onServer }),
    };
    // A launch closes what it is given of them, also where it fails: their numbers may be another's by then.
    areHandedOver = true;
    const launched = starter !== undefined && canLaunchAtOnce(asked) ? launchAtOnce(asked, starter) : launch(asked);
    jail = servers === undefined ? launched : endingWith(launched, servers);
    request.onStarted?.(jail);
    ended = await withTimeout(jail, request.timeoutMilliseconds, request.events);
  } finally {
    await allOf(
      () => servers?.end(areHandedOver),
      async () => {
        connections = (await network?.end()) ?? [];
      },
      () => watch?.stop(),
      () => {
        heldByGroup = group?.events() ?? [];
      },
      () => group?.remove(),
      () => streams.stdout.close(),
      () => streams.stderr.close(),
    );
  }
  const [outcome, timedOut] = ended;
  return {
    outcome,
    timedOut,
    durationMilliseconds: Number(process.hrtime.bigint() - start) / 1e6,
    stdout: captured ? streams.stdout.finish() : null,
    stderr: captured ? streams.stderr.finish() : null,
    connections,
    ...limitsOf(heldByGroup, watch.reached, limitsByOutcome(outcome, authority, request.events)),
  };
}
