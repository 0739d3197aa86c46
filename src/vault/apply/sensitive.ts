/**
 * Changes by which an agent could act later, outside of every jail: files that programs of the person's run or obey without
 * being asked. Apply shows them apart and writes them only when told so. Files of a repository's own directory are judged in
 * vault/git (`git-verdicts`, `git-configuration`). Pure.
 */
import { manifestBytes } from '../../base/limits/store.js';
import { membersOf, parseJson } from '../../base/shape.js';
import type { Change, TreeContent } from '../tree/tree.js';
import { sensitiveName } from './sensitive-names.js';

const manifest = /(^|\/)(package|composer)\.json$/i;

/** What of a manifest is run: as packages are installed, or by hooks of git that are there already. */
const runKeys = [
  'scripts',
  'husky',
  'lint-staged',
  'simple-git-hooks',
  'gitHooks',
  'pre-commit',
  'pre-push',
  'gypfile',
];

/** Undefined where it cannot be known. */
function runBy(text: string): string | undefined {
  try {
    const members = membersOf(parseJson(text));
    const own = (key: string) => (Object.hasOwn(members, key) ? members[key] : undefined);
    const found = runKeys.map((key) => own(key) ?? {});
    return found.every((each) => JSON.stringify(each) === '{}') ? '' : JSON.stringify(found);
  } catch {
    return undefined; // No JSON, no object, or nested deeper than can be written down.
  }
}

function isHarmlessManifest(before: string, after: string): boolean {
  const [old, now] = [before === '' ? '' : runBy(before), runBy(after)];
  return now !== undefined && (now === '' || now === old);
}

const formatter = /(^|\/)\.prettierrc(\.(json|ya?ml))?$/i;
const readNames = new RegExp(`${manifest.source}|${formatter.source}`, 'i');

/** Options of a formatter that are words and numbers: `plugins`, or a parser by its path, would be run by editors. */
const formatterKeys = new Set(
  'semi singleQuote jsxSingleQuote quoteProps tabWidth useTabs printWidth trailingComma bracketSpacing bracketSameLine arrowParens endOfLine proseWrap htmlWhitespaceSensitivity vueIndentScriptAndStyle embeddedLanguageFormatting singleAttributePerLine objectWrap experimentalTernaries $schema'.split(
    ' ',
  ),
);

function isHarmlessFormatter(text: string): boolean {
  const lines = text.split(/\r?\n/).filter((line) => !/^\s*(#.*)?$/.test(line));
  const keys = lines.map((line) => /^([A-Za-z]+):[ \t]+(?:[\w-]+|"[\w-]*"|'[\w-]*')[ \t]*$/.exec(line)?.[1] ?? '');
  if (keys.every((key) => formatterKeys.has(key))) return true;
  try {
    const value: unknown = parseJson(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    return Object.entries(value).every(([key, each]) => formatterKeys.has(key) && typeof each !== 'object');
  } catch {
    return false; // Not JSON: in a form that is not read here.
  }
}

/** Changes whose text decides whether they are sensitive. One that is larger than any manifest of a person's is not read. */
export function isDecidedByText({ path, kind, type, size }: Change): boolean {
  return kind !== 'deleted' && type === 'file' && size <= manifestBytes && readNames.test(path);
}

/** Undefined for what was not read, or not to its end. */
function textOf(content: TreeContent | undefined): string | undefined {
  if (content === undefined) return undefined;
  if (content.type === 'missing') return '';
  return content.type === 'file' && content.bytes.length <= manifestBytes ? content.bytes.toString('utf8') : undefined;
}

/** Why a change is sensitive; undefined for all others. A deletion runs nothing. */
export function sensitivity(change: Change, before?: TreeContent, after?: TreeContent): string | undefined {
  const { kind, type, path } = change;
  if (kind === 'deleted' || type === 'directory') return undefined;
  if (type === 'fifo') return 'it is a named pipe: programs that read it would wait for one that writes';
  const rule = sensitiveName(path);
  if (rule === undefined) return undefined;
  const [old, now] = [textOf(before), textOf(after)];
  if (formatter.test(path) && now !== undefined && isHarmlessFormatter(now)) return undefined;
  if (!manifest.test(path)) return rule.why;
  return old !== undefined && now !== undefined && isHarmlessManifest(old, now) ? undefined : rule.why;
}
