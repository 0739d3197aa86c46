/**
 * Files that programs of a developer's run or obey unasked, but for repositories' own directories (`git-verdicts`): because a directory is entered, opened in an editor, looked at by git,
 * or because any word of a tool reads them. What runs only when a build or a test is started is not here. Pure.
 */

export interface NameRule {
  readonly pattern: RegExp;
  readonly why: string;
  /** The pattern, from where a name begins. */
  readonly source: string;
}

const start = '(?:^|/)';
const rule = (why: string, source: string): NameRule => ({
  pattern: new RegExp(`${start}${source}`, 'is'),
  why,
  source,
});
const named = (why: string, ...names: readonly string[]): NameRule => rule(why, `(?:${names.join('|')})$`);
/** The name itself too: what is not a directory there is a link to one, or is in its place. */
const below = (why: string, ...names: readonly string[]): NameRule => rule(why, `(?:${names.join('|')})(?:/|$)`);

const script = '[cm]?[jt]s';
const data = '(json|jsonc|json5|ya?ml|toml)';

const versionControl: readonly NameRule[] = [
  named('git takes its repository, and what that runs, from where it points', '\\.git'),
  named('git fetches and checks out what it names', '\\.gitmodules'),
  named('git takes programs to run from it, where a configuration includes it', '\\.gitconfig'),
  below('hg or sl runs hooks and extensions from it', '\\.hg', '\\.sl'),
  named('hg runs hooks and extensions that it names', '\\.hgrc|hgrc'),
  below('jj takes programs to run from it', '\\.jj'),
];

const hooks: readonly NameRule[] = [
  below('git hooks are often set to it', '\\.husky', '\\.githooks', '\\.git-hooks', '\\.hooks', '\\.lefthook(-local)?'),
  named(
    'a git hook runs what it names',
    '\\.pre-commit-config\\.ya?ml',
    `\\.?lefthook(-local)?\\.${data}`,
    `(\\.huskyrc|\\.lintstagedrc|\\.commitlintrc|\\.simple-git-hooks)(\\.(${data}|${script}))?`,
    `(husky\\.config|lint-staged\\.config|commitlint\\.config|simple-git-hooks)\\.(${data}|${script})`,
    '\\.overcommit\\.yml',
    'captainhook\\.json',
    'grumphp\\.ya?ml',
  ),
];

const shells: readonly NameRule[] = [
  named(
    'a shell runs it when it starts',
    '\\.(bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|inputrc|kshrc|cshrc|tcshrc|login)',
    '\\.(zshrc|zshenv|zprofile|zlogin|zlogout)',
    '\\.(xprofile|xinitrc|xsession|xsessionrc|pam_environment|tmux\\.conf|screenrc)',
  ),
  below('ssh, gpg or a cloud tool obeys it', '\\.ssh', '\\.gnupg', '\\.aws', '\\.kube', '\\.docker'),
  below('programs obey what is below it', '\\.config', '\\.local/(bin|share)', '\\.emacs\\.d', '\\.vim'),
  named('programs obey what is below it', '\\.github', '\\.local'),
  named(
    'entering the directory runs it',
    '\\.envrc(\\..*)?',
    '\\.autoenv(\\.zsh)?',
    '\\.?(mise|rtx)(\\.[\\w-]+)*\\.toml',
    '\\.tool-versions',
    '(flake|shell|devenv)\\.nix',
    'devenv\\.ya?ml',
    'devbox\\.json',
  ),
  named('shells and tools take their environment from it', '\\.env(\\.local)?'),
  below('entering the directory runs it', '\\.?mise', '\\.venv/bin/(activate[^/]*|python[0-9.]*)'),
  named(
    'an interpreter runs it when it is started here',
    '\\.(Rprofile|Renviron|RData|irbrc|pryrc|ghci|ocamlinit|iex\\.exs|octaverc|pdbrc(\\.py)?|gdbinit|gdbearlyinit|lldbinit)',
  ),
];

const editors: readonly NameRule[] = [
  below(
    'an editor obeys it',
    '\\.vscode',
    '\\.idea',
    '\\.fleet',
    '\\.zed',
    '\\.helix',
    '\\.nova',
    '\\.vs',
    '\\.theia',
    '\\.devcontainer',
    '\\.externalToolBuilders',
  ),
  named(
    'an editor obeys it',
    '[^/]*\\.(code-workspace|sublime-project|ipr|iws)',
    '\\.devcontainer\\.json',
    '\\.gitpod\\.ya?ml',
    '\\.replit',
    'devfile\\.ya?ml',
  ),
  named(
    'an editor runs it',
    '\\.exrc|\\.vimrc|\\.vimrc\\.local|\\.local\\.vimrc|\\.lvimrc|\\.nvimrc|\\.nvim\\.lua|\\.emacs',
    '\\.dir-locals(-2)?\\.el',
  ),
  named(
    'an editor checks open files with what it names',
    `\\.(eslintrc|prettierrc|stylelintrc)\\.(${script})`,
    '\\.prettierrc(\\.(json5?|ya?ml|toml))?',
    `(eslint|prettier|stylelint)\\.config\\.(${script})`,
    '\\.?pylintrc',
    '\\.?mypy\\.ini',
    '\\.flake8',
    '\\.rubocop\\.ya?ml',
    '\\.solargraph\\.ya?ml',
  ),
];

const buildServers: readonly NameRule[] = [
  below(
    'a build server runs it',
    '\\.(github|gitea|forgejo)/(workflows|actions)',
    '\\.gitlab|\\.circleci|\\.buildkite|\\.woodpecker|\\.semaphore|\\.teamcity|\\.tekton|\\.builds|\\.azure-pipelines',
  ),
  named('a build server runs it', '\\.gitea|\\.forgejo'),
  named(
    'a build server runs it',
    '\\.(gitlab-ci|travis|drone|woodpecker|cirrus|appveyor|build)\\.ya?ml',
    '(azure-pipelines|bitbucket-pipelines|appveyor|buildspec|cloudbuild|codefresh)\\.ya?ml',
    '\\.drone\\.(jsonnet|star)',
    '[^/]*\\.?jenkinsfile([.-][^/]*)?',
  ),
];

const agents: readonly NameRule[] = [
  named('an agent starts the servers it names', '\\.?mcp\\.(json|jsonc|toml|ya?ml)'),
  below(
    'an agent obeys it',
    '\\.(claude|cursor|codex|gemini|windsurf|continue|opencode|crush|qwen|amazonq|kiro|junie|trae|augment|factory|goose)',
    '\\.(cline|clinerules|roo|kilocode|agents?|copilot|amp|openhands|aider|codebuddy|rovodev|zencoder|plandex)',
    '\\.github/(instructions|prompts|chatmodes|agents|hooks)',
  ),
  named(
    'an agent obeys it',
    '(AGENTS?|CLAUDE|GEMINI|QWEN|CRUSH|WARP)(\\.(local|override))?\\.md',
    '\\.(cursorrules|windsurfrules|clinerules|roorules|roomodes|goosehints|rules|aider\\.conf\\.ya?ml)',
    '\\.github/copilot-[^/]*',
    '\\.?(opencode|crush)\\.jsonc?',
    '\\.continuerc\\.json',
    'skills/[^/]+/SKILL\\.md|SKILL\\.md',
  ),
];

const tools: readonly NameRule[] = [
  below('ctx takes a project’s defaults and its neighbours from it', '\\.ctx'),
  named(
    'a package manager obeys it',
    '\\.npmrc|\\.yarnrc(\\.ya?ml)?|\\.pnpmfile\\.[cm]?js|pnpm-workspace\\.yaml|bunfig\\.toml',
    '\\.pnp(\\.loader)?\\.[cm]?js',
    'pip\\.conf|\\.pypirc|uv\\.toml|poetry\\.toml|\\.condarc|\\.gemrc|nuget\\.config',
  ),
  below('a package manager runs it', '\\.yarn/(releases|plugins|sdks)'),
  named('a package manager runs it', '\\.yarn'),
  below('a package manager obeys it', '\\.bundle'),
  named('npm builds what it says, with programs of its own choice, as it installs', 'binding\\.gyp'),
  named('npm runs its scripts', 'package\\.json', 'package\\.(json5|yaml)'),
  named('composer runs its scripts', 'composer\\.json'),
  below('cargo, also an editor’s, runs programs that it names', '\\.cargo'),
  named('cargo, also an editor’s, runs the programs that it names', 'rust-toolchain(\\.toml)?'),
  below('maven, also an editor’s, obeys it', '\\.mvn'),
  named('gradle or maven, also an editor’s, runs it', '(gradle|maven)-wrapper\\.(jar|properties)'),
  named('gradle, also an editor’s, takes the java that it runs from it', '\\.gradle/config\\.properties'),
  named('dotnet, also an editor’s, obeys it', 'Directory\\.(Build|Packages|Solution)\\.(props|targets|rsp)'),
  named('bazel obeys it, whatever it is asked to do', '\\.bazelrc|\\.bazelversion|\\.bazeliskrc', 'tools/bazel'),
];

export const sensitiveNames: readonly NameRule[] = [
  ...versionControl,
  ...hooks,
  ...shells,
  ...editors,
  ...buildServers,
  ...agents,
  ...tools,
];

const any = new RegExp(`${start}(?:${sensitiveNames.map(({ source }) => source).join('|')})`, 'is');

/** The first rule for a path. Nearly all paths have none, which one look tells: there are many of both. */
export function sensitiveName(path: string): NameRule | undefined {
  return any.test(path) ? sensitiveNames.find(({ pattern }) => pattern.test(path)) : undefined;
}
