/** Keys of git's configuration, by what their value can do. Pure. */

/**
 * Keys whose value is a command, or leads to files with commands. `*` is any text, of any length.
 */
const running = matcher(
  'alias.* pager.* include* filter.* credential.* gpg.* protocol.ext.* uploadpack.* hook.* ' +
    'browser.* man.* difftool.* mergetool.* guitool.* ' +
    'core.pager core.editor core.sshcommand core.fsmonitor core.askpass core.hookspath core.gitproxy core.attributesfile ' +
    'core.alternaterefscommand sequence.editor init.templatedir gc.recentobjectshook interactive.difffilter ' +
    'diff.external diff.*.command diff.*.textconv merge.*.driver tar.*.command trailer.*.command trailer.*.cmd ' +
    'remote.*.uploadpack remote.*.receivepack remote.*.proxy remote.*.vcs submodule.*.update ' +
    'imap.tunnel sendemail.* instaweb.* lfs.*',
);

/** Keys that say how something looks, is compared, packed or sent. Git has more of them: what is in neither table is not known. */
const plain = matcher(
  'advice.* author.* color.* column.* committer.* i18n.* user.* pretty.* fsck.* receive.fsck.* fetch.* push.* ' +
    'add.* am.* apply.* blame.* branch.* checkout.* clean.* clone.* feature.* grep.* index.* log.* lsrefs.* mailinfo.* notes.* ' +
    'pack.* rebase.* repack.* rerere.* revert.* safe.* showbranch.* sparse.* splitindex.* stash.* status.* tag.* transfer.* ' +
    'versionsort.* worktree.* maintenance.* mailmap.* http.* https.* url.* ' +
    'commit.cleanup commit.gpgsign commit.status commit.template commit.verbose commitgraph.* ' +
    'core.abbrev core.autocrlf core.bare core.bigfilethreshold core.checkstat core.commentchar core.commentstring ' +
    'core.commitgraph core.compression core.deltabasecachelimit core.eol core.excludesfile core.filemode core.fsync ' +
    'core.fsyncmethod core.fsyncobjectfiles core.ignorecase core.logallrefupdates core.longpaths core.loosecompression ' +
    'core.multipackindex core.notesref core.packedgitlimit core.packedgitwindowsize core.precomposeunicode ' +
    'core.prefersymlinkrefs core.preloadindex core.protecthfs core.protectntfs core.quotepath core.safecrlf ' +
    'core.sharedrepository core.sparsecheckout core.sparsecheckoutcone core.splitindex core.symlinks core.trustctime ' +
    'core.untrackedcache core.usereplacerefs core.warnambiguousrefs core.whitespace ' +
    'diff.algorithm diff.autorefreshindex diff.colormoved diff.colormovedws diff.context diff.dirstat diff.ignoresubmodules ' +
    'diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix diff.noprefix diff.orderfile diff.relative diff.renamelimit ' +
    'diff.renames diff.statgraphwidth diff.submodule diff.suppressblankempty diff.wordregex diff.wserrorhighlight ' +
    'diff.*.binary diff.*.cachetextconv diff.*.wordregex diff.*.xfuncname ' +
    'format.attach format.cc format.coverfromdescription format.coverletter format.encodeemailheaders ' +
    'format.filenamemaxlength format.forceinbodyfrom format.from format.headers format.notes format.numbered format.pretty ' +
    'format.signature format.signoff format.subjectprefix format.suffix format.thread format.to format.useautobase ' +
    'gc.aggressivedepth gc.aggressivewindow gc.auto gc.autodetach gc.autopacklimit gc.bigpackthreshold gc.cruftpacks ' +
    'gc.logexpiry gc.packrefs gc.pruneexpire gc.reflogexpire gc.reflogexpireunreachable gc.worktreepruneexpire ' +
    'gc.writecommitgraph help.autocorrect help.format init.defaultbranch interactive.singlekey ' +
    'merge.autostash merge.conflictstyle merge.directoryrenames merge.ff merge.log merge.renamelimit merge.renames ' +
    'merge.renormalize merge.stat merge.tool merge.verbosity merge.verifysignatures merge.*.name merge.*.recursive ' +
    'protocol.file.allow protocol.git.allow protocol.http.allow protocol.https.allow protocol.ssh.allow protocol.version ' +
    'pull.ff pull.rebase remote.pushdefault remote.*.fetch remote.*.mirror remote.*.partialclonefilter ' +
    'remote.*.promisor remote.*.proxyauthmethod remote.*.prune remote.*.prunetags remote.*.push remote.*.pushurl ' +
    'remote.*.tagopt remote.*.url submodule.active submodule.fetchjobs submodule.propagatebranches submodule.recurse ' +
    'submodule.*.active submodule.*.branch submodule.*.fetchrecursesubmodules submodule.*.ignore submodule.*.url ' +
    'tar.umask trailer.separators trailer.ifexists trailer.ifmissing trailer.where trailer.*.key',
);

function matcher(patterns: string): (key: string) => boolean {
  const halves = patterns.split(' ').map((pattern) => pattern.split('*') as [string, string?]);
  return (key) =>
    halves.some(([before, after]) =>
      after === undefined
        ? key === before
        : key.startsWith(before) && key.endsWith(after) && key.length >= before.length + after.length,
    );
}

/** `key` in lower case, as git compares all but its middle. */
export function kindOfKey(key: string): 'runs' | 'plain' | 'unknown' {
  if (running(key)) return 'runs';
  return plain(key) ? 'plain' : 'unknown';
}
