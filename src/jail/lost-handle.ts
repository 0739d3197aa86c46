/**
 * A socket that the jail program has handed over, and that never came: the kernel drops it where this process has no descriptor left. Node
 * hears of that by a message of its own, and drops it: whoever waits for the socket would wait for ever.
 */
import type { ChildProcess } from 'node:child_process';
import { ErrnoError } from '../base/errno.js';
import { anything, having, integer, ofShape, oneOf } from '../base/shape.js';

export interface LostStream {
  readonly id: number;
  readonly stream: number;
}

const aboutSocket = having({ cmd: oneOf('NODE_HANDLE'), msg: anything });
const aboutStream = having({ id: integer(0), stream: integer(0) });

/** `lost` is told which: a stream of a command, or else the socket that listens for the network. */
export function onLostHandle(child: ChildProcess, lost: (stream: LostStream | undefined) => void): void {
  child.on('internalMessage', (message: unknown, handle: unknown) => {
    const about = ofShape<{ readonly msg: unknown }>(message, aboutSocket);
    if (about === undefined || (handle !== undefined && handle !== null)) return;
    lost(ofShape<LostStream>(about.msg, aboutStream));
  });
}

export const noDescriptorLeft = (what: string) =>
  new ErrnoError('EMFILE', {
    operation: 'jail',
    reason: `${what}: too many files are open in the process that started it`,
    remedy: 'raise the limit of open files (ulimit -n), or end other work of that process',
  });
