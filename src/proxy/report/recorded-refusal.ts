/** What is refused before it begins, by a policy or because this host cannot do it: in the record, like everything that is done. */
import type { RecordEntry } from '../../audit/record.js';
import { ErrnoError } from '../../base/errno.js';
import type { Host } from '../host.js';

/** `about` is asked where it was refused: what is known of it by then. */
export async function recordedRefusal<T>(
  { recorder }: Pick<Host, 'recorder'>,
  about: (error: ErrnoError) => Omit<RecordEntry, 'status' | 'layer'>,
  check: () => Promise<T> | T,
): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof ErrnoError) {
      const { facts, ...entry } = about(error);
      const { code, reason } = error;
      recorder.append({ ...entry, status: 'denied', layer: 'proxy', facts: { ...facts, error: code, reason } });
    }
    throw error;
  }
}
