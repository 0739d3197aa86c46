/** The system's package managers: what they look up is harmless, what they change is the host's. */
import { each, type Program, type Programs } from '../program.js';

const system = 'changes the system, which is read-only in a jail; install it yourself, outside, and it is there';

const questions =
  'list|ls|leaves|show|showpkg|showsrc|search|find|policy|depends|rdepends|info|query|files|help|version|moo|why|why-not|provides|' +
  'whatprovides|repolist|check|check-update|list-updates|outdated|deps|uses|config|doctor|shellenv|se|if|lr|history|dot|audit|connections';

const installs: Program = {
  is: 'hn',
  why: system,
  asking: `^$|^(${questions})( |$)`,
  only: { '--version --prefix --cellar --repository': 'r' },
  /** `flatpak run APP --version` */
  onlyFirst: true,
};

/** Options of each before its subcommand: a word that is taken for a question while it is a value hides what is asked. */
const yumValues = `-c --config -d --debuglevel -e --errorlevel -R --randomwait -x --exclude --excludepkgs --installroot \
--releasever --setopt --enablerepo --disablerepo --repo --repoid --comment --color --destdir --downloaddir --forcearch`;
const zypperValues = `-c --config -D --reposd-dir -C --cache-dir --raw-cache-dir --solv-cache-dir --pkg-cache-dir -R --root \
--installroot --releasever -p --plus-repo --plus-content --userdata`;
const apkValues = `-p --root -X --repository --arch --cache-dir --cache-max-age --keys-dir --progress-fd --repositories-file \
--timeout --wait`;
const aptValues = '-c -o -t -a --config-file --option --target-release --default-release --host-architecture';

const simulates = {
  '--version -v -h -s --simulate --just-print --dry-run --no-act --recon --print-uris': 'r',
} as const;

/** Settings name programs, `Dir::Bin::dpkg` for one. */
const aptRuns = { '-o --option -c --config-file': 'm' } as const;

const apt: Program = {
  ...installs,
  only: simulates,
  onlyFirst: false,
  with: aptRuns,
  values: aptValues,
  subcommands: {
    ...each(questions.replaceAll('|', ' '), { is: 'r', with: aptRuns, values: aptValues }),
    ...each('download source changelog', { is: 'mn' }),
  },
  otherwise: { is: 'hn', why: system, only: simulates, with: aptRuns, values: aptValues },
};

export const systemPackagePrograms: Programs = {
  ...each('apt apt-get aptitude', apt),
  ...each('yum dnf microdnf', { ...installs, values: yumValues }),
  zypper: { ...installs, values: zypperValues },
  apk: { ...installs, values: apkValues },
  ...each('brew snap', installs),
  flatpak: { ...installs, values: '--installation --arch --columns' },
  port: { ...installs, values: '-D -F' },
  /** Their operands are packages, whatever they are called. */
  ...each('emerge xbps-install', { is: 'hn', why: system, only: { '--version': 'r' } }),
  pacman: { is: 'hn', why: system, only: { '-Q --query -T --deptest -V': 'r' } },
  'nix-env': { is: 'hn', why: system, only: { '-q --query': 'r' } },
  nix: { is: 'mn' },
  'apt-mark': { is: 'r', matching: { '^(auto|manual|hold|unhold|minimize-manual)$': 'h' }, why: system },
  dpkg: {
    is: 'h',
    why: system,
    only: {
      '-l --list -L --listfiles -s --status -S --search -I --info -c --contents --print-architecture --get-selections':
        'r',
      '--print-foreign-architectures --compare-versions -V --verify -C --audit -p --print-avail --field -f': 'r',
      '-x --extract -X --vextract -e --control -b --build -R --raw-extract': 'm',
    },
  },
  /** Macros can run programs: `rpm -E '%(rm -rf a)'`. */
  rpm: {
    is: 'h',
    why: system,
    only: { '-q --query -V --verify --showrc -K --checksig': 'r', '-E --eval': 'm' },
    with: { '-D --define --predefine -E --eval --load --macros --rcfile': 'm' },
    text: '--pipe',
    values: '-D --define --predefine -E --eval --load --macros --rcfile --qf --queryformat -r --root --dbpath',
  },
  'update-alternatives': { is: 'h', why: system, only: { '--list --display --query --get-selections': 'r' } },
  ldconfig: { is: 'h', why: system, only: { '-p --print-cache': 'r', '-n': 'm' } },
  ...each('update-grub grub-install dracut mkinitramfs', { is: 'h', why: system }),
};
