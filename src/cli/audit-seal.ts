/** `ctx audit seal`, `keys` and `export`. */
import { copyFileSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { anchorsOf } from '../audit/anchors-of.js';
import { Hasher } from '../audit/format.js';
import { HostHistory } from '../audit/host-history.js';
import { Keys } from '../audit/keys.js';
import { hostChain } from '../audit/layout.js';
import { directoryReader } from '../audit/reader.js';
import { ChainRecorder } from '../audit/recorder.js';
import { replay } from '../audit/replay.js';
import { type Sealed, sealAll } from '../audit/seal.js';
import { publicPem } from '../audit/signature.js';
import { ErrnoError, ExitCode, fromSystemError } from '../base/errno.js';
import { visible } from '../base/visible-text.js';
import type { Host } from '../proxy/host.js';
import { counted } from './change-text.js';
import { painter, printJson } from './output.js';
import type { Run } from './verb.js';

function recorderOf(host: Host): ChainRecorder {
  const { record, library } = host.audit;
  return new ChainRecorder({ record, library, now: host.now });
}

function sealHost(host: Host): Sealed {
  return sealAll(recorderOf(host), anchorsOf(host.audit));
}

function hasFailed({ anchors }: Sealed): boolean {
  return anchors.some(({ error }) => error !== undefined);
}

export const seal: Run = async (call, hostOf) => {
  const sealed = sealHost(await hostOf());
  if (call.flag('json')) printJson({ version: 1, ...sealed });
  else {
    const paint = painter(process.stdout);
    const { chains, anchors, key } = sealed;
    const what =
      chains.length === 0 ? 'nothing new to seal' : `sealed ${counted(chains.length, 'chain')} with key ${key}`;
    process.stdout.write(`${paint('green', what)}\n`);
    for (const { chain, seq, head } of chains) process.stdout.write(`  ${chain}:${seq}  ${paint('dim', head)}\n`);
    for (const { name, error } of anchors) {
      if (error === undefined) process.stdout.write(`  anchored: ${visible(name)}\n`);
      else
        process.stderr.write(
          `${painter(process.stderr)('red', 'ctx:')} not anchored: ${visible(name)}: ${visible(error)}\n`,
        );
    }
  }
  return hasFailed(sealed) ? ExitCode.failed : ExitCode.ok;
};

export const keys: Run = async (call, hostOf) => {
  const host = await hostOf();
  const [action, id] = call.words;
  const own = new Keys(recorderOf(host));
  if (action === 'rotate' && id === undefined) own.rotate();
  else if (action === 'revoke' && id !== undefined) own.revoke(id);
  else if (action !== undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'ctx audit keys',
      reason: `expected rotate, or revoke ID, got '${call.words.join(' ')}'`,
    });
  }
  const history = new HostHistory();
  replay(directoryReader(host.audit.record), hostChain, new Hasher(), (body, head) => history.add(body, head));
  if (call.flag('json')) printJson({ version: 1, root: history.root ?? null, keys: history.keys });
  else if (call.flag('pem')) for (const { publicKey } of history.keys) process.stdout.write(publicPem(publicKey));
  else {
    const paint = painter(process.stdout);
    if (history.keys.length === 0) process.stdout.write('no key yet: ctx audit seal makes one\n');
    for (const { id: name, publicKey, state, since } of history.keys) {
      const colour = state === 'in use' ? 'green' : state === 'revoked' ? 'red' : 'dim';
      process.stdout.write(
        `${name}  ${paint(colour, state.padEnd(7))}  ${publicKey}  ${paint('dim', `host:${since}`)}\n`,
      );
    }
  }
  return ExitCode.ok;
};

/** The verifier in Python goes along, where this is a checkout. */
function secondVerifier(): string | undefined {
  const here = import.meta.filename;
  const path = `${here.slice(0, here.lastIndexOf('/dist/'))}/scripts/verify-audit.py`;
  return existsSync(path) ? path : undefined;
}

export const exportRecord: Run = async (call, hostOf) => {
  const host = await hostOf();
  const target = resolve(call.words[0] ?? '');
  const { record, root } = host.audit;
  const sealed = sealHost(host);
  const reader = directoryReader(record);
  try {
    mkdirSync(target, { mode: 0o700 });
    for (const chain of reader.chains()) {
      const skip = new Set(['lock']);
      cpSync(join(record, chain), join(target, chain), {
        recursive: true,
        filter: (path) => !skip.has(path.split('/').at(-1) ?? ''),
      });
    }
    if (existsSync(root)) copyFileSync(root, join(target, 'root.jsonl'));
    writeFileSync(join(target, 'root.pub'), `${sealed.root}\n`);
    const verifier = secondVerifier();
    if (verifier !== undefined) copyFileSync(verifier, join(target, 'verify-audit.py'));
  } catch (error) {
    throw fromSystemError(error, 'ctx audit export', target);
  }
  const chains = reader.chains();
  if (call.flag('json')) printJson({ version: 1, directory: target, chains, key: sealed.root });
  else {
    process.stdout.write(`exported ${counted(chains.length, 'chain')} to ${visible(target)}\n`);
    process.stdout.write(`verify it: ctx audit verify --record ${visible(call.words[0] ?? '')}\n`);
  }
  return ExitCode.ok;
};
