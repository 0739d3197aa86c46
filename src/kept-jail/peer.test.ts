/** Who may speak to a kept jail: the same user, group and further groups, in whatever order, and no other. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { until } from '../../test/support/process.js';
import { nativeProgram } from '../base/native-program.js';
import { loadPeers } from './peer.js';

const isRoot = process.geteuid?.() === 0;
const own = process.getgroups?.() ?? [];
/** In no file of groups, and not one of this process. */
const [first, second, third] = [64_701, 64_702, 64_703];

interface Caller {
  readonly name: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly groups?: readonly number[];
  /** Of this process meanwhile. */
  readonly ours?: readonly number[];
  readonly isOwn: boolean;
}

const callers: readonly Caller[] = [
  { name: 'the same', isOwn: true },
  { name: 'another user', uid: first, isOwn: false },
  { name: 'another group', gid: first, isOwn: false },
  { name: 'no further groups, as we', groups: [], ours: [], isOwn: true },
  { name: 'one further group', groups: [first], ours: [], isOwn: false },
  { name: 'one group less', groups: [first], ours: [first, second], isOwn: false },
  { name: 'one group more', groups: [first, second, third], ours: [first, second], isOwn: false },
  { name: 'a group less, which is root’s', groups: [first], ours: [0, first], isOwn: false },
  { name: 'another further group', groups: [first, third], ours: [first, second], isOwn: false },
  { name: 'the same groups', groups: [first, second, third], ours: [first, second, third], isOwn: true },
  {
    name: 'the same groups in another order',
    groups: [third, first, second],
    ours: [second, third, first],
    isOwn: true,
  },
];

/** Connects as each that it is told, and is itself again after it. */
const program = `
  const { createConnection } = require('node:net');
  const lines = require('node:readline').createInterface({ input: process.stdin });
  lines.on('line', (line) => {
    const { path, uid, gid, groups } = JSON.parse(line);
    if (groups) process.setgroups(groups);
    if (gid !== undefined) process.setegid(gid);
    if (uid !== undefined) process.seteuid(uid);
    createConnection(path).on('error', () => process.exit(9));
    if (uid !== undefined) process.seteuid(0);
    if (gid !== undefined) process.setegid(0);
  });`;

describe('the process that connects', () => {
  const peers = loadPeers(nativeProgram('peer.node'));
  const directory = mkdtempSync(join(tmpdir(), 'ctx-peer-'));
  const path = join(directory, 'socket');
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  const child = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'inherit', 'inherit'] });
  before(async () => {
    chmodSync(directory, 0o755);
    await new Promise<void>((resolve) => server.listen(path, resolve));
    chmodSync(path, 0o777);
  });
  after(() => {
    if (isRoot) process.setgroups?.(own);
    child.kill();
    for (const socket of sockets) socket.destroy();
    server.close();
    rmSync(directory, { recursive: true });
  });

  for (const { name, isOwn, ours, ...caller } of callers) {
    const skip = isRoot || name === 'the same' ? false : 'only root can be somebody else';
    it(`is ${isOwn ? 'known' : 'refused'}: ${name}`, { skip }, async () => {
      if (ours !== undefined) process.setgroups?.([...ours]);
      const before = sockets.length;
      child.stdin.write(`${JSON.stringify({ path, ...caller })}\n`);
      await until(() => sockets.length > before || child.exitCode !== null, 'it connects');
      const socket = sockets.at(-1);
      assert.ok(socket !== undefined && sockets.length === before + 1);
      assert.equal(peers.isOwn(socket), isOwn);
      assert.equal(peers.processAt(socket), child.pid);
    });
  }

  it('is refused where nothing is known of it', () => {
    const file = openSync('/dev/null', 'r');
    for (const handle of [undefined, null, {}, { fd: 'text' }, { fd: -1 }, { fd: file }, { fd: 1_000_000 }]) {
      const socket = { _handle: handle } as unknown as Socket;
      assert.deepEqual([peers.isOwn(socket), peers.processAt(socket)], [false, 0], JSON.stringify(handle));
    }
    closeSync(file);
    assert.throws(() => loadPeers(join(directory, 'missing')), { code: 'ENOSYS' });
  });
});
