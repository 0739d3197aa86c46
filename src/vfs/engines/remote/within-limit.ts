/**
 * Calls of a remote server end after a limit, or with the tree. Not by `AbortSignal.any` of a time-out: Node 20 collects that time-out
 * as garbage while it is waited for, and then it never comes.
 */

export async function withinLimit<T>(
  milliseconds: number,
  closing: AbortSignal,
  act: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limited = new AbortController();
  const end = () => limited.abort(closing.reason);
  const timer = setTimeout(() => limited.abort(new DOMException('the limit is over', 'TimeoutError')), milliseconds);
  closing.addEventListener('abort', end, { once: true });
  if (closing.aborted) end();
  try {
    return await act(limited.signal);
  } finally {
    clearTimeout(timer);
    closing.removeEventListener('abort', end);
  }
}
