/** Which defaults of a project count: `ctx trust`. A person confirms the very bytes that they were shown. */
import { statSync } from 'node:fs';
import { type ProjectDefaults, projectDefaults, projectSentences } from '../../authority/project-file.js';
import { canonicalAncestor } from '../../base/canonical-path.js';
import { ErrnoError } from '../../base/errno.js';
import { sha256 } from '../../base/sha256.js';
import { variable } from '../../proxy/grants/asked-secret.js';
import { checkedUser, grantedNetwork } from '../../proxy/grants/authority-of.js';
import { assertFitting } from '../../proxy/grants/injected-secrets.js';
import { projectGrants } from '../../proxy/grants/project-grants.js';
import {
  forgetConfirmed,
  type ProjectText,
  projectAt,
  projectFileName,
  readProject,
  storeConfirmed,
} from '../../proxy/grants/project-trust.js';
import { assertSecretName } from '../../proxy/grants/stored-secrets.js';
import { type Host, placeOf } from '../../proxy/host.js';

export interface ProjectReading {
  /** The workspace. */
  readonly origin: string;
  readonly file: string;
  /** What a confirmation is for: SHA-256 of its bytes and, where links are among its reads, of what they lead to. */
  readonly digest: string;
  /** What a command here may do by it, a sentence each. */
  readonly sentences: readonly string[];
  /** Whether exactly this counts already. */
  readonly confirmed: boolean;
}

async function parsedToml(text: string): Promise<unknown> {
  const { parse, TomlError } = await import('smol-toml');
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const reason = `${projectFileName}:${error.line}:${error.column}: expected TOML: ${error.message.split('\n')[0]}`;
    throw new ErrnoError('EINVAL', { operation: 'parse the project', reason, cause: error });
  }
}

/** What may not be looked at is not shown either. */
function isSocket(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  } catch {
    return false;
  }
}

/** The same bytes may lead elsewhere by the time that somebody confirms what they were shown. */
function digestOf({ digest }: ProjectText, { reads }: ProjectDefaults): string {
  const linked = reads.filter(({ path, target }) => path !== target);
  return linked.length === 0 ? digest : sha256(`${digest}\n${JSON.stringify(linked)}`);
}

/** What every command here would be refused for is refused now, with the name that the file has for it. */
async function assertGrantable(host: Host, directory: string, defaults: ProjectDefaults): Promise<void> {
  let where = 'user';
  try {
    if (defaults.user !== undefined) checkedUser(placeOf(host, directory).owner, defaults.user);
    where = 'secrets';
    for (const { template } of defaults.secrets) {
      for (const [, name = ''] of template.matchAll(variable)) assertSecretName(name);
    }
    if (defaults.secrets.length > 0) await assertFitting(host, defaults.secrets, grantedNetwork(defaults.network));
  } catch (error) {
    if (!(error instanceof ErrnoError)) throw error;
    const reason = `${projectFileName}: ${where}: ${error.reason}`;
    throw new ErrnoError('EINVAL', { operation: 'parse the project', reason, cause: error });
  }
}

/**
 * Which defaults count in a directory, as one word: calls with the same word have the same ones. The file may be the same and another
 * one's link lead elsewhere, or a secret be stored by now.
 */
export function projectWord(host: Host, directory: string): string {
  return JSON.stringify(projectGrants(host, placeOf(host, directory).origin));
}

export class Trust {
  readonly #host: Host;

  constructor(host: Host) {
    this.#host = host;
  }

  /** ENOENT where the project has no such file, EINVAL where it cannot be understood or asks for too much. */
  async read(directory: string): Promise<ProjectReading> {
    const { origin } = placeOf(this.#host, directory);
    const { found, defaults } = await this.#understood(origin);
    const state = projectAt(this.#host, origin);
    // The same words may lead elsewhere now.
    const isSame = (known: ProjectDefaults) => JSON.stringify(known.reads) === JSON.stringify(defaults.reads);
    const confirmed = state.kind === 'confirmed' && state.digest === found.digest && isSame(state.defaults);
    const sentences = projectSentences(defaults);
    return { origin, file: projectFileName, digest: digestOf(found, defaults), sentences, confirmed };
  }

  /** ESTALE where the file is not the one with this digest any more, or a link among its reads leads elsewhere. */
  async confirm(directory: string, digest: string): Promise<void> {
    const { origin } = placeOf(this.#host, directory);
    const { found, defaults } = await this.#understood(origin);
    if (!/^[0-9a-f]{64}$/.test(digest)) {
      throw new ErrnoError('EINVAL', {
        operation: 'trust',
        reason: 'expected a digest of 64 hexadecimal digits',
        remedy: 'ctx trust --show prints it',
      });
    }
    if (digestOf(found, defaults) !== digest) {
      throw new ErrnoError('ESTALE', {
        operation: 'trust',
        path: projectFileName,
        reason: 'the file changed after it was shown, or where one of its links leads; nothing was confirmed',
        remedy: 'ctx trust shows it as it is now',
      });
    }
    const facts = { digest: found.digest, sentences: projectSentences(defaults) };
    this.#host.recorder.append({ type: 'trust', object: `workspace/${origin}`, status: 'begin', facts, durable: true });
    storeConfirmed(this.#host, origin, found.digest, defaults);
  }

  /** False where nothing was confirmed. Kept jails go on with what they were started with. */
  revoke(directory: string): boolean {
    const { origin } = placeOf(this.#host, directory);
    const object = `workspace/${origin}`;
    this.#host.recorder.append({ type: 'trust.revoke', object, status: 'begin', durable: true });
    return forgetConfirmed(this.#host, origin);
  }

  async #understood(origin: string) {
    const found: ProjectText | undefined = readProject(origin);
    if (found === undefined) {
      throw new ErrnoError('ENOENT', {
        operation: 'trust',
        path: projectFileName,
        reason: `there is no such file in ${origin}`,
        remedy: 'docs/project.md says what it may hold',
      });
    }
    const { home, hidden } = this.#host;
    const place = { root: origin, home, hidden, leadsTo: canonicalAncestor, isSocket };
    const defaults = projectDefaults(await parsedToml(found.text), projectFileName, place);
    await assertGrantable(this.#host, origin, defaults);
    return { found, defaults };
  }
}
