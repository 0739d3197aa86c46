/**
 * Whether a change of a repository's configuration names a program, or sends the person's work elsewhere. Read strictly: a line
 * that is not in the one form that git itself writes could mean another thing to git than here, and is never harmless. Pure.
 */

/** Keys that name no program. */
const harmlessKeys =
  /^(core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)|user\.(name|email)|init\.defaultbranch|branch\..*\.(merge|rebase)|remote\..*\.fetch)$/i;

/** Where what is pushed goes: harmless for a remote or a branch that is new, and not for one that the person has. */
const destinationKeys = /^(remote\..*\.(url|pushurl)|branch\..*\.remote)$/i;

const harmlessUrl = /^(?:(?:https?|ssh|git):\/\/[\w[]|[\w.][\w.-]*@[\w][\w.-]*:|\.{0,2}\/)/;

interface Setting {
  readonly key: string;
  readonly value: string;
}

/** Undefined where a line is in another form: two heads on a line, a comment after one, a value that goes on. */
function settingsOf(text: string): readonly Setting[] | undefined {
  const found: Setting[] = [];
  let section: string | undefined;
  for (const line of text.split('\n').map((each) => each.replace(/^[ \t]+|[ \t\r]+$/g, ''))) {
    if (line === '' || /^[#;]/.test(line)) continue;
    const head = /^\[([A-Za-z0-9.-]+)(?:[ \t]+"([^"\\\]=\ufffd]*)")?\]$/.exec(line);
    const setting = /^([A-Za-z][A-Za-z0-9-]*)(?:[ \t]*=[ \t]*([^\\\ufffd]*))?$/.exec(line);
    if (head !== null) section = head[2] === undefined ? head[1] : `${head[1]}.${head[2]}`;
    else if (setting === null || section === undefined) return undefined;
    else found.push({ key: `${section}.${setting[1]}`, value: setting[2] ?? 'true' });
  }
  return found;
}

export function isHarmlessConfiguration(before: string, after: string): boolean {
  const [old, now] = [settingsOf(before), settingsOf(after)];
  if (old === undefined || now === undefined) return before === after;
  const hadKey = (key: string) => old.some((each) => each.key.toLowerCase() === key.toLowerCase());
  return now.every(({ key, value }) => {
    if (old.some((each) => each.key === key && each.value === value)) return true;
    if (destinationKeys.test(key) && hadKey(key)) return false;
    if (/^remote\..*\.url$/i.test(key)) return harmlessUrl.test(value);
    // A branch's remote may be an address, too.
    if (/^branch\..*\.remote$/i.test(key)) return /^[\w./-]+$/.test(value);
    return harmlessKeys.test(key);
  });
}

/**
 * Paths that a person's own configuration has git run or read, as it names them: `core.hooksPath`, and files that are included.
 * Read generously: whatever could be one, in whatever section.
 */
export function obeyedPaths(text: string): { readonly hooks: readonly string[]; readonly included: readonly string[] } {
  const values = (key: string) =>
    [...text.matchAll(new RegExp(`^(?:[^#;\\n]*[\\s\\]])?${key}[ \\t]*=[ \\t]*"?([^"\\n]*)`, 'gim'))]
      .map((match) => (match[1] ?? '').replace(/[ \t]+[#;].*$/, '').trim())
      .filter((value) => value !== '');
  return { hooks: values('hookspath'), included: values('path') };
}
