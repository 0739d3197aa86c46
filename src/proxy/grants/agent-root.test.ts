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
const place = { source: root, directory: root };
for (const directory of ['usr/bin', 'etc', 'home/ada', 'home/bob', 'dev', 'tmp', 'var/lib', 'var/tmp']) {
  mkdirSync(join(root, directory), { recursive: true });
}
writeFileSync(join(root, 'file'), 'x');
symlinkSync('usr/bin', join(root, 'bin'));
symlinkSync('/elsewhere', join(root, 'srv'));
symlinkSync(root, join(base, 'link'));

const agent = (name: string, at: string) => ({ name, root: at, identity: { uid: 7 } }) as Agent;
const rootFor = (line: readonly Agent[], hidden: readonly string[]) => rootOf(line, hidden, '/objects');

describe('a root of an agent’s own', () => {
  it('is shown entry by entry, read-only, with its links as they are and without what a jail makes itself', () => {
    const { mounts, links } = rootView(place, []);
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
    const { mounts, links } = rootView(place, ['/home/ada/project', '/srv/data', '/usr/bin']);
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
    assert.equal(rootFor([agent('a', '/')], []), undefined);
    assert.equal(rootFor([], []), undefined);
    assert.equal(rootFor([agent('a', join(base, 'link')), agent('b', '/')], [])?.directory, root);
    assert.deepEqual(rootFor([agent('a', root), agent('b', root)], []), place);
    assert.throws(() => rootFor([agent('a', root), agent('b', '/usr')], []), { code: 'EACCES' });
    assert.throws(() => rootFor([agent('a', '/'), agent('b', root)], []), { code: 'EACCES' });
    assert.throws(() => rootFor([agent('a', '/no/such')], []), { code: 'ENOENT' });
    assert.throws(() => rootFor([agent('a', '/proc/self')], []), { code: 'EINVAL' });
    assert.throws(() => rootFor([agent('a', root)], [base]), { code: 'EACCES' });
  });

  it('may be the part of its home that is for it, also before that is made, and nothing else of the objects', () => {
    const own = '/ctx/home/7/agent/a/root';
    const found = rootFor([agent('a', own), agent('b', '/')], ['/objects']);
    assert.deepEqual(found, { source: own, directory: '/objects/home/7/agent/a/root' });
    assert.deepEqual(rootView({ source: own, directory: join(base, 'later') }, []), { mounts: [], links: [] });
    const { mounts, links } = rootView({ source: own, directory: root }, ['/home/ada', '/usr', '/etc']);
    assert.deepEqual(
      mounts.map(({ source, target }) => [source, target]),
      ['/file', '/home/bob', '/var/lib'].map((path) => [`${own}${path}`, path]),
    );
    assert.deepEqual(
      links.map(({ target }) => target),
      ['usr/bin', '/elsewhere'],
    );
    for (const other of [
      '/ctx',
      '/ctx/home/7/agent/a',
      '/ctx/home/7/agent/b/root',
      `${own}/usr`,
      '/ctx/home/8/agent/a/root',
    ])
      assert.throws(() => rootFor([agent('a', other)], []), { code: 'EACCES' }, other);
  });
});
