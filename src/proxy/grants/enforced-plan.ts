/**
 * The jail's plan, with what an Authority says inside the trees that are mounted: parts that are read-only, masked, or
 * without execution. Done last before the new root is entered, when everything is there that could show them.
 */
import type { Operation, Plan } from '../../jail/operation.js';
import { type JailView, jailPlan, overlayPlan, repeatedMounts } from '../../jail/plan.js';

export interface EnforcedView {
  readonly jail: JailView;
  /** Read-only inside something writable. */
  readonly readOnly: readonly string[];
  /** Nothing of the host is seen here, under whatever name it came. */
  readonly masked: readonly string[];
  /** Targets of mounts from which nothing is executed. */
  readonly noExecution: readonly string[];
  /** Certificates that the network proxy trusts besides Node's own, in PEM. */
  readonly certificates?: readonly string[];
}

const readOnly = (path: string): Operation => ({ do: 'make read only', path });

/** `shape` makes the plan of the jail: for one command, or to be kept. */
export function enforcedPlan(view: EnforcedView, shape: (view: JailView) => Plan = jailPlan): Plan {
  const plan = shape(view.jail);
  const isMasked = new Set(plan.flatMap((operation) => (operation.do === 'mask' ? [operation.path] : [])));
  const last: Operation[] = [
    ...view.readOnly.map(readOnly),
    ...view.masked.filter((path) => !isMasked.has(path)).map((path): Operation => ({ do: 'mask', path })),
  ];
  const whole = plan.flatMap((operation) =>
    operation.do === 'pivot' ? [...last, ...repeatedMounts(view.jail), operation] : [operation],
  );
  return withoutExecution(whole, view);
}

function withoutExecution(plan: Plan, { noExecution }: EnforcedView): Plan {
  return plan.map((operation) => {
    const target = targetOf(operation);
    if (target === undefined || !noExecution.includes(target) || !('attributes' in operation)) return operation;
    return { ...operation, attributes: [...operation.attributes, 'no execution'] };
  });
}

function targetOf(operation: Operation): string | undefined {
  switch (operation.do) {
    case 'bind':
    case 'again':
    case 'overlay':
    case 'cache':
      return operation.target;
    default:
      return operation.do === 'fuse' ? operation.path : undefined;
  }
}

/** The overlays for one command of a kept jail. What the jail has inside them comes back by itself; whether one is read-only is the command's. */
export function mountingPlan(view: EnforcedView): Plan {
  const { jail, readOnly: paths } = view;
  const isWhole = (path: string) => jail.overlays.some(({ target }) => target === path);
  return [...withoutExecution(overlayPlan(jail), view), ...paths.filter(isWhole).map(readOnly)];
}

/** The fork's own `/tmp`, on the host; undefined where it ends with the command. */
export function temporaryOf({ jail }: EnforcedView): string | undefined {
  return jail.shared.find(({ target, ofFork }) => target === '/tmp' && ofFork === true)?.source;
}
