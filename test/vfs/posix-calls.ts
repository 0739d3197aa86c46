/**
 * Calls of POSIX and what they leave behind, each in an empty directory of its own. What is right is what the machine's own
 * filesystem does: the same list runs there and on a mount, and the answers have to be the same.
 */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';

/** The name of an error, or what a call gave. */
export function outcome(act: () => unknown): unknown {
  try {
    return act() ?? null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  }
}

const long = 'n'.repeat(256);
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY, O_DIRECTORY, O_APPEND } = fs.constants;

function facts(path: string): unknown {
  const stat = fs.lstatSync(path);
  const kind = stat.isDirectory() ? 'directory' : stat.isFile() ? 'file' : stat.isSymbolicLink() ? 'link' : 'other';
  return { kind, mode: stat.mode & 0o7777, links: stat.nlink, size: stat.isDirectory() ? 0 : stat.size };
}

/** Whether a call changes a time of a path. The clock of the kernel ticks every few milliseconds. */
function ticks(path: string, time: 'mtimeNs' | 'ctimeNs', act: () => void): boolean {
  const before = fs.lstatSync(path, { bigint: true })[time];
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 12);
  act();
  return fs.lstatSync(path, { bigint: true })[time] > before;
}

function opened<T>(path: string, flags: number, act: (descriptor: number) => T, mode = 0o644): T {
  const descriptor = fs.openSync(path, flags, mode);
  try {
    return act(descriptor);
  } finally {
    fs.closeSync(descriptor);
  }
}

/** As a user that owns nothing here; null where this process cannot become one. */
function asStranger(cwd: string, script: string): unknown {
  if (process.getuid?.() !== 0) return null;
  const { status } = spawnSync('sh', ['-c', script], { cwd, uid: 65_533, gid: 65_533, stdio: 'ignore' });
  return status;
}

const file = (at: string, name = 'f', text = 'text') => {
  const path = join(at, name);
  fs.writeFileSync(path, text);
  return path;
};
const directory = (at: string, name = 'd') => {
  const path = join(at, name);
  fs.mkdirSync(path);
  return path;
};

export const calls: Readonly<Record<string, (at: string) => unknown>> = {
  'open: not there': (at) => outcome(() => fs.openSync(join(at, 'none'), O_RDONLY)),
  'open: below a file': (at) => outcome(() => fs.openSync(join(file(at), 'x'), O_RDONLY)),
  'open: a name too long': (at) => outcome(() => fs.openSync(join(at, long), O_CREAT | O_WRONLY)),
  'open: the longest name': (at) => outcome(() => facts(file(at, long.slice(1)))),
  'open: O_EXCL on what is there': (at) => outcome(() => fs.openSync(file(at), O_CREAT | O_EXCL | O_WRONLY)),
  'open: O_EXCL on a link to nowhere': (at) => {
    fs.symlinkSync('none', join(at, 'l'));
    return outcome(() => fs.openSync(join(at, 'l'), O_CREAT | O_EXCL | O_WRONLY));
  },
  'open: O_CREAT through a link to nowhere': (at) => {
    fs.symlinkSync('made', join(at, 'l'));
    opened(join(at, 'l'), O_CREAT | O_WRONLY, (descriptor) => fs.writeSync(descriptor, 'x'));
    return facts(join(at, 'made'));
  },
  'open: O_NOFOLLOW on a link': (at) => {
    fs.symlinkSync(file(at), join(at, 'l'));
    return outcome(() => fs.openSync(join(at, 'l'), O_RDONLY | O_NOFOLLOW));
  },
  'open: a directory to write': (at) => outcome(() => fs.openSync(directory(at), O_WRONLY)),
  'open: O_DIRECTORY on a file': (at) => outcome(() => fs.openSync(file(at), O_RDONLY | O_DIRECTORY)),
  'open: a slash behind a file': (at) => outcome(() => fs.openSync(`${file(at)}/`, O_RDONLY)),
  'open: links in a circle': (at) => {
    fs.symlinkSync('b', join(at, 'a'));
    fs.symlinkSync('a', join(at, 'b'));
    return outcome(() => fs.openSync(join(at, 'a'), O_RDONLY));
  },
  'open: O_TRUNC': (at) => {
    const path = file(at);
    return [ticks(path, 'mtimeNs', () => opened(path, O_RDWR | O_TRUNC, () => undefined)), facts(path)];
  },
  'open: O_TRUNC of what is empty already': (at) => {
    const path = file(at, 'f', '');
    return ticks(path, 'mtimeNs', () => opened(path, O_WRONLY | O_CREAT | O_TRUNC, () => undefined));
  },
  'open: O_TRUNC by a descriptor that only reads': (at) => {
    const path = file(at);
    const size = opened(path, O_RDONLY | O_TRUNC, (descriptor) => fs.fstatSync(descriptor).size);
    return [size, fs.readFileSync(path, 'utf8'), facts(path)];
  },
  'open: its mode is what was asked for': (at) => {
    const path = join(at, 'f');
    opened(path, O_CREAT | O_WRONLY, () => undefined, 0o4751);
    return facts(path);
  },
  'write: at the end, whatever the place': (at) => {
    const path = file(at, 'f', 'one');
    opened(path, O_WRONLY | O_APPEND, (descriptor) => fs.writeSync(descriptor, 'two', 0));
    return fs.readFileSync(path, 'utf8');
  },
  'write: beyond the end leaves zeros': (at) => {
    const path = file(at, 'f', 'one');
    opened(path, O_RDWR, (descriptor) => fs.writeSync(descriptor, 'x', 5_000));
    return [facts(path), fs.readFileSync(path).filter((byte) => byte !== 0).length];
  },
  'write: a descriptor that only reads': (at) => outcome(() => opened(file(at), O_RDONLY, (d) => fs.writeSync(d, 'x'))),
  'write: to what was removed': (at) => {
    const path = file(at);
    return opened(path, O_RDWR, (descriptor) => {
      fs.unlinkSync(path);
      fs.writeSync(descriptor, 'more', 4);
      const bytes = Buffer.alloc(20);
      const count = fs.readSync(descriptor, bytes, 0, 20, 0);
      const { nlink, size } = fs.fstatSync(descriptor);
      return [bytes.toString('utf8', 0, count), nlink, size];
    });
  },
  'write: to what was moved': (at) => {
    const path = file(at);
    return opened(path, O_RDWR, (descriptor) => {
      fs.renameSync(path, join(at, 'g'));
      fs.writeSync(descriptor, 'MOVE', 0);
      fs.ftruncateSync(descriptor, 3);
      return [fs.readFileSync(join(at, 'g'), 'utf8'), fs.readdirSync(at)];
    });
  },
  'truncate: longer, shorter': (at) => {
    const path = file(at, 'f', 'x'.repeat(10_000));
    fs.truncateSync(path, 5);
    fs.truncateSync(path, 9_000);
    return [facts(path), fs.readFileSync(path).filter((byte) => byte !== 0).length];
  },
  'truncate: a directory': (at) => outcome(() => fs.truncateSync(directory(at), 0)),
  'mkdir: there already': (at) => outcome(() => fs.mkdirSync(directory(at))),
  'mkdir: where a link leads nowhere': (at) => {
    fs.symlinkSync('none', join(at, 'l'));
    return outcome(() => fs.mkdirSync(join(at, 'l')));
  },
  'mkdir: counts at its parent': (at) => {
    for (const name of ['a', 'b', 'c']) directory(at, name);
    fs.rmdirSync(join(at, 'b'));
    return facts(at);
  },
  'mkdir: changes the time of its parent': (at) => ticks(at, 'mtimeNs', () => void directory(at)),
  'mkdir: in a directory that hands its group on': (at) => {
    const [shared, others] = [directory(at), process.getgroups?.() ?? []];
    const gid = process.getuid?.() === 0 ? 4_321 : (others[0] ?? process.getgid?.() ?? 0);
    fs.chownSync(shared, process.getuid?.() ?? 0, gid);
    fs.chmodSync(shared, 0o2755);
    fs.symlinkSync('x', join(shared, 'l'));
    return [file(shared), directory(shared), join(shared, 'l')].map((path) => [
      facts(path),
      fs.lstatSync(path).gid === gid,
    ]);
  },
  'rmdir: not empty': (at) => {
    file(directory(at));
    return outcome(() => fs.rmdirSync(join(at, 'd')));
  },
  'rmdir: a file': (at) => outcome(() => fs.rmdirSync(file(at))),
  'rmdir: a dot': (at) => outcome(() => fs.rmdirSync(`${directory(at)}/.`)),
  'unlink: a directory': (at) => outcome(() => fs.unlinkSync(directory(at))),
  'unlink: not there': (at) => outcome(() => fs.unlinkSync(join(at, 'none'))),
  'unlink: one of two names': (at) => {
    const path = file(at);
    fs.linkSync(path, join(at, 'g'));
    const changed = ticks(join(at, 'g'), 'ctimeNs', () => fs.unlinkSync(path));
    return [changed, facts(join(at, 'g'))];
  },
  'link: there already': (at) => outcome(() => fs.linkSync(file(at), file(at, 'g'))),
  'link: a directory': (at) => outcome(() => fs.linkSync(directory(at), join(at, 'e'))),
  'link: a link itself': (at) => {
    file(at);
    fs.symlinkSync('f', join(at, 'l'));
    fs.linkSync(join(at, 'l'), join(at, 'm'));
    return facts(join(at, 'm'));
  },
  'link: both names are one file': (at) => {
    fs.linkSync(file(at), join(at, 'g'));
    fs.appendFileSync(join(at, 'g'), '!');
    return [fs.readFileSync(join(at, 'f'), 'utf8'), fs.statSync(join(at, 'f')).ino === fs.statSync(join(at, 'g')).ino];
  },
  'symlink: there already': (at) => outcome(() => fs.symlinkSync('x', file(at))),
  'symlink: of nothing': (at) => outcome(() => fs.symlinkSync('', join(at, 'l'))),
  'symlink: as it was written': (at) => {
    fs.symlinkSync('./a//b', join(at, 'l'));
    return [fs.readlinkSync(join(at, 'l')), facts(join(at, 'l'))];
  },
  'readlink: a file': (at) => outcome(() => fs.readlinkSync(file(at))),
  'rename: over a file': (at) => {
    fs.renameSync(file(at, 'f', 'new'), file(at, 'g', 'old'));
    return [fs.readdirSync(at), fs.readFileSync(join(at, 'g'), 'utf8')];
  },
  'rename: a directory into itself': (at) => outcome(() => fs.renameSync(directory(at), join(at, 'd', 'e'))),
  'rename: a file over a directory': (at) => outcome(() => fs.renameSync(file(at), directory(at))),
  'rename: a directory over a file': (at) => outcome(() => fs.renameSync(directory(at), file(at))),
  'rename: a directory over an empty one': (at) => {
    file(directory(at));
    fs.renameSync(join(at, 'd'), directory(at, 'e'));
    return [fs.readdirSync(at), fs.readdirSync(join(at, 'e')), facts(at)];
  },
  'rename: a directory over a full one': (at) => {
    file(directory(at, 'e'));
    return outcome(() => fs.renameSync(directory(at), join(at, 'e')));
  },
  'rename: to another name of the same file': (at) => {
    fs.linkSync(file(at), join(at, 'g'));
    fs.renameSync(join(at, 'f'), join(at, 'g'));
    return fs.readdirSync(at).sort();
  },
  'rename: between directories moves the count of links': (at) => {
    directory(directory(at, 'a'), 'm');
    directory(at, 'b');
    fs.renameSync(join(at, 'a', 'm'), join(at, 'b', 'm'));
    return [facts(join(at, 'a')), facts(join(at, 'b')), fs.readdirSync(join(at, 'b', 'm', '..'))];
  },
  'rename: changes the time of the moved': (at) => {
    const path = file(at);
    const before = fs.lstatSync(path, { bigint: true }).mtimeNs;
    fs.renameSync(path, join(at, 'g'));
    return fs.lstatSync(join(at, 'g'), { bigint: true }).mtimeNs === before;
  },
  'chmod: and its time': (at) => {
    const path = file(at);
    return [ticks(path, 'ctimeNs', () => fs.chmodSync(path, 0o1604)), facts(path)];
  },
  'utimes: to the nanosecond of a second': (at) => {
    const path = file(at);
    fs.utimesSync(path, 1_000_000_000, 1_234_567_890);
    const { atimeMs, mtimeMs } = fs.statSync(path);
    return [atimeMs, mtimeMs];
  },
  'utimes: of a link itself': (at) => {
    fs.symlinkSync('none', join(at, 'l'));
    fs.lutimesSync(join(at, 'l'), 5, 6);
    return fs.lstatSync(join(at, 'l')).mtimeMs;
  },
  'readdir: all of many': (at) => {
    for (let n = 0; n < 700; n += 1) fs.writeFileSync(join(at, `${'long-name-'.repeat(8)}${n}`), '');
    return fs.readdirSync(at).length;
  },
  'readdir: while it is emptied': (at) => {
    for (let n = 0; n < 200; n += 1) fs.writeFileSync(join(at, `f${n}`), '');
    const seen = new Set<string>();
    const open = fs.opendirSync(at);
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
      seen.add(entry.name);
      fs.unlinkSync(join(at, entry.name));
    }
    open.closeSync();
    return [seen.size, fs.readdirSync(at)];
  },
  'readdir: kinds': (at) => {
    file(at);
    directory(at);
    fs.symlinkSync('x', join(at, 'l'));
    return fs
      .readdirSync(at, { withFileTypes: true })
      .map((entry) => `${entry.name} ${entry.isFile()} ${entry.isSymbolicLink()}`)
      .sort();
  },
  'rmdir: a directory that is in use': (at) => {
    const path = directory(at);
    return opened(path, O_RDONLY | O_DIRECTORY, (descriptor) => {
      fs.rmdirSync(path);
      const inside = `/proc/self/fd/${descriptor}`;
      fs.fchmodSync(descriptor, 0o700);
      return [
        fs.fstatSync(descriptor).mode & 0o7777,
        ...[
          () => fs.readdirSync(inside),
          () => fs.lstatSync(`${inside}/x`),
          () => fs.mkdirSync(`${inside}/x`),
          () => fs.writeFileSync(`${inside}/x`, ''),
          () => fs.symlinkSync('a', `${inside}/x`),
          () => fs.renameSync(file(at), `${inside}/x`),
          () => fs.unlinkSync(`${inside}/x`),
          () => fs.rmdirSync(`${inside}/x`),
        ].map(outcome),
        spawnSync('sh', ['-c', 'mkdir d && cd d && rmdir ../d && ls && ! mkdir x && test -d . && cd .. && ls'], {
          cwd: at,
          encoding: 'utf8',
        }).stdout,
      ];
    });
  },
  'names: bytes that are no text': (at) => {
    const name = Buffer.from([0x66, 0xff, 0xfe, 0x80]);
    fs.writeFileSync(Buffer.concat([Buffer.from(`${at}/`), name]), 'x');
    return fs.readdirSync(at, { encoding: 'buffer' }).map((each) => each.toString('hex'));
  },
  'access: a stranger and the modes': (at) => {
    fs.chmodSync(at, 0o755);
    fs.chmodSync(file(at, 'closed'), 0o600);
    fs.chmodSync(file(at, 'open'), 0o644);
    fs.chmodSync(directory(at, 'dark'), 0o700);
    fs.chmodSync(directory(at, 'sticky'), 0o1777);
    file(join(at, 'sticky'), 'mine');
    return [
      'cat open', 'cat closed', 'ls dark', 'touch new', 'echo > open', 'rm sticky/mine', 'touch sticky/theirs', 'chmod 777 open',
      'mv sticky/mine sticky/x', 'ln open sticky/y',
    ].map((script) => asStranger(at, script)); // biome-ignore format: one line
  },
  'set-uid: gone when a stranger writes': (at) => {
    fs.chmodSync(at, 0o755);
    const path = file(at);
    fs.chmodSync(path, 0o4777);
    return [asStranger(at, 'echo x >> f'), process.getuid?.() === 0 ? facts(path) : null];
  },
};
