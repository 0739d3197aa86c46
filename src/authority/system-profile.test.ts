import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import {
  isSystemConfiguration,
  madeConfiguration,
  protectedKernelPaths,
  systemDevices,
  systemDirectories,
  systemFacts,
} from './system-profile.js';

const person = fc.record({
  uid: fc.constantFrom(0, 1, 1000, 65534, 4294967294),
  gid: fc.constantFrom(0, 1, 1000, 65534),
  name: fc.constantFrom('root', 'user'),
  group: fc.constantFrom('root', 'user'),
  home: fc.oneof(
    fc.string().map((text) => `/${text}`),
    fc.constant('/h\nroot::0:0::/:/bin/sh'),
  ),
});

describe('the system profile', () => {
  it('shows nothing of /etc that holds a secret', () => {
    const secrets = [
      'shadow',
      'shadow-',
      'gshadow',
      'passwd',
      'passwd-',
      'group',
      'sudoers',
      'sudoers.d',
      'ssh',
      'ssl',
      'ssl/private',
      'maven',
      'maven/settings.xml',
      'chromium.d',
      'chromium.d/apikeys',
      'pki',
      'pki/tls',
      'pki/tls/private',
      'pki/CA',
      'krb5.keytab',
      'machine-id',
      'environment',
      'profile.d',
      'security',
      'NetworkManager',
      'wireguard',
      'docker',
      'kubernetes',
      'cron.d',
      'fstab',
      'resolv.conf',
    ];
    assert.deepEqual(secrets.filter(isSystemConfiguration), []);
  });

  it('shows what programs fail without', () => {
    for (const name of ['ld.so.cache', 'ssl/certs', 'pki/tls/certs', 'alternatives', 'localtime', 'java-17-openjdk']) {
      assert.ok(isSystemConfiguration(name), name);
    }
  });

  it('matches whole names only', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (before, after) => {
        assert.equal(isSystemConfiguration(`${before}/services`), false);
        assert.equal(isSystemConfiguration(`services/${after}`), false);
        assert.equal(isSystemConfiguration(`java-17/../${after}`), false);
      }),
      seeded(100),
    );
  });

  it('makes passwd and group that name the person, root and nobody, and hold no hash', () => {
    fc.assert(
      fc.property(person, (someone) => {
        const made = madeConfiguration(someone, 'ctx');
        const users = (made.get('/etc/passwd') ?? '').trimEnd().split('\n');
        const groups = (made.get('/etc/group') ?? '').trimEnd().split('\n');
        for (const line of users) assert.match(line, /^(root|user|nobody):x:\d+:\d+::[^:]*:\/bin\/(sh|false)$/);
        for (const line of groups) assert.match(line, /^(root|user|nogroup):x:\d+:$/);
        const ids = users.map((line) => Number(line.split(':')[2]));
        assert.equal(new Set(ids).size, ids.length, 'one line a user');
        assert.ok(ids.includes(someone.uid) && ids.includes(0) && ids.includes(65534));
        const groupIds = groups.map((line) => Number(line.split(':')[2]));
        assert.deepEqual(new Set(groupIds), new Set([someone.gid, 0, 65534]));
        assert.equal(users.filter((line) => line.endsWith('/bin/sh')).length, 1, 'only the person has a shell');
      }),
      seeded(200),
    );
  });

  it('says the home in passwd where passwd can say it', () => {
    const passwd = (home: string) =>
      madeConfiguration({ uid: 5, gid: 5, name: 'user', group: 'user', home }, 'ctx').get('/etc/passwd') ?? '';
    assert.match(passwd('/home/ada lovelace'), /^user:x:5:5::\/home\/ada lovelace:\/bin\/sh$/m);
    assert.match(passwd('/home/a:b'), /^user:x:5:5::\/nonexistent:\/bin\/sh$/m);
  });

  it('asks no directory service for users, and knows its own host name', () => {
    const made = madeConfiguration({ uid: 5, gid: 5, name: 'user', group: 'user', home: '/h' }, 'ctx');
    assert.match(made.get('/etc/nsswitch.conf') ?? '', /^passwd: files\ngroup: files\n/);
    assert.match(made.get('/etc/hosts') ?? '', /^127\.0\.0\.1 localhost ctx$/m);
  });

  it('is made of absolute paths without repeats; devices store nothing', () => {
    const paths = [
      ...systemDirectories,
      ...systemFacts,
      ...systemDevices,
      ...protectedKernelPaths.readOnly,
      ...protectedKernelPaths.hidden,
    ];
    assert.equal(new Set(paths).size, paths.length);
    for (const path of paths) assert.match(path, /^(\/[a-z0-9-_]+)+$/);
    for (const kept of ['/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/fuse', '/dev/kvm']) {
      assert.ok(!(systemDevices as readonly string[]).includes(kept));
    }
  });
});
