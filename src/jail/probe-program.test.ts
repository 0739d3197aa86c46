/** What a host is said to offer, by the probe itself: what it tries, and what is made of its words. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants, release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { cannotCompile } from '../../test/support/attack-program.js';
import { bareJail, bareUser } from '../../test/support/bare-jail.js';
import { callRefuser, type RefusedCall } from '../../test/support/refuse-call.js';
import { library } from '../audit/record-fixture.js';
import { hasCode } from '../base/errno.js';
import { probeHost } from './host-probe.js';

const jail = bareJail();
const { EINVAL, EIO, EPERM, ENOSYS, ENOSPC } = constants.errno;
const isRoot = process.getuid?.() === 0;

describe('the probe', { skip: cannotCompile }, () => {
  const refusing = callRefuser(jail.base);

  /** Each attempt's errno, of a user or of root. */
  function attempts(user: typeof bareUser, ...refused: readonly RefusedCall[]): Readonly<Record<string, number>> {
    const directory = join(jail.base, 'shown');
    // An overlay leaves a directory without any mode.
    spawnSync('sh', ['-c', 'chmod -R u+rwX "$0"; rm -rf "$0"/*', directory], user);
    const setup = ['lower', 'upper', 'work', 'merged'].map((name) => join(directory, name));
    spawnSync('mkdir', setup, user);
    const [program = '', ...words] = [...refusing(...refused), jail.program, 'probe', directory];
    const { stdout, status, stderr } = spawnSync(program, words, { encoding: 'utf8', env: {}, ...user });
    assert.equal(status, 0, stderr);
    return Object.fromEntries(
      stdout
        .trim()
        .split('\n')
        .map((line) => [line.split(' ')[0], Number(line.split(' ')[1])]),
    );
  }

  const fine = { 'user-namespace': 0, namespaces: 0, overlay: 0, proc: 0, seccomp: 0, owners: 0 };
  const newUser = 0x10000000;
  const all = 0x6e020000;

  it('of a user says of each thing whether this kernel lets them do it', (context) => {
    const whole = attempts(bareUser);
    assert.deepEqual(Object.keys(whole), [...Object.keys(fine), 'landlock']);
    assert.equal(whole['landlock'], jail.landlock);
    const usual = { ...whole };
    if (Object.values(fine).length !== Object.values(whole).filter((errno, index) => index < 6 && errno === 0).length)
      return context.skip('this host lacks something by itself');
    for (const [refused, changed] of [
      [{ call: 'unshare', error: ENOSPC, arguments: [[0, newUser]] }, { 'user-namespace': ENOSPC }],
      [{ call: 'unshare', error: EPERM, arguments: [[0, all | newUser]] }, { namespaces: EPERM }],
      [{ call: 'unshare', error: EPERM, arguments: [[0, 0x20020000 | newUser]] }, { proc: EPERM }],
      [{ call: 'unshare', error: EPERM, arguments: [[0, 0x20000 | newUser]] }, { overlay: EPERM }],
      [
        { call: 'mount', error: EINVAL },
        { overlay: EINVAL, proc: EINVAL },
      ],
      [{ call: 'chdir', error: EPERM }, { overlay: EPERM }],
      [
        { call: 'mount_setattr', error: ENOSYS },
        { namespaces: ENOSYS, overlay: ENOSYS, proc: ENOSYS },
      ],
      [{ call: 'seccomp', error: EINVAL }, { seccomp: EINVAL }],
      [{ call: 'landlock_create_ruleset', error: ENOSYS }, { landlock: 0 }],
    ] satisfies readonly (readonly [RefusedCall, Readonly<Record<string, number>>])[])
      assert.deepEqual(attempts(bareUser, refused), { ...usual, ...changed }, JSON.stringify(refused));
  });

  it('of root says the same, and tries what gives a fork to an agent', { skip: isRoot ? false : 'needs root' }, () => {
    const usual = attempts({});
    for (const [refused, changed] of [
      [{ call: 'unshare', error: EPERM, arguments: [[0, all]] }, { namespaces: EPERM }],
      [{ call: 'unshare', error: EPERM, arguments: [[0, 0x20000]] }, { overlay: EPERM }],
      [{ call: 'open_tree', error: ENOSYS }, { owners: ENOSYS }],
      [{ call: 'mount_setattr', error: EINVAL, arguments: [[2, 0x1000]] }, { owners: EINVAL }],
    ] satisfies readonly (readonly [RefusedCall, Readonly<Record<string, number>>])[])
      assert.deepEqual(attempts({}, refused), { ...usual, ...changed }, JSON.stringify(refused));
  });
});

describe('what is made of its words', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ctx-probe-'));
  after(() => rmSync(directory, { recursive: true, force: true }));
  const store = join(directory, 'store');
  const program = join(directory, 'jail');
  mkdirSync(store);
  const facts = (words: readonly string[]) => {
    const look = `echo "$1" > ${directory}/words; cd "$2" && ls -m > ${directory}/found; tr -d '\\0' < /proc/$$/environ > ${directory}/environment`;
    writeFileSync(program, `#!/bin/sh\n${look}\nprintf '${words.map((line) => `${line}\\n`).join('')}'\n`);
    chmodSync(program, 0o755);
    return probeHost(program, store, library);
  };
  const names = ['user-namespace', 'namespaces', 'overlay', 'proc', 'seccomp', 'owners'];

  it('is each attempt by its name, and a failure where nothing was said', () => {
    const given = Object.fromEntries(names.map((name, index) => [name, index + 20]));
    const {
      attempts,
      landlock,
      kernel,
      root,
      store: place,
    } = facts([...names.map((name, index) => `${name} ${index + 20}`).reverse(), 'landlock 7']);
    assert.deepEqual([attempts, landlock], [given, 7]);
    assert.deepEqual([kernel, root, place], [release(), isRoot, store]);
    const silent = facts([]);
    assert.deepEqual([silent.attempts, silent.landlock], [Object.fromEntries(names.map((name) => [name, EIO])), 0]);
  });

  it('is of directories that were made for it, and are gone afterwards', () => {
    facts([]);
    assert.equal(readFileSync(join(directory, 'words'), 'utf8'), 'probe\n');
    assert.equal(readFileSync(join(directory, 'found'), 'utf8').trim(), 'lower, merged, upper, work');
    assert.equal(readFileSync(join(directory, 'environment'), 'utf8'), '');
    assert.deepEqual(readdirSync(store), []);
    assert.throws(
      () => probeHost(join(directory, 'missing'), store, library),
      (error) => hasCode(error, 'ENOENT'),
    );
    assert.deepEqual(readdirSync(store), []);
  });

  it('comes with what can be read of the host', () => {
    const { fuse, cgroup, appArmorRestriction } = facts([]);
    const has = (path: string) => spawnSync('test', ['-e', path]).status === 0;
    assert.equal(fuse === 'missing', !has('/dev/fuse'));
    if (isRoot && fuse !== 'missing') assert.equal(fuse, 'usable');
    const newer = spawnSync('cat', ['/sys/fs/cgroup/cgroup.controllers'], { encoding: 'utf8' }).stdout.trim();
    const older = ['cpu', 'memory', 'pids'].filter((name) => has(`/sys/fs/cgroup/${name}/cgroup.procs`));
    if (newer !== '') assert.deepEqual(cgroup, { version: 2, controllers: newer.split(' ') });
    else assert.deepEqual(cgroup, { version: older.length > 0 ? 1 : 0, controllers: older });
    const restriction = spawnSync('cat', ['/proc/sys/kernel/apparmor_restrict_unprivileged_userns'], {
      encoding: 'utf8',
    });
    assert.equal(appArmorRestriction, restriction.stdout.trim() === '1');
  });
});
