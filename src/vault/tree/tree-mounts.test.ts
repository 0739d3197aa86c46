/** A filesystem that is mounted inside a tree is somebody else's: what ends the tree stops there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { type Refusal, refusing } from '../../../test/support/refuse-bits.js';
import { freshPlace, program } from './tree-fixture.js';

const place = freshPlace();
const own = ['--user', '--map-root-user', '--mount'];
const skip =
  spawnSync('unshare', [...own, 'true']).status === 0 ? false : 'this user may make no namespace of its own here';

const hosts: Readonly<Record<string, readonly Refusal[]>> = {
  '': [],
  ', on a host without openat2': [['openat2', 0, '0', constants.errno.ENOSYS]],
};

describe('a mount inside a tree that is deleted', { skip }, () => {
  for (const [kind, mount] of [
    ['another filesystem', 'mount -t tmpfs none top/deep/here'],
    ['a bind of the same filesystem', 'mount --bind elsewhere top/deep/here'],
  ] as const) {
    for (const [host, refusals] of Object.entries(hosts)) {
      // Without openat2 other filesystems alone are recognised.
      if (refusals.length > 0 && mount.includes('--bind')) continue;
      it(`keeps what it holds: ${kind}${host}`, () => {
        place.write('top/deep/here/below');
        place.write('elsewhere/kept');
        const script = `cd "$1"; shift; ${mount} && echo kept > top/deep/here/kept &&
          { "$@" delete top 2>&1; echo "ended $?"; cat top/deep/here/kept; }`;
        const words = [...own, 'sh', '-c', script, 'sh', place.at(), ...refusing(place.at(), refusals), program];
        const { stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8' });
        assert.match(stdout, /EBUSY.*ended 1\nkept\n$/s, stderr);
      });
    }
  }
});

describe('a mount inside what an apply that was killed has left', { skip }, () => {
  /** As the walker names it (native/tree/place/names.c). */
  const nameBeside = (name: string) => {
    let hash = 14695981039346656037n;
    for (const byte of Buffer.from(name)) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 1099511628211n);
    return `.ctx-${hash.toString(16).padStart(16, '0')}.new`;
  };

  for (const [kind, mount] of [
    ['another filesystem', 'mount -t tmpfs none left/deep/here'],
    ['a bind of the same filesystem', 'mount --bind elsewhere left/deep/here'],
  ] as const)
    it(`keeps what it holds, and the rest of it goes: ${kind}`, () => {
      const left = nameBeside('new');
      place.write(`origin/${left}/deep/here/below`);
      place.write(`origin/${left}/deep/file`);
      place.write('elsewhere/kept');
      mkdirSync(place.at('kept'));
      symlinkSync(`origin/${left}`, place.at('left'));
      const plan = ['put', 'new'];
      for (let file = 0; file < 20; file += 1) {
        place.write(`upper/new/f${file}`);
        plan.push('put', `new/f${file}`);
      }
      const script = `cd "$1"; shift; ${mount} && echo kept > left/deep/here/kept && "$@" apply --durable --upper upper \
        --layer kept --to origin > told; echo "ended $?"; cat left/deep/here/kept; ls left/deep origin/new`;
      const words = [...own, 'sh', '-c', script, 'sh', place.at(), program];
      const input = plan.map((field) => `${field}\0`).join('');
      const { stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8', input });
      assert.match(stdout, /^ended 0\nkept\nleft\/deep:\nhere\n\norigin\/new:\n(f\d+\n?){20}/, `${stdout}${stderr}`);
      for (const name of ['origin', 'upper', 'kept', 'left']) rmSync(place.at(name), { recursive: true, force: true });
    });
});
