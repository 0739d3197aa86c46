/**
 * Words and numbers of operations that no plan of ctx has: each is refused by the operation itself with its reason, on both sides of
 * each limit, and the command does not run.
 */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Operation, Plan } from '../../src/jail/operation.js';
import { bareJail, type PlanOptions } from '../support/bare-jail.js';

const { E2BIG, EINVAL, ENAMETOOLONG, ENOENT, EPERM } = constants.errno;
const jail = bareJail();
const ran = join(jail.base, 'home', 'ran');
const open: PlanOptions = { weakened: ['landlock', 'seccomp'] };
const plain = jail.plan(['sh', '-c', ': > /home/user/ran'], open);

function withBefore(before: Operation['do'], operation: Operation): Plan {
  const at = plain.findIndex((each) => each.do === before);
  assert.notEqual(at, -1);
  return [...plain.slice(0, at), operation, ...plain.slice(at)];
}

const replaced = (operation: Operation): Plan => plain.map((each) => (each.do === operation.do ? operation : each));

async function launch(plan: Plan): Promise<unknown> {
  rmSync(ran, { force: true });
  const ended = await jail.run(plan);
  assert.equal(existsSync(ran), ended === 0, String(ended));
  return ended;
}

async function refuses(plan: Plan, operation: string, error: number, words: string): Promise<void> {
  assert.match(String(await launch(plan)), new RegExp(`^0 failed \\d+ ${operation} ${error} ${words}`));
}

const groups = (...of: readonly number[]) => withBefore('user', { do: 'groups', of });
const filter = (bytes: Buffer) => withBefore('command directory', { do: 'seccomp', filter: bytes });

/** Says of itself what it is in hexadecimal. */
const said = (text: string): Buffer => Object.assign(Buffer.alloc(0), { toString: () => text });

describe('an operation with odd words', () => {
  it('is none of an ordinary plan', async () => {
    assert.equal(await launch(plain), 0);
  });

  it('that is a group has to be a number of a group', async () => {
    for (const group of [-1, 2048 - 2 ** 64, 1.5, Number.NaN, 2 ** 32 - 1, 2 ** 32, 2 ** 70, Number.POSITIVE_INFINITY])
      await refuses(groups(7, group), 'groups', EINVAL, 'a group is not a number');
    // Numbers are taken, and then the kernel is asked: a user without privileges may take none.
    for (const group of [0, 1, 2 ** 32 - 2]) await refuses(groups(group), 'groups', EPERM, 'taking the groups');
  });

  it('that is a filter has to be whole instructions, and no more than the kernel takes', async () => {
    for (const bytes of [0, 1, 4, 7, 9, 12, 8 * 4097])
      await refuses(filter(Buffer.alloc(bytes)), 'seccomp', EINVAL, 'the filter has the wrong length');
    for (const text of ['g', 'G', 'A', 'F', '/', ':', '`', ' ', '-', 'x']) {
      for (const odd of [text + '0'.repeat(15), '0'.repeat(15) + text])
        await refuses(filter(said(odd)), 'seccomp', EINVAL, 'the filter is not hexadecimal');
    }
    // Instructions that mean nothing are the kernel's to refuse.
    for (const bytes of [8, 16, 8 * 4096])
      await refuses(filter(Buffer.alloc(bytes, 0xfe)), 'seccomp', EINVAL, 'seccomp');
  });

  it('that is a mount of a server has one of the channels', async () => {
    for (const channel of [16, 17, 255, 2 ** 31, 2 ** 32]) {
      const fuse: Operation = { do: 'fuse', path: '/mnt', channel, attributes: [] };
      await refuses(withBefore('pivot', fuse), 'fuse', EINVAL, 'a channel that no server can have');
    }
  });

  it('that is an overlay has as many layers as the kernel takes', async () => {
    const profile = 'userxattr,index=off,redirect_dir=nofollow,metacopy=off,volatile';
    const most = 4095 - `lowerdir=,upperdir=upper,workdir=work,${profile}`.length;
    const lowerOf = (length: number) => {
      const slashes = (length - 'layer'.length) % 2 === 0 ? '' : '/';
      return `${'./'.repeat((length - 'layer'.length - slashes.length) / 2)}layer${slashes}`;
    };
    const overlay = plain.find((each) => each.do === 'overlay');
    assert.ok(overlay?.do === 'overlay');
    for (const length of [5, 6, most - 1, most]) {
      const lower = lowerOf(length);
      assert.equal(lower.length, length);
      assert.equal(await launch(replaced({ ...overlay, lower: [lower] })), 0, String(length));
    }
    for (const length of [most + 1, most + 2, most + 500])
      await refuses(replaced({ ...overlay, lower: [lowerOf(length)] }), 'overlay', E2BIG, 'too many layers');
  });

  it('that is a control group has to be one', async () => {
    const group = (directory: string) => withBefore('namespaces', { do: 'control group', directory });
    await refuses(group('/nothing/here'), 'cgroup', ENOENT, '/nothing/here');
    for (const length of [4082, 4083, 5000])
      await refuses(
        group('/nothing/'.padEnd(length, 'x/')),
        'cgroup',
        length < 4083 ? ENOENT : ENAMETOOLONG,
        '/nothing',
      );
  });

  it('that is a host name has as many letters as one may have', async () => {
    const name = (length: number) => replaced({ do: 'hostname', name: 'n'.repeat(length) });
    assert.equal(await launch(name(64)), 0);
    await refuses(name(65), 'hostname', EINVAL, 'setting the host name');
  });

  it('that is a link may be there already', async () => {
    const link: Operation = { do: 'symlink', path: '/once', target: '/etc' };
    const plan = withBefore('pivot', link);
    const at = plan.indexOf(link);
    assert.equal(await launch([...plan.slice(0, at), link, ...plan.slice(at)]), 0);
  });
});

it('a part of PATH that is empty names no directory: neither the root nor the one that the command starts in', async () => {
  const inLayer = join(jail.base, 'layer', 'planted');
  writeFileSync(inLayer, '#!/bin/sh\nexit 3\n');
  chmodSync(inLayer, 0o755);
  const inRoot: Operation = { do: 'file', path: '/planted', content: '#!/bin/sh\nexit 9\n', mode: 0o755 };
  const run = (PATH: string, name = 'planted') => {
    const plan = jail.plan([name], { ...open, more: { environment: { PATH } } });
    return jail.run(plan.flatMap((each): Operation[] => (each.do === 'pivot' ? [inRoot, each] : [each])));
  };
  assert.deepEqual([await run('', '/planted'), await run('', './planted')], [9, 3], 'both could be run');
  for (const path of ['', ':', '::', ':/usr/bin', '/usr/bin:', '/usr/bin::/bin'])
    assert.match(String(await run(path)), new RegExp(` command ${ENOENT} planted`), path);
});
