/**
 * Places of a new root that lie in a tree which an agent wrote before, such as its private home. Until the jail enters its root, an
 * absolute link there leads to the host's files: it makes the launch fail, and never leads anywhere.
 */
import assert from 'node:assert/strict';
import { chownSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import type { Operation } from '../../src/jail/operation.js';
import { bareJail, bareUser } from '../support/bare-jail.js';

const jail = bareJail();
const own = (path: string) => {
  if (bareUser.uid !== undefined) chownSync(path, bareUser.uid, bareUser.gid);
};
const home = join(jail.base, 'home');
const host = join(jail.base, 'of-host');
const beside = join(home, 'beside');
const directories = [host, beside, join(host, 'there'), join(beside, 'there')];

/** Something at a place, in every way that a plan has. */
const made: Readonly<Record<string, (path: string) => Operation>> = {
  'a directory': (path) => ({ do: 'directory', path, mode: 0o777 }),
  'a file': (path) => ({ do: 'file', path, content: 'x', mode: 0o644 }),
  'a link': (path) => ({ do: 'symlink', path, target: '/x' }),
  memory: (path) => ({ do: 'tmpfs', path, mode: 0o777, attributes: [] }),
  'a bind of a directory': (path) => ({ do: 'bind', source: join(jail.base, 'shown'), target: path, attributes: [] }),
  'a bind of a file': (path) => ({ do: 'bind', source: '/etc/passwd', target: path, attributes: [] }),
  'what is shown once more': (path) => ({ do: 'again', source: '/usr', target: path, attributes: [] }),
};

/** The jail with this made once its home is there. */
function launch(operation: Operation, script = ':') {
  const plan = [...jail.plan(['sh', '-c', script], { weakened: ['landlock', 'seccomp'] })];
  plan.splice(
    plan.findIndex(({ do: what }) => what === 'pivot'),
    0,
    operation,
  );
  return jail.run(plan);
}

beforeEach(() => {
  rmSync(home, { recursive: true });
  rmSync(host, { recursive: true, force: true });
  for (const path of [home, ...directories]) {
    mkdirSync(path);
    own(path);
  }
});

const isUntouched = () => {
  for (const path of [host, beside]) {
    assert.deepEqual(readdirSync(path), ['there'], path);
    assert.deepEqual(readdirSync(join(path, 'there')), [], path);
    assert.equal(statSync(join(path, 'there')).mode & 0o777, 0o755, path);
  }
};

describe('a link that an agent planted in its home', () => {
  const links = { 'to the host': host, 'to a place beside it': 'beside' };
  const places = { 'on the way': 'link/new', 'further up': 'link/there/new', 'above what is missing': 'link/no/new' };
  for (const [what, make] of Object.entries(made)) {
    it(`leads ${what} nowhere`, async () => {
      for (const place of Object.values(places)) {
        const path = `/home/user/${place.replace('link', 'plain')}`;
        assert.equal(await launch(make(path), `test -e ${path} || test -L ${path}`), 0, path);
      }
      for (const [to, target] of Object.entries(links)) {
        symlinkSync(target, join(home, 'link'));
        for (const [where, place] of Object.entries(places)) {
          assert.match(String(await launch(make(`/home/user/${place}`))), / failed /, `${to}, ${where}`);
          isUntouched();
        }
        rmSync(join(home, 'link'));
      }
    });
  }

  for (const [what, make] of Object.entries(made).filter(([name]) => name !== 'a link')) {
    it(`is not the place of ${what}`, async () => {
      for (const target of [join(host, 'there'), 'beside/there', join(host, 'new'), 'beside/new']) {
        symlinkSync(target, join(home, 'link'));
        assert.match(String(await launch(make('/home/user/link'))), / failed /, target);
        isUntouched();
        rmSync(join(home, 'link'));
      }
    });
  }
});

describe('a place', () => {
  it('is of the kind that it is made for', async () => {
    writeFileSync(join(home, 'file'), '');
    own(join(home, 'file'));
    for (const [what, make] of Object.entries(made)) {
      if (what === 'a link') continue;
      const other = what === 'a file' || what === 'a bind of a file' ? 'beside' : 'file';
      assert.match(String(await launch(make(`/home/user/${other}`))), / failed /, what);
    }
    isUntouched();
  });

  it('has no dots, no empty names and a beginning', async () => {
    for (const path of [
      '/home/user/no/../new',
      '/home/user/..',
      '/home/user/.',
      '/home/user/',
      '/no//deeper/new',
      'new',
    ]) {
      for (const [what, make] of Object.entries(made)) {
        rmSync(join(home, 'no'), { recursive: true, force: true });
        assert.match(String(await launch(make(path))), / failed /, `${what} at ${path}`);
      }
    }
  });
});
