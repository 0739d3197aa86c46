/**
 * Programs that reach for the host: privileges, namespaces, daemons, services, the kernel, accounts. What could matter if the jail did
 * not hold is a risk; what only asks (a status, a list, a version) is not.
 */
import { each, type Program, type Programs } from '../program.js';

const privileges = 'asks for privileges, and nothing in a jail can gain any; run it yourself, outside';
const namespaces = 'makes or enters namespaces, which the jail refuses; the jail is the sandbox already';
const containers = 'speaks to a daemon that acts on the host as root; run it yourself, outside';
const services = 'acts through services of the host, outside of the jail and after it has ended';
const accounts = 'changes accounts of the host';
const kernel = 'changes or traces the running kernel';

const userValues = '-u -g -h -p -C -r -t -T -U -D -R --user --group --host --prompt --chdir --chroot --role --type';

/** What is asked of a container's daemon; everything else makes it act. */
const containerQuestions =
  'ps|images|version|info|inspect|logs|top|stats|port|diff|history|events|help|ls|list|df|pods|' +
  '(container|image|network|volume|context|plugin|node|service|stack|config|secret|pod|system|buildx|builder|c|i|t|ns|' +
  'containers|tasks|namespaces|machine) (ls|list|ps|inspect|logs|top|stats|port|diff|history|show|df|info|events|version|du)|' +
  'compose (ps|ls|config|version|images|logs|top|port|events)|get (clusters|nodes)|status|state';

const container: Program = {
  is: 'h',
  why: containers,
  asking: `^$|^(${containerQuestions})( |$)`,
  only: { '--version': 'r' },
  onlyFirst: true,
  with: { '-H --host': 'n' },
  values: `-H --host --context --log-level --config -f --file --filter --format -n --tail -p --project-name --profile \
-l -c --connection --tlscacert --tlscert --tlskey --root --runroot --runtime --runtime-flag --storage-driver --storage-opt \
--tmpdir --url --identity --namespace --address -a --project-directory --env-file --ansi --parallel --cgroup-manager \
--conmon --events-backend --hooks-dir --imagestore --module --network-cmd-path --network-config-dir --out --ssh --volumepath \
--criu --log --log-format --kubeconfig --machine`,
};

const service: Program = {
  is: 'h',
  why: services,
  values: `-t --type --state -p -P --property -n --lines -o --output -M --machine -H --host --root --image -s --signal \
--kill-who --kill-whom --job-mode --preset-mode --what --timestamp --address`,
};
const serviceQuestions =
  'status|show|show-environment|cat|help|get-default|is-active|is-enabled|is-failed|is-system-running|list|list-[a-z-]+|' +
  'timesync-status|session-status|user-status|seat-status|show-[a-z]+|tree|introspect';

/** What is asked of `ip`, most of it by any start of a word: but `ip link s` sets. An object alone is listed. */
const interfaceQuestions =
  '^[a-z0-9_]*$|^[a-z0-9_]+ (l|li|lis|list|lst|ls|sh|sho|show|showdump|save|g|ge|get|h|he|hel|help)( |$)|' +
  '^(a|addr|address|r|ro|route|rule|n|neigh|neighbour) s( |$)|^(netns|vrf) (identify|pids|list-id|monitor)( |$)|' +
  '^monitor( |$)|^xfrm (state|policy)($| (list|get|count)( |$))|^mptcp (endpoint|limits) show( |$)';

export const hostPrograms: Programs = {
  ...each('sudo doas pkexec', {
    is: 'h',
    why: privileges,
    runs: 0,
    assignments: true,
    values: userValues,
    /** `-k` before a command asks anew, and runs it. */
    only: { '-V --version -l --list -v --validate -K --remove-timestamp': 'r' },
  }),
  su: { is: 'h', why: privileges, text: '-c --command', values: '-s -g -G -w --shell' },
  ...each('runuser sg', { is: 'h', why: privileges, text: '-c --command', runs: 0, values: '-u -g -G -s' }),
  ...each('newgrp login setuidgid su-exec gosu', { is: 'h', why: privileges }),
  setcap: { is: 'h', why: privileges, only: { '-v': 'r' } },
  /** Its options are steps, done in order; the words after `--` are a shell's. */
  capsh: {
    is: 'h',
    why: privileges,
    only: { '--print --decode --explain --supports --has-p': 'r' },
    with: {
      '-- -+ --drop --caps --inh --addamb --delamb --noamb --uid --cap-uid --gid --groups --user --keep --secbits': 'h',
      '--mode --chroot --forkfor --killit --shell --strict --noenv': 'h',
    },
    matching: { '^[=+-]+$': 'h' },
  },
  ...each('docker podman nerdctl lxc crictl ctr runc crun buildah kind minikube', container),
  ...each('docker-compose podman-compose', container),
  ...each('lxc-attach lxc-start lxc-create', { is: 'h', why: containers }),
  skopeo: { is: 'mn', asking: '^(inspect|list-tags)( |$)' },
  ...each('nsenter', { is: 'h', why: namespaces, runs: 0, values: '-t -S -G --target' }),
  ...each('unshare', { is: 'h', why: namespaces, runs: 0, values: '-R -w -S -G --map-user --map-group' }),
  ...each('bwrap firejail nsjail', { is: 'h', why: namespaces }),
  chroot: { is: 'h', why: namespaces, runs: 1 },
  ...each('systemctl loginctl busctl timedatectl hostnamectl localectl resolvectl machinectl', {
    ...service,
    asking: `^$|^(${serviceQuestions})( |$)`,
  }),
  ...each('service rc-service', {
    ...service,
    asking: '^[^ ]+ status$',
    only: { '--status-all': 'r' },
    onlyFirst: true,
  }),
  ...each('systemd-run dbus-send gdbus batch atd cron initctl', { is: 'h', why: services }),
  crontab: { is: 'h', why: services, only: { '-l': 'r' }, values: '-u' },
  at: { is: 'h', why: services, only: { '-l -V': 'r' }, values: '-q -f -t' },
  ...each('reboot shutdown poweroff halt init telinit', { is: 'h', why: services }),
  modprobe: {
    is: 'h',
    why: kernel,
    only: { '-n --dry-run --show --show-depends -D -c --showconfig': 'r' },
  },
  depmod: { is: 'h', why: kernel, only: { '-n --dry-run --show': 'r' } },
  /** `kexec -c -l` loads: `-c` is not everywhere a question. */
  ...each('insmod rmmod kexec', { is: 'h', why: kernel }),
  /** They run a command, and trace it. */
  ...each('bpftrace stap', { is: 'h', why: kernel, text: '-c', values: '-e -p -o -f -I -x -m -r -s -S -d -D -G -v' }),
  ...each('kmod bpftool', {
    is: 'h',
    why: kernel,
    asking: '^$|^(list|static-nodes|version|feature|\\S+( (show|list))?)$',
  }),
  /** `-z` runs a program for each file that is full. */
  tcpdump: {
    is: 'h',
    why: kernel,
    only: { '-r -D --list-interfaces': 'r' },
    with: { '-w': 'm' },
    text: '-z',
    values: '-r -i -w -c -s -C -G -W -F -V -Z -E -T -y -j -B -M --interface',
    unsure: 'm',
  },
  ...each('tshark dumpcap', {
    is: 'h',
    why: kernel,
    only: { '-r --read-file -D --list-interfaces': 'r' },
    /** `-X` loads a script. */
    with: { '-w -X -F --export-objects --export-tls-session-keys --temp-dir': 'm' },
    values: '-r -i -w -c -Y -s -z -X -F -T -e -E -f -R -o -d -a -b -B -J -j -K -N -H -C -G -O -S -t -u -U -W -y',
    unsure: 'm',
  }),
  gcore: { is: 'm', matching: { '^1$': 'h' }, values: '-o', why: kernel },
  sysctl: { is: 'r', with: { '-w --write -p -f --load --system': 'h' }, matching: { '=': 'h' }, why: kernel },
  ...each('iptables ip6tables', {
    is: 'h',
    why: kernel,
    only: { '-L --list -S --list-rules -C --check': 'r' },
    with: { '-Z --zero -F --flush -A -D -I -P -X -N': 'h' },
    values: '-t --table',
  }),
  ...each('iptables-restore wg-quick openvpn', { is: 'h', why: kernel }),
  ...each('nft ufw tc brctl wg', {
    is: 'h',
    why: kernel,
    asking: '^((show|list|ls|status|describe|genkey|pubkey|genpsk)( |$)|\\S+ (show|list|ls)( |$))',
    /** A file of commands. */
    with: { '-f --file -i --interactive -b --batch': 'h' },
  }),
  'firewall-cmd': {
    is: 'h',
    why: kernel,
    only: { '--state --list-all --list-ports --list-services --get-zones': 'r' },
  },
  /** It takes any start of a word, and has more that act than ask: `ip a a 10.0.0.1 dev lo`, `ip netns e x rm a`. */
  ip: {
    is: 'h',
    dashes: 'single',
    asking: interfaceQuestions,
    with: { '-b -ba -bat -batc -batch --batch': 'h' },
    values: '-n -netns -f -family -l -loops -rc -rcvbuf -b -batch',
    why: kernel,
  },
  ifconfig: { is: 'r', operands: { 2: 'h' }, why: kernel },
  route: { is: 'r', matching: { '^(add|del|flush)$': 'h' }, why: kernel },
  arp: { is: 'r', with: { '-d --delete -s --set -f --file': 'h' }, why: kernel },
  hostname: { is: 'r', operands: { 1: 'h' }, with: { '-F --file -b': 'h' }, why: kernel },
  dmesg: {
    is: 'r',
    with: { '-C --clear -c --read-clear -n --console-level -D --console-off -E --console-on': 'h' },
    values: '-l -f -s',
    why: kernel,
  },
  journalctl: {
    is: 'r',
    with: {
      '--vacuum-size --vacuum-time --vacuum-files --rotate --flush --sync --setup-keys': 'h',
      '--relinquish-var --smart-relinquish-var --update-catalog': 'h',
      '--cursor-file': 'm',
    },
    why: services,
  },
  ...each('useradd userdel usermod adduser deluser groupadd groupdel groupmod chpasswd visudo vipw gpasswd', {
    is: 'h',
    why: accounts,
  }),
  passwd: { is: 'h', why: accounts, only: { '-S --status': 'r' } },
  chage: { is: 'h', why: accounts, only: { '-l --list': 'r' } },
};
