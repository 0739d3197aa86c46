import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { javaReads, linkedReads, programPaths, showsTooMuchOf } from './program-paths.js';

const home = '/home/ada';
const reads = (path: string) => programPaths(path, home).reads;

describe('the programs of a PATH', () => {
  it('are searched in the order of PATH, without what is relative or repeated, and always in the system', () => {
    assert.deepEqual(programPaths('/opt/a/bin::.:bin:/opt/b/bin/:/opt/a/bin:/usr/bin', home).search, [
      '/opt/a/bin',
      '/opt/b/bin',
      '/usr/bin',
      '/usr/local/sbin',
      '/usr/local/bin',
      '/usr/sbin',
      '/sbin',
      '/bin',
    ]);
    assert.equal(programPaths(undefined, home).search[0], '/usr/local/sbin');
    // What Node could not read as it is would be the name of another directory.
    const other = programPaths('/opt/a\ufffd/bin:/opt/\udcff/bin:/opt/b/bin', home);
    assert.deepEqual([other.search[0], other.reads[0]], ['/opt/b/bin', '/opt/b/bin']);
  });

  it('bring along what an installed program reads beside its bin', () => {
    assert.deepEqual(reads('/opt/go/bin'), [
      '/opt/go/bin',
      '/opt/go/conda-meta',
      '/opt/go/include',
      '/opt/go/lib',
      '/opt/go/lib64',
      '/opt/go/libexec',
      '/opt/go/pyvenv.cfg',
      '/opt/go/share',
    ]);
  });

  it('bring along the whole tree of a version manager, and only that', () => {
    assert.deepEqual(reads(`${home}/.nvm/versions/node/v20/bin:${home}/.nvm/alias`), [`${home}/.nvm`]);
  });

  it('bring along packages that are installed beside them', () => {
    assert.deepEqual(reads('/work/a/node_modules/.bin'), ['/work/a/node_modules']);
    assert.deepEqual(reads(`${home}/.composer/vendor/bin`), [`${home}/.composer/vendor`]);
  });

  it('need of a link what its target needs, and of a file in no bin itself alone', () => {
    const pipx = `${home}/.local/share/pipx/venvs/black`;
    assert.ok(linkedReads(`${pipx}/bin/black`, home).includes(`${pipx}/pyvenv.cfg`));
    assert.deepEqual(linkedReads(`${home}/lib/node_modules/a/b.js`, home), [`${home}/lib/node_modules`]);
    assert.deepEqual(linkedReads(`${home}/notes/run`, home), [`${home}/notes/run`]);
    assert.deepEqual(linkedReads(`${home}/bin/run`, home), [`${home}/bin/run`]);
    assert.deepEqual(linkedReads(`${home}/.ssh/bin/key`, home), []);
  });

  it('need the configuration of a Java runtime, and of nothing else', () => {
    assert.deepEqual(
      javaReads('/opt/jdk/bin', (path) => path === '/opt/jdk/lib/modules'),
      ['/opt/jdk/conf', '/opt/jdk/jmods', '/opt/jdk/release'],
    );
    assert.deepEqual(
      javaReads('/opt/tomcat/bin', () => false),
      [],
    );
  });

  it('need nothing more where the system has them', () => {
    assert.deepEqual(reads('/usr/local/games:/usr/lib/llvm/bin:/bin'), []);
  });

  it('never show the keyrings beside ~/.local/bin', () => {
    assert.ok(reads(`${home}/.local/bin`).includes(`${home}/.local/lib`));
    assert.ok(!reads(`${home}/.local/bin`).includes(`${home}/.local/share`));
    for (const entry of ['.local', '.local/share', '.config', '.ssh', '.gnupg', '.aws']) {
      assert.deepEqual(reads(`${home}/${entry}`), [], entry);
    }
  });

  it('show a part of such a directory where it is named itself', () => {
    assert.deepEqual(reads(`${home}/.local/share/pnpm`), [`${home}/.local/share/pnpm`]);
  });

  it('never show a home that stands beside a bin, as a service has it', () => {
    assert.ok(!programPaths('/srv/bin', '/srv/share').reads.includes('/srv/share'));
    assert.ok(!programPaths('/srv/bin', '/srv/lib/jenkins').reads.includes('/srv/lib'));
  });

  it('never cover what the jail makes for itself', () => {
    assert.deepEqual(reads('/etc:/dev:/proc:/run:/tmp:/var:/'), []);
    assert.deepEqual(reads('/etc/alternatives'), ['/etc/alternatives']);
  });

  it('never show a home, what holds it, or where its secrets are kept, whatever PATH says', () => {
    const part = fc.constantFrom(
      'home',
      'ada',
      'bin',
      'sbin',
      'share',
      'lib',
      '.local',
      '.ssh',
      '.config',
      '.nvm',
      '..',
      '.',
    );
    const path = fc.array(part, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`);
    const homes = fc
      .array(fc.constantFrom('home', 'ada', 'share', 'lib', 'bin'), { minLength: 1, maxLength: 3 })
      .map((parts) => `/${parts.join('/')}`);
    fc.assert(
      fc.property(fc.array(path, { maxLength: 5 }), homes, (entries, someHome) => {
        const { search, reads: shown } = programPaths(entries.join(':'), someHome);
        for (const read of shown) {
          for (const secret of ['', '/.ssh', '/.local/share', '/.config', '/.gnupg']) {
            assert.ok(!`${someHome}${secret}/`.startsWith(`${read}/`), `${read} shows ${someHome}${secret}`);
          }
          assert.ok(!/\/(\.\.?)?(\/|$)/.test(read.slice(1)) && read !== '/', read);
          assert.equal(showsTooMuchOf(someHome)(read), false);
        }
        assert.equal(new Set(search).size, search.length);
        assert.ok(search.every((entry) => entry.startsWith('/')));
      }),
      seeded(1000),
    );
  });
});
