/**
 * Certificate authorities of the person's own: companies have them, and without them nothing behind their proxies can be reached.
 * The variables by which programs know them are honoured outside, where the network proxy makes TLS itself, and handed to a
 * command that has a network, as files that hold the certificates and nothing else.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { writeFileAtomic } from '../../base/atomic-file.js';
import { certificatesBytes } from '../../base/limits/network.js';
import { makeDirectory } from '../../base/make-directory.js';
import { sha256 } from '../../base/sha256.js';
import type { SharedPath } from '../../jail/plan.js';
import { storePaths } from '../../vault/store/layout.js';

type Environment = Readonly<Record<string, string | undefined>>;

/** What names a file of authorities; the launcher keeps Node's own under another name, since reading it costs every start. */
const variables: Readonly<Record<string, readonly string[]>> = {
  NODE_EXTRA_CA_CERTS: ['NODE_EXTRA_CA_CERTS', 'CTX_NODE_EXTRA_CA_CERTS'],
  SSL_CERT_FILE: ['SSL_CERT_FILE'],
  REQUESTS_CA_BUNDLE: ['REQUESTS_CA_BUNDLE'],
  CURL_CA_BUNDLE: ['CURL_CA_BUNDLE'],
  GIT_SSL_CAINFO: ['GIT_SSL_CAINFO'],
  PIP_CERT: ['PIP_CERT'],
  CARGO_HTTP_CAINFO: ['CARGO_HTTP_CAINFO'],
  AWS_CA_BUNDLE: ['AWS_CA_BUNDLE'],
};

const directoryInside = '/etc/ssl/ctx';

export interface TrustedCertificates {
  /** Certificates in PEM that the network proxy trusts besides Node's own. */
  readonly trusted: readonly string[];
  readonly shared: readonly SharedPath[];
  readonly environment: Readonly<Record<string, string>>;
}

export const noCertificates: TrustedCertificates = Object.freeze({ trusted: [], shared: [], environment: {} });

/** The variables of one environment in the place of those of another: what a kept jail shows was decided when it started. */
export function withCertificatesOf(environment: Environment, own: Environment): Environment {
  const names = Object.values(variables).flat();
  const others = Object.entries(environment).filter(([name]) => !names.includes(name));
  return { ...Object.fromEntries(others), ...Object.fromEntries(names.map((name) => [name, own[name]])) };
}

/** What cannot be read holds no certificate: the program that needs one says so itself. */
export function certificatesOf(environment: Environment, store: string): TrustedCertificates {
  const found = Object.entries(variables).flatMap(([name, names]) => {
    const path = names.map((each) => environment[each]).find((value) => value !== undefined && value !== '');
    const certificates = path === undefined ? [] : certificatesIn(readStart(resolve(path)));
    return certificates.length === 0 ? [] : [{ name, certificates }];
  });
  if (found.length === 0) return noCertificates;
  const files = new Map<string, SharedPath>();
  const environmentInside: Record<string, string> = {};
  for (const { name, certificates } of found) {
    const text = `${certificates.join('\n')}\n`;
    const digest = sha256(text).slice(0, 16);
    const target = `${directoryInside}/${digest}.pem`;
    environmentInside[name] = target;
    if (!files.has(digest)) files.set(digest, { source: kept(store, digest, text), target, access: 'read only' });
  }
  return {
    trusted: [...new Set(found.flatMap(({ certificates }) => certificates))],
    shared: [...files.values()],
    environment: environmentInside,
  };
}

const block = /-----BEGIN CERTIFICATE-----\r?\n(?:[A-Za-z0-9+/=]{1,76}\r?\n)+-----END CERTIFICATE-----/g;

export function certificatesIn(text: string): readonly string[] {
  return text.match(block) ?? [];
}

function kept(store: string, digest: string, text: string): string {
  const directory = storePaths(store).certificates;
  const path = join(directory, `${digest}.pem`);
  // One that a power cut has emptied is written again: it was not synced. So is one that a umask once kept from other users.
  const { size, mode = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
  if (size === Buffer.byteLength(text) && (mode & 0o444) === 0o444) return path;
  makeDirectory(directory);
  writeFileAtomic(path, text, { durable: false, mode: 0o644 });
  return path;
}

function readStart(path: string): string {
  let descriptor: number | undefined;
  try {
    // A fifo with no writer would be waited for.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const { size } = fstatSync(descriptor);
    if (!fstatSync(descriptor).isFile() || size > certificatesBytes) return '';
    const bytes = Buffer.alloc(size);
    return bytes.toString('latin1', 0, readSync(descriptor, bytes));
  } catch {
    return '';
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
