/**
 * What zsh takes for something else than bash does. Text for zsh is read by the grammar of bash, so what has any of this is not read:
 * expansions with flags or within each other, names of its own that it sets, builtins that run a text or change what words mean. Pure.
 */

/** What may follow `${`: a name with a plain index, and an operator that bash has, too, or a modifier of a path. */
const expansion =
  '#?(?:[A-Za-z_]\\w*|\\d+|[@*#?!$-])(?:\\[(?:[@*]|-?\\d+)\\])?(?:\\}|:?[-+=?]|[#%/]|:[\\d$(]|:[aehlrt][:}])';

/** Set by an array, or a table, of what the shell itself looks up. */
const own =
  'argv|ARGC|path|fpath|cdpath|module_path|manpath|mailpath|psvar|options|functions|commands|aliases|[gs]aliases|dis_\\w+|' +
  'builtins|modules|nameddirs|userdirs';

const differs = new RegExp(
  [
    `\\$\\{(?!${expansion})`,
    '\\$[~=^+]',
    // A modifier, of which a name is made: `$x:t`.
    '\\$[A-Za-z_]\\w*:[aAcefFghlpPqQrstuwWx&]',
    '\\$[A-Za-z_]\\w*\\[(?!(?:[@*]|-?\\d+)\\])',
    `(?<![\\w$/.-])(?:${own})(?:\\[[^\\]]*\\])?\\+?=`,
    `(?:read|for|foreach|select|unset|local|-A|-v)\\s+(?:-\\w+\\s+)*(?:${own})(?!\\w)`,
  ].join('|'),
);

export function differsInZsh(text: string): boolean {
  return differs.test(text);
}

/** `=ls` is the path of ls. */
export function isLookedUpByZsh(word: string): boolean {
  return /^=[^=~\s]/.test(word);
}

export const zshBuiltins: ReadonlySet<string> = new Set(
  (
    'repeat foreach end emulate setopt unsetopt autoload functions zmodload sched vared zle bindkey zcompile zparseopts zpty ' +
    'zsocket ztcp zselect zformat zregexparse zstyle zstat sysread syswrite strftime getln unfunction unhash disable enable hash ' +
    'rehash integer float private r history compadd compdef add-zsh-hook print'
  ).split(' '),
);

/** In force for the words behind them: those that change nothing that is read, as bash has them or as files are found. */
const options =
  /^(?:no)?(?:errexit|errreturn|nounset|unset|pipefail|xtrace|verbose|glob|nomatch|nullglob|rcs|globalrcs|clobber|monitor)$/;

/** Up to the first that is none. By letter it has others than bash. */
export function areZshOptions(words: readonly (string | undefined)[]): boolean {
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === '--' || (word !== undefined && !/^[-+]./.test(word))) return true;
    if (word === undefined || !/^[-+][cdefilnsuvx]*o?$/.test(word)) return false;
    if (!word.endsWith('o')) continue;
    at += 1;
    if (!options.test((words[at] ?? '').toLowerCase().replaceAll('_', ''))) return false;
  }
  return true;
}

/** `print -l a` only prints, and `setopt null_glob` changes only which files are found. */
export function isPlainInZsh(name: string, words: readonly (string | undefined)[]): boolean {
  if (name === 'setopt' || name === 'unsetopt')
    return words.every((word) => options.test((word ?? '?').toLowerCase().replaceAll('_', '')));
  if (name !== 'print') return false;
  const text = words.findIndex((word) => word === undefined || !/^-[lnrNaoOi]*$/.test(word));
  return text < 0 || (words[text] !== undefined && words[text]?.startsWith('-') === false);
}

/** What it sets itself. */
export const setByZsh = /^(?:MATCH|MBEGIN|MEND|match|mbegin|mend|reply)$/;

/** Flags of a declaration that give the variable another form, or another name. */
export function isOddDeclaration(flag: string): boolean {
  return /^[-+].*[^aAgilpruxn]/.test(flag);
}
