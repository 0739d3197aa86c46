/** Completion scripts for bash, zsh and fish, made from the table of verbs. */
import { ErrnoError } from '../../base/errno.js';
import { groupOf, verbsOfGroup } from '../find-verb.js';
import { print, printJson } from '../text/output.js';
import type { Run, Verb } from '../verb.js';

function optionNames(verb: Verb): string {
  return [...verb.options.map(({ name }) => `--${name}`), '--help'].join(' ');
}

function lastWord(verb: Verb): string {
  return verb.name.slice(verb.name.indexOf(' ') + 1);
}

function firstWords(verbs: readonly Verb[]): readonly string[] {
  return [...new Set(verbs.map((verb) => groupOf(verb) ?? verb.name))];
}

function secondWord(verb: Verb): string {
  return lastWord(verb).split(' ')[0] ?? '';
}

/** Of a verb of two words, or of all those of three that begin alike. */
function bashSecond(second: string, group: readonly Verb[]): string {
  const own = group.filter((verb) => secondWord(verb) === second);
  const [first] = own;
  if (first !== undefined && lastWord(first) === second) return `${second}) words='${optionNames(first)}' ;;`;
  const thirds = own.map((verb) => [lastWord(verb).slice(second.length + 1), optionNames(verb)] as const);
  const inner = thirds.map(([third, options]) => `${third}) words='${options}' ;;`).join(' ');
  const words = thirds.map(([third]) => third).join(' ');
  return `${second}) words='${words} --help'; if ((COMP_CWORD > 3)); then case \${COMP_WORDS[3]} in ${inner} esac; fi ;;`;
}

function bashCase(word: string, verbs: readonly Verb[]): string {
  const group = verbsOfGroup(verbs, word);
  const verb = verbs.find(({ name }) => name === word);
  if (verb !== undefined) return `    ${word}) words='${optionNames(verb)}' ;;`;
  const seconds = [...new Set(group.map((each) => secondWord(each)))];
  const inner = seconds.map((second) => bashSecond(second, group)).join(' ');
  return `    ${word})
      words='${seconds.join(' ')} --help'
      if ((COMP_CWORD > 2)); then case \${COMP_WORDS[2]} in ${inner} esac; fi ;;`;
}

/** Of a path nothing is said: then the shell completes files, as it does for every program. */
function bash(verbs: readonly Verb[]): string {
  const cases = firstWords(verbs)
    .map((word) => bashCase(word, verbs))
    .join('\n');
  return `_ctx() {
  local current=\${COMP_WORDS[COMP_CWORD]} words=''
  local index
  for ((index = 2; index < COMP_CWORD; index++)); do
    if [[ \${COMP_WORDS[index]} == -- ]]; then
      ((index + 1 < COMP_CWORD)) || COMPREPLY=($(compgen -c -- "$current"))
      return
    fi
  done
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${firstWords(verbs).join(' ')} --help --version' -- "$current"))
    return
  fi
  case \${COMP_WORDS[1]} in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -o default -F _ctx ctx
`;
}

function zsh(verbs: readonly Verb[]): string {
  return `#compdef ctx\nautoload -U +X bashcompinit && bashcompinit\n${bash(verbs)}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "\\'")}'`;
}

function fishCondition(verb: Verb): string {
  return verb.name
    .split(' ')
    .map((word) => `__fish_seen_subcommand_from ${word}`)
    .join('; and ');
}

function fishVerb(verb: Verb): string {
  const group = groupOf(verb);
  const words = verb.name.split(' ');
  const before = words.slice(0, -1).map((word) => `__fish_seen_subcommand_from ${word}`);
  const when = group === undefined ? '__fish_use_subcommand' : `'${before.join('; and ')}'`;
  return `complete -c ctx -f -n ${when} -a ${words.at(-1)} -d ${quoted(verb.summary)}`;
}

function fish(verbs: readonly Verb[]): string {
  const groups = firstWords(verbs).filter((word) => verbsOfGroup(verbs, word).length > 0);
  const lines = verbs.flatMap((verb) => [
    fishVerb(verb),
    ...verb.options.map(
      (option) =>
        `complete -c ctx -f -n '${fishCondition(verb)}' -l ${option.name}${
          option.value === undefined ? '' : ' -r'
        }${option.choices === undefined ? '' : ` -a '${option.choices.join(' ')}'`} -d ${quoted(option.summary)}`,
    ),
  ]);
  const nouns = groups.map((group) => `complete -c ctx -f -n __fish_use_subcommand -a ${group}`);
  const longer = verbs.filter(({ name }) => name.split(' ').length === 3);
  const seconds = [...new Set(longer.map((verb) => `${groupOf(verb)} ${secondWord(verb)}`))].map((words) => {
    const [noun, second] = words.split(' ');
    return `complete -c ctx -f -n '__fish_seen_subcommand_from ${noun}' -a ${second}`;
  });
  return `${[...nouns, ...seconds, ...lines].join('\n')}\n`;
}

const scripts: Readonly<Record<string, (verbs: readonly Verb[]) => string>> = { bash, zsh, fish };

export function completion(verbs: readonly Verb[]): Run {
  return async (call) => {
    const shell = call.words[0] ?? '';
    const script = Object.hasOwn(scripts, shell) ? scripts[shell]?.(verbs) : undefined;
    if (script === undefined) {
      throw new ErrnoError('EINVAL', {
        operation: 'ctx completion',
        reason: `expected bash, zsh or fish, got '${shell}'`,
      });
    }
    if (call.flag('json')) printJson({ version: 1, shell, script });
    else print(script);
    return 0;
  };
}
