/**
 * The command's environment: built, never inherited. What a person's shell holds (tokens, LD_PRELOAD, NODE_OPTIONS, agent
 * sockets) does not reach the jail unless it is named.
 */
import { ErrnoError } from '../../base/errno.js';

/** How things look and read; none of these can change what a program does or carry a secret. */
const presentation = /^(TERM|COLORTERM|NO_COLOR|FORCE_COLOR|LANG|LANGUAGE|LC_[A-Z]+|TZ|CI)$/;

export interface EnvironmentRequest {
  readonly inherited: Readonly<Record<string, string | undefined>>;
  readonly search: readonly string[];
  readonly person: { readonly uid: number; readonly name: string; readonly home: string };
  /** Whom the command runs for: the variables of its `env` file come after ours, as its operator wrote them. */
  readonly agent?:
    | {
        readonly uid: number;
        /** A link of its view, where it has one. */
        readonly home?: string | undefined;
        readonly toolPath: readonly string[];
        readonly variables: Readonly<Record<string, string>>;
      }
    | undefined;
  /** How programs find the network they are granted. */
  readonly network?: Readonly<Record<string, string>>;
  /** What git is told besides its files. */
  readonly git?: Readonly<Record<string, string>>;
  /** `NAME=VALUE`, or `NAME` to pass the caller's own value on. */
  readonly additions: readonly string[];
}

function addition(text: string, inherited: EnvironmentRequest['inherited']): readonly [string, string] {
  const equals = text.indexOf('=');
  const name = equals < 0 ? text : text.slice(0, equals);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    throw new ErrnoError('EINVAL', { operation: 'environment', reason: `expected NAME or NAME=VALUE, got '${text}'` });
  }
  const own = Object.hasOwn(inherited, name) ? inherited[name] : undefined;
  const value = equals < 0 ? own : text.slice(equals + 1);
  if (value === undefined) {
    throw new ErrnoError('EINVAL', {
      operation: 'environment',
      reason: `expected ${name} to be set, since --env ${name} passes it on`,
      remedy: `give it a value: --env ${name}=VALUE`,
    });
  }
  if (equals < 0 && value.includes('\ufffd')) {
    throw new ErrnoError('EINVAL', {
      operation: 'environment',
      reason: `expected the value of ${name} in UTF-8: Node reads U+FFFD in the place of every other byte`,
      remedy: `give it as it is: --env ${name}="$${name}"`,
    });
  }
  return [name, value];
}

/** Refused while nothing is made yet for the command that would have them. */
export function assertAdditions(additions: readonly string[], inherited: EnvironmentRequest['inherited']): void {
  for (const text of additions) addition(text, inherited);
}

/** The objects are seen at `/ctx`, whatever directory of the host holds them. */
function agentEnvironment(agent: EnvironmentRequest['agent']): Readonly<Record<string, string>> {
  if (agent === undefined) return {};
  const own = { CTX_ROOT: '/ctx', CTX_HOME: `/ctx/home/${agent.uid}`, CTX_PATH: agent.toolPath.join(':') };
  return { ...own, ...(agent.home === undefined ? {} : { HOME: agent.home }), ...agent.variables };
}

export function commandEnvironment(request: EnvironmentRequest): Readonly<Record<string, string>> {
  const { inherited, person } = request;
  // Each value that is read of a process's own environment costs a call into C: only those that are passed on are.
  const passed = Object.keys(inherited)
    .filter((name) => presentation.test(name))
    .flatMap((name): readonly (readonly [string, string])[] => {
      const value = inherited[name];
      return value === undefined ? [] : [[name, value]];
    });
  return Object.freeze({
    ...Object.fromEntries(passed),
    PATH: request.search.join(':'),
    HOME: person.home,
    USER: person.name,
    LOGNAME: person.name,
    SHELL: '/bin/sh',
    TMPDIR: '/tmp',
    CTX_JAIL: '1',
    // Root's tar would try to give files to users it may not name.
    ...(person.uid === 0 ? { TAR_OPTIONS: '--no-same-owner' } : {}),
    ...request.network,
    ...request.git,
    ...agentEnvironment(request.agent),
    ...Object.fromEntries(request.additions.map((text) => addition(text, inherited))),
  });
}
