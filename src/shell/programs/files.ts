/** Programs that look at files and change them. */
import { each, type Programs } from '../program.js';

const looks =
  'ls cat head tail wc pwd whoami id uname true false : sleep seq basename dirname realpath readlink stat file du df ' +
  'free ps uptime printenv which whereis groups users who w last arch nproc lscpu lsblk lsusb lspci lsof getconf locale tty ' +
  'grep egrep fgrep zgrep ag ack diff diff3 sdiff colordiff cmp comm md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum ' +
  'cksum sum hexdump od strings nm objdump readelf size ldd addr2line c++filt jq xmllint cut tr rev tac nl fold fmt expand ' +
  'unexpand column paste join expr bc factor numfmt cal tput zcat bzcat xzcat zstdcat lz4cat base32 basenc test [ ' +
  'echo printf shellcheck cloc tokei scc wdiff look tsort ptx pr dircolors infocmp vmstat iostat mpstat pidstat sar ' +
  'pgrep pidof pstree pwdx getent namei pathchk lsattr getfacl getfattr getcap ss netstat findmnt mountpoint blkid lsns lsipc ' +
  'lslocks lsmem lslogins lsmod modinfo lsb_release pkg-config dpkg-architecture systemd-detect-virt nvidia-smi sensors atq ' +
  'bat exa eza lsd delta hexyl fold csvlook apt-cache dpkg-query whatis apropos';

const changes =
  'touch mkdir cp mv ln chown chgrp chmod install patch rmdir mktemp mkfifo csplit bzip2 bunzip2 xz unxz zstd unzstd lz4 ' +
  'zip cpio ar ranlib strip objcopy setfacl setfattr sponge rename mmv kill pkill killall skill renice chattr dos2unix unix2dos ' +
  'gofmt rustfmt clang-format autopep8 isort msgfmt convert magick ffmpeg pandoc';

/** They look, but for options by which they write a file, load code or run a program. */
const writesBy: Programs = {
  file: { is: 'r', with: { '-C --compile': 'm' }, values: '-m --magic-file -f --files-from -F -P -e', unsure: 'm' },
  ...each('ag ack delta', { is: 'r', text: '--pager', unsure: 'm' }),
  bat: {
    is: 'r',
    text: '--pager',
    with: { '--generate-config-file': 'm' },
    matching: { '^cache$': 'm' },
    unsure: 'm',
  },
  'nvidia-smi': {
    is: 'r',
    dashes: 'single',
    with: {
      '-f --filename --debug': 'm',
      '-pm --persistence-mode -e --ecc-config -p --reset-ecc-errors -c --compute-mode -r --gpu-reset': 'm',
      '-pl --power-limit -ac --applications-clocks -lgc --lock-gpu-clocks -mig --multi-instance-gpu': 'm',
    },
    unsure: 'm',
  },
  sensors: { is: 'r', with: { '-s --set': 'm' }, unsure: 'm' },
  blkid: { is: 'r', with: { '-g --garbage-collect -w': 'm' }, unsure: 'm' },
  sdiff: { is: 'r', with: { '-o --output --diff-program': 'm' }, values: '-o --output -w -I', unsure: 'm' },
  diff3: { is: 'r', with: { '--diff-program': 'm' }, unsure: 'm' },
  /** `@FILE` holds further options. */
  ...each('nm size objdump readelf strings addr2line c++filt', {
    is: 'r',
    with: { '--plugin': 'm' },
    matching: { '^@': 'm' },
    unsure: 'm',
  }),
  xmllint: {
    is: 'r',
    with: { '-o --output': 'm', '--shell': 'i' },
    matching: { '^(https?|ftp)://': 'n' },
    values: '-o --output',
    unsure: 'm',
  },
  cloc: {
    is: 'r',
    with: {
      '--out --report-file --sql --write-lang-def --diff-list-file --extract-with': 'm',
      '--found --ignored --counted --categorized --strip-comments --strip-code': 'm',
    },
    unsure: 'm',
  },
  scc: { is: 'r', with: { '-o --output --format-multi': 'm' }, values: '-o --output -f --format', unsure: 'm' },
  sar: { is: 'r', with: { '-o': 'm' }, values: '-o -f -i -s -e', unsure: 'm' },
  pidstat: { is: 'r', with: { '-e': 'm' }, unsure: 'm' },
  ptx: { is: 'r', with: { '-G --traditional': 'm' }, unsure: 'm' },
  ss: { is: 'r', with: { '-K --kill -D --diag': 'm' }, unsure: 'm' },
  ...each('lz4cat xzcat bzcat', { is: 'r', with: { '--rm': 'd' }, unsure: 'm' }),
  zstdcat: { is: 'r', with: { '-o --output-dir-flat --output-dir-mirror': 'm', '--rm': 'd' }, unsure: 'm' },
  'dpkg-architecture': { is: 'r', text: '-c --command', values: '-a -A -t -T -q -e -i -W -E', unsure: 'm' },
  'apt-cache': {
    is: 'r',
    with: { '-o --option -c --config-file': 'm' },
    matching: { '^gencaches$': 'm' },
    unsure: 'm',
  },
};

export const filePrograms: Programs = {
  ...each(looks, { is: 'r' }),
  ...each(changes, { is: 'm' }),
  ...each('rm unlink srm trash trash-put rimraf', {
    is: 'd',
    with: { '-i -I --interactive': 'i' },
    why: 'removes files',
  }),
  ...each('shred truncate wipe', { is: 'd', why: 'overwrites files' }),
  date: {
    is: 'r',
    with: { '-s --set': 'h' },
    matching: { '^\\d': 'h' },
    values: '-d --date -f --file -r --reference',
    attached: '-I',
  },
  sort: { is: 'r', with: { '-o --output': 'm' }, text: '--compress-program', values: '-k -t -o -S -T', unsure: 'm' },
  uniq: { is: 'r', operands: { 2: 'm' }, values: '-f -s -w', unsure: 'm' },
  tee: { is: 'r', operands: { 1: 'm' } },
  split: { is: 'm', text: '--filter', values: '-a -b -C -l -n -t' },
  tree: { is: 'r', with: { '-o -R': 'm' }, values: '-L -P -I -o', unsure: 'm' },
  xxd: { is: 'r', with: { '-r --revert': 'm' }, operands: { 2: 'm' }, values: '-l -s -c -g -o', unsure: 'm' },
  yq: { is: 'r', with: { '-i --inplace --in-place -s --split-exp': 'm' }, unsure: 'm' },
  base64: { is: 'r', values: '-w' },
  iconv: { is: 'r', with: { '-o --output': 'm' }, values: '-f -t -o', unsure: 'm' },
  rg: {
    is: 'r',
    with: { '--pre --hostname-bin': 'm' },
    text: '--pre --hostname-bin',
    values: '-e -g -t -A -B -C -m',
    unsure: 'm',
  },
  gzip: { is: 'm', only: { '-c --stdout -l --list -t --test': 'r' } },
  gunzip: { is: 'm', only: { '-c --stdout -l --list -t --test': 'r' } },
  unzip: { is: 'm', only: { '-l -p -t -Z -v': 'r' } },
  openssl: {
    is: 'm',
    subcommands: {
      ...each('version dgst x509 verify asn1parse list ciphers rand', {
        is: 'r',
        dashes: 'single',
        with: { '-out -writerand -CAcreateserial -engine -provider -provider-path -config': 'm' },
        unsure: 'm',
      }),
      ...each('s_client s_server s_time ocsp', { is: 'n' }),
    },
    otherwise: { is: 'm' },
  },
  ed: { is: 'm' },
  /** `!` runs a command. */
  dc: { is: 'm' },
  ...writesBy,
};
