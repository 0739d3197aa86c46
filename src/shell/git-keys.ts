/** Keys of git's configuration whose value is a command, or leads to files with commands. Pure. */

/** `*` is any text, of any length. */
const halves = (
  'alias.* pager.* include* filter.* credential.* gpg.* protocol.ext.* uploadpack.* hook.* ' +
  'browser.* man.* difftool.* mergetool.* guitool.* ' +
  'core.pager core.editor core.sshcommand core.fsmonitor core.askpass core.hookspath core.gitproxy core.attributesfile ' +
  'core.alternaterefscommand sequence.editor init.templatedir gc.recentobjectshook interactive.difffilter ' +
  'diff.external diff.*.command diff.*.textconv merge.*.driver tar.*.command trailer.*.command trailer.*.cmd ' +
  'remote.*.uploadpack remote.*.receivepack remote.*.proxy remote.*.vcs submodule.*.update ' +
  'imap.tunnel sendemail.* instaweb.* lfs.*'
)
  .split(' ')
  .map((key) => key.split('*') as [string, string?]);

/** `key` in lower case, as git compares all but its middle. */
export function runsByKey(key: string): boolean {
  return halves.some(([before, after]) =>
    after === undefined
      ? key === before
      : key.startsWith(before) && key.endsWith(after) && key.length >= before.length + after.length,
  );
}
