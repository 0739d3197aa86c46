/** Files that were deleted and take room: every way to hold one is counted, or said to hide something. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Operation } from '../../src/jail/operation.js';
import { bareJail } from '../support/bare-jail.js';

const jail = bareJail();
const bytes = 200_000;

/** The largest report of held files, while the script holds what it holds for a while. */
async function held(script: string) {
  const begin = `import ctypes, mmap, os, shutil, socket, subprocess, threading, time
path = "/workspace/file"
def made():
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.write(file, b"x" * ${bytes})
    return file
`;
  const argv = ['/usr/bin/python3', '-c', `${begin}${script}\ntime.sleep(1)`];
  const plan = jail.plan(argv, { weakened: ['landlock', 'seccomp'] }).flatMap((operation): Operation[] => {
    const reports: Operation = { do: 'report held files', paths: ['/workspace'] };
    return operation.do === 'user' ? [reports, operation] : [operation];
  });
  const said = await jail.runAsked(plan, []);
  assert.match(said, /^0 exited 0 /m, said);
  const reports = [...said.matchAll(/^0 held (\d+) (\d+) (\d)$/gm)].map((each) => each.slice(1).map(Number));
  return {
    bytes: Math.max(0, ...reports.map(([size = 0]) => size)),
    isHidden: reports.some(([, , hidden]) => hidden === 1),
  };
}

describe('a deleted file', () => {
  it('that nobody holds is not counted, nor is one that has another name', async () => {
    assert.deepEqual(await held('os.close(made()); os.unlink(path)'), { bytes: 0, isHidden: false });
    const named = 'file = made(); os.link(path, path + "2"); os.unlink(path)';
    assert.deepEqual(await held(named), { bytes: 0, isHidden: false });
  });

  const counted = {
    'is open': 'file = made(); os.unlink(path)',
    'is open twice, and counted once': 'file = made(); other = os.dup(file); os.unlink(path)',
    'is open in a thread alone': `def thread():
    ctypes.CDLL(None).unshare(0x400)
    file = made(); os.unlink(path); time.sleep(1)
threading.Thread(target=thread).start()`,
    'is a program that runs': `shutil.copy("/usr/bin/sleep", path)
with open(path, "r+b") as file: file.seek(0, 2); file.write(b"x" * ${bytes})
running = subprocess.Popen([path, "1"]); time.sleep(0.2); os.unlink(path)`,
  };
  for (const [what, script] of Object.entries(counted)) {
    it(`that ${what}`, async () => {
      const found = await held(script);
      assert.ok(found.bytes >= bytes && found.bytes < 2 * bytes, `${found.bytes} bytes`);
    });
  }

  const hidden = {
    'is mapped': `file = made(); mapped = mmap.mmap(file, ${bytes}); os.close(file); os.unlink(path)`,
    'is on its way through a socket': `one, other = socket.socketpair(); file = made()
socket.send_fds(one, [b"x"], [file]); os.close(file); os.unlink(path)`,
  };
  for (const [what, script] of Object.entries(hidden)) {
    it(`that ${what} is said to be hidden`, async () => {
      assert.equal((await held(script)).isHidden, true);
    });
  }
});
