/** This machine is known by the connection itself, where its interfaces and routes do not say that an address is its own. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';

/** A public network is routed to a namespace without an interface having an address of it, as a firewall may do it. */
const routes = 'ip link set lo up && ip route add local 45.33.32.0/24 dev lo';
const inside = (...argv: readonly string[]) =>
  spawnSync('unshare', ['-Urn', 'sh', '-c', `${routes} && exec "$@"`, 'sh', ...argv], { encoding: 'utf8' });
const tried = inside('true');
const skip = tried.status === 0 ? false : `needs a network namespace with ip: ${tried.stderr}`;

const script = `
import { createServer } from 'node:net';
import { networkRules } from '${new URL('allow-list.js', import.meta.url)}';
import { open } from '${new URL('gate.js', import.meta.url)}';
const server = createServer((socket) => socket.end()).listen(443, '45.33.32.5');
const gate = (privateHosts) => ({
  rules: networkRules({ kind: 'hosts', hosts: ['a.example:443'] }, privateHosts),
  own: () => ({ has: () => false }),
  resolve: async () => ['45.33.32.5'],
  connectMilliseconds: 5000,
  onOpen: () => undefined,
});
const ask = async (privateHosts) => {
  const attempt = { tellOpen: () => undefined };
  try {
    const socket = await open(gate(privateHosts), { host: 'a.example', port: 443 }, attempt, new AbortController().signal);
    socket.destroy();
    return 'open';
  } catch (error) {
    return error.code;
  }
};
server.once('listening', async () => {
  console.log(await ask([]), await ask(['a.example:443']));
  server.close();
});
`;

describe('a connection that reaches this machine itself', { skip }, () => {
  it('is refused at whatever address, unless an operator lists the host', () => {
    const { stdout, stderr } = inside(process.execPath, '--input-type=module', '-e', script);
    assert.equal(stdout, 'EACCES open\n', stderr);
  });
});
