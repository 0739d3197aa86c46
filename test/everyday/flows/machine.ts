/** What programs ask about the machine, the user and themselves. */
import { type Flow, known } from '../flow.js';

export const machineFlows: readonly Flow[] = [
  {
    name: 'who and where',
    quick: true,
    run: 'id -u; id -g; pwd; umask; echo $HOME; cd ~ && pwd; test -w ~ && echo writable; uname -srm',
  },
  {
    name: 'processors and memory',
    run: 'nproc; getconf _NPROCESSORS_ONLN; grep -c ^processor /proc/cpuinfo; head -1 /proc/meminfo; node -p "os.cpus().length + os.totalmem()"; cat /sys/devices/system/cpu/online',
  },
  { name: 'limits', run: 'ulimit -s; ulimit -f; ulimit -v' },
  {
    name: 'a thousand threads',
    needs: ['/usr/bin/python3'],
    run: `/usr/bin/python3 -c 'import threading
e = threading.Event()
ts = [threading.Thread(target=e.wait) for _ in range(1000)]
[t.start() for t in ts]; e.set(); [t.join() for t in ts]; print(len(ts))'`,
  },
  {
    name: 'dates and zones',
    run: 'date -u -d @0 +%F; TZ=Europe/Berlin date -d @0 +%H; TZ=America/New_York date -d @0 +%H; date +%Z',
  },
  { name: 'languages', run: 'locale | head -1; printf "ä" | wc -m; echo $LANG' },
  {
    name: 'devices',
    run: 'head -c 4 /dev/zero | xxd; head -c 8 /dev/urandom | wc -c; echo x > /dev/null; ls /dev/fd/0 > /dev/null && echo fd; echo full > /dev/full; echo $?; test -e /dev/tty; tty',
  },
  {
    name: 'packages of the system',
    needs: ['dpkg'],
    run: 'dpkg -S /bin/ls 2>/dev/null || dpkg -S /usr/bin/ls; dpkg -s bash | grep ^Status; dpkg -l bash | tail -1 | cut -c1-4; apt-get --version | head -1',
  },
  { name: 'manual pages', needs: ['man'], run: 'man -w ls > /dev/null 2>&1; echo $?' },
  {
    name: 'sockets that listen',
    needs: ['ss', '/usr/bin/python3'],
    run: `/usr/bin/python3 -c 'import socket, subprocess
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); port = s.getsockname()[1]; print(subprocess.run(["ss", "-Htln", "sport", "=", f":{port}"], capture_output=True, text=True).stdout.split()[3] == f"127.0.0.1:{port}")'`,
  },
  {
    name: 'processes',
    run: 'ps -o pid= -p $$ | wc -l; ps -o comm= -p $$; [ $PPID -gt 0 ] && echo parent; kill -0 $$ && echo alive; pgrep -c sh > /dev/null && echo found',
  },
  {
    name: 'mounts and disks',
    run: 'df -P . | wc -l; mount | grep -c . > /dev/null && echo mounts; findmnt -no TARGET / ; stat -f -c %T / > /dev/null && echo ok',
  },
  { name: 'nested user namespaces', needs: ['unshare'], run: 'unshare -Ur id -u' },
  { name: 'sudo is asked whether it may', run: 'sudo -n true > /dev/null 2>&1 || true; echo asked' },
  {
    name: 'a filesystem in a file',
    needs: ['mkfs.ext4'],
    run: 'truncate -s 4M img; mkfs.ext4 -q -F img; echo $?; dumpe2fs -h img 2>/dev/null | grep -c "Block count"',
    volatile: /^img$/,
  },
  {
    name: 'caches of the home',
    run: ['mkdir -p ~/.cache/x && echo 1 > ~/.cache/x/y', 'cat ~/.cache/x/y; rm -r ~/.cache/x'],
  },
  {
    name: 'openssl and hashes',
    needs: ['openssl'],
    run: 'openssl genrsa -out k 1024 2>/dev/null; echo hi | openssl dgst -sha256 | sed "s/.*= //"; openssl rsa -in k -check -noout 2>/dev/null; rm k; echo x | sha256sum',
  },
  {
    name: 'gpg: a key and a signature',
    needs: ['gpg'],
    run: 'export GNUPGHOME=$PWD/g; mkdir -m 700 g; gpg -q --batch --passphrase "" --quick-gen-key x@example.org default default never 2>/dev/null; echo hi > f; gpg -q --batch -bs f 2>/dev/null; gpg -q --verify f.sig f 2>&1 | grep -c Good; gpgconf --kill all; rm -rf g f.sig',
  },
  {
    name: 'ssh keys',
    needs: [known, 'ssh-keygen'],
    run: "ssh-keygen -q -t ed25519 -N '' -f k; ssh-keygen -lf k.pub | cut -d' ' -f1; stat -c %a k; rm k k.pub",
  },
  {
    name: 'tmux',
    needs: ['tmux'],
    run: 'tmux -L everyday -f /dev/null new-session -d "echo in > t; sleep 5"; for i in 1 2 3 4 5 6 7 8 9; do [ -s t ] && break; sleep 0.2; done; tmux -L everyday kill-server; cat t',
  },
  {
    name: 'chromium: a page',
    needs: ['chromium'],
    options: ['--nested-namespaces'],
    run: 'chromium --headless --dump-dom "data:text/html,<p>hi</p>" 2>/dev/null',
  },
];
