/**
 * The verifier in Python, which shares no code with ours.
 *
 * Its verdicts are given by one process, which starts with the first: to start Python, and to compute anew in it the digests and signatures
 * of records that most attempts leave as they are, takes ten times as long as the rest. It runs the verifier's `main`, as a person's call
 * does; what it remembers are results of functions that have no others for the same bytes.
 */
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { SealedRecord } from '../../src/audit/tamper-fixture.js';
import { checkout, temporaryRoot } from './program.js';

const secondVerifier = join(checkout, 'scripts', 'verify-audit.py');
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

const answering = `
import contextlib, functools, importlib.util, io, json, sys
spec = importlib.util.spec_from_file_location("verifier", sys.argv[1])
verifier = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verifier)
verifier.blake3 = functools.lru_cache(None)(verifier.blake3)
verifier.is_signed = functools.lru_cache(None)(verifier.is_signed)
for line in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = verifier.main(json.loads(line))
    print(json.dumps([code, said.getvalue()]), flush=True)
`;

/** Tests wait for a verdict: both ends are FIFOs, which can be read and written without going on meanwhile. */
class Verdicts {
  #ends: { readonly questions: number; readonly answers: number } | undefined;
  #rest = '';

  #start(): { readonly questions: number; readonly answers: number } {
    const directory = mkdtempSync(join(temporaryRoot(), 'ctx-verifier-'));
    try {
      const paths = ['questions', 'answers'].map((name) => join(directory, name));
      const [questions = '', answers = ''] = paths;
      const { status } = spawnSync('mkfifo', ['-m', '600', ...paths]);
      if (status !== 0) throw new Error('mkfifo failed');
      // Opened for both, so that none waits for the other end; what the process has is its end alone.
      const both = paths.map((path) => openSync(path, 'r+'));
      const theirs = [openSync(questions, 'r'), openSync(answers, 'w')];
      const ours = { questions: openSync(questions, 'w'), answers: openSync(answers, 'r') };
      // It ends with this process, which has the other end of its questions.
      spawn(python, ['-c', answering, secondVerifier], { stdio: [...theirs, 'inherit'] }).unref();
      for (const file of [...both, ...theirs]) closeSync(file);
      return ours;
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  of(words: readonly string[]): SecondVerdict {
    this.#ends ??= this.#start();
    writeSync(this.#ends.questions, `${JSON.stringify(words)}\n`);
    const bytes = Buffer.alloc(65_536);
    while (!this.#rest.includes('\n')) {
      const count = readSync(this.#ends.answers, bytes);
      if (count === 0) throw new Error(`the verifier in Python ended, asked ${words.join(' ')}`);
      this.#rest += bytes.toString('latin1', 0, count);
    }
    const at = this.#rest.indexOf('\n');
    const [code, said] = JSON.parse(this.#rest.slice(0, at)) as [number, string];
    this.#rest = this.#rest.slice(at + 1);
    const verdict = JSON.parse(said) as SecondVerdict;
    if (code !== (verdict.ok ? 0 : 1)) throw new Error(`exit code ${code}: ${said}`);
    return verdict;
  }
}

const verdicts = new Verdicts();

export function verifySecond({ record, root, publicKey }: SealedRecord, anchored = true): SecondVerdict {
  const anchor = anchored ? ['--anchor', `root=${root}`] : [];
  return verdicts.of([record, '--key', publicKey, ...anchor, '--json']);
}

/** Without a key and an anchor. */
export function verifyUnsealed({ directory }: { readonly directory: string }): SecondVerdict {
  return verdicts.of([directory, '--json']);
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
