/**
 * Changes by which an agent could act later, outside of every jail: files that programs of the person's run or obey without
 * being asked. Apply shows them apart and writes them only when told so. Pure.
 */
import { isHarmlessConfiguration } from './git-configuration.js';
import { sensitiveNames } from './sensitive-names.js';
import type { Change, Content } from './tree.js';

/** Git makes no links there of its own. */
const inRepository = /(^|\/)\.git\//i;

const manifest = /(^|\/)(package|composer)\.json$/i;
const configuration = /(^|\/)\.git\/(.*\/)?config$/i;

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

/** Undefined where it cannot be told. */
function runBy(text: string): string | undefined {
  try {
    const value = JSON.parse(text) as Readonly<Record<string, unknown>> | null;
    const own = (key: string) => (value !== null && Object.hasOwn(value, key) ? value[key] : undefined);
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

/**
 * The path as the rules know it: a repository may go by any name (that of a linked worktree, one that is bare), and is called .git
 * there. No directory becomes one by a change: its HEAD is held back.
 */
export function nameInRepository(path: string, isRepository: (directory: string) => boolean): string {
  if (inRepository.test(path)) return path;
  for (let slash = path.indexOf('/', 1); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    if (isRepository(path.slice(0, slash))) return `${path.slice(0, slash)}/.git/${path.slice(slash + 1)}`;
  }
  return !path.startsWith('/') && isRepository('') ? `.git/${path}` : path;
}

/** Paths whose text decides whether a change of them is sensitive. */
export function isDecidedByText(path: string): boolean {
  return manifest.test(path) || configuration.test(path);
}

function textOf(content: Content | undefined): string | undefined {
  if (content === undefined || content.type === 'missing') return '';
  return content.type === 'file' ? content.bytes.toString('utf8') : undefined;
}

/** Why a change is sensitive; undefined for all others. A deletion runs nothing. */
export function sensitivity(change: Change, before?: Content, after?: Content): string | undefined {
  if (change.kind === 'deleted' || change.type === 'directory') return undefined;
  if (change.type === 'symlink' && inRepository.test(change.path)) return 'git follows it to what it runs or obeys';
  const rule = sensitiveNames.find(({ pattern }) => pattern.test(change.path));
  if (rule === undefined || !isDecidedByText(change.path)) return rule?.why;
  const [old, now] = [textOf(before), textOf(after)];
  if (old === undefined || now === undefined) return rule.why;
  const isHarmless = manifest.test(change.path) ? isHarmlessManifest(old, now) : isHarmlessConfiguration(old, now);
  return isHarmless ? undefined : rule.why;
}
