/** Words of odd lines: the same word in many spellings, and what variables, functions and aliases may hold. */

type Random = () => number;

export const variables = ['v', 'w', '_', 'REPLY'];
export const functions = ['f', 'g', 'rm'];
export const aliases = ['a', 'b', 'zap'];
/** Programs that are logged instead of run. */
export const logged = ['rm', 'zap', 'ls', 'curl'];
const operands = ['x', '/data', '-f', 'y', 'rm', 'f', 'v'];

export class Words {
  protected readonly random: Random;
  /** By kind of choice: those that this line may take. */
  readonly #used = new Map<string, number[]>();

  constructor(random: Random) {
    this.random = random;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.random() * list.length)] as T;
  }

  some(most: number, make: () => string): string[] {
    return Array.from({ length: Math.floor(this.random() * (most + 1)) }, make);
  }

  /** One of these, of which a line uses a few only: where all are mixed, most lines have something that cannot be read. */
  of(kind: string, ...choices: readonly (() => string)[]): string {
    const used = this.#used.get(kind) ?? choices.flatMap((_, at) => (this.random() < 0.25 ? [at] : []));
    if (used.length === 0) used.push(Math.floor(this.random() * choices.length));
    this.#used.set(kind, used);
    return choices[this.pick(used)]?.() ?? '';
  }

  /** This word, in one of many spellings that say the same without looking at anything. */
  written(text: string): string {
    const at = Math.floor(this.random() * (text.length + 1));
    const [before, after] = [text.slice(0, at), text.slice(at)];
    const codes = [...text].map((each) => each.charCodeAt(0));
    return this.of(
      'written',
      () => text,
      () => text,
      () => `'${text}'`,
      () => `"${text}"`,
      () => `\\${text}`,
      () => `${before}''${after}`,
      () => `${before}\\\n${after}`,
      () => `${before}"${after}"`,
      () => `$'${codes.map((code) => `\\x${code.toString(16)}`).join('')}'`,
      () => `$'${codes.map((code) => `\\${code.toString(8).padStart(3, '0')}`).join('')}'`,
      () => `$'${codes.map((code) => `\\u${code.toString(16).padStart(4, '0')}`).join('')}'`,
      () => `$"${text}"`,
    );
  }

  spelled(text: string): string {
    const at = Math.floor(this.random() * (text.length + 1));
    const [before, after] = [text.slice(0, at), text.slice(at)];
    return this.of(
      'spelled',
      () => this.written(text),
      () => this.written(text),
      () => this.written(text),
      () => `\${u-${text}}`,
      () => `\${u:-${text}}`,
      () => `${before}\${u}${after}`,
      () => `{${text},x}`,
      () => `$(echo ${text})`,
      () => `\`echo ${text}\``,
      () => `"$(printf %s ${text})"`,
      () => `${before}$(:)${after}`,
      () => `${before}$@${after}`,
    );
  }

  value(): string {
    return this.of(
      'value',
      () => this.pick(logged),
      () => this.pick(logged),
      () => this.pick(functions),
      () => this.pick(operands),
      () => this.pick(variables),
      () =>
        this.pick([
          'RM',
          'ZAP',
          'a[$(rm x)]',
          '$(rm x)',
          '0',
          '',
          'rm x',
          'zap $v',
          'command',
          'a',
          'eval',
          'unset',
          ' rm',
          'rm /data;',
        ]),
    );
  }

  valueWord(): string {
    const value = this.value();
    return /^[\w/-]*$/.test(value) ? this.spelled(value) : `'${value}'`;
  }

  /** The value of a variable, however it is asked for. */
  expansion(): string {
    const name = this.pick([
      ...variables,
      ...variables,
      '1',
      '2',
      '@',
      '*',
      '0',
      'BASH_REMATCH',
      'BASH_COMMAND',
      'FUNCNAME',
    ]);
    const plain = [`$${name}`, `"$${name}"`, `\${${name}}`, `$${name}`];
    if (!/^[a-z_A-Z]/.test(name)) return this.pick([...plain, `"\${${name}}"`, `\${${name}:-rm}`]);
    return this.pick([
      ...plain,
      ...plain,
      `\${${name},,}`,
      `\${${name}^^}`,
      `\${!${name}}`,
      `\${${name}:-rm}`,
      `\${${name}:=rm}`,
      `\${${name}+rm}`,
      `\${${name}#x}`,
      `\${${name}%x}`,
      `\${${name}/x/rm}`,
      `\${${name}:0:2}`,
      `\${${name}:w}`,
      `\${${name}[0]}`,
      `"\${${name}[@]}"`,
      `\${${name}@P}`,
      `\${${name}@L}`,
      `\${${name}@Q}`,
      `$((${name}))`,
      `$[${name}]`,
      `\${#${name}}`,
    ]);
  }

  name(): string {
    const variable = this.pick(variables);
    return this.of(
      'name',
      () => this.written(this.pick(logged)),
      () => this.written(this.pick(logged)),
      () => this.pick([`$${variable}`, `"$${variable}"`, `\${${variable}}`]),
      () => this.pick([`$${variable}`, `"$${variable}"`, `\${${variable}}`]),
      () => this.written(this.pick(functions)),
      () => this.written(this.pick(functions)),
      () => this.pick(aliases),
      () => (this.random() < 0.2 ? this.expansion() : this.pick(logged)),
    );
  }

  argument(): string {
    return this.of(
      'argument',
      () => this.spelled(this.pick(operands)),
      () => this.spelled(this.pick(operands)),
      () => this.expansion(),
    );
  }

  words(most = 2): string {
    return this.some(most, () => ` ${this.argument()}`).join('');
  }
}
