/** Completion scripts for bash, zsh and fish, made from the table of verbs. */
import { ErrnoError } from '../base/errno.js';
import { printJson } from './output.js';
import type { Run, Verb } from './verb.js';

function optionNames(verb: Verb): string {
  return [...verb.options.map(({ name }) => `--${name}`), '--help'].join(' ');
}

function bash(verbs: readonly Verb[]): string {
  const cases = verbs.map((verb) => `    ${verb.name}) words='${optionNames(verb)}' ;;`).join('\n');
  return `_ctx() {
  local current=\${COMP_WORDS[COMP_CWORD]} words=''
  local index
  for ((index = 2; index < COMP_CWORD; index++)); do
    if [[ \${COMP_WORDS[index]} == -- ]]; then
      COMPREPLY=($(compgen -c -f -- "$current"))
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${verbs.map(({ name }) => name).join(' ')} --help --version' -- "$current"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _ctx ctx
`;
}

function zsh(verbs: readonly Verb[]): string {
  return `#compdef ctx\nautoload -U +X bashcompinit && bashcompinit\n${bash(verbs)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}

function fish(verbs: readonly Verb[]): string {
  const lines = verbs.flatMap((verb) => [
    `complete -c ctx -f -n __fish_use_subcommand -a ${verb.name} -d ${quoted(verb.summary)}`,
    ...verb.options.map(
      (option) =>
        `complete -c ctx -f -n '__fish_seen_subcommand_from ${verb.name}' -l ${option.name}${
          option.value === undefined ? '' : ' -r'
        }${option.choices === undefined ? '' : ` -a '${option.choices.join(' ')}'`} -d ${quoted(option.summary)}`,
    ),
  ]);
  return `${lines.join('\n')}\n`;
}

const scripts: Readonly<Record<string, (verbs: readonly Verb[]) => string>> = { bash, zsh, fish };

export function completion(verbs: readonly Verb[]): Run {
  return async (call) => {
    const shell = call.words[0] ?? '';
    const script = scripts[shell]?.(verbs);
    if (script === undefined) {
      throw new ErrnoError('EINVAL', {
        operation: 'ctx completion',
        reason: `expected bash, zsh or fish, got '${shell}'`,
      });
    }
    if (call.flag('json')) printJson({ shell, script });
    else process.stdout.write(script);
    return 0;
  };
}
