/**
 * Secrets by their place in a command: behind an option that says so by its name (`--password X`), or that is one of this program
 * (`mysql -pX`, `curl -u me:X`, `redis-cli -a X`). Of an argv word by word, of a shell's text by its words. Pure.
 */
import { isSecretName, isSecretSetting } from './secret-names.js';

export const hidden = '[secret]';

interface Program {
  readonly name: RegExp;
  /** Options whose next word is secret. */
  readonly next?: RegExp;
  /** Options whose next word is a secret behind a name: `file:X`, `name=X`. */
  readonly pair?: RegExp;
  /** Options with a secret in the same word: the first group stays. */
  readonly attached?: RegExp;
  /** Only behind this word. */
  readonly verb?: string;
}

const programs: readonly Program[] = [
  { name: /^(?:mysql|mariadb)(?:-?[a-z]+)?$|^mycli$/, attached: /^(-p)./ },
  { name: /^sshpass$/, next: /^-p$/, attached: /^(-p)./ },
  { name: /^redis-cli$|^valkey-cli$/, next: /^-a$/, attached: /^(-a)./ },
  { name: /^mongo[a-z]*$/, next: /^-p$/, attached: /^(-p)./ },
  { name: /^ldap[a-z]+$/, next: /^-w$/, attached: /^(-w)./ },
  { name: /^(?:sqlcmd|bcp|isql|mosquitto_[a-z]+)$/, next: /^-P$/, attached: /^(-P)./ },
  { name: /^(?:zip|unzip|zipcloak|zipnote)$/, next: /^-P$/, attached: /^(-P)./ },
  { name: /^(?:7z[a-z]?|7zz|rar|unrar)$/, attached: /^(-h?p)./ },
  { name: /^ssh-keygen$/, next: /^-[NP]$/, attached: /^(-[NP])./ },
  { name: /^openssl$/, next: /^-[kK]$/, attached: /^(pass:)./ },
  { name: /^(?:https?|xhs?)$/, next: /^-a$/, attached: /^(-a)./ },
  { name: /^snmp[a-z]+$/, next: /^-[AX]$/, attached: /^(-[AX])./ },
  { name: /^(?:useradd|usermod|groupmod|twine|az)$/, next: /^-p$/ },
  { name: /^(?:smbclient|rpcclient|net)$/, attached: /^((?:-U)?[^\s%]+%)./ },
  { name: /^lftp$/, attached: /^((?:-u)?[^\s,/]+,)./ },
  { name: /^(?:docker|podman|nerdctl|buildah|skopeo|helm|oc|oras)$/, verb: 'login', next: /^-p$/, attached: /^(-p)./ },
  { name: /^gh$/, verb: 'secret', next: /^-b$|^--body$/, attached: /^(--body=|-b)./ },
  { name: /^kubectl$/, verb: 'secret', attached: /^((?:--from-literal=)?[^-=\s][^=\s]*=)./ },
  { name: /^(?:vault|bao)$/, verb: 'kv', attached: /^([^-=\s][^=\s]*=)./ },
  { name: /^(?:fly|flyctl|supabase|doppler|wrangler)$/, verb: 'secrets', attached: /^([^-=\s][^=\s]*=)./ },
  {
    name: /^curl$/,
    pair: /^(?:-E|--cert|--proxy-cert|-b|--cookie)$/,
    // `-sume:X`, and a proxy without a scheme.
    attached: /^(-[a-zA-Z]*[uU][^:=]+:|[^\s:/@-][^\s:/@]*:(?=[^\s/@]+@))./,
  },
];

/** Options whose next argument is `user:password`; also behind others in one word, as of curl. */
const userOption = /^(?:-[a-zA-Z]*[uU]|--user|--proxy-user)$/;
/** The same in one word; `-u1000:1000` are ids. */
const userAttached = /^(-u|--user=|--proxy-user=|-U)(?!\d+:\d+$)([^:=]+):./;
const settingVerb = /^(?:set|config|configure)$/;

/** The words of a command in their order: what one says of the next is known. */
export class SecretWords {
  #before: string;
  #programs: readonly Program[] = [];
  readonly #seen = new Set<string>();
  /** A word before said that what follows is set. */
  #sets = false;

  constructor(before = '') {
    this.#before = before;
  }

  /** The word as it may be shown; the same where there is nothing to hide by its place. */
  shown(word: string): string {
    const shown = this.#hiddenBehind(this.#before, word) ?? this.#hiddenIn(word) ?? word;
    this.#note(word);
    return shown;
  }

  #active(): readonly Program[] {
    return this.#programs.filter(({ verb }) => verb === undefined || this.#seen.has(verb));
  }

  #hiddenBehind(before: string, word: string): string | undefined {
    const programs = this.#active();
    if (userOption.test(before) && /^[^:]+:./.test(word)) return `${word.slice(0, word.indexOf(':'))}:${hidden}`;
    const [named] = /^[^:=]+[:=](?=.)/.exec(word) ?? [];
    if (named !== undefined && programs.some(({ pair }) => pair?.test(before))) return `${named}${hidden}`;
    if (word.startsWith('-')) return undefined;
    const option = /^--?([A-Za-z][\w-]*)$/.exec(before)?.[1];
    const isValue = option !== undefined && isSecretName(option);
    if (isValue || programs.some(({ next }) => next?.test(before))) return hidden;
    return this.#sets && !before.startsWith('-') && isSecretSetting(before) ? hidden : undefined;
  }

  #hiddenIn(word: string): string | undefined {
    const [, asks, user] = userAttached.exec(word) ?? [];
    if (asks !== undefined) return `${asks}${user}:${hidden}`;
    for (const { attached } of this.#active()) {
      const kept = attached?.exec(word)?.[1];
      if (kept !== undefined) return `${kept}${hidden}`;
    }
    return undefined;
  }

  #note(word: string): void {
    this.#before = word;
    if (word.startsWith('-')) return;
    const name = word.slice(word.lastIndexOf('/') + 1);
    const found = programs.filter((program) => program.name.test(name));
    // Beside those before it: this may be a path of the same name.
    if (found.length > 0) this.#programs = [...new Set([...this.#programs, ...found])];
    this.#sets ||= settingVerb.test(word);
    this.#seen.add(word);
  }
}

/** A word of a shell, or what ends a command. */
const shellWord = /[;|&\n()`]|(?:\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^\s"'\\;|&()`])+/g;

/** The same of a shell's text, and of texts that are quoted in it. */
export function hideInText(text: string): string {
  let words = new SecretWords();
  return text.replace(shellWord, (word) => {
    if (/^[;|&\n()`]$/.test(word)) {
      words = new SecretWords();
      return word;
    }
    const quote = /^(["'])[\s\S]*\1$/.exec(word)?.[1] ?? '';
    const inner = quote === '' ? word : word.slice(1, -1);
    const shown = words.shown(inner);
    if (shown !== inner) return `${quote}${shown}${quote}`;
    return quote !== '' && /\s/.test(inner) ? `${quote}${hideInText(inner)}${quote}` : word;
  });
}

/** Whether a text has options at all, or sets something: nothing else is found in it by its place. */
export const hasOptions = (text: string): boolean =>
  /(?:^|[\s"'])-|\b(?:config|set|configure|put|secrets?)\b/.test(text);
