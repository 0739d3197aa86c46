/**
 * Calls of a remote server end after a limit without progress, or with the tree. Not by `AbortSignal.any` of a time-out: Node 20 collects that time-out
 * as garbage while it is waited for, and then it never comes.
 */

export async function withinLimit<T>(
  milliseconds: number,
  closing: AbortSignal,
  act: (signal: AbortSignal, goesOn: () => void) => Promise<T>,
): Promise<T> {
  const limited = new AbortController();
  const end = () => limited.abort(closing.reason);
  const timer = setTimeout(() => limited.abort(new DOMException('the limit is over', 'TimeoutError')), milliseconds);
  const goesOn = () => {
    timer.refresh();
  };
  closing.addEventListener('abort', end, { once: true });
  if (closing.aborted) end();
  try {
    return await act(limited.signal, goesOn);
  } finally {
    clearTimeout(timer);
    closing.removeEventListener('abort', end);
  }
}
