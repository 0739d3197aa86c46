"""fsx.py FILE SEED SECONDS: as fsx does: one file, changed at random by every kind of call, held against what it has to be.

Prints how many operations were done. What differs ends it with code 1, and is named with its operation."""
import fcntl
import mmap
import os
import random
import sys
import time

path, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
chance = random.Random(seed)
most, longest = 200_000, 40_000
kinds = ["write"] * 4 + ["read"] * 3 + ["map_read", "map_write"] * 2 + ["truncate", "copy", "sync", "reopen", "settle", "size"]
expected = bytearray()
descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
appends = False
done = 0


def fail(what):
    print(f"seed {seed}, operation {done}: {what}, of {len(expected)} bytes")
    sys.exit(1)


def compare(found, at, length):
    if found != bytes(expected[at : at + length]):
        fail(f"{length} bytes at {at} differ")


def put(at, content):
    if at > len(expected):
        expected.extend(bytes(at - len(expected)))
    expected[at : at + len(content)] = content


def write(at, length):
    if appends and len(expected) > 2 * most:
        return
    content = bytes([1 + chance.randrange(255)]) * length
    if os.pwrite(descriptor, content, at) != length:
        fail("a short write")
    # Linux takes no notice of the place where a descriptor appends.
    put(len(expected) if appends else at, content)


def read(at, length):
    compare(os.pread(descriptor, length, at), at, length)


def with_map(at, length, act):
    if not expected:
        return
    at %= len(expected)
    with mmap.mmap(descriptor, len(expected)) as mapped:
        act(mapped, at, min(length, len(expected) - at))


def map_read(at, length):
    with_map(at, length, lambda mapped, at, length: compare(mapped[at : at + length], at, length))


def map_write(at, length):
    def change(mapped, at, length):
        content = bytes([1 + chance.randrange(255)]) * length
        mapped[at : at + length] = content
        put(at, content)
        if chance.random() < 0.3:
            mapped.flush()

    with_map(at, length, change)


def truncate(size, _):
    os.ftruncate(descriptor, size)
    del expected[size:]
    expected.extend(bytes(size - len(expected)))


def copy(at, length):
    source = chance.randrange(len(expected) + 1)
    length = min(length, len(expected) - source)
    if length > 0 and not appends and (at + length <= source or source + length <= at):
        count = os.copy_file_range(descriptor, descriptor, length, source, at)
        put(at, bytes(expected[source : source + count]))


def sync(*_):
    os.fsync(descriptor)


def reopen(*_):
    global descriptor, appends
    os.close(descriptor)
    appends = chance.random() < 0.3
    descriptor = os.open(path, os.O_RDWR | (os.O_APPEND if appends else 0))


def settle(*_):
    global appends
    appends = not appends
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND if appends else 0)


def size(*_):
    if os.fstat(descriptor).st_size != len(expected):
        fail(f"its size is said to be {os.fstat(descriptor).st_size}")


end = time.monotonic() + seconds
# On a busy machine, too, enough of them to mean something.
while time.monotonic() < end or done <= 20:
    done += 1
    globals()[chance.choice(kinds)](chance.randrange(most), 1 + chance.randrange(longest))
read(0, 2 * most)
print(done)
