/** The trees: what a command inside makes, and once more outside for those it is compared with. */
import { statfsSync } from 'node:fs';

export interface Shape {
  readonly name: string;
  /** Python, run in the directory. */
  readonly script: string;
  /** What the person has before that. */
  readonly before?: string;
  /** The script takes away what was there: compared with a copy of that. */
  readonly deletes?: boolean;
}

const isFull = process.env['CTX_BENCH_FULL'] === '1';
const size = (small: number, full: number) => (isFull ? full : small);
const count = (number: number) => number.toLocaleString('en-US');

const chain = (levels: number, bytes: number) => `
for level in range(${levels}):
    os.mkdir("d" * ${bytes})
    os.chdir("d" * ${bytes})
open("bottom", "w").close()`;

const files = (number: number, each: number, body: string) => `
for number in range(${number}):
    directory = f"d{number // ${each}}"
    if number % ${each} == 0:
        os.makedirs(directory, exist_ok=True)
    ${body}`;

const smallFiles = (number: number, letter: string) =>
  files(number, 100, `open(f"{directory}/{number}", "w").write("${letter}" * 200)`);

/** The layer, the person's directory and the trunk have a copy each, and half of the disk is left to others. */
function denseGigabytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory);
  return Math.max(1, Math.min(size(1, 20), Math.floor((bavail * bsize) / 2 ** 30 / 6)));
}

export function shapesAt(directory: string): readonly Shape[] {
  const [levels, wide, long, tiny, there, names, sparse] = [
    size(1_000, 20_000),
    size(5_000, 1_000_000),
    size(2_000, 100_000),
    size(5_000, 150_000),
    size(5_000, 50_000),
    size(2_000, 1_000_000),
    size(4, 20),
  ];
  const dense = denseGigabytes(directory);
  return [
    { name: `deep: ${count(levels)} levels, names of 200 bytes`, script: chain(levels, 200) },
    { name: `shallow names: ${count(levels)} levels, names of 2 bytes`, script: chain(levels, 2) },
    {
      name: `wide: ${count(wide)} names in one directory`,
      script: files(wide, 1e9, 'open(f"{directory}/{number}", "w").close()'),
    },
    {
      name: `long: ${count(long)} names of 250 bytes`,
      script: files(long, 100, 'open(f"{directory}/{number:0250}", "w").close()'),
    },
    { name: `tiny: ${count(tiny)} files of 200 bytes`, script: smallFiles(tiny, 'x') },
    {
      name: `many: ${count(size(10_000, 1_000_000))} files of 200 bytes`,
      script: smallFiles(size(10_000, 1_000_000), 'x'),
    },
    {
      name: `changed: ${count(there)} files of 200 bytes that were there`,
      before: smallFiles(there, 'x'),
      script: smallFiles(there, 'y'),
    },
    {
      name: `deleted: ${count(there)} files of 200 bytes that were there`,
      before: smallFiles(there, 'x'),
      script: `
import shutil
for name in os.listdir("."):
    if name != "mine":
        shutil.rmtree(name)`,
      deletes: true,
    },
    {
      name: `hard links: ${count(names)} names of files with 100 each`,
      script: files(
        names,
        100,
        'os.link(f"{directory}/0", f"{directory}/{number}") if number % 100 else open(f"{directory}/0", "w").write("x")',
      ),
    },
    {
      name: `sparse: ${sparse} files of 1 GiB with 1 byte each`,
      script: `
for number in range(${sparse}):
    with open(f"sparse{number}", "w") as file:
        file.seek((1 << 30) - 1)
        file.write("x")`,
    },
    {
      name: `dense: one file of ${dense} GiB`,
      script: `
block = os.urandom(1 << 20)
with open("dense", "wb") as file:
    for number in range(${dense * 1024}):
        file.write(block)`,
    },
  ];
}
