import assert from 'node:assert/strict';
import { connect, createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import type { RecordEntry } from '../audit/record.js';
import { ErrnoError } from '../base/errno.js';
import { nativeProgram } from '../base/native-program.js';
import type { ConnectionEvent } from '../network/events.js';
import type { Host } from '../proxy/host.js';
import { KeptJailRecord, type RecordedJail, recordedLack } from './jail-record.js';
import { loadPeers } from './peer.js';

function recording(append: (entry: RecordEntry) => void = () => undefined) {
  const entries: RecordEntry[] = [];
  const recorder = {
    append: (entry: RecordEntry) => {
      append(entry);
      entries.push(entry);
    },
  } as unknown as Host['recorder'];
  return { entries, host: { recorder } };
}

const resolved = { digest: 'd1', agent: { name: 'ada' } } as unknown as RecordedJail['resolved'];
const jail: RecordedJail = { id: 'k1', origin: '/srv/app', vault: 'v1', fork: 'main', resolved };
const whose = { object: 'fork/v1/main', agent: 'ada' };
const facts = { keptJail: 'k1', origin: '/srv/app', authority: 'd1' };
const event: ConnectionEvent = {
  ...{ host: 'h', port: 1, address: null, protocol: 'http', verdict: 'refused', reason: 'no' },
  ...{ bytesIn: 0, bytesOut: 0, milliseconds: 0, count: 2 },
};

describe('the record of a kept jail', () => {
  it('has its beginning, its end, its failures and its limits, each as its own', () => {
    const { entries, host } = recording();
    const record = new KeptJailRecord(host, jail);
    record.write('begin');
    record.write('ok');
    record.fail(new ErrnoError('EBUSY', { operation: 'x', reason: 'y' }));
    record.fail(new Error('anything else'));
    record.limitReached('disk limit reached');
    record.connections.opened(event);
    record.connections.ended(event);
    const by = { run: null, keptJail: 'k1' };
    const { verdict: _verdict, count, ...connection } = event;
    const { host: name, port, address, protocol } = event;
    assert.deepEqual(entries, [
      { ...whose, type: 'jail', status: 'begin', facts },
      { ...whose, type: 'jail', status: 'ok', facts },
      { ...whose, type: 'jail', status: 'failed', facts: { ...facts, error: 'EBUSY' } },
      { ...whose, type: 'jail', status: 'failed', facts: { ...facts, error: 'EIO' } },
      {
        ...whose,
        type: 'limit',
        status: 'failed',
        facts: { keptJail: 'k1', reason: 'disk limit reached; the kept jail was ended' },
      },
      { ...whose, type: 'connect', status: 'begin', count, facts: { ...by, host: name, port, address, protocol } },
      { ...whose, type: 'connect', status: 'denied', layer: 'network', count, facts: { ...by, ...connection } },
    ]);
  });

  it('says with the next command what could not be written, once', () => {
    const { host } = recording(() => {
      throw new ErrnoError('ENOSPC', { operation: 'append', reason: 'the disk is full' });
    });
    const record = new KeptJailRecord(host, jail);
    record.connections.opened(event);
    record.connections.ended(event);
    record.sayLater(['another']);
    assert.deepEqual(record.takeUnsaid(), [
      'could not write a connection between commands: the disk is full (ENOSPC)',
      'another',
    ]);
    assert.deepEqual(record.takeUnsaid(), []);
    assert.throws(() => record.write('begin'), { code: 'ENOSPC' }, 'what cannot be recorded does not happen');
    const broken = recording(() => {
      throw new TypeError('a fault of ours');
    });
    assert.throws(() => new KeptJailRecord(broken.host, jail).connections.opened(event), TypeError);
  });

  it('has what this host cannot do, and no other failure of a start', async () => {
    const { entries, host } = recording();
    const lacks = (error: Error) => recordedLack(host, { origin: '/srv/app' }, resolved, () => Promise.reject(error));
    assert.equal(await recordedLack(host, { origin: '/' }, resolved, async () => 5), 5);
    await assert.rejects(lacks(new ErrnoError('EBUSY', { operation: 'x', reason: 'y' })), { code: 'EBUSY' });
    await assert.rejects(lacks(new Error('other')), /other/);
    assert.deepEqual(entries, []);
    await assert.rejects(lacks(new ErrnoError('ENOTSUP', { operation: 'x', reason: 'no memory limit' })), {
      code: 'ENOTSUP',
    });
    const lack = { origin: '/srv/app', authority: 'd1', error: 'ENOTSUP', reason: 'no memory limit' };
    assert.deepEqual(entries, [
      { object: 'workspace//srv/app', agent: 'ada', type: 'jail', status: 'denied', layer: 'proxy', facts: lack },
    ]);
  });
});

describe('who is at the other end', () => {
  it('is known of a unix socket, and of nothing else', async () => {
    const { isOwn, processAt } = loadPeers(nativeProgram('peer.node'));
    const server = createServer();
    const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
    await new Promise<void>((resolve) => server.listen(`\0ctx-peer-${process.pid}`, resolve));
    const client = connect(`\0ctx-peer-${process.pid}`);
    const socket = await accepted;
    assert.deepEqual([isOwn(socket), processAt(socket)], [true, process.pid]);
    client.destroy();
    socket.destroy();
    server.close();
    await new Promise((resolve) => socket.once('close', resolve));
    assert.deepEqual([isOwn(socket), processAt(socket)], [false, 0], 'closed: nobody is known');
    assert.deepEqual([isOwn({} as Socket), processAt({} as Socket)], [false, 0]);
    assert.throws(() => loadPeers('/nonexistent/peer.node'), { code: 'ENOSYS' });
  });
});
