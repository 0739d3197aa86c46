/** What a client is told: an errno as an HTTP status and as a SOCKS reply. */
import { ErrnoError } from '../base/errno.js';

export interface ProxyAnswer {
  readonly status: string;
  readonly socks: number;
  /** A refusal is a decision of ours; a failure is the network's or the client's. */
  readonly verdict: 'refused' | 'failed';
}

const answers: Partial<Record<string, ProxyAnswer>> = {
  EACCES: { status: '403 Forbidden', socks: 0x02, verdict: 'refused' },
  EINVAL: { status: '400 Bad Request', socks: 0x01, verdict: 'refused' },
  E2BIG: { status: '431 Request Header Fields Too Large', socks: 0x01, verdict: 'refused' },
  EAGAIN: { status: '408 Request Timeout', socks: 0x01, verdict: 'refused' },
  ENOTSUP: { status: '501 Not Implemented', socks: 0x07, verdict: 'refused' },
  ENOENT: { status: '502 Bad Gateway', socks: 0x04, verdict: 'failed' },
  EIO: { status: '502 Bad Gateway', socks: 0x05, verdict: 'failed' },
  ETIMEDOUT: { status: '504 Gateway Timeout', socks: 0x06, verdict: 'failed' },
};

const unexpected: ProxyAnswer = { status: '502 Bad Gateway', socks: 0x01, verdict: 'failed' };

export function answerFor(error: ErrnoError): ProxyAnswer {
  return answers[error.code] ?? unexpected;
}

/** A whole response; the reason is in a header too, since most clients show no body of a refused CONNECT. */
export function httpAnswer(error: ErrnoError): string {
  const reason = error.reason.replace(/[^\x20-\x7e]/g, '?');
  const body = `ctx: ${reason}\n`;
  return [
    `HTTP/1.1 ${answerFor(error).status}`,
    'Content-Type: text/plain',
    `Content-Length: ${body.length}`,
    `X-Ctx-Reason: ${reason}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}

/** Whatever went wrong, as an ErrnoError: what the system said keeps its code in the text, and no more than that. */
export function asErrno(error: unknown, what: string): ErrnoError {
  if (error instanceof ErrnoError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new ErrnoError('EIO', { operation: 'connect', reason: `${what} failed (${code})`, cause: error });
}
