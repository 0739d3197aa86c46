/**
 * ed25519 over short texts that say what they are for. `node:crypto` is loaded when something is signed or checked, and not
 * before: it would cost every command milliseconds.
 */
import type { KeyObject } from 'node:crypto';
import { Blake3 } from '../base/blake3.js';

function crypto(): typeof import('node:crypto') {
  return process.getBuiltinModule('node:crypto');
}

/** What is before the 32 bytes of a public key in its standard form. */
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex');

export interface KeyPair {
  /** PKCS 8, PEM. */
  readonly privateKey: string;
  /** 32 bytes, hexadecimal. */
  readonly publicKey: string;
}

export function makeKeyPair(): KeyPair {
  const { privateKey, publicKey } = crypto().generateKeyPairSync('ed25519');
  return { privateKey: String(privateKey.export({ type: 'pkcs8', format: 'pem' })), publicKey: rawPublic(publicKey) };
}

function rawPublic(key: KeyObject): string {
  return Buffer.from(key.export({ type: 'spki', format: 'der' }))
    .subarray(publicPrefix.length)
    .toString('hex');
}

export function publicOf(privateKey: string): string {
  return rawPublic(crypto().createPublicKey(privateKey));
}

function keyObject(publicKey: string): KeyObject {
  const key = Buffer.concat([publicPrefix, Buffer.from(publicKey, 'hex')]);
  return crypto().createPublicKey({ key, format: 'der', type: 'spki' });
}

/** For programs that want the usual form. */
export function publicPem(publicKey: string): string {
  return String(keyObject(publicKey).export({ type: 'spki', format: 'pem' }));
}

/** The first 16 hexadecimal digits of its BLAKE3 digest: to be named by, not to be trusted. */
export function keyId(publicKey: string): string {
  return new Blake3().hex(Buffer.from(publicKey, 'hex')).slice(0, 16);
}

export function sign(privateKey: string, text: string): string {
  return crypto().sign(null, Buffer.from(text), privateKey).toString('hex');
}

export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  if (!/^[0-9a-f]{64}$/.test(publicKey) || !/^[0-9a-f]{128}$/.test(signature)) return false;
  return crypto().verify(null, Buffer.from(text), keyObject(publicKey), Buffer.from(signature, 'hex'));
}

/** A head of a chain. */
export function headStatement(chain: string, seq: number, head: string): string {
  return `ctxfs audit head v1\n${chain}\n${seq}\n${head}\n`;
}

const keyActions = ['made', 'rotated', 'revoked'] as const;
export type KeyAction = (typeof keyActions)[number];

/** `made` is signed by the key itself, `rotated` by the one before it, `revoked` by the one in use. */
export function keyStatement(action: KeyAction, publicKey: string): string {
  return `ctxfs audit key v1\n${action}\n${publicKey}\n`;
}
