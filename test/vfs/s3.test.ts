/** `s3://BUCKET/PREFIX` against a real gateway, and against servers that are not there, know us not, or never answer. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { ErrnoError } from '../../src/base/errno.js';
import { remoteBlockBytes, s3PartBytes } from '../../src/base/limits/trees.js';
import { s3FileSystem } from '../../src/vfs/engines/s3/s3.js';
import type { FileSystem } from '../../src/vfs/filesystem.js';
import { ObjectStore, reasonForNoObjectStore } from '../support/object-store.js';
import { until } from '../support/process.js';
import { ctxProgramFor } from '../support/program.js';
import { testSeed } from '../support/random.js';
import { Subject } from './conformance-cases.js';
import { conforms } from './conforms.js';
import { fileMode, own, scratch } from './engines.js';
import { playModel } from './model.js';

const skip = reasonForNoObjectStore();
const isSoak = process.env['CTX_SOAK'] === '1';
const reading = { read: true, write: false };
const both = { read: true, write: true };

/** The SDK takes them from the environment, as for a person. */
function withEnvironment(values: Readonly<Record<string, string>>): () => void {
  const saved = Object.keys(values).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, values);
  return () => {
    for (const [name, value] of saved) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

async function refuses(code: string, text: RegExp, act: () => unknown): Promise<void> {
  await assert.rejects(
    async () => act(),
    (error: unknown) => {
      assert.ok(error instanceof ErrnoError, String(error));
      assert.equal(error.code, code, error.message);
      assert.match(`${error.reason} ${error.remedy ?? ''}`, text);
      return true;
    },
  );
}

describe('an S3 bucket', skip === undefined ? {} : { skip }, () => {
  let store: ObjectStore | undefined;
  let restore: () => void = () => undefined;
  let number = 0;
  const prefixed = async (prefix = `p${++number}`, writable = true) =>
    new Subject(await s3FileSystem({ bucket: 'trees', prefix, writable }));

  before(async () => {
    store = await ObjectStore.start();
    restore = withEnvironment(store.environment);
    await store.makeBucket('trees');
  });
  after(async () => {
    restore();
    await store?.stop();
  });

  describe('as an engine', () => {
    conforms(async () => {
      number += 1;
      const filesystem = await s3FileSystem({ bucket: 'trees', prefix: `case-${number}/deep`, writable: true });
      return { filesystem, end: async () => filesystem.close() };
    });
  });

  test('random operations are those of the model', async () => {
    await playModel(
      async () => {
        number += 1;
        const prefix = `model-${testSeed}-${number}`;
        const open = () => s3FileSystem({ bucket: 'trees', prefix, writable: true });
        let filesystem = await open();
        return {
          filesystem,
          reopen: async () => {
            await filesystem.close();
            filesystem = await open();
            return filesystem;
          },
          end: async () => filesystem.close(),
        };
      },
      isSoak ? 40 : 6,
      isSoak ? 60 : 40,
    );
  });

  test('lists directories of more names than its server answers at once', async () => {
    const { PutObjectCommand, S3Client } = await import('@aws-sdk/client-s3');
    const client = new S3Client({ forcePathStyle: true });
    const names = Array.from({ length: 1_020 }, (_, index) => `file-${index}`);
    const waiting = names.values();
    const put = async () => {
      for (const name of waiting)
        await client.send(new PutObjectCommand({ Bucket: 'trees', Key: `many/${name}`, Body: 'x' }));
    };
    await Promise.all(Array.from({ length: 16 }, put));
    client.destroy();
    const subject = await prefixed('many', false);
    assert.deepEqual(await subject.names(), [...names].sort());
    await subject.fs.close();
  });

  test('has what fsync acknowledged after its server was killed again and again under load', async () => {
    const acknowledged = new Map<string, string>();
    const codes = new Set<string>();
    const writers = await Promise.all([0, 1, 2].map(() => prefixed('load')));
    let isOver = false;
    const write = async (subject: Subject, who: number) => {
      for (let n = 0; !isOver; n += 1) {
        const [name, text] = [`w${who}-${n}`, `${who} wrote ${n} `.repeat(400)];
        try {
          const { handle } = await subject.fs.create(subject.fs.root, name, fileMode, both);
          try {
            await subject.fs.write(handle, 0, Buffer.from(text));
            await subject.fs.fsync(handle);
            acknowledged.set(name, text);
          } finally {
            await subject.fs.release(handle);
          }
        } catch (error) {
          assert.ok(error instanceof ErrnoError, String(error));
          codes.add(error.code);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const all = Promise.all(writers.map(write));
    for (let round = 0; round < (isSoak ? 20 : 2); round += 1) {
      await new Promise((resolve) => setTimeout(resolve, 400));
      await store?.killGateway();
      await new Promise((resolve) => setTimeout(resolve, 100));
      await store?.startGateway();
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    await until(() => acknowledged.size > 10, 'enough is acknowledged');
    isOver = true;
    await all;
    // What could not be kept was an error when it was written; closing may say so once more.
    for (const { fs } of writers) await Promise.resolve(fs.close()).catch(() => undefined);
    assert.ok(acknowledged.size > 10, `${acknowledged.size} were acknowledged`);
    for (const code of codes) assert.match(code, /^E(IO|TIMEDOUT|STALE|EXIST)$/);
    const later = await prefixed('load', false);
    for (const [name, text] of acknowledged) assert.equal(await later.text(name), text, name);
    await later.fs.close();
  });

  test('that stops while a process writes to its mount keeps nobody from being killed', async () => {
    const place = scratch();
    const program = ctxProgramFor({ name: 'this user', ...own }, place.path);
    const at = `${place.path}/at`;
    mkdirSync(at);
    const env = { ...process.env, ...store?.environment };
    const ctx = (...words: readonly string[]) => {
      const { status, stderr } = spawnSync(program, ['vfs', ...words], { encoding: 'utf8', env });
      assert.equal(status, 0, stderr);
    };
    ctx('mount', 's3://trees/stopped', at, '--writable');
    try {
      const script =
        'cd "$0"; n=0; while :; do n=$((n+1)); echo $n | dd of=f$n conv=fsync status=none && echo $n; done';
      const child = spawn('sh', ['-c', script, at], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
      let said = '';
      child.stdout.on('data', (bytes: Buffer) => {
        said += bytes.toString();
      });
      await until(() => said.split('\n').length > 3, 'it has written');
      store?.signalGateway('SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, 300));
      const ended = new Promise((resolve) => child.once('close', resolve));
      const began = Date.now();
      process.kill(-(child.pid ?? 0), 'SIGKILL');
      await ended;
      assert.ok(Date.now() - began < 10_000, 'it was killed');
      store?.signalGateway('SIGCONT');
      const last = said.trim().split('\n').at(-1) ?? '';
      assert.equal(readFileSync(`${at}/f${last}`, 'utf8'), `${last}\n`);
    } finally {
      store?.signalGateway('SIGCONT');
      ctx('unmount', at);
      place.remove();
    }
  });

  test('has large files in parts, read by ranges, and whoever opens it anew has what fsync acknowledged', async () => {
    const one = await prefixed('large');
    const size = s3PartBytes * 2 + 12_345;
    const bytes = Buffer.alloc(size, 'abcdefghijklmnopqrstuvwxyz-');
    const { handle } = await one.fs.create(one.fs.root, 'f', fileMode, both);
    await one.fs.write(handle, 0, bytes);
    await one.fs.fsync(handle);
    const other = await prefixed('large', false);
    const { inode, size: there } = await other.find('f');
    assert.equal(there, size);
    const far = await other.fs.open(inode, reading);
    const from = remoteBlockBytes - 7;
    assert.deepEqual(await other.fs.read(far, from, 100), bytes.subarray(from, from + 100));
    assert.deepEqual(await other.fs.read(far, size - 5, 100), bytes.subarray(size - 5));
    await other.fs.release(far);
    await one.fs.release(handle);
    await one.fs.close();
    await other.fs.close();
  });

  test('is never written over what somebody else wrote meanwhile', async () => {
    const [one, other] = [await prefixed('shared'), await prefixed('shared')];
    await one.file('f', 'first');
    const mine = await one.fs.open((await one.find('f')).inode, both);
    const theirs = await other.fs.open((await other.find('f')).inode, both);
    await one.fs.write(mine, 0, Buffer.from('mine!'));
    await other.fs.write(theirs, 0, Buffer.from('their'));
    await other.fs.fsync(theirs);
    await refuses('ESTALE', /another client/, () => one.fs.flush?.(mine));
    await other.fs.release(theirs);
    assert.equal(await other.text('f'), 'their');
    const made = await Promise.allSettled([one.file('new', '1'), other.file('new', '2')]);
    assert.equal(made.filter(({ status }) => status === 'fulfilled').length, 1, 'one of them has made it');
    await other.fs.close();
    // What could not be kept was said at flush, and is said once more here.
    await refuses('ESTALE', /another client/, () => one.fs.close());
  });

  test('shows keys of others as directories, and what can be no name not at all', async () => {
    const { PutObjectCommand, S3Client } = await import('@aws-sdk/client-s3');
    const client = new S3Client({ forcePathStyle: true });
    const keys = ['deep/er/f', 'both', 'both/x', 'a//b', '../out', 'dots/../y', 'nul\u0001x', 'é'];
    for (const key of keys)
      await client.send(new PutObjectCommand({ Bucket: 'trees', Key: `foreign/${key}`, Body: key }));
    client.destroy();
    const subject = await prefixed('foreign');
    assert.deepEqual(await subject.names(), ['a', 'both', 'deep', 'dots', 'nul\u0001x', '\xc3\xa9']);
    assert.equal((await subject.find('both')).kind, 'directory');
    const { inode } = await subject.find('deep');
    assert.deepEqual(await subject.names(inode), ['er']);
    assert.equal(await subject.fs.lookup(subject.fs.root, '..'), undefined);
    assert.deepEqual(await subject.names((await subject.find('dots')).inode), []);
    const er = (await subject.find('er', inode)).inode;
    await subject.fs.unlink(er, 'f');
    assert.equal((await subject.find('er', inode)).kind, 'directory', 'it stays when its last file goes');
    await subject.fs.rmdir(inode, 'er');
    await subject.fs.close();
  });

  test('survives its server: what is asked meanwhile is an error or late, and goes on afterwards', async () => {
    const subject = await prefixed('killed');
    await subject.file('f', 'before');
    await store?.killGateway();
    await refuses('EIO', /cannot be reached/, () => subject.directory('d'));
    await store?.startGateway();
    await subject.directory('d');
    assert.equal(await subject.text('f'), 'before');
    await subject.fs.close();
  });

  test('is a tree of the command line, without its credentials in what a command sees', () => {
    const place = scratch();
    const program = ctxProgramFor({ name: 'this user', ...own }, place.path);
    const [home, project] = [`${place.path}/home`, `${place.path}/project`];
    for (const directory of [home, project]) mkdirSync(directory);
    const ctx = (words: readonly string[], input = '') => {
      const env = {
        HOME: home,
        CTX_DATA: `${place.path}/store`,
        PATH: process.env['PATH'],
        ...store?.environment,
      };
      return spawnSync(program, [...words], { cwd: project, input, env, encoding: 'utf8', timeout: 60_000 });
    };
    const read = ctx(['vfs', 'put', 's3://trees/cli', '/f'], 'x');
    assert.match(read.stderr, /EROFS[\s\S]*--writable/);
    const put = ctx(['vfs', 'put', 's3://trees/cli', '/d/f', '--writable', '--parents'], 'from the bucket\n');
    assert.equal(put.status, 0, put.stderr);
    assert.equal(ctx(['vfs', 'cat', 's3://trees/cli', '/d/f']).stdout, 'from the bucket\n');
    assert.match(ctx(['vfs', 'ls', 's3://trees/cli']).stdout, /^d.* d$/m);
    const script = 'cat /mnt/s3/d/f; echo more > /mnt/s3/d/g; cat /mnt/s3/d/g; env';
    const exec = ctx(['exec', '--report=always', '--mount', 's3://trees/cli=/mnt/s3:rw', '--', 'sh', '-c', script]);
    assert.match(exec.stdout, /^from the bucket\nmore\n/, exec.stderr);
    assert.doesNotMatch(exec.stdout, /ctx-secret/);
    assert.match(exec.stderr, /is not undone/);
    assert.equal(ctx(['vfs', 'cat', 's3://trees/cli', '/d/g']).stdout, 'more\n');
    const missing = ctx(['vfs', 'ls', 's3://no-such-bucket/x']);
    assert.match(missing.stderr, /no such bucket.*ENOENT/);
    place.remove();
  });

  test('that is not there, or does not know us, is refused when it is opened', async () => {
    await refuses('ENOENT', /no such bucket/, () =>
      s3FileSystem({ bucket: 'nothing-here', prefix: '', writable: false }),
    );
    const back = withEnvironment({ AWS_SECRET_ACCESS_KEY: 'wrong' });
    try {
      await refuses('EACCES', /SignatureDoesNotMatch.*AWS_/, () => prefixed());
    } finally {
      back();
    }
  });
});

describe('a server of a bucket', () => {
  const servers: Server[] = [];
  const sockets: Socket[] = [];
  after(() => {
    for (const socket of sockets) socket.destroy();
    for (const server of servers) server.close();
  });

  async function listening(talk: (socket: Socket) => void): Promise<string> {
    const server = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      talk(socket);
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  async function opened(endpoint: string, limit: number): Promise<FileSystem> {
    const keys = { AWS_ACCESS_KEY_ID: 'k', AWS_SECRET_ACCESS_KEY: 's', AWS_REGION: 'us-east-1' };
    const back = withEnvironment({ ...keys, AWS_ENDPOINT_URL: endpoint });
    try {
      return await s3FileSystem({ bucket: 'trees', prefix: '', writable: false, limit });
    } finally {
      back();
    }
  }

  test('that never answers is ETIMEDOUT after the limit', async () => {
    const endpoint = await listening(() => undefined);
    const began = Date.now();
    await refuses('ETIMEDOUT', /within 0.7 s/, () => opened(endpoint, 700));
    assert.ok(Date.now() - began < 5_000);
  });

  test('that stops in the middle of an answer is ETIMEDOUT after the limit', async () => {
    const endpoint = await listening((socket) => {
      socket.once('data', () =>
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n<?xml version="1.0"?><List'),
      );
    });
    await refuses('ETIMEDOUT', /within 0.7 s/, () => opened(endpoint, 700));
  });

  test('that is not there is EIO and says so', async () => {
    await refuses('EIO', /cannot be reached.*AWS_ENDPOINT_URL/, () => opened('http://127.0.0.1:9', 10_000));
  });

  test('that answers with something else is EIO', async () => {
    const endpoint = await listening((socket) => {
      socket.once('data', () => socket.end('HTTP/1.1 400 Bad\r\nContent-Length: 5\r\n\r\nhello'));
    });
    await refuses('EIO', /its server said/, () => opened(endpoint, 5_000));
  });
});
