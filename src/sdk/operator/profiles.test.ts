import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { test } from 'node:test';
import { builtInProfiles, needsOf } from './profiles.js';

test('every grant of a profile is well-formed and says why', () => {
  const forms = {
    hosts: /^[a-z0-9-]+(\.[a-z0-9-]+)+$/,
    reads: /^~\/\.[^/]/,
    environment: /^[A-Z_]+$/,
    variables: /^[A-Z_]+=/,
    copies: /^\.[^/.]/,
  } as const;
  for (const profile of builtInProfiles) {
    for (const [list, form] of Object.entries(forms) as [keyof typeof forms, RegExp][]) {
      for (const { what, why } of profile[list]) {
        assert.match(what, form, profile.name);
        assert.ok(!what.split('/').includes('..') && why !== '', what);
      }
    }
  }
});

test('a key that stays outside is one of the profile, for one of its hosts, and nothing of it is given instead', () => {
  for (const { environment, hosts, keys = [] } of builtInProfiles) {
    for (const { variable, host, variables } of keys) {
      assert.ok(environment.some(({ what, secret }) => what === variable && secret === true));
      assert.ok(hosts.some(({ what }) => what === host));
      for (const each of variables) assert.match(each, /^[A-Z_]+=(?:held-outside|http:\/\/[a-z.]+)$/);
    }
  }
});

test('no sign-in, key or setting is given without leave', () => {
  for (const profile of builtInProfiles) {
    const { environment, copies } = needsOf(profile, false);
    // By the file's own name: `.config` is where instructions are, too.
    for (const { what } of [...environment, ...copies])
      assert.doesNotMatch(basename(what), /KEY|TOKEN|auth|cred|settings|config|\.json$/);
  }
});
