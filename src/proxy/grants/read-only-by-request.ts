/** What a call asks to be shown read-only. */
import type { Place } from '../host.js';
import type { ResolvedAuthority } from './authority-of.js';

/** What `--readonly` shows read-only: everything of the fork. */
export function readOnlyByRequest(
  { origin }: Pick<Place, 'origin'>,
  { roots }: Pick<ResolvedAuthority, 'roots'>,
  request: { readonly readonly?: boolean | undefined },
): readonly string[] {
  return request.readonly === true ? [origin, ...roots] : [];
}
