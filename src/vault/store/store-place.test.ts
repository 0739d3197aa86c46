/** Where the files of ctx are: by which variables, and whose a place has to be. */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, statSync, symlinkSync } from 'node:fs';
import { it } from 'node:test';
import { freshPlace, isRoot } from '../tree/tree-fixture.js';
import {
  canonicalPlace,
  closedSystemObjects,
  configurationDirectory,
  isForEveryUser,
  objectRoot,
  ownHome,
  ownPlace,
  placeVariables,
  storeDirectory,
  systemObjectsBeside,
} from './store-place.js';

const { at } = freshPlace();
const uid = process.getuid?.() ?? 0;

it('each place is named by its variables in their order, and a relative one is refused or passed over', () => {
  const stores: readonly (readonly [Record<string, string>, string])[] = [
    [{}, '/home/a/.local/share/ctxfs'],
    [{ XDG_DATA_HOME: '/data' }, '/data/ctxfs'],
    [{ XDG_DATA_HOME: 'data' }, '/home/a/.local/share/ctxfs'],
    [{ CTX_DATA: '/own', XDG_DATA_HOME: '/data' }, '/own'],
  ];
  for (const [environment, place] of stores) assert.equal(storeDirectory(environment, '/home/a'), place);
  const configurations: readonly (readonly [Record<string, string>, string])[] = [
    [{}, '/home/a/.config/ctxfs'],
    [{ XDG_CONFIG_HOME: '/etc/x' }, '/etc/x/ctxfs'],
    [{ XDG_CONFIG_HOME: 'x' }, '/home/a/.config/ctxfs'],
  ];
  for (const [environment, place] of configurations)
    assert.equal(configurationDirectory(environment, '/home/a'), place);
  assert.deepEqual(
    [objectRoot({}, '/store'), objectRoot({ CTX_ROOT: '/objects' }, '/store')],
    ['/store/ctx', '/objects'],
  );
  for (const relative of ['data', './data', '']) {
    assert.throws(() => storeDirectory({ CTX_DATA: relative }, '/home/a'), { code: 'EINVAL' });
    assert.throws(() => objectRoot({ CTX_ROOT: relative }, '/store'), { code: 'EINVAL' });
    assert.throws(() => ownHome(() => relative), { code: 'EINVAL', reason: 'expected an absolute path' });
  }
  assert.equal(
    ownHome(() => '/home/a'),
    '/home/a',
  );
  const unknown = () => {
    throw new Error('uv_os_homedir returned ENOENT');
  };
  assert.throws(() => ownHome(unknown), { code: 'EINVAL', reason: /knows no home/, remedy: /^set HOME/ });
  assert.deepEqual([...placeVariables].sort(), ['CTX_DATA', 'CTX_ROOT', 'HOME', 'XDG_CONFIG_HOME', 'XDG_DATA_HOME']);
});

it('a place is the person’s own, closed to others, and what is not there yet is as it is named', () => {
  mkdirSync(at('place'));
  symlinkSync(at('place'), at('link'));
  assert.deepEqual(
    [ownPlace(at('place'), uid), ownPlace(at('link'), uid), canonicalPlace(at('link'))],
    [at('place'), at('place'), at('place')],
  );
  assert.deepEqual([ownPlace(at('none/deep'), uid), canonicalPlace(at('none'))], [at('none/deep'), at('none')]);
  for (const mode of [0o755, 0o700, 0o777, 0o775, 0o757, 0o720, 0o702, 0o1777]) {
    chmodSync(at('place'), mode);
    if ((mode & 0o022) === 0) assert.equal(ownPlace(at('place'), uid), at('place'));
    else assert.throws(() => ownPlace(at('place'), uid), { code: 'EACCES' }, mode.toString(8));
  }
  chmodSync(at('place'), 0o755);
  assert.throws(() => ownPlace(at('place'), uid + 1), { code: 'EACCES' });
  mkdirSync(at('place/below'));
  chmodSync(at('place'), 0o777);
  assert.throws(() => ownPlace(at('place/below'), uid), { code: 'EACCES' });
  symlinkSync('loop', at('loop'));
  assert.throws(() => canonicalPlace(at('loop')), { code: 'ELOOP' });
});

it('a place of another user is not taken, whatever it lets one do', { skip: !isRoot && 'needs root' }, () => {
  mkdirSync(at('place'));
  chownSync(at('place'), 12345, 0);
  assert.throws(() => ownPlace(at('place'), 0), { code: 'EACCES' });
});

it('objects for every user are beside all others, where root made their place and keeps it', () => {
  assert.deepEqual(
    [isForEveryUser('/var/lib/ctxfs'), isForEveryUser('/var/lib/ctxfs/x'), isForEveryUser('/x')],
    [true, false, false],
  );
  assert.equal(systemObjectsBeside('/var/lib/ctxfs'), undefined);
  const about = statSync('/var/lib/ctxfs', { throwIfNoEntry: false });
  const isRoots = about?.isDirectory() === true && about.uid === 0 && (about.mode & 0o022) === 0;
  const isClosed = closedSystemObjects() !== undefined;
  assert.equal(systemObjectsBeside('/x'), isRoots && !isClosed ? '/var/lib/ctxfs' : undefined);
});
