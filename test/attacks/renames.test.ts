/** Renames that the owner prepares: nothing gains a right by them, and nothing is lost no matter who interferes. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { inKeptJail } from '../support/kept-jail.js';
import { cannotMountSmallDisk, onSmallDisk, overlayWorksOn } from '../support/small-disk.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const soak = process.env['CTX_SOAK'] === '1';
const fill = (count: number) => `mkdir -p d/sub; for n in $(seq ${count}); do echo $n >d/$n; echo $n >d/sub/$n; done`;
/** Every file is there, once, with what was in it. */
const whole = (where: string, count: number) =>
  `cat ${where}/[0-9]* ${where}/sub/[0-9]* | sort -n | uniq -c | awk '$1 == 2' | wc -l | grep -qx ${count}`;

/** A program that forbids itself everything but reading, by Landlock, and then renames. */
const restricted = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Rules(ctypes.Structure): _fields_ = [('files', ctypes.c_uint64)]
rules = Rules((1 << 13) - 1)
ruleset = libc.syscall(444, ctypes.byref(rules), 8, 0)
assert ruleset >= 0 and libc.syscall(446, ruleset, 0) == 0
try: os.rename('d', 'e')
except OSError as error: print(error.strerror)
`;

/** Ends the hunt, whatever comes of it. */
const renamed = `
import os
try: os.rename("d", "e")
except OSError: pass
os.remove("go")
`;

/** Renames a directory to and fro while another thread puts links and other directories where some of it was. */
const swapping = (rounds: number) => `
import os, threading
stop = threading.Event()
def tried(call, *names):
    try: call(*names)
    except OSError: pass
def swap():
    while not stop.is_set():
        tried(os.rename, 'd/a/b', 'd/a/was')
        tried(os.symlink, os.path.abspath('target'), 'd/a/b')
        tried(os.remove, 'd/a/b')
        tried(os.rename, 'd/a/was', 'd/a/b')
thread = threading.Thread(target=swap)
thread.start()
for _ in range(${rounds}):
    tried(os.rename, 'd', 'e')
    tried(os.rename, 'e', 'd')
stop.set()
thread.join()
print(open('target/file').read(), end='')
`;

/** Renames with each path where a page of memory ends: in it, behind it, before what may not be read, and longer than is read at once. */
const placed = `
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
page = mmap.PAGESIZE
def pages():
    start = libc.mmap(None, ctypes.c_size_t(3 * page), 3, 0x22, -1, ctypes.c_long(0))
    assert libc.mprotect(ctypes.c_void_p(start + 2 * page), ctypes.c_size_t(page), 0) == 0
    return start
memory = [pages(), pages()]
def put(where, path, inside):
    text = path.encode() + b'\\0'
    # So many bytes of it are in the first page; or it ends with the second.
    address = memory[where] + (2 * page - len(text) if inside is None else page - inside)
    ctypes.memmove(address, text, len(text))
    return ctypes.c_char_p(address)
count = 0
for long in (False, True):
    start = './' * 150 if long else './'
    for side in (0, 1):
        whole = len(start) + 5
        for inside in (None, 1, 2, whole - 1, whole, whole + 1):
            names = [start + 'd%03d' % count + '/a', start + 'd%03d' % count + '/b']
            count += 1
            given = [put(where, names[where], inside if where == side else 900) for where in (0, 1)]
            if libc.rename(*given) != 0: print(long, side, inside, os.strerror(ctypes.get_errno()))
            elif open(names[1] + '/file').read() != 'x': print(long, side, inside, 'lost')
print(count)
`;

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('it does not matter where in a program its paths are', async () => {
    const project = stage.project('for n in $(seq -w 0 99); do mkdir -p d0$n/a; printf x >d0$n/a/file; done');
    writeFileSync(join(project, 'placed.py'), placed);
    assert.equal(await stage.inside(project, 'python3 placed.py'), '24\n');
  });

  test('a program that has restricted itself gets no rename by asking for it', async () => {
    const project = stage.project(fill(3));
    const said = await stage.inside(project, `python3 -c "${restricted}"; ls; ${whole('d', 3)} && echo whole`);
    assert.equal(said, 'Permission denied\nd\nwhole\n');
  });

  test('whoever kills what is at work on it loses nothing but the rename', async () => {
    const count = soak ? 2000 : 100;
    const project = stage.project(fill(count));
    await inKeptJail(
      stage,
      async () => {
        const run = (script: string) => stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', script]);
        // In a kept jail an earlier command may signal it: by the name that it has until a program is started.
        const kill = 'test "$n" = jail && test $p != /proc/1 && test -e go && kill -9 $(basename $p)';
        await run(
          `touch go; while test -e go; do for p in /proc/[0-9]*; do read n <$p/comm && ${kill}; done 2>/dev/null; done >/dev/null 2>&1 &`,
        );
        await run(`python3 -c '${renamed}'`);
        // Every command has that name before its program is started: this one is tried until it comes through.
        for (let tries = 0; tries < 100 && (await run('rm -f go')).code !== 0; tries++);
        // All of it is at one of the places, or parted between a place and what was being made.
        const { stdout, stderr } = await run(
          'cat $(find . -name "[0-9]*" -type f | sort -u) | sort -n | uniq | wc -l; find . -name "[0-9]*" -type f | sed "s,.*/sub/,sub/,;t;s,.*/,," | sort -u | wc -l',
        );
        assert.equal(stdout, `${count}\n${2 * count}\n`, stderr);
      },
      { project },
    );
  });

  test('when a command has ended nothing is moved any more, though the program that renames was killed', async () => {
    const count = soak ? 5000 : 500;
    const project = stage.project(fill(count));
    await inKeptJail(
      stage,
      async () => {
        const run = (script: string) => stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', script]);
        const begun = 'until test -n "$(find . -maxdepth 1 -name ".ctx-rename-*")"; do kill -0 $p || break; done';
        const killed = await run(
          `python3 -c 'import os; os.rename("d", "e")' & p=$!; ${begun}; kill -9 $p && echo killed`,
        );
        assert.equal(killed.stdout, 'killed\n', killed.stderr);
        const { stdout } = await run(`ls -A; ${whole('d', count)} && echo whole`);
        assert.equal(stdout, 'd\nwhole\n');
      },
      { project },
    );
  });

  test('where the disk is full all stays at its place', { skip: cannotMountSmallDisk ?? false }, async (context) => {
    const disk = stage.makeDirectory('small-rename');
    if (!(await overlayWorksOn(stage, disk))) return context.skip('this kernel has no overlay on tmpfs');
    const project = stage.project(
      `${fill(20)}; for n in $(seq 20); do head -c 100000 /dev/urandom >d/large$n; done; chmod 555 d/sub`,
    );
    const script =
      'python3 -c "import os; os.rename(\\"d\\", \\"e\\")" 2>&1 | tail -1; ls -a; stat -c %a d/sub; ls d | wc -l; cat d/large* | wc -c';
    const { stdout, stderr } = await onSmallDisk(
      stage,
      disk,
      'size=3500k',
      `cd ${project}; export CTX_DATA=${disk}/store; $CTX exec -- true; $CTX exec -- sh -c '${script}'; $CTX diff --names | grep -v '^. d/'`,
    );
    assert.match(stdout, /^OSError: .*\n\.\n\.\.\nd\n555\n41\n2000000\n$/, stderr);
  });

  test('where files may not become so large all stays at its place, and nothing is left beside it', async () => {
    const project = stage.project(`${fill(3)}; head -c 6000000 /dev/zero >d/large`);
    const script = `python3 -c 'import os; os.rename("d", "e")' 2>&1 | tail -1; ls -A; cat d/large | wc -c`;
    const { stdout, stderr } = await stage.ctx(project, ['exec', '--disk', '4m', '--', 'sh', '-c', script]);
    assert.match(stdout, /^OSError: .*\nd\n6000000\n$/, stderr);
  });

  test('names and links that change all the while lead it nowhere', async () => {
    const project = stage.project('mkdir -p d/a/b target; echo x >d/a/b/c; echo kept >target/file; chmod 700 target');
    writeFileSync(join(project, 'swap.py'), swapping(soak ? 500 : 20));
    const said = await stage.inside(project, 'python3 swap.py; find . -name c | wc -l; stat -c %a target');
    assert.equal(said, 'kept\n1\n700\n');
  });
});
