/**
 * One command of a kept jail in a jail of its own, on the same fork: where it was granted a network that the kept jail has not, or
 * runs read-only beside commands that write. In the kept jail whatever earlier commands left running could use that grant, too.
 */

import { allOf } from '../base/turns.js';
import { keptPlan } from '../jail/plan.js';
import { ServedJail } from '../jail/serve.js';
import { enforcedPlan } from '../proxy/grants/enforced-plan.js';
import type { SecretsFor } from '../proxy/grants/injected-secrets.js';
import type { TreeServers } from '../proxy/grants/served-trees.js';
import { type JailRun, networkFor } from '../proxy/run/run.js';
import { type KeptRunRequest, runKept } from './run-kept.js';

export interface ApartInJail extends Omit<KeptRunRequest, 'jail' | 'network'> {
  readonly program: string;
  readonly privateHosts: readonly string[];
  readonly secrets: SecretsFor;
  readonly lockDescriptor?: number | undefined;
  /** Of its agent's view. */
  readonly servers?: (() => Promise<TreeServers>) | undefined;
}

export const ranApart =
  'it ran in a jail of its own, for the network that was granted to it: what it left running was ended with it';
export const readApart =
  'it ran in a jail of its own, read-only beside commands that write, or the other way round: what it left running was ended with it';

/** When this returns or throws, nothing is left mounted. */
export async function runApart(request: ApartInJail): Promise<JailRun> {
  const { view, program, group, lockDescriptor } = request;
  // That of the kept jail, so that its limits hold for both together.
  const controlGroups = group?.directories ?? [];
  const network = await networkFor(request);
  let servers: TreeServers | undefined;
  let areHandedOver = false;
  try {
    servers = await request.servers?.();
    const plan = enforcedPlan({ ...view, jail: { ...view.jail, controlGroups } }, keptPlan);
    areHandedOver = true;
    const jail = await ServedJail.make({
      program,
      plan,
      lockDescriptor,
      onServer: network?.onServer,
      channels: servers?.channels,
    });
    try {
      const ran = await runKept({ ...request, jail, network });
      return { ...ran, outcome: { ...ran.outcome, heldCaches: jail.heldCaches } };
    } finally {
      await jail.end();
    }
  } finally {
    await allOf(
      () => servers?.end(areHandedOver),
      () => network?.end(),
    );
  }
}
