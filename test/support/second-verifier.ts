/** The verifier in Python, which shares no code with ours. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { SealedRecord } from '../../src/audit/tamper-fixture.js';
import { checkout } from './program.js';

export const secondVerifier = join(checkout, 'scripts', 'verify-audit.py');
const python = '/usr/bin/python3';

export interface SecondVerdict {
  readonly ok: boolean;
  readonly problems: readonly string[];
  readonly notes: readonly string[];
  readonly chains: Readonly<Record<string, { readonly records: number; readonly sealed: number }>>;
}

function run(argv: readonly string[], input?: string): string {
  const { stdout, stderr, status } = spawnSync(python, argv, { encoding: 'utf8', input, maxBuffer: 2 ** 26 });
  if (status === null || status > 1) throw new Error(`${argv.join(' ')}: ${stderr}`);
  return stdout;
}

export function verifySecond({ record, root, publicKey }: SealedRecord, anchored = true): SecondVerdict {
  const anchor = anchored ? ['--anchor', `root=${root}`] : [];
  return JSON.parse(run([secondVerifier, record, '--key', publicKey, ...anchor, '--json'])) as SecondVerdict;
}

/** Without a key and an anchor. */
export function verifyUnsealed({ directory }: { readonly directory: string }): SecondVerdict {
  return JSON.parse(run([secondVerifier, directory, '--json'])) as SecondVerdict;
}

/**
 * Flips one bit of every byte of every segment, or of each `step`th, one after the other, in memory. Returns the places where nothing
 * was noticed.
 */
export function flipEveryByteSecond(
  { record, root, publicKey }: SealedRecord,
  step = 1,
): { flips: number; unnoticed: string[] } {
  const script = `
import functools, importlib.util, json, os, sys
spec = importlib.util.spec_from_file_location("verifier", sys.argv[1])
verifier = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verifier)
verifier.blake3 = functools.lru_cache(None)(verifier.blake3)
verifier.is_signed = functools.lru_cache(None)(verifier.is_signed)
contents = {}
def read(self, name):
    path = os.path.join(self.directory, name)
    if path not in contents:
        with open(path, "rb") as file: contents[path] = file.read()
    return contents[path]
verifier.Chain.read = read
ask = lambda: verifier.verify(sys.argv[2], sys.argv[3], [("root", sys.argv[4])])[0]
assert ask() == [], ask()
flips, unnoticed = 0, []
for path in [path for path in contents if path.endswith(".jsonl")]:
    whole = contents[path]
    for at in range(0, len(whole), int(sys.argv[5])):
        contents[path] = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
        flips += 1
        if not ask(): unnoticed.append(f"{path}:{at}")
    contents[path] = whole
print(json.dumps({"flips": flips, "unnoticed": unnoticed}))
`;
  return JSON.parse(run(['-', secondVerifier, record, publicKey, root, String(step)], script)) as {
    flips: number;
    unnoticed: string[];
  };
}

/** What its own BLAKE3 and ed25519 say. */
export function primitivesSecond(inputs: {
  readonly lengths: readonly number[];
  readonly signatures: readonly { readonly public: string; readonly message: string; readonly signature: string }[];
}): { digests: string[]; good: boolean[] } {
  const script = `
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("verifier", sys.argv[1])
verifier = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verifier)
given = json.loads(sys.argv[2])
class Raw(str):
    def encode(self): return bytes.fromhex(str(self))
print(json.dumps({
  "digests": [verifier.blake3(bytes(at % 251 for at in range(length))) for length in given["lengths"]],
  "good": [verifier.is_signed(each["public"], Raw(each["message"]), each["signature"]) for each in given["signatures"]],
}))
`;
  return JSON.parse(run(['-', secondVerifier, JSON.stringify(inputs)], script)) as {
    digests: string[];
    good: boolean[];
  };
}
