import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { HostResolver, resolvePath } from './resolve-path.js';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-resolve-')));
mkdirSync(join(root, 'a/b'), { recursive: true });
mkdirSync(join(root, 'other/deep'), { recursive: true });
writeFileSync(join(root, 'a/file'), '');
symlinkSync('b', join(root, 'a/inner'));
symlinkSync('../other/deep', join(root, 'a/out'));
symlinkSync(join(root, 'other'), join(root, 'a/absolute'));
symlinkSync('../other/not-yet/file', join(root, 'a/dangling'));
symlinkSync('loop', join(root, 'a/loop'));
symlinkSync('pong', join(root, 'a/ping'));
symlinkSync('ping', join(root, 'a/pong'));
symlinkSync('/proc/self/cwd', join(root, 'a/process'));
symlinkSync(Buffer.from([0x6f, 0xff]), join(root, 'a/bytes'));

const resolve = (path: string) => new HostResolver().resolve(path);

describe('resolving a path', () => {
  after(() => rmSync(root, { recursive: true }));

  const leads = (name: string, to: string, exists = true) =>
    it(`takes ${name} to ${to}`, async () => {
      assert.deepEqual(await resolve(`${root}/${name}`), { ok: true, path: join(root, to), exists });
    });
  leads('a/file', 'a/file');
  leads('a//./file', 'a/file');
  leads('a/b/', 'a/b');
  leads('a/inner', 'a/b');
  leads('a/out', 'other/deep');
  leads('a/out/..', 'other');
  leads('a/out/../../a', 'a');
  leads('a/absolute/deep', 'other/deep');
  leads('a/new/deeper/x', 'a/new/deeper/x', false);
  leads('a/new/../x', 'a/x', false);
  leads('a/dangling', 'other/not-yet/file', false);
  leads('a/out/new', 'other/deep/new', false);
  leads('a/new/../out/../x', 'other/x', false);
  leads('a/new/../inner', 'a/b');

  const refuses = (name: string, reason: RegExp) =>
    it(`refuses ${name}`, async () => {
      const found = await resolve(`${root}/${name}`);
      assert.ok(!found.ok, JSON.stringify(found));
      assert.match(found.fault, reason);
    });
  refuses('a/loop', /circle/);
  refuses('a/loop/x', /circle/);
  refuses('a/ping', /circle/);
  refuses('a/file/x', /directory/);
  refuses('a/file/..', /directory/);
  refuses('a/process/x', /kernel/);
  refuses('a/bytes', /not valid text/);
  refuses(`a/${'x'.repeat(300)}`, /ENAMETOOLONG/);

  it('refuses the kernel’s trees however they are named', async () => {
    for (const path of ['/proc/self/root/etc', '/dev/fd/0', '/sys/kernel', '/usr/../proc/1', '//proc//1']) {
      assert.equal((await resolve(path)).ok, false, path);
    }
  });

  it('stays at the root above the root', async () => {
    assert.deepEqual(await resolve('/../../..'), { ok: true, path: '/', exists: true });
    assert.deepEqual(await resolve('/'), { ok: true, path: '/', exists: true });
  });

  it('refuses a path that links make too long', async () => {
    const long = Array.from({ length: 20 }, () => 'x'.repeat(200)).join('/');
    const look = async (path: string) =>
      path === '/link' ? ({ kind: 'link', target: long } as const) : ({ kind: 'missing' } as const);
    assert.equal((await resolvePath(`/link/${long}`, look)).ok, false);
  });

  it('refuses what lies in a directory that may not be searched', {
    skip: process.getuid?.() === 0 && 'root may',
  }, async () => {
    mkdirSync(join(root, 'closed/inside'), { recursive: true });
    chmodSync(join(root, 'closed'), 0);
    const found = await resolve(join(root, 'closed/inside/x'));
    chmodSync(join(root, 'closed'), 0o755);
    assert.ok(!found.ok && found.fault.includes('EACCES'));
  });

  it('needs no second look at a directory that is known', async () => {
    const resolver = new HostResolver();
    resolver.know(join(root, 'a'));
    assert.deepEqual(await resolver.resolve(join(root, 'a/file')), {
      ok: true,
      path: join(root, 'a/file'),
      exists: true,
    });
  });
});
