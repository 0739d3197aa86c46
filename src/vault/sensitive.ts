/**
 * Changes by which an agent could act later, outside of every jail: files that programs of the person's run or obey without
 * being asked. Apply shows them apart and writes them only when told so. Pure.
 */
import type { Change, Content } from './tree.js';

interface Rule {
  readonly pattern: RegExp;
  readonly why: string;
}

const anywhere = (names: string) => new RegExp(`(^|/)(${names})$`, 'i');
/** The name itself too: what is no directory there is a link to one, or stands in its place. */
const below = (names: string) => new RegExp(`(^|/)(${names})(/|$)`, 'i');

const rules: readonly Rule[] = [
  { pattern: /(^|\/)\.git$/i, why: 'git takes its repository, and what that runs, from where it points' },
  { pattern: /(^|\/)\.git\/(.*\/)?(commondir|gitdir)$/i, why: 'git takes its configuration from where it points' },
  { pattern: /(^|\/)\.git\/(.*\/)?hooks(\/(?!.*\.sample$)|$)/i, why: 'git runs it' },
  {
    pattern: /(^|\/)\.git\/(.*\/)?(config|config\.worktree|info\/attributes)$/i,
    why: 'git takes programs to run from it',
  },
  // A directory with this file, objects and refs is a repository to git, whatever it is called.
  {
    pattern: /^(?!(.*\/)?\.git\/)(.*\/)?HEAD$/,
    why: 'git may take its directory for a repository, with programs to run',
  },
  { pattern: anywhere('\\.gitmodules'), why: 'git fetches and checks out what it names' },
  { pattern: below('\\.husky|\\.githooks'), why: 'git hooks are often set to it' },
  { pattern: anywhere('\\.pre-commit-config\\.yaml|lefthook\\.ya?ml'), why: 'a hook runs what it names' },
  {
    pattern: anywhere(
      '\\.(bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin|kshrc|cshrc|tcshrc|inputrc)',
    ),
    why: 'a shell runs it when it starts',
  },
  { pattern: below('\\.config/fish|\\.ssh'), why: 'a shell or ssh obeys it' },
  { pattern: anywhere('\\.envrc|\\.?mise\\.toml'), why: 'entering the directory runs it' },
  { pattern: below('\\.vscode|\\.idea|\\.fleet|\\.zed'), why: 'an editor obeys it' },
  { pattern: anywhere('\\.exrc|\\.vimrc|\\.nvimrc|\\.nvim\\.lua|\\.dir-locals\\.el'), why: 'an editor runs it' },
  {
    pattern: below('\\.github/(workflows|actions)|\\.circleci|\\.buildkite|\\.woodpecker'),
    why: 'a build server runs it',
  },
  {
    pattern: anywhere(
      '\\.gitlab-ci\\.ya?ml|\\.travis\\.ya?ml|\\.drone\\.ya?ml|azure-pipelines\\.ya?ml|bitbucket-pipelines\\.ya?ml|jenkinsfile',
    ),
    why: 'a build server runs it',
  },
  // No files of these names: links in place of the directories above.
  { pattern: anywhere('\\.github|\\.config'), why: 'programs obey what stands below it' },
  { pattern: anywhere('\\.?mcp\\.json'), why: 'an agent starts the servers it names' },
  { pattern: below('\\.claude|\\.cursor|\\.codex|\\.gemini|\\.windsurf|\\.continue'), why: 'an agent obeys it' },
  {
    pattern: anywhere('\\.npmrc|\\.yarnrc(\\.ya?ml)?|\\.pnpmfile\\.cjs|bunfig\\.toml|pip\\.conf'),
    why: 'a package manager obeys it',
  },
  { pattern: anywhere('package\\.json'), why: 'npm runs its scripts' },
];

/** Git makes no links there of its own. */
const inRepository = /(^|\/)\.git\//i;

/** Keys of a repository's configuration that name no program. */
const harmlessKeys =
  /^(core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks)|user\.(name|email)|init\.defaultbranch|branch\..*\.(remote|merge|rebase)|remote\..*\.fetch)$/i;

/** `section.key=value` of every line that is one; a line that is not plain counts as a key of its own. */
function configurationLines(text: string): ReadonlySet<string> {
  let section = '';
  const found = new Set<string>();
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '' || /^[#;]/.test(line)) continue;
    const head = /^\[([\w.-]+)(?:\s+"([^"\\\]]*)")?\]$/.exec(line);
    if (head !== null) section = head[2] === undefined ? `${head[1]}` : `${head[1]}.${head[2]}`;
    else found.add(`${section}.${line.replace(/\s*=\s*/, '=')}`);
  }
  return found;
}

function isHarmlessLine(line: string): boolean {
  const [key = '', ...value] = line.split('=');
  if (harmlessKeys.test(key)) return !line.endsWith('\\');
  return /^remote\..*\.url$/i.test(key) && /^(https?|ssh|git):\/\/|^[\w.-]+@[\w.-]+:|^\.{0,2}\//.test(value.join('='));
}

function changesOnlyHarmless(before: string, after: string): boolean {
  const [old, now] = [configurationLines(before), configurationLines(after)];
  return [...now].every((line) => old.has(line) || isHarmlessLine(line));
}

function scriptsOf(text: string): string | undefined {
  try {
    const value = JSON.parse(text) as { readonly scripts?: unknown } | null;
    return JSON.stringify(value?.scripts ?? {});
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Paths whose text decides whether a change of them is sensitive. */
export function isDecidedByText(path: string): boolean {
  return anywhere('package\\.json').test(path) || /(^|\/)\.git\/(.*\/)?config$/i.test(path);
}

function textOf(content: Content | undefined): string | undefined {
  if (content === undefined || content.type === 'missing') return '';
  return content.type === 'file' ? content.bytes.toString('utf8') : undefined;
}

/** Why a change is sensitive; undefined for all others. A deletion runs nothing. */
export function sensitivity(change: Change, before?: Content, after?: Content): string | undefined {
  if (change.kind === 'deleted' || change.type === 'directory') return undefined;
  if (change.type === 'symlink' && inRepository.test(change.path)) return 'git follows it to what it runs or obeys';
  const rule = rules.find(({ pattern }) => pattern.test(change.path));
  if (rule === undefined || !isDecidedByText(change.path)) return rule?.why;
  const [old, now] = [textOf(before), textOf(after)];
  if (old === undefined || now === undefined) return rule.why;
  if (!/package\.json$/i.test(change.path)) return changesOnlyHarmless(old, now) ? undefined : rule.why;
  const [scripts, own] = [scriptsOf(old === '' ? '{}' : old), scriptsOf(now)];
  return own !== undefined && (own === scripts || own === '{}') ? undefined : rule.why;
}
