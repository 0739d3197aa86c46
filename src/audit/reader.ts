/**
 * The little that a verifier needs of a record: names of chains, names of files, bytes of a file. A directory gives it; so does
 * anything else that can list and read, an archive or a remote store.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ErrnoError, fromSystemError, hasCode } from '../base/errno.js';
import { readSmallBytes } from '../base/small-file.js';
import { agentChain, hostChain, isChainName, personChain } from './layout.js';

export interface RecordReader {
  /** Every chain, the host's first. */
  chains(): readonly string[];
  /** Names of the files of a chain, sorted. */
  files(chain: string): readonly string[];
  read(chain: string, file: string): Buffer;
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return [];
    throw fromSystemError(error, 'read the record', directory);
  }
}

export function directoryReader(record: string): RecordReader {
  const directoryOf = (chain: string) => {
    if (isChainName(chain)) return join(record, ...chain.split('/'));
    throw new ErrnoError('EINVAL', {
      operation: 'read the record',
      reason: `expected host, person or agent/NAME, got '${chain}'`,
    });
  };
  return {
    chains() {
      const agents = namesIn(join(record, 'agent')).map(agentChain).filter(isChainName);
      // Where there is a lock alone, a chain is about to begin, or what would have begun it was killed.
      const hasBegun = (chain: string) => namesIn(directoryOf(chain)).some((name) => name !== 'lock');
      return [hostChain, personChain, ...agents].filter(hasBegun);
    },
    files: (chain) => namesIn(directoryOf(chain)),
    read(chain, file) {
      const path = join(directoryOf(chain), file);
      try {
        // One that was copied here is somebody else's.
        return readSmallBytes(path, Number.POSITIVE_INFINITY);
      } catch (error) {
        throw fromSystemError(error, 'read the record', path);
      }
    },
  };
}
