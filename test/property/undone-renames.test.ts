/**
 * A rename that the owner of a jail prepares, and in which the kernel refuses one kind of step: the call is answered as without it, and
 * all that was in the directory is at its place, as it was. Each step alone, on a tree of its own.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { AskedJail } from '../support/asked-jail.js';
import { cannotCompile } from '../support/attack-program.js';
import { bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';
import { callRefuser, type RefusedCall } from '../support/refuse-call.js';

const jail = bareJail();
const home = join(jail.base, 'home');
const options: PlanOptions = { weakened: jail.landlock > 0 ? [] : ['landlock'] };
const { EIO, EMFILE, EMLINK, ENOSPC, ENOSYS, EPERM, EXDEV } = constants.errno;
const x64 = process.arch !== 'arm64';

/** O_PATH, O_DIRECTORY and O_NOFOLLOW differ between the two machines; O_CLOEXEC is in each. */
const bits = x64
  ? { path: 0o10000000, directory: 0o200000, noFollow: 0o400000 }
  : { path: 0o10000000, directory: 0o40000, noFollow: 0o100000 };
const opened = (...given: readonly number[]) => [2, given.reduce((sum, each) => sum | each, 0o2000000)] as const;

/** What the process that is at work has open first, as its own: the directory that the old name is in. */
const firstOpened = [0, 3] as const;
const here = [0, 0xffffff9c] as const;

type Refused = readonly [what: string, refused: RefusedCall];

/** Nothing was done yet, or it is undone. */
const undone: readonly Refused[] = [
  ['no name for it', { call: 'getrandom', error: ENOSYS }],
  ['no look at the second tree', { call: 'openat', error: EMFILE, arguments: [opened(bits.directory, bits.noFollow)] }],
  [
    'no look at the first tree',
    { call: 'openat', error: EMFILE, arguments: [firstOpened, opened(bits.path, bits.directory, bits.noFollow)] },
  ],
  ['no second name of a file: an error of the disk', { call: 'linkat', error: EIO }],
  ['no second name of a file: no room', { call: 'linkat', error: ENOSPC }],
  [
    'no access to what is closed',
    x64 ? { call: 'chmod', error: EPERM } : { call: 'fchmodat', error: EPERM, arguments: [here] },
  ],
  ['no attribute set', { call: 'fsetxattr', error: ENOSPC }],
  ['no attribute read', { call: 'fgetxattr', error: EIO }],
  ['no list of attributes', { call: 'flistxattr', error: EIO }],
  ['not put in its place', { call: 'renameat', error: EXDEV }],
];

/** Done another way. */
const done: readonly Refused[] = [
  ['a file that may not be linked', { call: 'linkat', error: EPERM }],
  ['a file that has names enough', { call: 'linkat', error: EMLINK }],
];

const building = `
import os
def build(top):
    os.umask(0)
    for path in ['d/sub/deep', 'd/closed/deeper', 'd/empty']: os.makedirs(top + '/' + path)
    for path in ['a', 'b', 'sub/c', 'sub/deep/e', 'closed/f', 'closed/deeper/g']:
        with open(top + '/d/' + path, 'w') as file: file.write(path)
        os.symlink('/nowhere/' + path, top + '/d/' + path + '-link')
        os.mkfifo(top + '/d/' + path + '-pipe', 0o620)
    os.link(top + '/d/sub/c', top + '/d/again')
    for path in ['d', 'd/sub', 'd/closed/deeper']:
        try: os.setxattr(top + '/' + path, 'user.kept', path.encode())
        except OSError: pass
    for path, mode in [('d/sub', 0o2750), ('d/sub/deep', 0o1711), ('d/closed/deeper', 0o555), ('d/closed', 0o500), ('d', 0o3555)]: os.chmod(top + '/' + path, mode)
    for number, (folder, directories, files) in enumerate(sorted(os.walk(top, topdown=False))):
        for name in sorted(files) + ['.']: os.utime(os.path.join(folder, name), ns=(10**15 + number, 10**15 + number), follow_symlinks=False)
`;

/** Two names of a file of a lower layer become two files of an overlay when one is written to: how many there are is not compared. */
const renaming = `
import errno, json, os, stat
def look(top):
    seen = {}
    for folder, directories, files in os.walk(top):
        for name in ['.'] + files + [each for each in directories if os.path.islink(folder + '/' + each)]:
            path = os.path.join(folder, name)
            about = os.lstat(path)
            what = [oct(about.st_mode), about.st_mtime_ns, about.st_uid, about.st_gid]
            if stat.S_ISREG(about.st_mode):
                with open(path) as file: what.append(file.read())
            if stat.S_ISDIR(about.st_mode): what.append(sorted((each, os.getxattr(path, each).hex()) for each in os.listxattr(path) if each == 'user.kept'))
            if stat.S_ISLNK(about.st_mode): what.append(os.readlink(path))
            seen[os.path.normpath(os.path.relpath(path, top))] = what
    return seen
def run(top):
    os.mkdir(top + '/d/sub/own')
    with open(top + '/d/sub/own/file', 'w') as file: file.write('own')
    own = os.open(top + '/d/sub/own', os.O_RDONLY)
    os.fchmod(own, 0o500)
    for path in ['d/sub/own', 'd/sub']: os.utime(top + '/' + path, ns=(10**15, 10**15))
    before = look(top)
    said = 'done'
    try: os.rename(top + '/d', top + '/e')
    except OSError as error: said = errno.errorcode[error.errno]
    return [said, before, look(top)]
`;

type Seen = Readonly<Record<string, unknown>>;

describe('a rename in which a step is refused', { skip: cannotCompile }, () => {
  const refusing = callRefuser(jail.base);
  const cases = [...undone, ...done];
  const script = `${building}\nfor number in range(${cases.length + 1}): build('${jail.base}/layer/%d' % number)`;
  const built = spawnSync('/usr/bin/python3', ['-c', script], { encoding: 'utf8', ...bareUser });

  async function renamed(number: number, wrapper: readonly string[]): Promise<readonly [string, Seen, Seen, string]> {
    assert.equal(built.status, 0, built.stderr);
    const found = join(home, 'found');
    rmSync(found, { force: true });
    writeFileSync(
      join(home, 'script.py'),
      `${renaming}\nwith open('/home/user/found', 'w') as file: json.dump(run('/workspace/${number}'), file)`,
    );
    const argv = ['sh', '-c', 'exec python3 /home/user/script.py > /home/user/said 2>&1'];
    const asked = new AskedJail(jail, jail.plan(argv, options), { wrapper });
    await asked.closed;
    assert.match(asked.said.at(-1) ?? '', / exited 0 /, readFileSync(join(home, 'said'), 'utf8'));
    const [said, before, after] = JSON.parse(readFileSync(found, 'utf8')) as readonly [string, Seen, Seen];
    const reported = asked.said.filter((report) => / renamed /.test(report)).join('\n');
    return [said, before, after, reported];
  }

  /** The same under the new name; the directory that both names are in has changed. */
  const moved = (seen: Seen): Seen =>
    Object.fromEntries(
      Object.entries(seen)
        .filter(([path]) => path !== '.')
        .map(([path, what]) => [path.replace(/^d(?=\/|$)/, 'e'), what]),
    );
  const withoutTop = ({ '.': _top, ...rest }: Seen): Seen => rest;

  it('is an ordinary one where none is', async () => {
    const [said, before, after, reported] = await renamed(cases.length, []);
    assert.equal(said, 'done');
    assert.deepEqual(withoutTop(after), moved(before));
    assert.match(reported, /^0 renamed 1 /);
  });

  for (const [index, [what, refused]] of undone.entries()) {
    it(`is as if it had not been tried: ${what}`, async () => {
      const [said, before, after, reported] = await renamed(index, refusing(refused));
      assert.equal(said, 'EXDEV');
      assert.ok(Object.keys(before).length > 25);
      assert.deepEqual(after, before);
      assert.equal(reported, '');
    });
  }

  for (const [index, [what, refused]] of done.entries()) {
    it(`is done in another way: ${what}`, async () => {
      const [said, before, after, reported] = await renamed(undone.length + index, refusing(refused));
      assert.equal(said, 'done');
      assert.deepEqual(withoutTop(after), moved(before));
      assert.match(reported, /^0 renamed 1 /);
    });
  }
});
