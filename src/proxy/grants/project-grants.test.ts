/** A project's defaults: which of them count, and what is left out here and why. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { ProjectDefaults } from '../../authority/project-file.js';
import { storePaths } from '../../vault/store/layout.js';
import { testHost } from '../host-fixture.js';
import { projectGrants } from './project-grants.js';
import { forgetConfirmed, projectAt, projectFileName, readProject, storeConfirmed } from './project-trust.js';
import { storeSecret } from './stored-secrets.js';

const { host, base, project } = testHost();
const none: ProjectDefaults = { network: [], reads: [], environment: [], secrets: [], quota: {} };
const nothing = { network: [], reads: [], environment: [], secrets: [], quota: {} };

/** A project whose file was confirmed. */
function confirmed(defaults: Partial<ProjectDefaults> = {}, text = '# defaults\n') {
  const origin = project({ [projectFileName]: text });
  const digest = readProject(origin)?.digest ?? assert.fail();
  storeConfirmed(host, origin, digest, { ...none, ...defaults });
  return { origin, digest, granted: () => projectGrants(host, origin) };
}

describe('the defaults of a project', () => {
  it('count where exactly these bytes were confirmed, for exactly this directory, and until that is taken back', () => {
    const { origin, digest } = confirmed({ network: ['a:443'], quota: { memory: 5 }, user: { uid: 7 } });
    const defaults = { ...none, network: ['a:443'], quota: { memory: 5 }, user: { uid: 7 } };
    assert.deepEqual(projectAt(host, origin), { kind: 'confirmed', digest, defaults });
    assert.deepEqual(projectGrants(host, origin), { digest, defaults, warnings: [] });
    const { trusted } = storePaths(host.store.directory);
    const [file = ''] = readdirSync(trusted);
    assert.deepEqual([statSync(trusted).mode & 0o777, statSync(join(trusted, file)).mode & 0o777], [0o700, 0o600]);
    writeFileSync(join(origin, projectFileName), '# other\n');
    const { kind, reason } = projectAt(host, origin) as { readonly kind: string; readonly reason?: string };
    assert.deepEqual([kind, /changed since/.test(reason ?? '')], ['unconfirmed', true]);
    writeFileSync(join(origin, projectFileName), '# defaults\n');
    assert.equal(projectAt(host, origin).kind, 'confirmed');
    renameSync(origin, `${origin}-before`);
    mkdirSync(join(origin, '.ctx'), { recursive: true });
    writeFileSync(join(origin, projectFileName), '# defaults\n');
    assert.match(JSON.stringify(projectAt(host, origin)), /another directory/);
    rmSync(origin, { recursive: true });
    renameSync(`${origin}-before`, origin);
    assert.deepEqual([forgetConfirmed(host, origin), forgetConfirmed(host, origin)], [true, false]);
    assert.match(JSON.stringify(projectAt(host, origin)), /not confirmed/);
  });

  it('are none where there is no file, and count for nothing where it is unfit, which is said', () => {
    const origin = project();
    assert.deepEqual([readProject(origin), projectAt(host, origin)], [undefined, { kind: 'none' }]);
    assert.deepEqual(projectGrants(host, origin), { digest: null, defaults: nothing, warnings: [] });
    const unconfirmed = project({ [projectFileName]: 'x' });
    const { digest, defaults, warnings } = projectGrants(host, unconfirmed);
    assert.deepEqual([digest, defaults, warnings.length], [null, nothing, 1]);
    assert.match(warnings[0] ?? '', /^skipped \.ctx\/project\.toml.*not confirmed; ctx trust/);
    for (const make of [
      (file: string) => symlinkSync('/etc/hostname', file),
      (file: string) => mkdirSync(file),
      (file: string) => writeFileSync(file, 'x'.repeat((1 << 20) + 1)),
    ]) {
      const odd = project({ '.ctx/x': '' });
      make(join(odd, projectFileName));
      assert.throws(() => readProject(odd));
      const state = projectAt(host, odd);
      assert.deepEqual([state.kind, 'digest' in state && state.digest], ['unconfirmed', null]);
      assert.equal(projectGrants(host, odd).warnings.length, 1);
    }
    const linked = project();
    symlinkSync(join(unconfirmed, '.ctx'), join(linked, '.ctx'));
    assert.throws(() => readProject(linked), { code: 'EINVAL' });
  });

  it('of an older format, or of another place, are to be confirmed again', () => {
    const { origin, digest } = confirmed();
    const { trusted } = storePaths(host.store.directory);
    const otherDevice = 0x7_0707n;
    const device = (number: bigint) => `${number}:${statSync(origin).ino}`;
    for (const [more, kind] of [
      [{}, 'confirmed'],
      [{ format: 1 }, 'unconfirmed'],
      [{ format: 3 }, 'unconfirmed'],
      [{ origin: base }, 'unconfirmed'],
      [{ digest: 'other' }, 'unconfirmed'],
      [{ identity: 'other' }, 'unconfirmed'],
      // Disks are numbered anew when the machine starts again; a record of before has no word of that.
      [{ identity: device(otherDevice) }, 'unconfirmed'],
      [{ identity: device(otherDevice), boot: 'another' }, 'confirmed'],
      [{ identity: device(otherDevice), boot: undefined }, 'confirmed'],
      [{ identity: `${device(otherDevice)}1`, boot: 'another' }, 'unconfirmed'],
    ] as const) {
      storeConfirmed(host, origin, digest, none);
      const own = readdirSync(trusted).map((name) => join(trusted, name));
      for (const path of own) {
        const text = JSON.parse(readFileSync(path, 'utf8')) as { readonly origin: string };
        if (text.origin === origin) writeFileSync(path, JSON.stringify({ ...text, ...more }), { mode: 0o600 });
      }
      assert.equal(projectAt(host, origin).kind, kind, JSON.stringify(more));
      if ('origin' in more) for (const path of own) rmSync(path);
    }
  });
});

describe('what of a project’s defaults is given here', () => {
  it('is each read that leads where it did when it was confirmed', () => {
    const [outside, elsewhere] = [project({ x: '' }), project({ x: '' })];
    const origin = project({ [projectFileName]: '', 'inner/x': '' });
    for (const [name, target] of [
      ['out', outside],
      ['in', 'inner'],
      ['moved', outside],
    ] as const) {
      symlinkSync(target, join(origin, name));
    }
    const reads = [
      { path: join(origin, 'out'), target: outside },
      { path: join(origin, 'in'), target: join(origin, 'inner') },
      { path: join(origin, 'moved'), target: elsewhere },
      { path: outside, target: outside },
      { path: join(base, 'missing'), target: join(base, 'missing') },
      { path: join(origin, 'circle'), target: join(origin, 'inner') },
    ];
    symlinkSync('circle', join(origin, 'circle'));
    storeConfirmed(host, origin, readProject(origin)?.digest ?? '', { ...none, reads });
    const { defaults, warnings } = projectGrants(host, origin);
    assert.deepEqual(defaults.reads, [reads[0], reads[1], reads[3]]);
    assert.equal(warnings.length, 3);
    assert.match(
      warnings.join('\n'),
      /^skipped reading .*moved .*it led to.*\nskipped reading .*missing .*: there is no such path\nskipped reading .*circle .*it led to/,
    );
  });

  it('is each secret that is stored, and each variable that is set', () => {
    for (const name of ['HERE', 'OPEN', 'DAMAGED']) storeSecret(host, name, { value: 'x' });
    chmodSync(join(storePaths(host.store.directory).secrets, 'OPEN.json'), 0o644);
    writeFileSync(join(storePaths(host.store.directory).secrets, 'DAMAGED.json'), '{');
    const secret = (template: string) => ({ host: 'h', port: 443, header: 'x', template });
    const { granted } = confirmed({
      secrets: [
        secret('Bearer $HERE'),
        secret('$HERE $MISSING'),
        secret('$MISSING'),
        secret('$OPEN'),
        secret('$DAMAGED'),
      ],
      environment: ['A=b', 'LANG', 'UNSET', 'constructor', 'EMPTY='],
    });
    const { defaults, warnings } = granted();
    assert.deepEqual([defaults.secrets, defaults.environment], [[secret('Bearer $HERE')], ['A=b', 'LANG', 'EMPTY=']]);
    assert.deepEqual(
      warnings.map((text) => /secret (\w+) of/.exec(text)?.[1]),
      ['MISSING', 'MISSING', 'OPEN', 'DAMAGED'],
    );
  });
});
