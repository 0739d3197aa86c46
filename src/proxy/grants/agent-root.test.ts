import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Agent } from '../../authority/agent.js';
import { rootOf, rootView } from './agent-root.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-root-')));
after(() => rmSync(base, { recursive: true }));
const root = join(base, 'root');
for (const directory of ['usr/bin', 'etc', 'home/ada', 'home/bob', 'dev', 'tmp', 'var/lib', 'var/tmp']) {
  mkdirSync(join(root, directory), { recursive: true });
}
writeFileSync(join(root, 'file'), 'x');
symlinkSync('usr/bin', join(root, 'bin'));
symlinkSync('/elsewhere', join(root, 'srv'));
symlinkSync(root, join(base, 'link'));

const agent = (name: string, at: string) => ({ name, root: at }) as Agent;

describe('a root of an agent’s own', () => {
  it('is shown entry by entry, read-only, with its links as they are and without what a jail makes itself', () => {
    const { mounts, links } = rootView(root, []);
    assert.deepEqual(
      mounts.map(({ source, target, mode }) => [source, target, mode]),
      ['/etc', '/file', '/home', '/usr', '/var/lib'].map((path) => [`${root}${path}`, path, 'ro']),
    );
    assert.deepEqual(links, [
      { path: '/bin', target: 'usr/bin' },
      { path: '/srv', target: '/elsewhere' },
    ]);
  });

  it('is opened along the way to what is mounted in it, and not beside that way', () => {
    const { mounts, links } = rootView(root, ['/home/ada/project', '/srv/data', '/usr/bin']);
    assert.deepEqual(
      mounts.map(({ target }) => target),
      ['/etc', '/file', '/home/bob', '/var/lib'],
    );
    // The link at /srv would lead the mount to another place.
    assert.deepEqual(
      links.map(({ path }) => path),
      ['/bin'],
    );
  });

  it('is canonical, the same for children, and never where ctx keeps its files', () => {
    assert.equal(rootOf([agent('a', '/')], []), undefined);
    assert.equal(rootOf([], []), undefined);
    assert.equal(rootOf([agent('a', join(base, 'link')), agent('b', '/')], []), root);
    assert.equal(rootOf([agent('a', root), agent('b', root)], []), root);
    assert.throws(() => rootOf([agent('a', root), agent('b', '/usr')], []), { code: 'EACCES' });
    assert.throws(() => rootOf([agent('a', '/'), agent('b', root)], []), { code: 'EACCES' });
    assert.throws(() => rootOf([agent('a', '/no/such')], []), { code: 'ENOENT' });
    assert.throws(() => rootOf([agent('a', '/proc/self')], []), { code: 'EINVAL' });
    assert.throws(() => rootOf([agent('a', root)], [base]), { code: 'EACCES' });
  });
});
