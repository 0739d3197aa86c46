/** Records of the trunk's steps: which paths each changed. One that is lost is made up for by comparing layers (`trunk`). */
import { readWholeJson, writeFileAtomic } from '../../base/atomic-file.js';
import { flag, having, list, mapOf, ofShape, optional, word } from '../../base/shape.js';
import type { VaultAccess } from './vault-access.js';
import type { VaultMeta } from './vault-meta.js';

/** One change of the trunk. */
export interface TrunkStep {
  /** What changed is not known any more. */
  readonly unknown?: boolean | undefined;
  /** The fork whose apply it was. */
  readonly by?: string | undefined;
  readonly paths: Readonly<Record<string, readonly string[]>>;
  /** Files of which only the time changed: no edits that a fork could clash with. */
  readonly touched?: Readonly<Record<string, readonly string[]>> | undefined;
}

const pathsByRoot = mapOf(list(word));
const stepShape = having({
  unknown: optional(flag),
  by: optional(word),
  paths: pathsByRoot,
  touched: optional(pathsByRoot),
});

/** Undefined where a power cut left no whole record. */
function readStep(access: VaultAccess, position: number): TrunkStep | undefined {
  const step = ofShape<TrunkStep>(readWholeJson(access.paths.edits(position)), stepShape);
  return step?.unknown === true ? undefined : step;
}

/** In the place of a record that is lost: that something changed. */
export function writeUnknownStep(access: VaultAccess, position: number): void {
  const step: TrunkStep = { unknown: true, paths: {} };
  writeFileAtomic(access.paths.edits(position), `${JSON.stringify(step)}\n`, { durable: false });
}

/**
 * All after `position`. Each may name a hundred thousand paths: read once by the process that asks for several things
 * of them.
 */
export function stepsSince(
  access: VaultAccess,
  vault: VaultMeta,
  position: number,
): readonly (TrunkStep | undefined)[] {
  return Array.from({ length: Math.max(0, vault.position - position) }, (_, at) => readStep(access, position + 1 + at));
}

/** Positions whose record is damaged or missing. */
export function lostSteps(access: VaultAccess, vault: VaultMeta, position: number): readonly number[] {
  const lost: number[] = [];
  for (let at = position + 1; at <= vault.position; at += 1) if (readStep(access, at) === undefined) lost.push(at);
  return lost;
}
