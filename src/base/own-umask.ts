/** The umask of ctx itself. Under a mask that takes rights from the owner themselves, what is made for the store could never be opened again. */

const notHere = 'ERR_WORKER_UNSUPPORTED_OPERATION';

export function keepOwnRights(): void {
  try {
    const mask = process.umask(0o077);
    process.umask(mask & 0o077);
  } catch (error) {
    // Node changes it in the main thread only. To ask which thread this is would load what makes threads.
    if (!(error instanceof Error && 'code' in error && error.code === notHere)) throw error;
  }
}
