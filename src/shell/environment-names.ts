/** Variables that change what programs do. Pure. */

/** Their value is a command that some program runs. */
const commands = new Set(
  (
    'PAGER GIT_PAGER MANPAGER SYSTEMD_PAGER PSQL_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH ' +
    'GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_PROXY_COMMAND LESSOPEN LESSCLOSE PROMPT_COMMAND PS0 PS1 PS2 PS4 ' +
    'RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH BROWSER SHELL RUSTC RUSTC_WRAPPER RUSTDOC CC CXX LD AR npm_config_script_shell'
  ).split(' '),
);

const poison =
  /^(?:PATH|IFS|ENV|HOME|BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|CDPATH|GLOBIGNORE|ZDOTDIR|XDG_CONFIG_HOME|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH|NODE_OPTIONS|NODE_PATH|PYTHON.*|PERL.*|RUBYOPT|RUBYLIB|LUA_INIT|LUA_PATH|LUA_CPATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|CLASSPATH|PHPRC|PHP_INI_SCAN_DIR|GIT_.*|npm_config_.*|CARGO_.*|MAKEFLAGS|TAR_OPTIONS|HOSTALIASES|TERMINFO.*)$/;

/** Of git's own, those that only say who and how. */
const harmless =
  /^GIT_(?:AUTHOR|COMMITTER)_|^GIT_(?:TERMINAL_PROMPT|OPTIONAL_LOCKS|TRACE.*|PAGER_IN_USE|MERGE_AUTOEDIT)$|^PYTHON(?:UNBUFFERED|DONTWRITEBYTECODE|IOENCODING|UTF8|HASHSEED)$|^CARGO_TERM_/;

export type VariableKind = 'plain' | 'command' | 'poison';

/** `poison`: other programs, or other code in them, may run under the names that follow. */
export function variableKind(name: string): VariableKind {
  if (commands.has(name)) return 'command';
  return poison.test(name) && !harmless.test(name) ? 'poison' : 'plain';
}
