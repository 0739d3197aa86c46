/**
 * Serves one HTTP client: CONNECT becomes a tunnel, a plain request is sent on and its answer sent back. One request a
 * connection: the next one is a new connection and judged anew, and a request hidden behind another is never read.
 */
import type { Socket } from 'node:net';
import { ErrnoError, hasCode } from '../base/errno.js';
import { asErrno, httpAnswer } from './answer.js';
import { BulkReader } from './bulk-reader.js';
import type { ProxyConversation } from './conversation.js';
import { open } from './gate.js';
import type { Target } from './host-name.js';
import { headScanner, parseRequestHead, parseResponseHead, type RequestHead, refuseMessage } from './http-head.js';
import {
  outgoingRequest,
  outgoingResponse,
  type ProxyTarget,
  parseAbsoluteTarget,
  parseAuthorityTarget,
  requestFraming,
  responseFraming,
} from './http-message.js';
import { Inbox } from './inbox.js';
import type { HostSecrets } from './secret.js';
import { transferBody, write } from './transfer.js';
import { breakOff, tunnel } from './tunnel.js';

const interimResponses = 8;

export async function serveHttp(conversation: ProxyConversation): Promise<void> {
  const { client, inbox, attempt, signal } = conversation;
  const progress = { answered: false };
  attempt.protocol = 'http';
  try {
    const head = parseRequestHead(await inbox.read(headScanner()));
    if (head.method === 'CONNECT') await serveConnect(conversation, head, progress);
    else await serveRequest(conversation, head, parseAbsoluteTarget(head.target), progress);
  } catch (error) {
    const known = signal.aborted ? clientGone : asErrno(error, 'the connection');
    // An answer that has begun cannot be taken back: a reset tells the client that it is not whole.
    if (progress.answered) breakOff(client);
    else if (!client.destroyed) client.write(httpAnswer(known));
    throw known;
  }
}

const clientGone = new ErrnoError('ECANCELED', { operation: 'http', reason: 'the client closed early' });

interface Progress {
  answered: boolean;
}

const established = 'HTTP/1.1 200 Connection established\r\n\r\n';

async function serveConnect(conversation: ProxyConversation, head: RequestHead, progress: Progress): Promise<void> {
  const { client, attempt, gate, secrets, limits, signal } = conversation;
  attempt.protocol = 'connect';
  const target = parseAuthorityTarget(head.target);
  attempt.host = target.host;
  attempt.port = target.port;
  if (requestFraming(head).kind !== 'none') {
    throw new ErrnoError('EINVAL', { operation: 'http', reason: 'expected CONNECT without a body' });
  }
  if (target.port === upgradedPort && secrets.has(target.host)) {
    client.write(established);
    return serveInside(conversation, target, progress);
  }
  const bulk = new BulkReader();
  const host = await open(gate, target, attempt, signal, bulk);
  progress.answered = true;
  client.write(established);
  await tunnel(client, host, bulk, limits.idleMilliseconds);
}

/** The port for `http://` of a host with secrets: its requests leave over TLS, so that a value never travels in clear. */
const upgradedPort = 80;
const noChanges = { drops: () => false, added: [] };

/** Some clients tunnel `http://`, too: for a host with secrets, what they ask inside is served as if it had been asked plainly. */
async function serveInside(conversation: ProxyConversation, target: Target, progress: Progress): Promise<void> {
  const { client, limits } = conversation;
  const inbox = new Inbox(client, { bytes: limits.headBytes, milliseconds: limits.headMilliseconds });
  const head = parseRequestHead(await inbox.read(headScanner()));
  if (!head.target.startsWith('/')) refuseMessage('expected a path as the request target, such as /index.html');
  await serveRequest(conversation, head, { ...target, path: head.target }, progress);
}

async function serveRequest(
  conversation: ProxyConversation,
  head: RequestHead,
  asked: ProxyTarget,
  progress: Progress,
): Promise<void> {
  const { client, attempt, gate, secrets, limits, tls, signal } = conversation;
  const own = asked.port === upgradedPort ? secrets.get(asked.host) : undefined;
  const target = own === undefined ? asked : { ...asked, port: own.port };
  attempt.protocol = own === undefined ? 'http' : 'https';
  attempt.host = target.host;
  attempt.port = target.port;
  if (head.method === 'TRACE') {
    throw new ErrnoError('ENOTSUP', { operation: 'http', reason: 'TRACE is not served: it echoes what was sent' });
  }
  own?.checkParts();
  const framing = requestFraming(head);
  const defaultPort = own === undefined ? 80 : 443;
  const hostField = target.port === defaultPort ? target.host : `${target.host}:${target.port}`;
  const text = outgoingRequest(
    head,
    { hostField, path: asked.path },
    framing,
    own === undefined ? noChanges : await changesFor(own),
  );

  const socket = await open(gate, target, attempt, signal);
  const host = own === undefined ? socket : await tls.secured(socket, target, gate.connectMilliseconds);
  const abandon = () => host.destroy();
  signal.addEventListener('abort', abandon);
  client.setTimeout(limits.idleMilliseconds, abandon);
  const answer = new Inbox(host, { bytes: limits.headBytes, milliseconds: limits.idleMilliseconds });
  let clientFault: ErrnoError | undefined;
  try {
    await write(host, Buffer.from(text, 'latin1'));
    // Beside the answer, which may come first. Afterwards the client's bytes mean nothing; they are read all the same,
    // so that its going away is noticed. While the request is on its way the host is not late with its answer.
    void transferBody(client, host, framing, { onSent: () => answer.restartClock() })
      .catch((error: unknown) => {
        if (error instanceof ErrnoError && hasCode(error, 'EINVAL')) clientFault = error;
        abandon();
      })
      .finally(() => client.resume());
    await relayResponse(client, host, answer, head.method, own, progress).catch((error: unknown) => {
      throw clientFault ?? hostFault(error);
    });
  } finally {
    signal.removeEventListener('abort', abandon);
    host.destroy();
    socket.destroy();
  }
}

/** Bodies come back uncompressed, so that an echo of a value can be found in them. */
async function changesFor(own: HostSecrets) {
  const fields = await own.fields();
  return {
    drops: (name: string) => own.isHeader(name) || name.toLowerCase() === 'accept-encoding',
    added: [['Accept-Encoding', 'identity'] as const, ...fields],
  };
}

/** What is wrong with an answer is the host's doing, not the client's. */
function hostFault(error: unknown): ErrnoError {
  const known = asErrno(error, "reading the host's answer");
  return hasCode(known, 'EAGAIN')
    ? new ErrnoError('ETIMEDOUT', { operation: 'http', reason: 'the host gave no answer (networkIdleMilliseconds)' })
    : new ErrnoError('EIO', {
        operation: 'http',
        reason: `the host's answer was refused: ${known.reason}`,
        cause: error,
      });
}

async function relayResponse(
  client: Socket,
  host: Socket,
  inbox: Inbox,
  method: string,
  own: HostSecrets | undefined,
  progress: Progress,
): Promise<void> {
  const redactor = own?.redactor();
  for (let interim = 0; ; interim++) {
    const head = parseResponseHead(await inbox.read(headScanner()));
    if (head.status === 101 || interim > interimResponses) refuseMessage('expected a final status');
    const framing = head.status < 200 ? ({ kind: 'none' } as const) : responseFraming(method, head);
    const text = outgoingResponse(head, framing);
    progress.answered ||= head.status >= 200;
    const shown = Buffer.from(redactor?.text(text) ?? text, 'latin1');
    if (head.status < 200) {
      await write(client, shown);
      continue;
    }
    // Head, and as much of the body as is there, in one write.
    client.cork();
    client.write(shown);
    const sent = transferBody(host, client, framing, { redactor });
    process.nextTick(() => client.uncork());
    return sent;
  }
}
