/** Variables that change what programs do. Pure. */

/** Their value is a command that some program runs. */
const commands = new Set(
  (
    'PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER PSQL_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH ' +
    'GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_PROXY_COMMAND LESSOPEN LESSCLOSE PROMPT_COMMAND ' +
    'RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH BROWSER SHELL RUSTC RUSTC_WRAPPER RUSTDOC CC CXX LD AR npm_config_script_shell ' +
    'HGEDITOR SVN_EDITOR SVN_SSH BAT_PAGER DELTA_PAGER FZF_DEFAULT_COMMAND SSH_SK_HELPER SSH_PKCS11_HELPER ' +
    'NULLCMD READNULLCMD GREP'
  ).split(' '),
);

/** Their value leads to code, or to settings that name programs; `*` at the end is any text. */
const poison = (
  'PATH IFS ENV HOME BASH_ENV BASH_FUNC_* BASHOPTS SHELLOPTS CDPATH GLOBIGNORE ZDOTDIR XDG_CONFIG_HOME XDG_CONFIG_DIRS ' +
  'LD_* DYLD_* GCONV_PATH LOCPATH OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES HOSTALIASES TERMINFO* ' +
  'NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE PYTHON* PERL* RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE ' +
  'FPATH LUA_INIT* LUA_PATH* LUA_CPATH* JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH PHPRC PHP_INI_SCAN_DIR ' +
  'GIT_* HGRCPATH npm_config_* NPM_CONFIG_* CARGO_* RUSTFLAGS GOFLAGS GOENV MAKEFLAGS TAR_OPTIONS MANOPT MANROFFOPT ' +
  'VIMINIT GVIMINIT EXINIT LESSKEY* RIPGREP_CONFIG_PATH CURL_HOME WGETRC SYSTEM_WGETRC KUBECONFIG AWS_CONFIG_FILE'
).split(' ');

function isPoison(name: string): boolean {
  return poison.some((each) => (each.endsWith('*') ? name.startsWith(each.slice(0, -1)) : name === each));
}

/** Of git's own, those that only say who and how. */
const harmless =
  /^GIT_(?:AUTHOR|COMMITTER)_|^GIT_(?:TERMINAL_PROMPT|OPTIONAL_LOCKS|PAGER_IN_USE|MERGE_AUTOEDIT)$|^PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8|HASHSEED)$|^CARGO_TERM_/;

/** Arrays of the shell's own: what it finds by a name. */
const lookups = new Set(['BASH_ALIASES', 'BASH_CMDS']);

export type VariableKind = 'plain' | 'command' | 'target' | 'poison' | 'lookup' | 'prompt';

/** `target`: a file that is written, where it is an absolute path. `poison`: other programs, or other code in them, may run under the names that follow. */
export function variableKind(name: string): VariableKind {
  if (lookups.has(name)) return 'lookup';
  if (/^PS\d$/.test(name)) return 'prompt';
  if (commands.has(name)) return 'command';
  if (name.startsWith('GIT_TRACE')) return 'target';
  return isPoison(name) && !harmless.test(name) ? 'poison' : 'plain';
}
