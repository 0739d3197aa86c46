/** Package managers, interpreters and build tools. */
import { each, type Program, type Programs } from '../program.js';

const looks: Program = { is: 'r' };
const runs: Program = { is: 'm' };
const fetches: Program = { is: 'mn' };
const asks: Program = { is: 'n' };

const npmCommands: Programs = {
  ...each(
    'test t tst start stop restart run run-script rum urn version pack pkg set-script rebuild dedupe prune shrinkwrap',
    runs,
  ),
  ...each('ls list la ll root prefix bin help explain why query fund completion', looks),
  ...each(
    'view info show v outdated search find s se ping whoami profile publish unpublish login logout adduser owner',
    asks,
  ),
  ...each('token team access deprecate dist-tag star stars org hook sbom doctor', asks),
  ...each('exec x', { is: 'mn', runs: 0, text: '-c --call', values: '-p --package' }),
  create: fetches,
  audit: { is: 'n', subcommands: { fix: fetches }, otherwise: asks },
  init: { is: 'mi', only: { '-y --yes': 'm' }, operands: { 1: 'mn' } },
  config: { is: 'r', subcommands: each('get list ls', looks), otherwise: runs },
};

/** Scripts of package.json and programs of node_modules can have any name. */
const scripts: Program = { is: 'm' };

const npm: Program = {
  is: 'r',
  values: '--prefix -C --userconfig --registry -w --workspace --loglevel --cache',
  subcommands: npmCommands,
  otherwise: fetches,
};

const yarnCommands: Programs = {
  ...each(
    'install add remove upgrade upgrade-interactive up import dlx create link set global dedupe rebuild',
    fetches,
  ),
  exec: { is: 'm', runs: 0 },
  ...each('info npm publish login logout audit outdated', asks),
  ...each('list why bin versions help licenses', looks),
};

const pnpmCommands: Programs = {
  ...each(
    'install i add update up upgrade remove rm uninstall un link import fetch dlx create setup env store rebuild',
    fetches,
  ),
  exec: { is: 'm', runs: 0, values: '-C --dir --filter -F' },
  ...each('publish audit outdated', asks),
  ...each('list ls la ll why root bin licenses help', looks),
};

const goCommands: Programs = {
  ...each('version list doc help vet', {
    is: 'r',
    dashes: 'single',
    with: { '-toolexec -vettool -mod -modfile -overlay -http -o': 'm' },
    unsure: 'm',
  }),
  env: { is: 'r', dashes: 'single', with: { '-w -u': 'm' }, unsure: 'm' },
  ...each('run test build', { is: 'm', dashes: 'single', text: '-exec -toolexec' }),
  ...each('get install', fetches),
  mod: { is: 'm', subcommands: each('download tidy vendor', fetches), otherwise: runs },
  clean: { is: 'd' },
};

const cargoCommands: Programs = {
  ...each('install update fetch add generate-lockfile vendor', fetches),
  ...each('search publish login logout owner yank info', asks),
  ...each('tree metadata version help locate-project pkgid', looks),
  clean: { is: 'd' },
};

const pipCommands: Programs = {
  ...each('show freeze check help debug inspect hash', {
    ...looks,
    with: { '--log': 'm' },
    values: '--log',
    unsure: 'm',
  }),
  list: { ...looks, with: { '--log': 'm', '-o --outdated -u --uptodate': 'n' }, values: '--log', unsure: 'mn' },
  ...each('index search', asks),
  uninstall: { is: 'mi', only: { '-y --yes': 'm' } },
  cache: runs,
  config: runs,
};

const interpreter: Program = { is: 'm', bare: 'mi', only: { '--version --help -h': 'r' }, onlyFirst: true };
const toolRunner: Program = { is: 'm', subcommands: { run: { is: 'm', runs: 0 } }, otherwise: fetches };
const reader = '-c -e -m -r -X -W -I -E -F -M';

export const packagePrograms: Programs = {
  /** `cmake -E env X=1 rm a`, `cmake -E rm a`. */
  cmake: { is: 'm', only: { '--version --help': 'r' }, runsAfter: '-E' },
  npm,
  cnpm: npm,
  npx: { is: 'mn', runs: 0, text: '-c --call', only: { '--no-install --no': 'm' }, values: '-p --package' },
  ...each('bunx uvx pnpx', fetches),
  yarn: { is: 'mn', subcommands: yarnCommands, otherwise: scripts, values: '--cwd', only: { '--version -v': 'r' } },
  pnpm: { is: 'r', subcommands: pnpmCommands, otherwise: scripts, values: '-C --dir --filter -F' },
  bun: {
    is: 'mi',
    subcommands: each('install i add remove update x create upgrade link pm', fetches),
    otherwise: scripts,
    only: { '--version --help': 'r' },
  },
  corepack: fetches,
  /** Of a project's own, as `npm run` is. */
  nx: {
    is: 'mn',
    subcommands: each('run run-many affected test build lint serve graph show format', runs),
    otherwise: fetches,
  },
  lerna: { is: 'mn', subcommands: each('run exec list ls changed', runs), otherwise: fetches },
  ...each('pip pip3', { is: 'r', subcommands: pipCommands, otherwise: fetches }),
  ...each('uv poetry pipenv pdm hatch rye', {
    ...toolRunner,
    subcommands: {
      run: { is: 'm', runs: 0, values: '--with --python -p --extra --group --env-file' },
      ...each('version help show check config env tree', { is: 'm' }),
    },
  }),
  ...each('pipx easy_install', fetches),
  ...each('conda mamba micromamba', {
    is: 'mn',
    subcommands: {
      ...each('list info activate deactivate', runs),
      run: { is: 'm', runs: 0, values: '-n --name -p --prefix --cwd' },
    },
    otherwise: fetches,
  }),
  bundle: {
    is: 'mn',
    subcommands: { exec: { is: 'm', runs: 0 }, ...each('list show info check', looks) },
    otherwise: fetches,
  },
  gem: {
    is: 'mn',
    subcommands: each('list env environment which contents', {
      ...looks,
      with: { '-r --remote -b --both': 'n' },
      unsure: 'n',
    }),
    otherwise: fetches,
  },
  composer: {
    is: 'mn',
    subcommands: each('validate dump-autoload dumpautoload run-script exec status licenses', runs),
    otherwise: fetches,
  },
  ...each('cpan cpanm luarocks opam stack cabal nuget pod mix rebar3 vcpkg conan', fetches),
  go: { is: 'r', subcommands: goCommands, otherwise: runs, values: '-C' },
  cargo: {
    is: 'r',
    subcommands: cargoCommands,
    otherwise: runs,
    values: '-C --config -Z --color',
    with: { '--config -Z': 'm' },
  },
  dotnet: {
    is: 'r',
    subcommands: { ...each('restore add tool workload nuget new', fetches) },
    otherwise: runs,
  },
  ...each('asdf pyenv rbenv nodenv', {
    is: 'mn',
    subcommands: { exec: { is: 'm', runs: 0 }, init: { is: 'm' } },
    otherwise: fetches,
  }),
  ...each('nvm fnm', {
    is: 'mn',
    subcommands: each('use ls list current which alias deactivate env', runs),
    otherwise: fetches,
  }),
  /** `rustup show` installs the toolchain that a project names. */
  ...each('rustup volta sdk ghcup', { is: 'mn' }),
  mise: {
    is: 'mn',
    subcommands: { ...each('exec x', { is: 'm', runs: 0 }), ...each('ls current which', looks) },
    otherwise: fetches,
  },
  ...each('node nodejs deno perl php julia groovy elixir guile', {
    ...interpreter,
    values: reader,
    only: { '--version --help -h -v': 'r' },
  }),
  /** `-v` says a version, or more, and goes on with the program. */
  ...each('ruby lua luajit Rscript R scala racket', { ...interpreter, values: reader }),
  ...each('erl tclsh', { is: 'm', bare: 'mi' }),
  ...each('python python2 python3 pypy pypy3', {
    ...interpreter,
    values: reader,
    only: { '--version --help -h -V': 'r' },
  }),
  ...each('irb pry ipython jshell ghci iex', { is: 'mi' }),
  ...each(
    'make gmake ninja meson bazel buck mvn gradle ant sbt gcc g++ cc c++ clang clang++ ld as rustc javac java tsc',
    {
      is: 'm',
      only: { '--version --help': 'r' },
      onlyFirst: true,
    },
  ),
};
