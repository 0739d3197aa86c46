/**
 * Harnesses that `ctx run` knows by name: what each needs beyond any command, and why. Data and nothing else; checked against
 * the public documentation of each program and by running it (docs/run.md). The operator's `profiles.toml` changes them (profiles-file.ts).
 */

/** One thing a profile grants, with the reason a person is shown. */
export interface Need {
  /** A host, a path, or the name of a variable. */
  readonly what: string;
  readonly why: string;
  /** Anyone who has it can act as the person: given only where the person says so. */
  readonly secret?: true;
}

/** A key that can stay outside: the network proxy adds it, and the program is told to ask where that is seen. */
export interface OutsideKey {
  /** The person's variable that holds it. */
  readonly variable: string;
  readonly host: string;
  readonly header: string;
  /** Before the key, as `Bearer `. */
  readonly scheme: string;
  /** `NAME=VALUE` that the program gets instead. */
  readonly variables: readonly string[];
}

export interface Profile {
  readonly name: string;
  readonly summary: string;
  readonly command: readonly string[];
  /** Port 443, unless another is named. */
  readonly hosts: readonly Need[];
  /** Shown read-only, where they are there; `~/` is the person's home. */
  readonly reads: readonly Need[];
  /** The person's own variables, passed on where they are set. */
  readonly environment: readonly Need[];
  /** `NAME=VALUE`, the same for everybody. */
  readonly variables: readonly Need[];
  /** Files of the person's home, copied when the profile's home is made; changed later in the copy alone. */
  readonly copies: readonly Need[];
  readonly keys?: readonly OutsideKey[] | undefined;
}

/** Keys are in settings often enough: in the environment they set, or in those of MCP servers. */
const settings = 'your settings, which may hold keys';
const updates = 'the program is shown read-only: it cannot replace itself';
const key = 'your key, if you use one';

export const builtInProfiles: readonly Profile[] = [
  {
    name: 'claude',
    summary: 'Claude Code',
    command: ['claude'],
    hosts: [
      { what: 'api.anthropic.com', why: 'the model' },
      { what: 'claude.ai', why: 'signing in with a subscription' },
      { what: 'platform.claude.com', why: 'signing in with a console account' },
    ],
    reads: [
      { what: '~/.local/share/claude', why: 'the program, where its own installer put it' },
      { what: '~/.claude/local', why: 'the program, where an older installer put it' },
    ],
    environment: [
      { what: 'ANTHROPIC_API_KEY', why: key, secret: true },
      { what: 'ANTHROPIC_AUTH_TOKEN', why: key, secret: true },
      { what: 'CLAUDE_CODE_OAUTH_TOKEN', why: 'your sign-in, if you have it as a token', secret: true },
      { what: 'ANTHROPIC_MODEL', why: 'the model you chose' },
    ],
    variables: [
      { what: 'IS_SANDBOX=1', why: 'this is a sandbox: as root it refuses to skip its own questions elsewhere' },
      { what: 'DISABLE_AUTOUPDATER=1', why: updates },
      { what: 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1', why: 'telemetry and error reports have no host here' },
    ],
    copies: [
      { what: '.claude/settings.json', why: settings, secret: true },
      { what: '.claude/CLAUDE.md', why: 'your instructions' },
      { what: '.claude.json', why: 'that you have been through its first questions, and your account', secret: true },
      { what: '.claude/.credentials.json', why: 'your sign-in', secret: true },
    ],
    keys: [
      {
        variable: 'ANTHROPIC_API_KEY',
        host: 'api.anthropic.com',
        header: 'x-api-key',
        scheme: '',
        variables: ['ANTHROPIC_BASE_URL=http://api.anthropic.com', 'ANTHROPIC_API_KEY=held-outside'],
      },
      {
        variable: 'ANTHROPIC_AUTH_TOKEN',
        host: 'api.anthropic.com',
        header: 'Authorization',
        scheme: 'Bearer ',
        variables: ['ANTHROPIC_BASE_URL=http://api.anthropic.com', 'ANTHROPIC_AUTH_TOKEN=held-outside'],
      },
    ],
  },
  {
    name: 'codex',
    summary: 'OpenAI Codex CLI',
    // Its own sandbox takes namespaces, which no one has in here: without this every command of its own would fail.
    command: ['codex', '-c', 'sandbox_mode="danger-full-access"'],
    hosts: [
      { what: 'api.openai.com', why: 'the model, with a key' },
      { what: 'chatgpt.com', why: 'the model, with a subscription' },
      { what: 'auth.openai.com', why: 'signing in' },
    ],
    reads: [],
    environment: [
      { what: 'OPENAI_API_KEY', why: key, secret: true },
      { what: 'CODEX_API_KEY', why: key, secret: true },
      { what: 'CODEX_ACCESS_TOKEN', why: 'your sign-in, if you have it as a token', secret: true },
    ],
    variables: [],
    copies: [
      { what: '.codex/config.toml', why: settings, secret: true },
      { what: '.codex/AGENTS.md', why: 'your instructions' },
      { what: '.codex/auth.json', why: 'your sign-in', secret: true },
    ],
  },
  {
    name: 'gemini',
    summary: 'Gemini CLI',
    command: ['gemini'],
    hosts: [
      { what: 'generativelanguage.googleapis.com', why: 'the model, with a key' },
      { what: 'cloudcode-pa.googleapis.com', why: 'the model, signed in' },
      { what: 'accounts.google.com', why: 'signing in' },
      { what: 'oauth2.googleapis.com', why: 'renewing the sign-in' },
      { what: 'www.googleapis.com', why: 'whose account it is' },
    ],
    reads: [],
    environment: [
      { what: 'GEMINI_API_KEY', why: key, secret: true },
      { what: 'GOOGLE_API_KEY', why: key, secret: true },
      { what: 'GEMINI_MODEL', why: 'the model you chose' },
      { what: 'GOOGLE_CLOUD_PROJECT', why: 'accounts of organisations need it' },
    ],
    variables: [{ what: 'NO_BROWSER=true', why: 'there is no browser inside: it asks for a code instead' }],
    copies: [
      { what: '.gemini/settings.json', why: settings, secret: true },
      { what: '.gemini/.env', why: 'your variables for it, keys among them', secret: true },
      { what: '.gemini/google_accounts.json', why: 'which account you signed in with', secret: true },
      { what: '.gemini/GEMINI.md', why: 'your instructions' },
      { what: '.gemini/oauth_creds.json', why: 'your sign-in', secret: true },
    ],
  },
  {
    name: 'opencode',
    summary: 'OpenCode',
    command: ['opencode'],
    hosts: [
      { what: 'models.opencode.ai', why: 'its list of models' },
      { what: 'models.dev', why: 'the same, of older versions' },
      { what: 'opencode.ai', why: 'its own gateway' },
      { what: 'api.anthropic.com', why: 'models of this provider' },
      { what: 'api.openai.com', why: 'models of this provider' },
    ],
    reads: [{ what: '~/.opencode/bin', why: 'the program, where its own installer put it' }],
    environment: [
      { what: 'ANTHROPIC_API_KEY', why: key, secret: true },
      { what: 'OPENAI_API_KEY', why: key, secret: true },
    ],
    variables: [{ what: 'OPENCODE_DISABLE_AUTOUPDATE=1', why: updates }],
    copies: [
      { what: '.config/opencode/opencode.json', why: settings, secret: true },
      { what: '.config/opencode/opencode.jsonc', why: settings, secret: true },
      { what: '.config/opencode/AGENTS.md', why: 'your instructions' },
      { what: '.local/share/opencode/auth.json', why: 'your sign-ins', secret: true },
    ],
  },
  {
    name: 'shell',
    summary: 'a shell, with a home that stays',
    command: ['bash'],
    hosts: [],
    reads: [],
    environment: [],
    variables: [],
    copies: [
      { what: '.bashrc', why: 'your aliases and prompt' },
      { what: '.inputrc', why: 'your keys' },
    ],
  },
];

/** What a profile asks of one run. Without approval no secret is among it. */
export function needsOf(
  profile: Profile,
  credentials: boolean,
): Omit<Profile, 'name' | 'summary' | 'command' | 'keys'> {
  const allowed = (needs: readonly Need[]) => needs.filter(({ secret }) => credentials || secret !== true);
  return {
    hosts: allowed(profile.hosts),
    reads: allowed(profile.reads),
    environment: allowed(profile.environment),
    variables: allowed(profile.variables),
    copies: allowed(profile.copies),
  };
}
