"""A terminal with a small shell, which runs one job and does with it what the steps say.

Arguments: the steps as JSON, then the words of the job. Steps:
  ["shows", TEXT]     waits until the terminal has shown it, behind what the last such step found
  ["types", TEXT]     as a person does
  ["size", ROWS, COLUMNS]
  ["stops"]           waits until the shell sees the job stopped, and takes the terminal back
  ["fg"], ["bg"]      what shells do with a job that is stopped; ["front"] with one that runs
  ["signal", NAME]    to the shell's child; with a third word "group", to its group
  ["kills", WHO]      SIGKILL to the process that runs the call ("call"; a child of KEEPER's where that is set), to the
                      owner of its jail ("owner"), or to the keeper ("keeper")
                      or to the shell's child ("caller")
  ["cooked"], ["raw"] waits until the terminal has its modes back; until it is raw
  ["writes", PATH], ["rests", PATH]
                      waits until the file grows; until it does no longer
  ["idle", SECONDS]   prints how many ticks of the processor the job and its children use meanwhile
  ["modes"]           prints the terminal's, as the shell finds them
  ["left"]            prints what was typed and is there for the shell
  ["ends"]            waits for the end
  ["hangup"]          closes the terminal
As the first step, ["background"] starts the job there; ["leader"] starts it without a shell, as the leader of the session;
["typed", TEXT] types before the job starts. Prints what happened, line by line; what the terminal showed is one line of JSON.
"""
import fcntl, json, os, pty, select, signal, struct, sys, termios, time

steps, words = json.loads(sys.argv[1]), sys.argv[2:]
LIMIT = float(os.environ.get('STEP_SECONDS', '60'))


def say(*what):
    print(*what, flush=True)


def describe(status):
    if os.WIFSTOPPED(status):
        return 'stopped'
    if os.WIFCONTINUED(status):
        return 'continued'
    return 'exit %d' % os.WEXITSTATUS(status) if os.WIFEXITED(status) else 'signal %d' % os.WTERMSIG(status)


def shell(commands, answers):
    """In the session's leader: one letter a command, one line an answer."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = 0
    status = None

    def front(group):
        os.tcsetpgrp(0, group)

    def wait(wanted):
        nonlocal status
        while status is None or not wanted(status):
            _, status = os.waitpid(job, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                break
        front(os.getpgrp())
        return describe(status)

    for line in os.fdopen(commands):
        name, *rest = json.loads(line)
        answer = ''
        if name in ('start', 'background'):
            job = os.fork()
            if job == 0:
                os.setpgid(0, 0)
                if name == 'start':
                    front(os.getpgrp())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.closerange(3, 100)
                os.execvp(words[0], words)
            try:
                os.setpgid(job, job)
            except OSError:
                pass
            answer = str(job)
        elif name == 'stops':
            answer = wait(os.WIFSTOPPED)
        elif name in ('fg', 'bg'):
            status = None
            if name == 'fg':
                front(job)
            os.killpg(job, signal.SIGCONT)
        elif name == 'front':
            front(job)
        elif name == 'signal':
            (os.killpg if rest[1:] else os.kill)(job, getattr(signal, rest[0]))
        elif name == 'modes':
            flags = termios.tcgetattr(0)
            local = {'canonical': termios.ICANON, 'echo': termios.ECHO, 'signals': termios.ISIG}
            words_ = [each for each, bit in local.items() if flags[3] & bit]
            answer = ' '.join(words_ + (['newlines'] if flags[1] & termios.OPOST else []))
        elif name == 'left':
            before = termios.tcgetattr(0)
            through = termios.tcgetattr(0)
            through[3] &= ~termios.ICANON
            through[6][termios.VMIN] = through[6][termios.VTIME] = 0
            termios.tcsetattr(0, termios.TCSADRAIN, through)
            answer = json.dumps(os.read(0, 4096).decode('latin1'))
            termios.tcsetattr(0, termios.TCSADRAIN, before)
        elif name == 'ends':
            answer = wait(lambda each: not os.WIFSTOPPED(each))
        os.write(answers, (answer + '\n').encode())
    os._exit(0)


first, *first_rest = steps[0]
alone = first == 'leader'
to_shell, from_shell = os.pipe(), os.pipe()
leader, terminal = pty.fork()
if leader == 0:
    if alone:
        os.closerange(3, 100)
        os.execvp(words[0], words)
    os.close(to_shell[1])
    os.close(from_shell[0])
    shell(to_shell[0], from_shell[1])
os.close(to_shell[0])
os.close(from_shell[1])
shown = b''
found = 0


def give_up(why):
    say('NEVER', why, json.dumps(shown.decode('latin1')))
    os.kill(leader, signal.SIGKILL)
    sys.exit(1)


def read_some(seconds):
    """True where the shell has answered."""
    global shown, terminal
    ready, _, _ = select.select(([] if alone else [from_shell[0]]) + ([terminal] if terminal >= 0 else []), [], [], seconds)
    if terminal in ready:
        try:
            shown += os.read(terminal, 65536)
        except OSError:
            os.close(terminal)
            terminal = -1
    return from_shell[0] in ready


def ask(*command):
    os.write(to_shell[1], (json.dumps(command) + '\n').encode())
    end = time.time() + LIMIT
    while not read_some(0.2):
        if time.time() > end:
            give_up(command)
    return os.read(from_shell[0], 65536).decode().strip()


def set_size(rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def children_of(parent):
    found_ = {}
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            stat = open('/proc/%s/stat' % name).read()
            fields = stat[stat.rindex(')') + 2:].split()
            if int(fields[1]) == parent:
                found_[int(name)] = (int(fields[2]), open('/proc/%s/cmdline' % name).read())
        except OSError:
            pass  # it has ended
    return found_


def kill(who):
    keeper = int(os.environ.get('KEEPER') or 0)
    call = next(pid for pid, (group, _) in children_of(keeper).items() if pid == group) if keeper else job
    owner = [pid for pid, (_, line) in children_of(call).items() if line.startswith('ctx-jail')]
    os.kill({'keeper': [keeper], 'call': [call], 'owner': owner, 'caller': [job]}[who][0], signal.SIGKILL)


def watch_file(path, grows):
    """Twice the same, a quarter of a second apart, is at rest."""
    before, end = None, time.time() + LIMIT
    while time.time() < end:
        now = os.path.getsize(path) if os.path.exists(path) else 0
        if before is not None and (now > before) == grows and (grows or now == before):
            return
        before = now
        time.sleep(0.25)
    give_up('%s %s' % (path, grows))


def ticks():
    used = 0
    for pid in [job, *children_of(job)]:
        fields = open('/proc/%d/stat' % pid).read().rsplit(')', 1)[1].split()
        used += int(fields[11]) + int(fields[12])
    return used


def until_modes(name, canonical):
    end = time.time() + LIMIT
    while bool(termios.tcgetattr(terminal)[3] & termios.ICANON) != canonical:
        if time.time() > end:
            give_up(name)
        read_some(0.05)


def end_alone():
    end = time.time() + LIMIT
    while True:
        pid, status = os.waitpid(leader, os.WNOHANG)
        if pid:
            return describe(status)
        if time.time() > end:
            give_up('ends')
        read_some(0.05)


set_size(24, 80)
if first == 'typed':
    os.write(terminal, first_rest[0].encode())
job = leader if alone else int(ask('background' if first == 'background' else 'start'))
for name, *rest in steps:
    if name == 'shows':
        end = time.time() + LIMIT
        while rest[0].encode('latin1') not in shown[found:]:
            if time.time() > end:
                give_up(rest[0])
            read_some(0.2)
        found = shown.index(rest[0].encode('latin1'), found) + len(rest[0])
    elif name == 'types':
        os.write(terminal, rest[0].encode('latin1'))
    elif name == 'size':
        set_size(*rest)
    elif name == 'kills':
        kill(rest[0])
    elif name == 'writes':
        watch_file(rest[0], True)
    elif name == 'rests':
        watch_file(rest[0], False)
        say(name)
    elif name == 'idle':
        used = ticks()
        time.sleep(rest[0])
        say(name, ticks() - used)
    elif name == 'pauses':
        time.sleep(rest[0])
    elif name in ('cooked', 'raw'):
        until_modes(name, name == 'cooked')
        say(name)
    elif name == 'hangup':
        os.close(terminal)
        terminal = -1
    elif name in ('fg', 'bg', 'front', 'signal'):
        ask(name, *rest)
    elif name == 'ends' and alone:
        say(name, end_alone())
    elif name not in ('background', 'leader', 'typed'):
        say(name, ask(name, *rest))
while terminal >= 0:
    before = len(shown)
    read_some(0.1)
    if len(shown) == before:
        break
say('shown', json.dumps(shown.decode('latin1')))
if not alone:
    os.kill(leader, signal.SIGKILL)
