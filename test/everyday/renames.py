"""Renames of directories, each in a tree of its own: `renames.py make DIR`, then `renames.py run DIR` prints what came of them."""
import ctypes, errno, os, signal, stat, sys, threading

libc = ctypes.CDLL(None, use_errno=True)
NOREPLACE, EXCHANGE, OLD = 1, 2, 1_000_000_000


def tree(where):
    """The same for every case: files, links, closed directories, attributes."""
    os.makedirs(f'{where}/d/sub/deep')
    os.makedirs(f'{where}/closed')
    os.makedirs(f'{where}/empty')
    os.makedirs(f'{where}/full/x')
    os.makedirs(f'{where}/parent/inner')
    for name in ['d/a', 'd/sub/b', 'd/sub/deep/c', 'closed/z', 'file', 'parent/inner/p']:
        with open(f'{where}/{name}', 'w') as file:
            file.write(name)
    os.link(f'{where}/d/a', f'{where}/d/same')
    os.symlink('a', f'{where}/d/link')
    os.mkfifo(f'{where}/d/pipe')
    os.setxattr(f'{where}/d/sub', 'user.mark', b'1')
    os.setxattr(f'{where}/d/a', 'user.mark', b'2')
    os.chmod(f'{where}/d/sub/b', 0o640)
    os.chmod(f'{where}/d/sub/deep', 0o555)
    os.chmod(f'{where}/closed', 0o555)
    for top, names, files in os.walk(where, topdown=False):
        for name in files + names:
            os.utime(f'{top}/{name}', (OLD, OLD), follow_symlinks=False)


def rename2(a, b, flags, base=-100):
    if libc.renameat2(base, a.encode(), base, b.encode(), flags) != 0:
        raise OSError(ctypes.get_errno(), 'renameat2')


def shown(where):
    """Everything of it but the directories whose entries changed."""
    lines, numbers = [], {}
    for top, names, files in sorted(os.walk(where)):
        for name in sorted(names + files):
            path = f'{top}/{name}'
            about = os.lstat(path)
            kind = stat.filemode(about.st_mode)
            more = ''
            if stat.S_ISREG(about.st_mode):
                number = numbers.setdefault(about.st_ino, len(numbers))
                more = f'links={about.st_nlink} file={number} {open(path).read()!r}'
            if stat.S_ISLNK(about.st_mode):
                more = os.readlink(path)
            else:
                more += str(sorted((k, os.getxattr(path, k)) for k in os.listxattr(path) if k.startswith('user.')))
            lines.append(f'  {path} {kind} {"old" if about.st_mtime == OLD else "new"} {more}')
    return lines


def onto_itself(): os.rename('d', 'd/sub/d')
def onto_ancestor(): os.rename('parent/inner', 'parent')
def plain(): os.rename('d', 'e')
def twice(): os.rename('d', 'e'); os.rename('e', 'd'); os.rename('d', 'f')
def inner(): os.rename('d/sub', 'sub'); os.rename('d', 'sub/d')
def into_new(): os.mkdir('m'); os.rename('d', 'm/d')
def onto_empty(): os.rename('d', 'empty')
def onto_full(): os.rename('d', 'full')
def onto_file(): os.rename('d', 'file')
def file_onto(): os.rename('file', 'd')
def slash(): os.rename('d/', 'e/')
def absolute(): os.rename(os.path.abspath('d'), os.path.abspath('e'))
def through_link(): os.symlink('d', 'way'); os.rename('way/sub', 'way/moved')
def link_itself(): os.symlink('d', 'way'); os.rename('way', 'gone')
def dots(): os.rename('d/.', 'e')
def missing(): os.rename('nothing', 'e')
def nowhere(): os.rename('d', 'nothing/e')
def closed(): os.rename('closed', 'shut')
def closed_elsewhere(): os.rename('closed', 'd/closed')
def out_of_closed(): os.rename('d/sub/deep', 'd/deep')
def noreplace(): rename2('d', 'e', NOREPLACE)
def noreplace_there(): rename2('d', 'empty', NOREPLACE)
def exchange(): rename2('d', 'parent', EXCHANGE)
def exchange_file(): rename2('file', 'd', EXCHANGE)
def exchange_inside(): rename2('d', 'd/sub', EXCHANGE)
def odd_flags(): rename2('d', 'e', 64)


def closed_parent():
    os.chmod('parent', 0o555)
    os.rename('parent/inner', 'inner')


def by_descriptor():
    here = os.open('d', os.O_RDONLY)
    os.rename('sub', 'moved', src_dir_fd=here, dst_dir_fd=here)


def changed_before():
    os.remove('d/a'); open('d/new', 'w').close(); os.rename('d', 'e'); os.rmdir('d') if os.path.exists('d') else None


def made_again():
    os.rename('d', 'e'); os.mkdir('d'); open('d/other', 'w').close()


def open_files():
    reading, writing = open('d/a'), open('d/sub/b', 'r+')
    os.rename('d', 'e')
    print('  read', reading.read())
    writing.write('W'); writing.close()


def by_signals():
    count = [0]
    def handler(*_): count[0] += 1
    signal.signal(signal.SIGALRM, handler)
    signal.siginterrupt(signal.SIGALRM, False)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    for i in range(5): os.rename('d', 'e'); os.rename('e', 'd')
    signal.setitimer(signal.ITIMER_REAL, 0)


def at_once():
    errors = []
    def go(name):
        try: os.rename('d', name)
        except OSError as error: errors.append(errno.errorcode[error.errno])
    threads = [threading.Thread(target=go, args=(f'e{i}',)) for i in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    won = [name for name in os.listdir('.') if name.startswith('e') and name != 'empty']
    print('  errors', sorted(errors), 'won', len(won))
    os.rename(won[0], 'won')


def meanwhile():
    stop, made = threading.Event(), []
    def write():
        while not stop.is_set():
            for place in ['d', 'e']:
                try:
                    with open(f'{place}/made{len(made)}', 'x') as file: file.write('x')
                    made.append(place)
                except OSError: pass
    thread = threading.Thread(target=write)
    thread.start()
    try: os.rename('d', 'e')
    finally: stop.set(); thread.join()
    print('  lost', sum(not os.path.exists(f'e/made{i}') for i in range(len(made))))
    for i in range(len(made)):
        if os.path.exists(f'e/made{i}'): os.remove(f'e/made{i}')
    os.utime('e', (OLD, OLD))


cases = [value for value in list(globals().values()) if callable(value) and value.__module__ == '__main__' and value.__name__ not in ('tree', 'rename2', 'shown')]
what, base = sys.argv[1], sys.argv[2]
os.umask(0o022)
os.chdir(base)
for case in cases:
    if what == 'make':
        tree(case.__name__)
        continue
    os.chdir(case.__name__)
    print(case.__name__)
    try:
        case()
        print('  done')
    except OSError as error:
        print(' ', errno.errorcode[error.errno])
    print('\n'.join(shown('.')))
    os.chdir('..')
    sys.stdout.flush()
