import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Host, Place } from '../proxy/host.js';
import { startingPlace } from './place.js';

const place = { origin: '/srv/app', directory: '/srv/app/src' } as Place;

/** Whatever is asked of it: that is how a caller could learn what is there. */
const silent = new Proxy({} as Host, {
  get: (_, name) => assert.fail(`the machine was asked for ${String(name)}`),
});

test('a place outside of the workspace is refused by its path alone, and nothing is looked at', () => {
  const outside = ['../..', '/', '/srv', '/srv/apps', '/srv/app2', '/srv/.app', '/etc/passwd', '../../app-other'];
  for (const asked of [...outside, '../../app/../other', 'a\0b', '/srv/app/\0']) {
    assert.throws(() => startingPlace(silent, place, asked), { code: 'EINVAL' }, asked);
  }
});

test('where none is named it is where the workspace was opened', () => {
  assert.equal(startingPlace(silent, place, undefined), '/srv/app/src');
});
