/** `ctx audit seal`, `keys` and `export`. */
import { ErrnoError, ExitCode } from '../../base/errno.js';
import { visible } from '../../base/visible-text.js';
import { AuditRecord, type Sealed } from '../../sdk/operator/record.js';
import { publicPem } from '../../sdk/operator/record-proof.js';
import { counted } from '../text/change-text.js';
import { painter, print, printError, printJson } from '../text/output.js';
import type { Run } from '../verb.js';

function hasFailed({ anchors }: Sealed): boolean {
  return anchors.some(({ error }) => error !== undefined);
}

export const seal: Run = async (call, hostOf) => {
  const sealed = await new AuditRecord(await hostOf()).seal();
  if (call.flag('json')) printJson({ version: 1, ...sealed });
  else {
    const paint = painter(process.stdout);
    const { chains, anchors, key } = sealed;
    const what =
      chains.length === 0 ? 'nothing new to seal' : `sealed ${counted(chains.length, 'chain')} with key ${key}`;
    print(`${paint('green', what)}\n`);
    for (const { chain, seq, head } of chains) print(`  ${chain}:${seq}  ${paint('dim', head)}\n`);
    for (const { name, error } of anchors) {
      if (error === undefined) print(`  anchored: ${visible(name)}\n`);
      else printError(`${painter(process.stderr)('red', 'ctx:')} not anchored: ${visible(name)}: ${visible(error)}\n`);
    }
  }
  return hasFailed(sealed) ? ExitCode.failed : ExitCode.ok;
};

export const keys: Run = async (call, hostOf) => {
  const record = new AuditRecord(await hostOf());
  const [action, id] = call.words;
  if (action === 'rotate' && id === undefined) await record.rotateKey();
  else if (action === 'revoke' && id !== undefined) await record.revokeKey(id);
  else if (action !== undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx audit keys',
      reason: `expected rotate, or revoke ID, got '${call.words.join(' ')}'`,
    });
  }
  const known = await record.keys();
  if (call.flag('json')) printJson({ version: 1, ...known });
  else if (call.flag('pem')) for (const { publicKey } of known.keys) print(publicPem(publicKey));
  else {
    const paint = painter(process.stdout);
    if (known.keys.length === 0) print('no key yet: ctx audit seal makes one\n');
    for (const { id: name, publicKey, state, since } of known.keys) {
      const colour = state === 'in use' ? 'green' : state === 'revoked' ? 'red' : 'dim';
      print(`${name}  ${paint(colour, state.padEnd(7))}  ${publicKey}  ${paint('dim', `host:${since}`)}\n`);
    }
  }
  return ExitCode.ok;
};

export const exportRecord: Run = async (call, hostOf) => {
  const [to = ''] = call.words;
  const { directory, chains, key } = await new AuditRecord(await hostOf()).exportTo(to);
  if (call.flag('json')) printJson({ version: 1, directory, chains, key });
  else {
    print(`exported ${counted(chains.length, 'chain')} to ${visible(directory)}\n`);
    print(`verify it: ctx audit verify --record ${visible(to)}\n`);
  }
  return ExitCode.ok;
};
