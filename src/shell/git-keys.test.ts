/** What git or another program runs, or writes, because of a key or a variable: no such command is read_only. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { classify } from './classify.js';
import { kindOfKey } from './git-keys.js';

/** As git's manuals name them, each with a middle where it has one. */
const running = `alias.x pager.log include.path includeIf.gitdir:/x.path filter.x.clean filter.x.smudge filter.x.process
  credential.helper credential.https://x.helper gpg.program gpg.ssh.program gpg.ssh.defaultKeyCommand protocol.ext.allow
  uploadpack.packObjectsHook hook.x.command browser.x.cmd browser.x.path man.x.cmd man.x.path difftool.x.cmd difftool.x.path
  mergetool.x.cmd mergetool.x.path guitool.x.cmd core.pager core.editor core.sshCommand core.fsmonitor core.askPass
  core.hooksPath core.gitProxy core.attributesFile core.alternateRefsCommand sequence.editor init.templateDir
  gc.recentObjectsHook diff.external diff.x.command diff.x.textconv interactive.diffFilter merge.x.driver tar.x.command
  tar.a.b.command remote.x.uploadpack remote.x.receivepack remote.x.proxy remote.x.vcs submodule.x.update trailer.x.command
  trailer.x.cmd imap.tunnel sendemail.smtpServer sendemail.toCmd sendemail.ccCmd instaweb.httpd instaweb.browser
  lfs.customtransfer.x.path lfs.extension.x.clean`.split(/\s+/);

/** Of everyday use, from git's manuals. */
const plain = `user.name user.email author.name color.ui color.status.added core.commentChar core.quotePath core.abbrev
  core.fileMode core.autocrlf core.excludesFile core.preloadIndex core.untrackedCache core.symlinks diff.algorithm
  diff.x.wordRegex diff.renames diff.noprefix diff.colorMoved merge.tool merge.x.name merge.conflictStyle remote.x.url
  remote.x.proxyAuthMethod remote.pushDefault submodule.recurse submodule.x.active tar.umask trailer.separators trailer.x.key
  gc.auto gc.autoDetach commit.template commit.gpgSign init.defaultBranch interactive.singleKey advice.detachedHead
  log.showSignature log.date status.showUntrackedFiles http.extraHeader http.https://x.proxy url.x.insteadOf safe.directory
  protocol.version fetch.parallel push.default pull.rebase rebase.autoStash rerere.enabled i18n.logOutputEncoding
  format.pretty pretty.short column.ui branch.sort tag.sort versionsort.suffix grep.lineNumber blame.date`.split(/\s+/);

/** Each looks like one of the others, or is one that git could have tomorrow. */
const unknown =
  `core.pagers core.pag core.editors xcore.editor core.worktree diff.externals diff.x.command2 diff.command.x
  diff.command sequence.x aliased.x x.include.path trailer.x.run remote.x.helper status web.browser help.browser
  fsmonitor.socketDir trace2.eventTarget pull.twohead tomorrow.command`.split(/\s+/);

const onlyLooks = async (text: string) => (await classify({ text })).classes.join() === 'read_only';

describe('a key of git’s configuration', () => {
  it('that names a command makes it a part of the command, however it is written', async () => {
    for (const key of running) {
      for (const each of [key, key.toUpperCase(), key.toLowerCase()]) {
        assert.equal(await onlyLooks(`git -c ${each}='touch made' status`), false, each);
        assert.equal(await onlyLooks(`git -c ${each}="$X" status`), false, `${each}, computed`);
      }
    }
  });

  it('that names none leaves the command what it is', async () => {
    for (const key of plain) {
      assert.ok(await onlyLooks(`git -c ${key}='touch made' status`), key);
      assert.ok(await onlyLooks(`git -c ${key}="$X" status`), `${key}, computed`);
    }
  });

  it('that is not known may name one: it is no command that only looks, nor one that leaves the jail', async () => {
    for (const key of unknown) {
      for (const text of [`git -c ${key}='touch made' status`, `git -c ${key}="$X" status`, `git -c ${key}=1 status`]) {
        const { classes } = await classify({ text });
        assert.deepEqual(classes, ['mutating'], text);
      }
      assert.ok(await onlyLooks(`git -c ${key}=true status`), `${key}, a switch`);
    }
    assert.equal(await onlyLooks('git -c "$X" status'), false);
    assert.equal(await onlyLooks('git -c "$X=1" status'), false);
  });

  it('runs nothing where it is a switch, or has no value', async () => {
    for (const value of ['', '=', '=true', '=false']) {
      assert.ok(await onlyLooks(`git -c core.fsmonitor${value} status`), value);
    }
  });

  it('is in one table at most', () => {
    for (const key of running) assert.equal(kindOfKey(key.toLowerCase()), 'runs', key);
    for (const key of plain) assert.equal(kindOfKey(key.toLowerCase()), 'plain', key);
  });

  it('has a beginning and an end that do not share letters', () => {
    const kinds = ['diff..command', 'diff.command', 'trailer.cmd', 'diff.binary'].map(kindOfKey);
    assert.deepEqual(kinds, ['runs', 'unknown', 'unknown', 'unknown']);
  });
});

describe('a variable', () => {
  it('that leads to code or names a command changes what a command does that only looks', async () => {
    const names = `PATH IFS ENV HOME BASH_ENV BASH_FUNC_x BASHOPTS SHELLOPTS CDPATH GLOBIGNORE ZDOTDIR XDG_CONFIG_HOME
      XDG_CONFIG_DIRS LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES GCONV_PATH LOCPATH OPENSSL_CONF OPENSSL_ENGINES
      OPENSSL_MODULES HOSTALIASES TERMINFO TERMINFO_DIRS NODE_OPTIONS NODE_PATH NODE_REPL_EXTERNAL_MODULE PYTHONPATH
      PYTHONSTARTUP PYTHONHOME PERL5LIB PERL5OPT PERLLIB RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE LUA_INIT LUA_INIT_5_4
      LUA_PATH LUA_PATH_5_4 LUA_CPATH LUA_CPATH_5_3 JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS CLASSPATH PHPRC
      PHP_INI_SCAN_DIR GIT_DIR GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_EXEC_PATH GIT_TEMPLATE_DIR HGRCPATH
      npm_config_node_options NPM_CONFIG_NODE_OPTIONS CARGO_HOME RUSTFLAGS GOFLAGS GOENV MAKEFLAGS TAR_OPTIONS MANOPT MANROFFOPT
      VIMINIT GVIMINIT EXINIT LESSKEY LESSKEYIN RIPGREP_CONFIG_PATH CURL_HOME WGETRC SYSTEM_WGETRC KUBECONFIG AWS_CONFIG_FILE
      PAGER GIT_PAGER MANPAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS
      SSH_ASKPASS SUDO_ASKPASS LESSOPEN LESSCLOSE PROMPT_COMMAND RSYNC_RSH CVS_RSH BROWSER SHELL CC LD HGEDITOR SVN_EDITOR SVN_SSH
      BAT_PAGER DELTA_PAGER FZF_DEFAULT_COMMAND SSH_SK_HELPER SSH_PKCS11_HELPER`.split(/\s+/);
    for (const name of names) {
      for (const text of [`${name}='touch made' ls`, `env ${name}='touch made' ls`, `export ${name}="$X"; ls`])
        assert.equal(await onlyLooks(text), false, text);
    }
  });

  it('that only says who and how does not', async () => {
    const names = `GIT_AUTHOR_NAME GIT_COMMITTER_DATE GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_PAGER_IN_USE PYTHONUNBUFFERED
      PYTHONHASHSEED CARGO_TERM_COLOR LANG LC_ALL TZ NO_COLOR COLUMNS CI DEBUG PATHS XPATH OPENSSL NODE GITHUB_TOKEN`;
    for (const name of names.split(/\s+/)) assert.ok(await onlyLooks(`${name}=1 ls`), name);
  });

  it('of git’s tracing is a switch, or a file that is written', async () => {
    for (const name of ['GIT_TRACE', 'GIT_TRACE2', 'GIT_TRACE2_EVENT', 'GIT_TRACE_PACKET', 'GIT_TRACE_CURL']) {
      for (const value of ['', '0', '1', '2', '9', 'true', 'false', 'TRUE', 'x', 'af_unix'])
        assert.ok(await onlyLooks(`${name}=${value} git status`), `${name}=${value}`);
      for (const value of ['/tmp/x', 'af_unix:/x', '/', '"$X"'])
        assert.equal(await onlyLooks(`${name}=${value} git status`), false, `${name}=${value}`);
    }
  });
});
