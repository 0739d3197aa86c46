/** The host chain as it is on disk, replayed: what it says of keys, seals and anchors. A chain that does not hold is refused. */
import { ErrnoError } from '../base/errno.js';
import { Hasher } from './format.js';
import { HostHistory } from './host-history.js';
import { hostChain } from './layout.js';
import { directoryReader } from './reader.js';
import { replay } from './replay.js';

export function readHistory(record: string): HostHistory {
  const history = new HostHistory();
  const { problem } = replay(directoryReader(record), hostChain, new Hasher(), (body, head) => history.add(body, head));
  if (problem === undefined) return history;
  throw new ErrnoError('EIO', {
    operation: 'ctx audit seal',
    reason: `record ${problem.seq} of the host chain is not valid: ${problem.text}`,
    remedy: 'run ctx audit verify for details; nothing is signed until this is resolved',
  });
}
