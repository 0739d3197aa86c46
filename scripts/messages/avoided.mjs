/** Forms that riddle a reader, each with what to write instead. docs/glossary.md has the words that are ours. */
export const avoided = [
  { form: /(?<!\bthere )\b(?:is|are|was|were) no (?!longer\b|more\b)[a-z]/i, instead: 'is not a ...' },
  { form: /(?<!\bthere )\b(?:is|are) none\b/i, instead: 'is not, or: there is none' },
  { form: /\bwhoever\b/i, instead: 'name who: the user, a process, the caller' },
  { form: /\bnobody\b/i, instead: 'no process, no one, or the passive' },
  { form: /\btold\b/i, instead: 'reported, said, shown' },
  { form: /\ba leave\b|\bleave for\b/i, instead: 'permission, approval' },
  { form: /\bmoments?\b/i, instead: 'checkpoint; for time: a time, when' },
  { form: /\bstands?\b/i, instead: 'is, is written, works' },
  { form: /(?<!\b(?:part|top|out|all|rest|use) )of it\b/i, instead: 'name the thing' },
  { form: /\bas documented\b/i, instead: 'say it, or link to it' },
  { form: /\bso long\b/i, instead: 'that long, or the time itself' },
];

/** @returns {{ found: string, instead: string }[]} */
export function avoidedIn(text) {
  return avoided.flatMap(({ form, instead }) => {
    const found = form.exec(text)?.[0];
    return found === undefined ? [] : [{ found, instead }];
  });
}
