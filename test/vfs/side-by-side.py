"""side-by-side.py NATIVE MOUNTED SEED SECONDS [WITHOUT...]: random calls, the same in two directories.

They have to answer alike, and to leave the same behind. NATIVE is on the machine's own filesystem, MOUNTED in a mount
of ctx. Kinds of calls that a tree does not have are named as WITHOUT: attributes, room, exchange, pipes, and "stale"
where a directory that a rename replaced is ESTALE to those who have it open. Prints how many calls were made. What
differs ends it with code 1, after the calls that led there."""
import ctypes
import errno
import fcntl
import hashlib
import mmap
import os
import random
import stat
import struct
import sys
import time

roots, seed, seconds, without = sys.argv[1:3], int(sys.argv[3]), float(sys.argv[4]), set(sys.argv[5:])
chance = random.Random(seed)
libc = ctypes.CDLL(None, use_errno=True)
is_root = os.geteuid() == 0
os.umask(0o022)
usual = [b"a", b"b", b"c"]
odd = [b"d\xff\xfe", b"n" * 255, b"e f"]
opened = []
played = []


def path():
    names = [chance.choice(usual if chance.random() < 0.85 else odd) for _ in range(chance.choice([1, 1, 1, 2, 2, 3]))]
    return b"/".join(names) + (b"/" if chance.random() < 0.03 else b"")


def at(side, name):
    return os.fsencode(roots[side]) + b"/" + name


def checked(answer):
    if answer < 0:
        raise OSError(ctypes.get_errno(), "")
    return answer


def facts(about):
    """What has to be the same. Times that were set stay as they are, all others are now."""
    kind = stat.S_IFMT(about.st_mode)
    shown = about.st_mtime_ns if about.st_mtime_ns < 1_600_000_000 * 10**9 else "now"
    of_file = (about.st_nlink, about.st_size) if kind != stat.S_IFDIR else ()
    return (oct(about.st_mode), about.st_uid, about.st_gid, of_file, shown if kind != stat.S_IFIFO else 0)


def digest(content):
    return (len(content), hashlib.blake2b(content, digest_size=8).hexdigest())


def on_both(act):
    answers = []
    for side in (0, 1):
        try:
            answers.append(act(side))
        except OSError as error:
            answers.append(errno.errorcode.get(error.errno, error.errno))
    return answers


def of_path(act):
    def call():
        name = path()
        return name, on_both(lambda side: act(at(side, name)))

    return call


def of_two(act):
    def call():
        one, other = path(), path()
        return (one, other), on_both(lambda side: act(at(side, one), at(side, other)))

    return call


def of_file(act, *choices):
    """Of a descriptor of each side, with what was chosen for both."""

    def call():
        pair = chance.choice(opened) if opened else None
        if pair is None:
            return None, (0, 0)
        chosen = [choose() for choose in choices]
        return (pair[0], chosen), on_both(lambda side: act(pair[side], *chosen))

    return call


def with_value(act, *choices):
    def call():
        name, chosen = path(), [choose() for choose in choices]
        return (name, chosen), on_both(lambda side: act(at(side, name), *chosen))

    return call


def keep(flags, mode=0o644):
    def call():
        name, wanted = path(), flags() | os.O_NONBLOCK
        answers = on_both(lambda side: os.open(at(side, name), wanted, mode))
        both = all(isinstance(answer, int) for answer in answers)
        if both:
            opened.append(answers)
        else:
            for answer in answers:
                if isinstance(answer, int):
                    os.close(answer)
        if len(opened) > 12:
            close()
        return (name, oct(wanted)), ["opened" if isinstance(answer, int) else answer for answer in answers]

    return call


added = {os.O_CREAT: 0.6, os.O_EXCL: 0.1, os.O_TRUNC: 0.15, os.O_APPEND: 0.2, os.O_NOFOLLOW: 0.1}


def flags():
    wanted = chance.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR])
    for flag, share in added.items():
        wanted |= flag if chance.random() < share else 0
    return wanted


def close():
    if not opened:
        return None, (0, 0)
    pair = opened.pop(chance.randrange(len(opened)))
    return pair[0], on_both(lambda side: os.close(pair[side]))


def is_file(descriptor):
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def map_file(descriptor, offset, length, byte):
    """Reads, or writes where there is a byte."""
    if not is_file(descriptor):
        return None
    offset &= ~4095
    length = min(length, os.fstat(descriptor).st_size - offset)
    if length <= 0:
        return None
    access = mmap.PROT_READ | (mmap.PROT_WRITE if byte else 0)
    with mmap.mmap(descriptor, length, offset=offset, prot=access) as mapped:
        if byte is None:
            return digest(mapped[:])
        mapped[:] = byte * length
        return length


def listed(name):
    return sorted((each.name, each.is_dir(follow_symlinks=False), each.is_symlink()) for each in os.scandir(name))


def lock(descriptor, command, kind, start, length):
    answer = fcntl.fcntl(descriptor, command, struct.pack("hhqqi4x", kind, 0, start, length, 0))
    return struct.unpack("hhqqi4x", answer)[:4] if command == 36 else "locked"


def below(descriptor, name, act):
    if act == "mkdir":
        return os.mkdir(name, dir_fd=descriptor)
    if act == "stat":
        return facts(os.stat(name, dir_fd=descriptor, follow_symlinks=False))
    os.close(os.open(name, os.O_RDWR | os.O_NONBLOCK | (os.O_CREAT if act == "make" else 0), dir_fd=descriptor))
    return "opened"


def attributes(name):
    names = sorted(os.listxattr(name, follow_symlinks=False))
    return [(each, os.getxattr(name, each, follow_symlinks=False)) for each in names if each.startswith("user.")]


def reserve(descriptor, how, offset, length):
    checked(libc.fallocate(descriptor, how, ctypes.c_long(offset), ctypes.c_long(length)))


def copy(descriptor, source, target, length):
    return os.copy_file_range(descriptor, descriptor, length, source, target)


def renameat2(one, other, flag):
    checked(libc.renameat2(-100, one, -100, other, flag))


edges = [0, 1, 10, 4095, 4096, 65535, 65536, 65537, 131072]
place = lambda: chance.choice([*edges, chance.randrange(300_000), chance.randrange(5_000)])
length = lambda: chance.choice([1, 5, 100, 4096, 65536, chance.randrange(1, 5_000), chance.randrange(1, 200_000)])
byte = lambda: bytes([1 + chance.randrange(255)])
# What a user has made is deleted by that user; the kernel takes set-id bits from what a server writes that is not root.
modes = [0o755, 0o700, 0o1777] + ([0o644, 0o600, 0o000, 0o4755, 0o2755, 0o6777, 0o111] if is_root else [])
mode = lambda: chance.choice(modes)
owner = lambda: chance.choice([-1, 0, 1, 65534] if is_root else [-1, os.getuid()])
group = lambda: chance.choice([-1, 0, 1, 65534] if is_root else [-1, os.getgid()])
moment = lambda: chance.randrange(-(10**9), 1_500_000_000) * 10**9 + chance.randrange(10**9)
key = lambda: chance.choice(["user.a", "user.b", "user." + "x" * 250])
follows = lambda: chance.random() < 0.5
appends = lambda: chance.choice([0, os.O_APPEND])
of_three = lambda: chance.randrange(3)
ways = ["mkdir", "stat", "open", "make"]
of_attribute = (key, byte, of_three)

calls = {
    "open": (12, keep(flags)),
    "open a directory": (3, keep(lambda: os.O_RDONLY | os.O_DIRECTORY)),
    "close": (4, close),
    "pwrite": (6, of_file(lambda of, o, l, b: os.pwrite(of, b * l, o), place, length, byte)),
    "write": (4, of_file(lambda of, l, b: os.write(of, b * l), length, byte)),
    "pread": (4, of_file(lambda of, o, l: digest(os.pread(of, l, o)), place, length)),
    "read": (2, of_file(lambda of, l: digest(os.read(of, l)), length)),
    "map": (3, of_file(map_file, place, length, lambda: chance.choice([None, b"m"]))),
    "lseek": (2, of_file(lambda of, o, w: os.lseek(of, o - 3, w) if is_file(of) else None, place, of_three)),
    "append or not": (1, of_file(lambda of, f: fcntl.fcntl(of, fcntl.F_SETFL, f | os.O_NONBLOCK), appends)),
    "ftruncate": (3, of_file(lambda of, size: os.ftruncate(of, size), place)),
    "fstat": (4, of_file(lambda of: facts(os.fstat(of)))),
    "fsync": (1, of_file(os.fsync)),
    "fchmod": (2, of_file(os.fchmod, mode)),
    "fchown": (1, of_file(os.fchown, owner, group)),
    "fallocate": (2, of_file(reserve, lambda: chance.choice([0, 1, 3]), place, length)),
    "copy": (1, of_file(lambda of, a, b, l: copy(of, a, b, min(l, abs(a - b))), place, place, length)),
    "flock": (1, of_file(lambda of, kind: fcntl.flock(of, kind | fcntl.LOCK_NB), lambda: chance.choice([1, 2, 8]))),
    "lock": (1, of_file(lock, lambda: chance.choice([36, 37]), of_three, of_three, of_three)),
    "below": (3, of_file(below, lambda: chance.choice(usual), lambda: chance.choice(ways))),
    "list by descriptor": (1, of_file(lambda of: sorted(os.listdir(f"/proc/self/fd/{of}")))),
    "truncate": (2, with_value(os.truncate, place)),
    "unlink": (6, of_path(os.unlink)),
    "rmdir": (4, of_path(os.rmdir)),
    "mkdir": (6, with_value(os.mkdir, lambda: chance.choice([0o755, 0o2775, 0o1777]))),
    "rename": (8, of_two(os.rename)),
    "exchange": (3, of_two(lambda one, other: renameat2(one, other, 2))),
    "rename to what is not there": (1, of_two(lambda one, other: renameat2(one, other, 1))),
    "link": (4, of_two(lambda one, other: os.link(one, other, follow_symlinks=False))),
    "symlink": (3, with_value(lambda name, text: os.symlink(text, name), lambda: path().rstrip(b"/"))),
    "readlink": (2, of_path(os.readlink)),
    "pipe": (2, of_path(lambda name: os.mknod(name, stat.S_IFIFO | 0o640))),
    "chmod": (3, with_value(os.chmod, mode)),
    "chown": (2, with_value(lambda name, u, g, f: os.chown(name, u, g, follow_symlinks=f), owner, group, follows)),
    "utime": (3, with_value(lambda name, t, f: os.utime(name, ns=(t, t), follow_symlinks=f), moment, follows)),
    "list": (4, of_path(listed)),
    "stat": (4, of_path(lambda name: facts(os.stat(name)))),
    "lstat": (4, of_path(lambda name: facts(os.lstat(name)))),
    "setxattr": (3, with_value(lambda name, k, v, r: os.setxattr(name, k, v, r, follow_symlinks=False), *of_attribute)),
    "getxattr": (2, with_value(lambda name, k: os.getxattr(name, k, follow_symlinks=False), key)),
    "removexattr": (1, with_value(lambda name, k: os.removexattr(name, k, follow_symlinks=False), key)),
}
groups = {
    "attributes": ["setxattr", "getxattr", "removexattr"],
    "room": ["fallocate"],
    "exchange": ["exchange"],
    "pipes": ["pipe"],
}
try:
    os.setxattr(roots[0], "user.tried", b"")
except OSError:
    without.add("attributes")  # Not every filesystem has them.
left_out = {name for word in without for name in groups.get(word, [])}
bag = [name for name, (share, _) in calls.items() if name not in left_out for _ in range(share)]


def tree(side):
    found, names = {}, {}

    def look(name):
        for each in sorted(os.listdir(at(side, name))):
            inside = os.path.join(name, each)
            whole = at(side, inside)
            about = os.lstat(whole)
            found[inside] = [facts(about), [] if "attributes" in without else attributes(whole)]
            if stat.S_ISLNK(about.st_mode):
                found[inside].append(os.readlink(whole))
            if stat.S_ISREG(about.st_mode):
                names.setdefault(about.st_ino, []).append(inside)
                if is_root or about.st_mode & 0o400:
                    with open(whole, "rb") as content:
                        found[inside].append(digest(content.read()))
            if stat.S_ISDIR(about.st_mode) and (is_root or about.st_mode & 0o500 == 0o500):
                look(inside)

    look(b"")
    return found, sorted(sorted(each) for each in names.values())


def same(answers):
    return answers[0] == answers[1] or ("stale" in without and answers[1] == "ESTALE")


def fail(what):
    print(f"seed {seed}, call {len(played)}: {what}")
    for each in played[-25:]:
        print("  ", *each)
    sys.exit(1)


end = time.monotonic() + seconds
while time.monotonic() < end or len(played) < 200:
    name = chance.choice(bag)
    about, answers = calls[name][1]()
    played.append((name, about, answers[0]))
    if not same(answers):
        fail(f"{name} {about}: expected {answers[0]}, got {answers[1]}")
    if len(played) % 50 == 0:
        (native, links), (mounted, others) = tree(0), tree(1)
        for each in sorted(set(native) | set(mounted)):
            if native.get(each) != mounted.get(each):
                fail(f"{each}: expected {native.get(each)}, got {mounted.get(each)}")
        if links != others:
            fail(f"names of one file: expected {links}, got {others}")
print(len(played))
