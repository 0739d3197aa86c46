/**
 * A bucket as a directory: ctx, rclone and s3fs, each mounted on the same real gateway of Ceph on loopback. A listing with attributes, a
 * file that was never read, and the same file again.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ctxProgram } from '../src/base/native-program.js';
import { ObjectStore, reasonForNoObjectStore } from '../test/support/object-store.js';
import { measure, print } from './measure.js';

const missing = reasonForNoObjectStore();
if (missing !== undefined) {
  console.error(missing);
  process.exit(69);
}
const rounds = 7;
const names = 200;
const home = mkdtempSync(join(tmpdir(), 'ctx-bench-'));
const store = await ObjectStore.start();
const notes: string[] = [];
const mounted: { readonly name: string; readonly at: string; end(): void }[] = [];
const env = { ...process.env, ...store.environment };
const run = (program: string, words: readonly string[], more = {}) =>
  spawnSync(program, words, { stdio: 'ignore', env: { ...env, ...more }, timeout: 60_000 }).status === 0;

function mount(name: string, act: (at: string) => boolean, end: (at: string) => void): void {
  const at = join(home, name.replaceAll(' ', '-'));
  mkdirSync(at);
  if (act(at)) mounted.push({ name, at, end: () => end(at) });
  else notes.push(`${name}: it is not installed, or cannot be mounted`);
}

try {
  await store.makeBucket('bench');
  const { PutObjectCommand, S3Client } = await import('@aws-sdk/client-s3');
  const keys = { accessKeyId: 'ctx-key', secretAccessKey: 'ctx-secret' };
  const client = new S3Client({
    endpoint: store.endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: keys,
  });
  const put = (Key: string, Body: Buffer) => client.send(new PutObjectCommand({ Bucket: 'bench', Key, Body }));
  for (let index = 0; index < names; index += 1) await put(`many/f${index}`, Buffer.alloc(100, 7));
  for (let index = 0; index < rounds + 2; index += 1)
    await put(`large/f${index}`, Buffer.alloc(8 * 1024 * 1024, index));
  client.destroy();

  const ctx = (...words: readonly string[]) => run(process.execPath, [ctxProgram(), 'vfs', ...words]);
  mount(
    'ctx',
    (at) => ctx('mount', 's3://bench', at),
    (at) => void ctx('unmount', at),
  );
  const remote = `:s3,provider=Ceph,env_auth=true,endpoint='${store.endpoint}':bench`;
  const unmount = (at: string) => void run('fusermount3', ['-u', at]);
  // Debian's rclone cannot use another list of certificates, and ends where one is named.
  const plain = { AWS_CA_BUNDLE: undefined };
  mount('rclone mount', (at) => run('rclone', ['mount', remote, at, '--daemon', '--read-only'], plain), unmount);
  const password = join(home, 'password');
  writeFileSync(password, 'ctx-key:ctx-secret', { mode: 0o600 });
  const options = `passwd_file=${password},url=${store.endpoint},use_path_request_style,ro`;
  mount(
    's3fs',
    (at) => run('s3fs', ['bench', at, '-o', options]),
    (at) => void run('fusermount', ['-u', at]),
  );

  const counters = new Map<string, number>();
  const next = (name: string) => {
    const index = counters.get(name) ?? 0;
    counters.set(name, index + 1);
    return index;
  };
  const rows = [
    {
      title: `list ${names} names with their attributes`,
      act: ({ at }: { at: string }) => {
        for (const each of readdirSync(join(at, 'many'))) statSync(join(at, 'many', each));
      },
    },
    {
      title: 'read a file of 8 MiB that was never read',
      act: ({ at, name }: { at: string; name: string }) => readFileSync(join(at, 'large', `f${next(name)}`)),
    },
    {
      title: 'read the same file of 8 MiB again',
      act: ({ at }: { at: string }) => readFileSync(join(at, 'large', 'f0')),
    },
  ];
  for (const { title, act } of rows) {
    print(
      await measure({
        title,
        anchor: 'ctx',
        rounds,
        directory: home,
        notes,
        subjects: mounted.map((place) => ({ name: place.name, run: () => act(place) })),
      }),
    );
  }
} finally {
  for (const { end } of mounted) end();
  await store.stop();
  rmSync(home, { recursive: true, force: true });
}
