/** What is done about a command before it runs. */

/** From the most lenient to the strictest. */
export const actions = ['allow', 'allow_with_checkpoint', 'require_approval', 'deny'] as const;
export type Action = (typeof actions)[number];

export function isStricter(action: Action, than: Action): boolean {
  return actions.indexOf(action) > actions.indexOf(than);
}

/** Whether it would simply run. */
export function runsWithoutAsking({ action }: { readonly action: Action }): boolean {
  return !isStricter(action, 'allow_with_checkpoint');
}
