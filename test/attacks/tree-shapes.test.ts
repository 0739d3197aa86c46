/**
 * Trees whose shape costs the process that holds all of them: many names in one directory, long names, names of one
 * file, holes. Every verb works on them in 300 MB, held to it by a control group where the host gives one. CTX_SOAK=1
 * makes them those of an attack.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { keeperOff } from '../support/keeper.js';
import { memoryGroup } from '../support/memory-group.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser, isRoot } from '../support/users.js';

const soaking = process.env['CTX_SOAK'] === '1';
const most = 300 * 1024 * 1024;

interface Shape {
  readonly name: string;
  readonly script: string;
  /** Apply holds every change in memory, and refuses more than fit: those of an attack. */
  readonly applies: boolean;
}

const size = (short: number, long: number) => (soaking ? long : short);

const shapes: readonly Shape[] = [
  {
    name: `${size(10_000, 1_000_000)} names in one directory`,
    script: `for number in range(${size(10_000, 1_000_000)}): os.close(os.open(str(number), os.O_CREAT | os.O_WRONLY))`,
    applies: !soaking,
  },
  {
    name: `${size(1_200, 100_000)} names of 250 bytes`,
    script: `for number in range(${size(1_200, 100_000)}): open(f"{number:0250}", "w").close()`,
    applies: true,
  },
  {
    name: `${size(1_500, 500_000)} names of one file each hundred`,
    script: `for number in range(${size(1_500, 500_000)}):
    if number % 100: os.link(f"{number - number % 100}", f"{number}")
    else: open(f"{number}", "w").write("x")`,
    applies: !soaking,
  },
  {
    name: `${size(3, 20)} files of 8 GiB with one byte each`,
    script: `for number in range(${size(3, 20)}):
    with open(f"{number}", "w") as file: file.seek((8 << 30) - 1); file.write("x")`,
    applies: true,
  },
];

/** Joins the group, runs the rest, and writes down the most memory that a process of it had, in kilobytes. */
const measure = `import os, resource, subprocess, sys
if sys.argv[2]: open(sys.argv[2], "w").write(str(os.getpid()))
code = subprocess.call(sys.argv[3:])
open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code)`;

forEachUser((user) => {
  // The short form is for those whose rights are fewer.
  if (!soaking && isRoot && user.uid === 0) return;
  const stage = useWarmStage(user);

  for (const { name, script, applies } of shapes) {
    test(`${name}: every verb in 300 MB`, async () => {
      const project = stage.project('echo mine > mine');
      const options = { env: { CTX_DATA: `${project}.store`, ...keeperOff }, timeoutSeconds: 1800 };
      const note = join(stage.makeDirectory(`${project.split('/').at(-1)}.notes`), 'peak');
      const group = memoryGroup(most, user);
      const verb = async (words: readonly string[], exitCode = 0): Promise<string> => {
        const argv = ['/usr/bin/python3', '-c', measure, note, group?.members ?? '', stage.program, ...words];
        const { code, stdout, stderr } = await stage.start(project, argv, options).finished;
        const said = `ctx ${words.slice(0, 2).join(' ')}\n${stdout.slice(-1000)}${stderr.slice(-1000)}`;
        assert.equal(group?.killed() ?? 0, 0, said);
        assert.equal(code, exitCode, said);
        const peak = Number(readFileSync(note, 'utf8')) * 1024;
        assert.ok(peak > 0 && peak < most, `${peak} bytes: ${said}`);
        return stdout + stderr;
      };
      try {
        await verb(['exec', '--', 'python3', '-c', `import os\n${script}`]);
        await verb(['status']);
        await verb(['diff', '--names']);
        if (applies) {
          assert.match(await verb(['apply']), /^applied [1-9]/);
          assert.match(await verb(['apply', '--undo']), /^undone [1-9]/);
        } else if (group !== undefined) {
          assert.match(await verb(['apply'], 2), /too many for the memory there is.*\(E2BIG\)/);
        }
        assert.equal(stage.shell(project, 'ls'), 'mine\n');
        await verb(['checkpoint', 'save', 'here']);
        await verb(['rollback', 'here']);
        await verb(['fsck']);
        assert.match(await verb(['drop']), /^dropped/);
        await verb(['gc']);
      } finally {
        await group?.remove();
      }
    });
  }
});
