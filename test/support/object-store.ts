/**
 * A real object store on loopback: Ceph's gateway over one storage daemon that keeps everything in memory. Debian's `radosgw`,
 * `ceph-mon` and `ceph-osd`; as root or not, it has its own directory and is gone with the test.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const programs = ['ceph', 'ceph-mon', 'ceph-osd', 'monmaptool', 'radosgw', 'radosgw-admin'];

export function reasonForNoObjectStore(): string | undefined {
  const missing = programs.filter((program) => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0);
  return missing.length === 0 ? undefined : `${missing.join(', ')}: not installed (radosgw, ceph-mon, ceph-osd)`;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}

export class ObjectStore {
  readonly endpoint: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly #directory: string;
  readonly #daemons: ChildProcess[];
  #gateway: ChildProcess | undefined;

  private constructor(directory: string, port: number, daemons: ChildProcess[]) {
    this.#directory = directory;
    this.#daemons = daemons;
    this.endpoint = `http://127.0.0.1:${port}`;
    this.environment = {
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'ctx-key',
      AWS_SECRET_ACCESS_KEY: 'ctx-secret',
    };
  }

  /** Tried again: a free port may be somebody else's when the server comes to it. */
  static async start(tries = 3): Promise<ObjectStore> {
    try {
      return await ObjectStore.#startOnce();
    } catch (error) {
      if (tries > 1) return ObjectStore.start(tries - 1);
      throw error;
    }
  }

  static async #startOnce(): Promise<ObjectStore> {
    const directory = mkdtempSync(join(tmpdir(), 'ctx-object-store-'));
    const [monitorPort, port] = [await freePort(), await freePort()];
    const [cluster, storage] = [randomUUID(), randomUUID()];
    for (const name of ['mon', 'osd']) mkdirSync(join(directory, name));
    const file = join(directory, 'ceph.conf');
    writeFileSync(file, configuration(directory, cluster, monitorPort, port));
    const address = `[v1:127.0.0.1:${monitorPort}]`;
    const map = join(directory, 'monmap');
    run('monmaptool', ['--create', '--fsid', cluster, '--addv', 'a', address, map]);
    run('ceph-mon', ['--mkfs', '-i', 'a', '--monmap', map, '-c', file]);
    const daemons = [daemon('ceph-mon', ['-i', 'a', '-f', '-c', file])];
    const store = new ObjectStore(directory, port, daemons);
    try {
      await untilAnswered('the monitor takes orders', async () => said(file, ['osd', 'new', storage]).trim() === '0');
      run('ceph-osd', ['-i', '0', '--mkfs', '--osd-uuid', storage, '-c', file]);
      // What is asked for before the storage is there waits for ever.
      daemons.push(await storageThatIsUp(file));
      const keys = ['--access-key', 'ctx-key', '--secret', 'ctx-secret'];
      run('radosgw-admin', ['-c', file, 'user', 'create', '--uid', 'ctx', '--display-name', 'ctx', ...keys]);
      await store.startGateway();
      return store;
    } catch (error) {
      await store.stop();
      throw error;
    }
  }

  async startGateway(): Promise<void> {
    this.#gateway = daemon('radosgw', ['-n', 'client.rgw', '-f', '-c', join(this.#directory, 'ceph.conf')]);
    await untilAnswered('the gateway answers', () => this.#answers());
  }

  async killGateway(): Promise<void> {
    await ended(this.#gateway);
    this.#gateway = undefined;
  }

  /** SIGSTOP: it takes what is sent, and answers nothing. */
  signalGateway(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#gateway?.kill(signal);
  }

  async makeBucket(name: string): Promise<void> {
    const { CreateBucketCommand, S3Client } = await import('@aws-sdk/client-s3');
    const credentials = { accessKeyId: 'ctx-key', secretAccessKey: 'ctx-secret' };
    const client = new S3Client({ endpoint: this.endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
    await client.send(new CreateBucketCommand({ Bucket: name }));
    client.destroy();
  }

  async stop(): Promise<void> {
    for (const each of [this.#gateway, ...this.#daemons.reverse()]) await ended(each);
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    return fetch(this.endpoint).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

function configuration(directory: string, cluster: string, monitorPort: number, port: number): string {
  const lines = [
    `fsid = ${cluster}`,
    `mon host = v1:127.0.0.1:${monitorPort}`,
    ...['cluster', 'service', 'client'].map((who) => `auth ${who} required = none`),
    'osd pool default size = 1',
    'osd pool default min size = 1',
    'osd pool default pg num = 4',
    'mon allow pool size one = true',
    'mon max pg per osd = 1000',
    'osd crush chooseleaf type = 0',
    // A change of the cluster, such as each new pool, otherwise waits a second for others to be made with it.
    'paxos propose interval = 0.05',
    'paxos min wait = 0.01',
    `run dir = ${directory}`,
    `log file = ${directory}/$name.log`,
    `admin socket = ${directory}/$name.asok`,
    `mon data = ${directory}/mon`,
    `osd data = ${directory}/osd`,
    'osd objectstore = memstore',
    'memstore device bytes = 1073741824',
    'public addr = 127.0.0.1',
    'cluster addr = 127.0.0.1',
    `rgw frontends = beast endpoint=127.0.0.1:${port}`,
  ];
  return `[global]\n${lines.join('\n')}\n`;
}

/** One daemon of six never says that it is up, or ends, since the monitor does not know it yet: the next one is started in its place. */
async function storageThatIsUp(file: string, seconds = [5, 10, 20, 40]): Promise<ChildProcess> {
  const [most = 0, ...more] = seconds;
  const storage = daemon('ceph-osd', ['-i', '0', '-f', '-c', file]);
  const isUp = () => /"num_up_osds": ?1/.test(said(file, ['osd', 'stat', '-f', 'json']));
  try {
    await untilAnswered('the storage is up', async () => storage.exitCode !== null || isUp(), most);
  } catch (error) {
    await ended(storage);
    if (more.length === 0) throw error;
  }
  return storage.exitCode === null && storage.signalCode === null ? storage : storageThatIsUp(file, more);
}

async function untilAnswered(what: string, holds: () => Promise<boolean>, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${seconds} s for nothing until ${what}`);
    await sleep(50);
  }
}

function run(program: string, words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, words, {
    timeout: 90_000,
    killSignal: 'SIGKILL',
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stderr.slice(-2_000)}`);
  return stdout;
}

/** Of the monitor, which refuses while it begins; empty then. */
function said(file: string, words: readonly string[]): string {
  const options = { timeout: 30_000, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
  const { status, stdout } = spawnSync('ceph', ['-c', file, ...words], options);
  return status === 0 ? stdout : '';
}

function daemon(program: string, words: readonly string[]): ChildProcess {
  // It ends with this process, however that ends.
  return spawn('setpriv', ['--pdeathsig', 'KILL', '--', program, ...words], { stdio: 'ignore' });
}

async function ended(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}
