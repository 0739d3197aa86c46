/**
 * Odd lines of shell text, drawn at random: a few variables, functions and aliases with a few values each, whatever a shell has to set,
 * hide or take them back, and commands that are named by them. Most of what is drawn means little; the shell says what it runs.
 */

import { aliases, functions, logged, variables, Words } from './words.js';

/** What a line is damaged with. */
const pieces = (
  `'¦"¦\\¦\\\n¦\n¦ ¦#¦ #¦$¦\`¦)¦(¦}¦;¦&¦|¦{¦!¦<¦\r¦\t¦ ¦=¦[¦]¦,¦*¦?¦\x01¦\x7f¦$(¦((¦))¦[[¦]]¦;;¦&&¦||¦` +
  `<<E\n¦\nE\n¦$[¦<(¦$'¦$"¦\\\\¦~¦{x,y}¦-¦@¦%`
).split('¦');
/** Settings and words that change what the others mean. */
const odd = (
  `shopt -s expand_aliases¦shopt -s expand_aliases¦shopt -s lastpipe¦shopt -s extglob¦set -o posix¦set -k¦` +
  `set -f¦set -e¦set -u¦set -T¦set -o history -o histexpand¦enable -n echo¦enable -n command¦builtin :¦` +
  `return¦break¦: rm¦: $_¦unalias -a¦true¦false¦cd .¦!!¦wait¦compgen -F rm¦v=(rm x); "\${v[@]}"¦` +
  `$[ 1 ; rm x ]¦echo {rm,x}¦r{m,} x¦hash rm¦type rm¦command -v rm`
).split('¦');

export class Lines extends Words {
  #ends = 0;

  /** Statements, one after the other. */
  line(): string {
    const text = this.list(3, 1 + Math.floor(this.random() * 4));
    return this.random() < 0.15 ? this.mutated(text) : text;
  }

  /** Something is added, taken away or doubled somewhere. */
  mutated(text: string): string {
    const at = Math.floor(this.random() * (text.length + 1));
    const to = Math.min(text.length, at + Math.floor(this.random() * 4));
    return this.of(
      'mutated',
      () => text.slice(0, at) + this.pick(pieces) + text.slice(at),
      () => text.slice(0, at) + text.slice(to),
      () => text.slice(0, at) + this.pick(pieces) + text.slice(to),
      () => text.slice(0, to) + text.slice(at),
    );
  }

  list(depth: number, count: number): string {
    const all = Array.from({ length: Math.max(1, count) }, () => this.statement(depth));
    return all.reduce((text, next) => `${text}${this.between(text)}${next}`);
  }

  between(text: string): string {
    if (text.endsWith('\n') || text.endsWith('&')) return '';
    return this.pick(['; ', ';', '\n', '\n', ' ;\\\n', ' # x\n', '\n#\\\n', '; ', '\n\n', ' && ', ' || ']);
  }

  /** As an operand of `eval`, `bash -c`: quoted whole. */
  quoted(text: string): string {
    return this.of(
      'quoted',
      () => `'${text.replaceAll("'", "'\\''")}'`,
      () => `"${text.replace(/[\\"$`]/g, '\\$&')}"`,
      () => `$'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`,
      () => `"$(cat <<'E${this.end()}'\n${text}\nE${this.#ends}\n)"`,
    );
  }

  end(): number {
    this.#ends += 1;
    return this.#ends;
  }

  simple(): string {
    const before = this.of(
      'simple',
      () => '',
      () => '',
      () => '',
      () => `${this.pick(variables)}=${this.valueWord()} `,
      () =>
        this.pick([
          'command ',
          'builtin ',
          'exec ',
          '! ',
          'time ',
          'time -p ',
          'env ',
          'env -u v ',
          'nice ',
          'command -p ',
          'exec -a x ',
          'nohup ',
          'command -- ',
          'time -- ',
          'xargs ',
          'find . -maxdepth 0 -exec ',
          '\\command ',
          'timeout 1 ',
          'env -S ',
          'coproc ',
        ]),
    );
    return `${before}${this.name()}${this.words()}${before.includes('-exec') ? ' \\;' : ''}${this.redirection()}`;
  }

  redirection(): string {
    if (this.random() < 0.9) return '';
    return this.pick([
      ' > o',
      ' 2>&1',
      ' < /dev/null',
      ' >| o',
      ' &> o',
      ' >&o',
      ' <<< x',
      ' {v}>o',
      ' 3<> o',
      ' 2>/dev/null',
      ' >&2',
    ]);
  }

  assignment(): string {
    const name = this.pick(variables);
    return this.of(
      'assignment',
      () => `${name}=${this.valueWord()}`,
      () => `${name}=${this.valueWord()}`,
      () => `${name}=${this.expansion()}`,
      () => `${name}+=${this.valueWord()}`,
      () => `${name}[0]=${this.valueWord()}`,
      () => `${name}=(${this.valueWord()} ${this.valueWord()})`,
      () => {
        const how = this.pick([
          'declare',
          'typeset',
          'export',
          'readonly',
          'declare -l',
          'declare -u',
          'declare -i',
          'declare -n',
          'declare -g',
          'declare -x',
          'typeset -l',
          'declare -a',
          'declare +x',
          'builtin declare',
          'command export',
          'local',
          'declare -c',
        ]);
        return `${how} ${name}${this.pick(['', `=${this.valueWord()}`, `=${this.valueWord()}`])}`;
      },
      () => `read ${this.pick(['', '-r ', '-a '])}${name} <<< ${this.valueWord()}`,
      () => `printf -v ${name} ${this.valueWord()}`,
      () => `mapfile -t ${name} <<< ${this.valueWord()}`,
      () => `: \${${name}:=${this.value().replace(/[^\w]/g, '')}}`,
      () => `unset ${this.pick(['', '-v ', '-f ', '-- ', '-n '])}${this.pick([...variables, ...functions])}`,
      () => `unset -f ${this.expansion()}`,
      () => `set -- ${this.valueWord()}${this.words()}`,
      () => 'shift',
      () => `((${name}=1))`,
      () => `getopts ${this.pick(['a', 'v:'])} ${name} -a`,
      () => `[[ ${this.valueWord()} =~ .* ]]`,
      () => `let ${name}=${this.pick(['1', 'w', "'a[$(rm x)]'"])}`,
      () => `test -v ${this.valueWord()}`,
      () => `[[ -v ${this.valueWord()} ]]`,
      () => `[[ ${this.expansion()} -eq 1 ]]`,
      () => `(( ${this.pick([...variables, 'rm -f /data', 'rm', 'zap - x', 'a[$(rm x)]'])} ))`,
      () => `: $(( ${this.pick([...variables, 'v[w]', 'a[$(rm x)]'])} ))`,
      () => `[[ ${this.valueWord()} || ${this.valueWord()} == ${this.valueWord()} ]]`,
      () => `${this.pick(['\\export', "'declare'", '"typeset"'])} ${name}=${this.valueWord()}`,
      () => `v='${this.pick(['export', 'declare', 'unset', 'unset -f'])} ${name}=rm'; $v`,
      () => `((${name}['$(rm x)']=1))`,
      () => `: $(( ${this.pick(["'$(rm x)'", '"$(rm x)"', "a['$(rm x)']", "$'$(rm x)'"])} ))`,
      () => `: "\${${name}:${this.pick(["'$(rm x)'", '$(rm x)', 'w'])}}"`,
      () => `${name}[${this.pick(["'$(rm x)'", '$(rm x)', 'x y', '"a]"'])}]=${this.valueWord()}`,
      () => `IFS=${this.pick(['', ',', 'x', "$'\\n'", 'm'])}`,
      () => `for ${name} in ${this.valueWord()} ${this.valueWord()}; do :; done`,
    );
  }

  definition(depth: number): string {
    const name = this.pick(functions);
    return this.of(
      'definition',
      () => `${name}() { ${this.list(depth - 1, 1)}\n}`,
      () => `function ${name} { ${this.list(depth - 1, 1)}\n}`,
      () => `function ${name}\n{ ${this.list(depth - 1, 1)}\n}`,
      () => `${name} () (${this.list(depth - 1, 1)}\n)`,
      () => `${name}() { :; }`,
      () => `${name}() { ${this.name()}${this.words()}; }`,
      () => `unset -f ${name}`,
      () => `readonly -f ${name}`,
      () => `export -f ${name}`,
    );
  }

  aliased(): string {
    const name = this.pick([...aliases, ...functions, 'if', 'do', '{']);
    const stands = this.of(
      'aliased',
      () => this.pick(aliases),
      () => `${this.pick(logged)}${this.words(1)}`,
      () => this.pick(['command ', 'eval ', ' ', 'rm ', 'zap;', 'echo x;', 'f', '$v', 'time ']),
    );
    return `${this.pick(['alias', 'alias', 'alias --', 'builtin alias', 'unalias a;alias'])} ${name}=${this.quoted(stands)}`;
  }

  /** Text that is run as such. */
  run(depth: number): string {
    const text = this.list(depth - 1, 1);
    const quoted = () => this.quoted(text);
    return this.of(
      'run',
      () => `eval ${quoted()}`,
      () => `eval -- ${quoted()}`,
      () => `bash -c ${quoted()}${this.words()}`,
      () => `sh -c ${quoted()}${this.words()}`,
      () => `bash -O extglob -ec ${quoted()} x${this.words()}`,
      () => `bash <<< ${quoted()}`,
      () => `bash -s${this.words(1)} <<< ${quoted()}`,
      () => `trap ${quoted()} ${this.pick(['EXIT', '0', 'DEBUG', 'ERR', 'RETURN', 'EXIT DEBUG'])}`,
      () => `trap -- ${quoted()} EXIT`,
      () => `. <(echo ${quoted()})`,
      () => `source /dev/stdin <<< ${quoted()}`,
      () => `echo ${quoted()} | bash`,
      () => `printf ${quoted()} | sh`,
      () => `sh <<E${this.end()}\n${text}\nE${this.#ends}\n`,
      () => `bash <<'E${this.end()}'\n${text}\nE${this.#ends}\n`,
      () => `bash <<-\\E${this.end()}\n\t${text}\n\tE${this.#ends}\n`,
      () => `cat <<E${this.end()} | sh\n${text}\nE${this.#ends}\n`,
      () => `cat <<E${this.end()}\n$(${text}\n)\nE${this.#ends}\n`,
      () => `cat <<E${this.end()}\nE\\\n${this.#ends}\n${text}\nE${this.#ends}\n`,
      () => `v=${quoted()}; eval "$v"`,
      () => `v=${quoted()}; bash -c "$v"`,
      () => `v=${quoted()}; : "\${v@P}"`,
      () => `PS4=${quoted()}; set -x; :; set +x`,
      () => `compgen -W ${quoted()}`,
      () => `compgen -C ${quoted()} x`,
      () => `mapfile -c 1 -C ${quoted()} <<< x`,
      () => `xargs bash -c ${quoted()} <<< x`,
      () => `find . -maxdepth 0 -exec sh -c ${quoted()} \\;`,
      () => `env -i PATH="$PATH" bash -c ${quoted()}`,
      () => `echo "a[\\$(${text.replace(/[\\"$`]/g, '\\$&')}\n)]"`,
      () => `set -o history\nhistory -s ${quoted()}\nfc -s\n`,
      () => `bash -o posix -c ${quoted()}`,
      () => `env -S ${quoted()}`,
      () => `BASH_ENV=<(echo ${quoted()}) bash -c :`,
      () => `BASH_ENV=${quoted()} bash -c :`,
      () => `exec 0<<< ${quoted()}; bash`,
      () => `f() { bash; }; f <<< ${quoted()}`,
      () => `bash <<< ${quoted()} 3<<< x`,
      () => `echo ${quoted()} | echo $(bash)`,
      () => `{ bash 0<&3; } 3<<< ${quoted()}`,
    );
  }

  compound(depth: number): string {
    const inner = () => this.list(depth - 1, 1 + Math.floor(this.random() * 2));
    const name = this.pick(variables);
    return this.of(
      'compound',
      () => `( ${inner()}\n)`,
      () => `{ ${inner()}\n}`,
      () => `{ ${inner()}\n} | cat`,
      () => `( ${inner()}\n) | cat`,
      () => `{ ${inner()}\n} & wait\n`,
      () => `if ${inner()}\nthen ${inner()}\nfi`,
      () => `if false; then ${inner()}\nelse ${inner()}\nfi`,
      () => `for ${name} in ${this.valueWord()} ${this.argument()}; do ${inner()}\ndone`,
      () => `for ${name}\ndo ${inner()}\ndone`,
      () => `for ((i=0; i<1; i++)); do ${inner()}\ndone`,
      () =>
        `case ${this.argument()} in ${this.valueWord()}) ${inner()}\n;${this.pick([';', '&', ';&'])} *) ${inner()}\n;; esac`,
      () => `case x in (x) ${inner()}\nesac`,
      () => `while ${inner()}\ndo ${inner()}\nbreak; done`,
      () => `until false; do ${inner()}\nbreak; done`,
      () => `select ${name} in ${this.valueWord()} ${this.valueWord()}; do ${inner()}\nbreak; done <<< 1`,
      () => `coproc { ${inner()}\n}; wait\n`,
      () => `echo $(${inner()}\n)`,
      () => `echo "$(${inner()}\n)"`,
      () => `echo \`${inner().replace(/[\\$`]/g, '\\$&')}\n\``,
      () => `cat <(${inner()}\n)`,
      () => `${name}=$(${inner()}\n)`,
      () => `echo \${u:-$(${inner()}\n)}`,
      () => `[[ -n $(${inner()}\n) ]]`,
      () => `: $(( $(${inner()}\n) ))`,
      () => `: $[ $(${inner()}\n) ]`,
      () => `: $(( '$(${inner()}\n)' ))`,
      () => `cat <<E${this.end()}\n\${u-'$(${inner()}\n)'}\nE${this.#ends}\n`,
      () => `: \${${name}/$(${inner()}\n)/x}`,
      () => `: "\${u-'}'$(${inner()}\n)"`,
      () => `ls &> /dev/null $(${inner()}\n)`,
      () => `time { ${inner()}\n}`,
      () => `! { ${inner()}\n}`,
    );
  }

  odd(): string {
    return this.pick(odd);
  }

  statement(depth: number): string {
    if (depth <= 0) return this.simple();
    return this.of(
      'statement',
      () => this.simple(),
      () => this.simple(),
      () => this.simple(),
      () => this.assignment(),
      () => this.assignment(),
      () => this.assignment(),
      () => this.definition(depth),
      () => this.aliased(),
      () => this.run(depth),
      () => this.compound(depth),
      () => this.odd(),
    );
  }
}
