/** What a child's mounts become, entry by entry: each kind of thing that it may name, each mode, each option. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deriveView } from './attenuate-view.js';
import type { Excess } from './excess.js';
import { type Mount, makeMount, printMount } from './mount.js';
import { makeSurface, type SurfaceParts } from './surface.js';
import { View } from './view.js';

const mount = (source: string, target: string, mode: Mount['mode'] = 'ro', options: Mount['options'] = []): Mount =>
  makeMount({ source, target, mode, options });

const parent = new View(
  makeSurface({ cwd: '/work', additionalReads: ['/docs'], hidden: ['/host/keys', '/work/store'] }),
  [
    mount('/host/lib', '/lib', 'rw', ['bind', 'nosuid']),
    mount('/host/in-rw', '/lib/rw', 'rw', ['nodev']),
    mount('/host/in-ro', '/lib/ro', 'ro'),
    mount('memory:', '/lib/tree', 'rw'),
    mount('/host', '/all', 'rw', ['rbind']),
  ],
);

/** Mounts as a file has them, and the kinds of excess with the host path that they name. */
function derived(
  surface: Partial<SurfaceParts>,
  mounts: readonly Mount[],
  isGranted: (excess: Excess) => boolean = () => false,
) {
  const requested = new View(makeSurface({ cwd: '/work', ...surface }), mounts);
  const found = deriveView(parent, requested, isGranted);
  return {
    mounts: found.mounts.map((each) => printMount(each).trimEnd().split('\t').join(' ')),
    excesses: found.excesses.map((excess) => ('host' in excess ? `${excess.kind} ${excess.host}` : excess.kind)),
    hidden: found.hidden,
  };
}
const asked = (...mounts: readonly Mount[]) => derived({}, mounts).mounts;

describe('an entry of a child', () => {
  it('that its surface says already needs no mount', () => {
    assert.deepEqual(derived({}, []).mounts, []);
    assert.deepEqual(derived({ additionalReads: ['/docs', '/work/a'] }, []).mounts, []);
    assert.deepEqual(derived({ additionalReads: ['/docs'] }, []).excesses, []);
  });

  it('is a mount where it is at another place, in another mode or with other options than its surface has', () => {
    assert.deepEqual(asked(mount('/docs', '/d')), ['/docs /d ro rbind,nosuid,nodev']);
    assert.deepEqual(
      asked(mount('/docs', '/docs', 'ro')),
      ['/docs /docs ro rbind,nosuid,nodev'],
      'a mount was asked for',
    );
    assert.deepEqual(asked(mount('/docs', '/docs', 'ro', ['noexec'])), ['/docs /docs ro rbind,nosuid,nodev,noexec']);
    assert.deepEqual(derived({ additionalReads: ['/lib/x'] }, []).mounts, ['/host/lib/x /lib/x ro bind,nosuid,nodev']);
    const written = derived({ additionalWrites: ['/docs'] }, []);
    assert.deepEqual(written, {
      mounts: ['/docs /docs ro rbind,nosuid,nodev'],
      excesses: ['read-only path /docs'],
      hidden: parent.hidden,
    });
    assert.deepEqual(
      derived({ additionalWrites: ['/docs'] }, [], () => true).mounts,
      [],
      'its surface says that it may be written',
    );
  });

  it('may be written where its parent may, or where a supervisor grants it', () => {
    for (const [source, mode, isGranted, expected, excesses] of [
      ['/lib/x', 'rw', false, 'rw', []],
      ['/lib/x', 'ro', false, 'ro', []],
      ['/lib/ro/x', 'ro', false, 'ro', []],
      ['/lib/ro/x', 'ro', true, 'ro', []],
      ['/lib/ro/x', 'rw', false, 'ro', ['read-only path /host/in-ro/x']],
      ['/lib/ro/x', 'rw', true, 'rw', ['read-only path /host/in-ro/x']],
    ] as const) {
      const found = derived({}, [mount(source, '/t', mode)], () => isGranted);
      assert.deepEqual(
        [found.mounts.map((text) => text.split(' ')[2]), found.excesses],
        [[expected], excesses],
        source,
      );
    }
  });

  it('keeps the options of its parent, adds its own, and cannot say how deep it goes', () => {
    assert.deepEqual(asked(mount('/lib/x', '/t', 'ro', ['rbind', 'noexec'])), ['/host/lib/x /t ro bind,nosuid,noexec']);
    assert.deepEqual(asked(mount('/all/x', '/t', 'ro', ['bind', 'nodev'])), ['/host/x /t ro rbind,nodev']);
    assert.deepEqual(asked(mount('/lib/ro/x', '/t', 'ro', ['bind'])), ['/host/in-ro/x /t ro -'], 'of neither');
  });

  it('takes along what its parent has in it, no wider than either has it', () => {
    const inner = (mode: Mount['mode']) =>
      asked(mount('/lib', '/t', mode, ['noexec']))
        .slice(1)
        .sort();
    assert.deepEqual(inner('rw'), [
      '/host/in-ro /t/ro ro noexec',
      '/host/in-rw /t/rw rw nodev,noexec',
      'memory: /t/tree rw noexec',
    ]);
    assert.deepEqual(inner('ro'), [
      '/host/in-ro /t/ro ro noexec',
      '/host/in-rw /t/rw ro nodev,noexec',
      'memory: /t/tree ro noexec',
    ]);
  });

  it('has what the child asked for itself at a place in it, and not what its parent has there', () => {
    const found = asked(mount('/lib', '/t', 'rw'), mount('/docs', '/t/rw'), mount('/docs', '/t/ro/deep'));
    assert.deepEqual([...found].sort(), [
      '/docs /t/ro/deep ro rbind,nosuid,nodev',
      '/docs /t/rw ro rbind,nosuid,nodev',
      '/host/in-ro /t/ro ro -',
      '/host/lib /t rw bind,nosuid',
      'memory: /t/tree rw -',
    ]);
  });

  it('that its parent does not see is a path of the host, where a supervisor grants it', () => {
    for (const source of ['/nowhere', '/all/keys/x', '/work/store']) {
      assert.deepEqual(derived({}, [mount(source, '/t', 'rw', ['bind'])]), {
        mounts: [],
        excesses: [`hidden path ${source}`],
        hidden: parent.hidden,
      });
      const granted = derived({}, [mount(source, '/t', 'rw', ['bind'])], ({ kind }) => kind === 'hidden path');
      assert.deepEqual(granted.mounts, [`${source} /t rw bind`]);
    }
  });

  it('may be a whole tree, and not a part of one', () => {
    assert.deepEqual(asked(mount('/lib/tree', '/t', 'rw')), ['memory: /t rw -']);
    assert.deepEqual(asked(mount('/lib/tree', '/t', 'ro')), ['memory: /t ro -']);
    assert.deepEqual(
      derived({}, [mount('/lib/tree/x', '/t')], () => true),
      {
        mounts: [],
        excesses: ['part of a tree'],
        hidden: parent.hidden,
      },
    );
  });

  it('may be objects, which are the child’s own', () => {
    assert.deepEqual(derived({}, [mount('/ctx/tool', '/tools', 'rw', ['noexec'])]), {
      mounts: ['/ctx/tool /tools rw noexec'],
      excesses: [],
      hidden: parent.hidden,
    });
  });
});

describe('what a child hides', () => {
  const hidden = (...paths: readonly string[]) => derived({ hidden: paths }, []).hidden.slice(parent.hidden.length);

  it('is hidden where it is on the host, with what its parent has in it', () => {
    assert.deepEqual(derived({}, []).hidden, ['/host/keys', '/work/store']);
    assert.deepEqual(hidden('/lib/x'), ['/host/lib/x']);
    assert.deepEqual(hidden('/docs'), ['/docs']);
    assert.deepEqual([...hidden('/lib')].sort(), ['/host/in-ro', '/host/in-rw', '/host/lib']);
    assert.deepEqual(hidden('/nowhere'), ['/nowhere'], 'a path of the host, whatever comes');
    assert.deepEqual(hidden('/lib/tree', '/lib/tree/x'), [], 'of a tree nothing is on the host');
  });
});
