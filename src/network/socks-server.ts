/** Serves one SOCKS5 client: greeting, request, tunnel. */
import { ErrnoError } from '../base/errno.js';
import { answerFor, asErrno } from './answer.js';
import { BulkReader } from './bulk-reader.js';
import type { ProxyConversation } from './conversation.js';
import { open } from './gate.js';
import { greetingReply, requestReply, takeGreeting, takeRequest } from './socks.js';
import { tunnel } from './tunnel.js';

export async function serveSocks(conversation: ProxyConversation): Promise<void> {
  const { client, inbox, attempt, gate, limits, signal } = conversation;
  attempt.protocol = 'socks5';
  const accepted = await inbox.read(takeGreeting);
  client.write(greetingReply(accepted));
  if (!accepted) {
    throw new ErrnoError('EINVAL', { operation: 'socks', reason: 'expected a client that needs no authentication' });
  }
  try {
    const target = await inbox.read(takeRequest);
    const bulk = new BulkReader();
    const host = await open(gate, target, attempt, signal, bulk);
    client.write(requestReply(0));
    await tunnel(client, host, bulk, limits.idleMilliseconds);
  } catch (error) {
    const known = asErrno(error, 'connecting');
    if (!client.destroyed) client.write(requestReply(answerFor(known).socks));
    throw known;
  }
}
