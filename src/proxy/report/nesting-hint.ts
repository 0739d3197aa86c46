/** The hint in a report to `iso userns`, where a browser could not start: what it says itself is long, and not what to do. Pure. */
import type { Envelope } from './envelope.js';

const ofNamespaces = new Set(['clone', 'unshare', 'setns']);

/** Where a command failed that was refused a namespace. */
export function nestingHint({ exitCode, refusals }: Pick<Envelope, 'exitCode' | 'refusals'>): readonly string[] {
  if (exitCode === 0 || !refusals.some(({ call }) => ofNamespaces.has(call))) return [];
  return [
    'it tried to make namespaces of its own, as browsers and other sandboxes do: --nested-namespaces lets it, ' +
      'and docs/threat-model.md says what that costs',
  ];
}
