/** One tool call in the hook's own words, whatever the harness; everything in it is untrusted text. */

export interface PathUse {
  readonly path: string;
  readonly access: 'read' | 'write';
  /** Everything below it is used, too. */
  readonly tree: boolean;
  /** Glob pattern below it. */
  readonly pattern?: string;
}

export type CallAction =
  | { readonly kind: 'paths'; readonly uses: readonly PathUse[] }
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'fetch'; readonly url: string }
  | { readonly kind: 'search' }
  /** Touches no file, no network and no process by itself. */
  | { readonly kind: 'harmless'; readonly why: string }
  /** Needs `tool:NAME execute`. */
  | { readonly kind: 'tool'; readonly name: string };

export interface Call {
  /** As the harness calls it. */
  readonly tool: string;
  /** Where relative paths start and commands run. */
  readonly cwd: string;
  readonly action: CallAction;
}

export type CallVerdict =
  | { readonly decision: 'allow'; readonly reason: string }
  | { readonly decision: 'rewrite'; readonly reason: string; readonly command: string }
  | { readonly decision: 'deny'; readonly reason: string };

export function deny(reason: string): CallVerdict {
  return Object.freeze({ decision: 'deny', reason });
}

export function allow(reason: string): CallVerdict {
  return Object.freeze({ decision: 'allow', reason });
}
