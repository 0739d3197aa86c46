/**
 * Renames and links of what was there before a command, in its fork and in an ordinary directory: the same answers, and the same trees
 * afterwards. In the fork the owner of the jail prepares each rename by a copy of the directory, which nobody may be able to tell.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { AskedJail } from '../support/asked-jail.js';
import { bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';

const jail = bareJail();
const home = join(jail.base, 'home');
const options: PlanOptions = { weakened: jail.landlock > 0 ? [] : ['landlock'] };

/**
 * Makes one tree: every kind of entry and of mode, attributes, access lists and those that are handed on, two names of a file and of a link, and times that stay. Names of one
 * file in and outside of what is moved become two files in an overlay, renamed or not. */
const building = `
import os, stat, struct, sys
def listed(*entries): return struct.pack('<I', 2) + b''.join(struct.pack('<HHI', *entry) for entry in entries)
NOBODY = 2 ** 32 - 1
narrow = listed((1, 7, NOBODY), (2, 5, os.geteuid()), (4, 5, NOBODY), (16, 5, NOBODY), (32, 0, NOBODY))
wide = listed((1, 7, NOBODY), (2, 7, os.geteuid()), (4, 5, NOBODY), (16, 7, NOBODY), (32, 5, NOBODY))
def give_list(path, kind, value):
    try: os.setxattr(path, 'system.posix_acl_' + kind, value)
    except OSError: pass
def build(top):
    os.umask(0)
    os.makedirs(top)
    def entry(path, make, mode=None):
        make(os.path.join(top, path))
        if mode is not None: os.chmod(os.path.join(top, path), mode)
    def file(size):
        def make(path):
            with open(path, 'wb') as file: file.write(b'x' * size)
        return make
    for path in ['d', 'd/sub', 'd/sub/deep', 'd/closed', 'd/read', 'd/none', 'd/near', 'd/far', 'other', 'empty', 'full', 'shut']: entry(path, os.mkdir, 0o755)
    for path, size, mode in [('d/a', 5, 0o644), ('d/b', 70000, 0o600), ('d/sub/c', 0, 0o444), ('d/sub/deep/e', 1, 0o4755),
        ('d/closed/f', 2, 0o000), ('d/read/g', 3, 0o640), ('full/h', 4, 0o644), ('d/near/k', 8, 0o640), ('file', 6, 0o644), ('shut/d', 0, 0o644)]: entry(path, file(size), mode)
    for one, other in [('near/k', 'far/k'), ('near/k', 'near/l'), ('sub/deep/e', 'sub/deep/linked')]: os.link(top + '/d/' + one, top + '/d/' + other)
    os.symlink('a', top + '/d/link')
    os.symlink('/nowhere', top + '/d/sub/link')
    os.link(top + '/d/link', top + '/d/link2', follow_symlinks=False)
    os.symlink('d', top + '/to-d')
    os.symlink('other', top + '/to-other')
    entry('d/fifo', os.mkfifo, 0o620)
    for path in ['d', 'd/sub', 'd/a']:
        try: os.setxattr(top + '/' + path, 'user.kept', path.encode())
        except OSError: pass
    for path, kind, value in [('d/sub', 'access', narrow), ('d/sub', 'default', wide), ('d/near', 'access', wide),
        ('d/far', 'default', narrow), ('d/b', 'access', narrow), ('other', 'default', wide)]: give_list(top + '/' + path, kind, value)
    os.mkdir(top + '/shut/inner')
    for path, mode in [('d/closed', 0o500), ('d/read', 0o555), ('d/none', 0o000), ('shut', 0o555), ('d/sub', 0o2750)]: os.chmod(top + '/' + path, mode)
    for number, (folder, directories, files) in enumerate(sorted(os.walk(top, topdown=False))):
        for name in sorted(files) + ['.']: os.utime(os.path.join(folder, name), ns=(10**15 + number, 10**15 + number), follow_symlinks=False)
    give_list(top, 'default', wide)
`;

/** Each is done in a tree of its own: what is asked, by every call and every way to write a path. */
const cases = `
import mmap
def at(call, *names, **more): return lambda top: call(*[os.path.join(top, name) for name in names], **more)
def inside(folder, call, *names, **more):
    def act(top):
        os.chdir(os.path.join(top, folder))
        try: return call(*names, **more)
        finally: os.chdir('/')
    return act
def between(one, other, call, *names):
    def act(top):
        from_, to = [os.open(os.path.join(top, each), os.O_PATH | os.O_DIRECTORY) for each in (one, other)]
        try: return call(*names, src_dir_fd=from_, dst_dir_fd=to)
        finally: os.close(from_); os.close(to)
    return act
calls = ctypes.CDLL(None, use_errno=True)
def flagged(flags):
    def call(one, other):
        if calls.renameat2(-100, one.encode(), -100, other.encode(), flags) != 0: raise OSError(ctypes.get_errno(), '')
    return call
pages = mmap.mmap(-1, 4 * mmap.PAGESIZE)
def across(first):
    """Both paths across two pages: so many bytes in the first, or all but so many where that is below zero."""
    def put(path, page):
        text = path.encode() + bytes(1)
        at = page * mmap.PAGESIZE - (first if first > 0 else len(text) + first)
        pages[at:at + len(text)] = text
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(pages)) + at)
    def call(one, other):
        if calls.rename(put(one, 1), put(other, 3)) != 0: raise OSError(ctypes.get_errno(), '')
    return call
dots = './' * 140
rename, keep, exchange, odd = os.rename, flagged(1), flagged(2), flagged(3)
def again(*acts):
    def act(top):
        for each in acts: each(top)
    return act
cases = {
    'to a new name': at(rename, 'd', 'e'),
    'into another directory': at(rename, 'd', 'other/d'),
    'of what lies in it': at(rename, 'd/sub', 'moved'),
    'to a name that ends in slashes': at(rename, 'd///', 'e//'),
    'through a link to its parent': at(rename, 'to-d/sub', 'to-other/sub'),
    'of a link to it': at(rename, 'to-d', 'e'),
    'of a link to it, as a directory': at(rename, 'to-d/', 'e'),
    'onto an empty directory': at(rename, 'd', 'empty'),
    'onto a full directory': at(rename, 'd', 'full'),
    'onto a file': at(rename, 'd', 'file'),
    'onto a link': at(rename, 'd', 'to-other'),
    'onto itself': at(rename, 'd', 'd'),
    'of a file onto it': at(rename, 'file', 'd'),
    'into itself': at(rename, 'd', 'd/sub/e'),
    'onto what it lies in': at(rename, 'd/sub', 'd'),
    'of nothing': at(rename, 'missing', 'e'),
    'into nothing': at(rename, 'd', 'missing/e'),
    'into a file': at(rename, 'd', 'file/e'),
    'of a place with dots': at(rename, 'd/.', 'e'),
    'of the one above': at(rename, 'd/sub/..', 'e'),
    'to a place with dots': at(rename, 'd', 'other/..'),
    'by way of dots': at(rename, 'other/../d', 'd/../e'),
    'of an empty name': at(lambda one, other: rename('', other), 'd', 'e'),
    'to a name that is too long': at(rename, 'd', 'e' * 256),
    'to a name that is as long as it may be': at(rename, 'd', 'e' * 255),
    'beside it': inside('.', rename, 'd', 'e'),
    'from below': inside('d/sub', rename, 'deep', '../deep'),
    'from what is above': inside('other', rename, '../d', 'd'),
    'of a path whose first byte alone is in its page': at(across(1), 'd', 'e'),
    'of a path of which some bytes are in another page': at(across(5), 'd/sub', 'e'),
    'of a path whose end alone is in another page': at(across(-1), 'd', 'e'),
    'of a long path of which little is in its first page': at(across(3), dots + 'd', dots + 'e'),
    'of a long path of which little is in its last page': at(across(-3), dots + 'd', dots + 'e'),
    'between descriptors': between('d', 'other', rename, 'sub', 'sub'),
    'between descriptors, up': between('d/sub', '.', rename, 'deep', 'e'),
    'between descriptors, by absolute paths': lambda top: between('d', 'other', rename, top + '/d', top + '/e')(top),
    'to a new name, which must be new': at(keep, 'd', 'e'),
    'onto an empty directory, which must be new': at(keep, 'd', 'empty'),
    'onto a file, which must be new': at(keep, 'd', 'file'),
    'of two directories for each other': at(exchange, 'd', 'other'),
    'of two full ones for each other': at(exchange, 'd/sub', 'full'),
    'of a directory and a file for each other': at(exchange, 'd', 'file'),
    'of a file and a directory for each other': at(exchange, 'file', 'd'),
    'of a directory and a link for each other': at(exchange, 'd', 'to-d'),
    'of a directory and what lies in it for each other': at(exchange, 'd', 'd/sub'),
    'of what lies in it and a directory for each other': at(exchange, 'd/sub/deep', 'd'),
    'of a directory and nothing for each other': at(exchange, 'd', 'missing'),
    'with flags that exclude each other': at(odd, 'd', 'other'),
    'with a flag that no one knows': at(flagged(1 << 7), 'd', 'e'),
    'out of a directory that may not be changed': at(rename, 'shut/inner', 'e'),
    'into a directory that may not be changed': at(rename, 'd', 'shut/e'),
    'of one that may not be written to, in its directory': at(rename, 'd/read', 'd/written'),
    'of one that may not be written to, to another': at(rename, 'd/read', 'read'),
    'of one that may not be looked into': at(rename, 'd/none', 'd/nothing'),
    'twice': again(at(rename, 'd', 'e'), at(rename, 'e', 'other/f')),
    'to and fro': again(at(rename, 'd', 'e'), at(rename, 'e', 'd')),
    'of what a command made': again(at(os.mkdir, 'own'), at(rename, 'd', 'own/d'), at(rename, 'own', 'mine')),
    'of what was written to first': again(at(lambda path: open(path, 'a').write('more'), 'd/a'), at(rename, 'd', 'e')),
    'of what is lacking something by now': again(at(os.unlink, 'd/a'), at(os.unlink, 'd/sub/c'), at(rename, 'd', 'e')),
    'of a whole tree with one that was made in it': again(at(os.mkdir, 'd/sub/new'), at(rename, 'd', 'e')),
}
`;

const looking = `
import json
def look(top):
    seen, numbers = {}, {}
    def visit(path, name):
        about = os.lstat(path)
        kind = stat.S_IFMT(about.st_mode)
        fixed = about.st_mtime_ns if about.st_mtime_ns < 10**15 + 1000 else 'new'
        what = [oct(about.st_mode), about.st_nlink if kind == stat.S_IFREG else 0, about.st_uid == os.geteuid(), fixed]
        if kind == stat.S_IFREG:
            what.append(numbers.setdefault((about.st_dev, about.st_ino), name) if about.st_nlink > 1 else '')
            if not about.st_mode & 0o400: os.chmod(path, 0o600)
            with open(path, 'rb') as file: what.append(len(file.read()))
        if kind == stat.S_IFLNK: what.append(os.readlink(path))
        elif kind != stat.S_IFIFO:
            try: what.append(sorted((each, os.getxattr(path, each).hex()) for each in os.listxattr(path) if each.startswith(('user.kept', 'system.posix_acl'))))
            except OSError: pass
        seen[name] = what
        if kind == stat.S_IFDIR:
            if about.st_mode & 0o500 != 0o500: os.chmod(path, 0o700)
            for each in sorted(os.listdir(path)): visit(path + '/' + each, name + '/' + each)
    visit(top, '')
    return seen
def tried(act, top):
    try: return [str(act(top)), look(top)]
    except OSError as error: return [errno.errorcode.get(error.errno, error.errno), look(top)]
`;

function outside(script: string): void {
  const { status, stderr } = spawnSync('/usr/bin/python3', ['-c', script], { encoding: 'utf8', ...bareUser });
  assert.equal(status, 0, stderr);
}

/** A script inside; all that the jail reported of it. */
async function inside(script: string): Promise<readonly string[]> {
  writeFileSync(join(home, 'script.py'), script);
  const argv = ['sh', '-c', 'exec python3 /home/user/script.py > /home/user/said 2>&1'];
  const asked = new AskedJail(jail, jail.plan(argv, options));
  await asked.closed;
  assert.match(asked.said.at(-1) ?? '', / exited 0 /, readFileSync(join(home, 'said'), 'utf8'));
  return asked.said;
}

describe('a rename of what was there before', () => {
  it('is what it is in any directory: every call, every path, every target', async () => {
    const prelude = `${building}\nimport ctypes, errno\n${cases}`;
    outside(`${prelude}
for number, name in enumerate(cases):
    for top in ['${jail.base}/layer/trees', '${home}/trees']: build('%s/%d' % (top, number))`);
    await inside(`${prelude}\n${looking}
found = {name: [tried(act, '%s/trees/%d' % (top, number)) for top in ('/home/user', '/workspace')] for number, (name, act) in enumerate(cases.items())}
with open('/home/user/found', 'w') as file: json.dump(found, file)`);
    type Tree = Readonly<Record<string, unknown>>;
    type Found = Readonly<Record<string, readonly [readonly [string, Tree], readonly [string, Tree]]>>;
    const found = JSON.parse(readFileSync(join(home, 'found'), 'utf8')) as Found;
    assert.ok(Object.keys(found).length > 50);
    for (const [name, [expected, actual]] of Object.entries(found)) {
      assert.equal(actual[0], expected[0], name);
      assert.deepEqual(actual[1], expected[1], name);
    }
    rmSync(join(home, 'found'));
  });

  it('is told with what it took, together with those of all others', async () => {
    const top = join(jail.base, 'layer', 'counted');
    const more = 'ctypes.CDLL(None).close(-1)';
    outside(`import os
for top in ['${top}/a', '${top}/b']:
    os.makedirs(top + '/sub')
    for name, size in [('one', 10), ('two', 20), ('sub/three', 300)]:
        with open(top + '/' + name, 'wb') as file: file.write(b'x' * size)
    os.link(top + '/one', top + '/sub/again')`);
    const said = await inside(`import ctypes, os
${more}
os.rename('/workspace/counted/a', '/workspace/counted/c')
os.rename('/workspace/counted/c', '/workspace/counted/d')
os.rename('/workspace/counted/b', '/workspace/counted/e')
os.mkdir('/home/user/own'); os.rename('/home/user/own', '/home/user/mine'); os.rmdir('/home/user/mine')`);
    const renamed = said
      .filter((report) => / renamed /.test(report))
      .map((report) => report.split(' ').slice(2).map(Number));
    assert.deepEqual(
      renamed.map(([directories, files, bytes]) => [directories, files, bytes]),
      [[2, 8, 660]],
    );
    const milliseconds = renamed[0]?.[3] ?? -1;
    assert.ok(milliseconds >= 0 && milliseconds < 600_000, String(milliseconds));
    const none = await inside('pass');
    assert.deepEqual(
      none.filter((report) => / renamed /.test(report)),
      [],
    );
  });

  it('is each for itself where many are asked for at once', async () => {
    const count = 24;
    outside(`import os
for number in range(${count}):
    os.makedirs('${jail.base}/layer/many/%d/sub' % number)
    with open('${jail.base}/layer/many/%d/sub/file' % number, 'w') as file: file.write(str(number))`);
    await inside(`import os, threading
def rename(number): os.rename('/workspace/many/%d' % number, '/workspace/many/to-%d' % number)
threads = [threading.Thread(target=rename, args=(number,)) for number in range(${count})]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert sorted(os.listdir('/workspace/many')) == sorted('to-%d' % number for number in range(${count})), os.listdir('/workspace/many')
for number in range(${count}): assert open('/workspace/many/to-%d/sub/file' % number).read() == str(number)`);
  });
});

describe('a link of what was there before', () => {
  it('is made, but for git where it keeps the last name: that would compare numbers', async () => {
    outside(
      `import os
for top in ['${jail.base}/layer/linked', '${home}/linked']:
    os.makedirs(top + '/to', exist_ok=True)
    for name in ['one', 'two']:
        with open(top + '/' + name, 'w') as file: file.write(name)
    os.symlink('one', top + '/link'); os.makedirs(top + '/dir', exist_ok=True)`.replace(
        'os.makedirs(top',
        'os.makedirs(top',
      ),
    );
    await inside(`import ctypes, errno, json, os
calls = ctypes.CDLL(None, use_errno=True)
AT = -100
def linked(top, at, source, target, call='linkat', flags=0):
    os.chdir(top)
    base = os.open(top, os.O_PATH | os.O_DIRECTORY) if at == 'descriptor' else AT
    one = top + '/' + source if at == 'absolute' else source
    other = top + '/' + target if at == 'absolute' else target
    ctypes.set_errno(0)
    if call == 'linkat': calls.linkat(base, one.encode(), base, other.encode(), flags)
    else: calls.link(one.encode(), other.encode())
    said = errno.errorcode.get(ctypes.get_errno(), 'made')
    if base != AT: os.close(base)
    try: os.unlink(other if at != 'descriptor' else top + '/' + target)
    except OSError: pass
    return said
found = {}
for name in ['git', 'git-x', 'gi', 'tig', 'python3']:
    calls.prctl(15, name.encode(), 0, 0, 0)
    for place in ['/workspace/linked', '/home/user/linked']:
        for at in ['absolute', 'relative', 'descriptor']:
            for call in ['linkat', 'link']:
                if call == 'link' and at == 'descriptor': continue
                for source, target in [('one', 'to/one'), ('one', 'to/two'), ('two', 'to/two'), ('link', 'to/link')]:
                    found['%s %s %s %s %s %s' % (name, place[1:5], at, call, source, target)] = linked(place, at, source, target, call)
with open('/home/user/found', 'w') as file: json.dump(found, file)`);
    const found = Object.entries(JSON.parse(readFileSync(join(home, 'found'), 'utf8')) as Record<string, string>);
    assert.equal(found.length, 5 * 2 * 5 * 4);
    for (const [what, said] of found) {
      const [name, place, , , source = '', target = ''] = what.split(' ');
      const isKept = target === `to/${source}` && source !== 'link';
      const isCompared = name === 'git' && place === 'work' && isKept;
      assert.equal(said, isCompared ? 'EXDEV' : 'made', what);
    }
  });
});
