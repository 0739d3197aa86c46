/**
 * What makes a program that acts only look. Of the manuals, not of the tables: an option that another program of the same row has, and
 * one that is given to what a program runs, make nothing harmless; and what acts does so whatever looks beside it.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classify } from './classify.js';

async function looksOnly(text: string): Promise<boolean> {
  return (await classify({ text })).mostDangerous === 'read_only';
}

/** Each text that is judged otherwise than it should be. */
async function misjudged(texts: readonly string[], looks: boolean): Promise<readonly string[]> {
  const judged = await Promise.all(texts.map(async (text) => [text, await looksOnly(text)] as const));
  return judged.flatMap(([text, found]) => (found === looks ? [] : [text]));
}

const asks = ['--version', '--help', '-h', '-v', '-V', '-help', '-version', '--usage'];

describe('an option that asks', () => {
  const interpreters =
    'python python3 pypy3 node nodejs deno perl php julia groovy elixir guile ruby lua luajit Rscript R scala racket erl tclsh ' +
    'java bash sh dash zsh';
  const launchers =
    'docker podman nerdctl lxc crictl ctr runc crun buildah kind minikube docker-compose podman-compose flatpak snap brew ' +
    'service bazel npm yarn pnpm bun cargo go dotnet uv poetry conda systemd-run chroot nsenter unshare sudo doas pkexec';

  it('asks nothing of the program whose script or program it is given to', async () => {
    const scripts = interpreters.split(' ').map((name) => `${name} ./x`);
    const runs = launchers.split(' ').map((name) => `${name} run ./x`);
    const commands = [...scripts, ...runs].flatMap((text) =>
      asks.flatMap((ask) => [`${text} ${ask}`, `${text} a ${ask}`]),
    );
    assert.deepEqual(await misjudged(commands, false), []);
  });

  it('asks nothing behind the text of a program', async () => {
    const texts = ['python -c x', 'python3 -m x', 'perl -e x', 'node -e x', 'php -r x', 'java -jar x', 'deno run x'];
    assert.deepEqual(
      await misjudged(
        texts.flatMap((text) => asks.map((ask) => `${text} ${ask}`)),
        false,
      ),
      [],
    );
  });

  it('is none as the value of another one in its cluster', async () => {
    assert.deepEqual(await misjudged(['perl -iv x', 'perl -iv.bak x', 'perl -0v x', 'python -ch x'], false), []);
  });

  it('is one as the only word, and before all others', async () => {
    const first = [
      'python3 --version',
      'python3 -V',
      'node -v',
      'perl -v',
      'php -v',
      'java --version',
      'docker --version',
    ];
    assert.deepEqual(await misjudged([...first, 'make --version', 'gcc --help', 'snap --version'], true), []);
  });
});

/** `NAME LOOKS... : ACTS...`, by its manual; options and operands that act, each of which does so beside each that looks. */
const manuals = [
  [
    'ip',
    [
      '-br a',
      '-6 route',
      'a s',
      'addr show dev lo',
      'route get ::1',
      'r',
      'neigh',
      '-s link',
      'l sh',
      'netns',
      'netns list',
    ],
  ],
  [
    'ip',
    ['rule', 'monitor', 'monitor link', 'help', 'link help', '-j addr', 'xfrm state', 'mptcp endpoint show', 'maddr'],
  ],
  ['tcpdump', ['-r x', '-nr x', '-r x port 80', '-D']],
  ['tshark', ['-r x', '-r x -Y http', '-r x -z io,stat,1', '-r x -T fields -e ip.src', '-D']],
  ['modprobe', ['-n x', '--dry-run x', '--show-depends x', '-D x', '-c', '--showconfig']],
  ['depmod', ['-n', '--dry-run']],
  ['sysctl', ['-a', 'kernel.hostname', '-n kernel.hostname']],
  ['arp', ['', '-an', '-n']],
  ['dmesg', ['', '-T', '-l err', '--follow']],
  ['journalctl', ['', '-b', '-u x', '--since today', '--list-boots', '--disk-usage']],
  ['rpm', ['-qa', '-qi x', '-qf x', '-q --qf %{NAME} x', '-V x', '--showrc', '-K x']],
  ['apt-get', ['-s install x', 'install -s x', '-s upgrade', '--print-uris install x']],
  ['apt', ['list', 'show x', 'search x', 'policy']],
  ['service', ['--status-all', 'x status']],
] as const;

const acting: Readonly<Record<string, readonly string[]>> = {
  /** Any start of a word will do, and there are more that act than ask. */
  ip: [
    ...[
      'addr',
      'a',
      'link',
      'l',
      'route',
      'r',
      'rule',
      'neigh',
      'tunnel',
      'maddr',
      'netns',
      'tuntap',
      'xfrm state',
    ].flatMap((object) =>
      ['add', 'a', 'ad', 'del', 'd', 'delete', 'change', 'chg', 'replace', 'flush', 'f', 'restore'].map(
        (verb) => `${object} ${verb} x`,
      ),
    ),
    ...['append', 'app', 'prepend', 'test'].map((verb) => `route ${verb} x`),
    ...['s', 'se', 'set'].map((verb) => `link ${verb} lo up`),
    ...['e', 'ex', 'exe', 'exec'].map((verb) => `netns ${verb} x rm a`),
    ...['-b', '-ba', '-bat', '-batch', '--batch', '--bat'].flatMap((option) => [`${option} x`, `${option} x addr`]),
    ...[
      'netns attach x 1',
      'netns set x 1',
      'vrf exec x rm a',
      '-all netns exec rm a',
      'macsec offload x',
      'l2tp add x',
      'fou add x',
    ],
  ],
  tcpdump: ['-i x', '-r x -w y', '-r x -C 1 -w y -z rm', '-r x -z rm', '-r x -z ./x', '-rx -wy'],
  tshark: ['-i x', '-r x -w y', '-r x -X lua_script:y', '-r x --export-objects http,d'],
  dumpcap: ['-i x', '-w x', '-i x -w y'],
  modprobe: ['x', '-r x', '-f x', '-a x'],
  depmod: ['', '-a', '-A'],
  insmod: ['x', '-n x', '-c x', '--dry-run x'],
  rmmod: ['x', '-n x', '-c x', '-f x'],
  kexec: ['-l x', '-c -l x', '-e', '-n -l x', '-u', '-p x'],
  bpftrace: ['x', "-c 'rm a'", "-c 'rm a' -e x", '-c ./x', "-l -c 'rm a'"],
  stap: ['x', "-c 'rm a' x", '-c ./x x', "-L x -c 'rm a'"],
  sysctl: ['-w a=b', 'a=b', '-p', '-p x', '-f x', '--load=x', '--system', '-a -w a=b', '-qf x'],
  arp: ['-s x y', '-d x', '-f x', '-f', '--file x', '--set x y', '--delete x', '-an -d x'],
  dmesg: ['-C', '-c', '-n 1', '-D', '-E', '--console-off', '--console-on', '--console-level err', '--clear', '-T -C'],
  journalctl: [
    '--rotate',
    '--flush',
    '--sync',
    '--vacuum-time=1s',
    '--relinquish-var',
    '--update-catalog',
    '--cursor-file=x',
  ],
  rpm: [
    '-i x',
    '-U x',
    '-e x',
    "-E '%(rm a)'",
    "--eval '%(rm a)'",
    "-q --define 'x %(rm a)' y",
    '-q --pipe ./x y',
    '-q --load x y',
  ],
  'apt-get': [
    'install x',
    'update',
    '-s update -o APT::Update::Pre-Invoke::=x',
    '-o Dir::Bin::dpkg=x -s install x',
    'remove x -y',
  ],
  apt: ['install x', 'list -o Dir::Bin::dpkg=x', '-o Dir::Bin::dpkg=x list', 'show x -c y', 'upgrade'],
  service: ['x start', 'x start --status-all', 'x --status-all', '--full-restart x'],
};

describe('a program that acts', () => {
  for (const [name, forms] of manuals)
    it(`only looks as its manual says: ${name} ${forms[0]}, and others`, async () => {
      assert.deepEqual(
        await misjudged(
          forms.map((form) => `${name} ${form}`),
          true,
        ),
        [],
      );
    });

  for (const [name, forms] of Object.entries(acting))
    it(`does not only look, whatever is beside what acts: ${name}`, async () => {
      assert.deepEqual(
        await misjudged(
          forms.map((form) => `${name} ${form}`),
          false,
        ),
        [],
      );
    });
});
