/** The text formats: what prints parses back the same, and any text at all is a clean parse or a clean refusal. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isNormalPath } from '../../src/authority/absolute-path.js';
import { parseLabel, printLabel } from '../../src/authority/label.js';
import { parseLineage, printLineage } from '../../src/authority/lineage.js';
import { type Mount, makeMount, parseMounts, printMounts } from '../../src/authority/mount.js';
import { isObjectName } from '../../src/authority/name.js';
import { type Grant, objectClasses, permissionTable } from '../../src/authority/permission.js';
import { makePolicy, parsePolicy, printPolicy } from '../../src/authority/policy.js';
import { parseWorkspace } from '../../src/authority/workspace-file.js';
import { ErrnoError } from '../../src/base/errno.js';
import { seeded } from './seeded.js';

const name = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._+-]{0,20}$/).filter(isObjectName);
const type = fc.stringMatching(/^[a-zA-Z][a-zA-Z0-9_.-]{0,20}$/);
const rule: fc.Arbitrary<Grant & { readonly subject: string }> = fc
  .tuple(type, fc.constantFrom(...objectClasses), name, name, fc.nat())
  .map(([subject, objectClass, first, second, choice]) => {
    const permissions = permissionTable[objectClass];
    const permission = permissions[choice % permissions.length] ?? permissions[0];
    const names = { network: 'default', model: `${first}/${second}` };
    const objectName = objectClass === 'network' || objectClass === 'model' ? names[objectClass] : first;
    return { subject, class: objectClass, name: objectName, permission };
  });

const component = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
const path = fc
  .array(component, { maxLength: 5 })
  .map((components) => `/${components.join('/')}`)
  .filter((text) => isNormalPath(text) && !/[\t\n]/.test(text));
const mount: fc.Arbitrary<Mount> = fc
  .record({
    source: path,
    target: path,
    mode: fc.constantFrom('ro', 'rw'),
    options: fc.subarray(['nosuid', 'nodev', 'noexec']),
    recursion: fc.constantFrom([], ['bind'], ['rbind']),
  })
  .map(({ recursion, options, ...rest }) => makeMount({ ...rest, options: [...options, ...recursion] }));

/** Text near a format: its own words, the characters that matter to it, and anything else. */
function near(words: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...words) },
    {
      weight: 2,
      arbitrary: fc.constantFrom(' ', '\t', '\n', '\r', '\0', ':', '/', '#', ',', '-', '*', '$', '..', '.'),
    },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 5 }) },
  );
  return fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(''));
}

/** True where it parsed; a refusal must be EINVAL and name a place that is in the text. */
function parsesCleanly(text: string, parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    assert.ok(error instanceof ErrnoError, String(error));
    assert.equal(error.code, 'EINVAL');
    const place = /^file:(\d+):(\d+): .*expected /s.exec(error.reason);
    assert.ok(place, error.reason);
    const line = text.split('\n')[Number(place[1]) - 1];
    assert.ok(line !== undefined && Number(place[2]) >= 1 && Number(place[2]) <= line.length + 1, error.reason);
    assert.doesNotMatch(error.message, /[\u0000-\u001f\u007f-\u009f]/);
    return false;
  }
}

describe('texts', () => {
  it('of a policy print and parse back to the same rules', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 30 }), (rules) => {
        const policy = makePolicy('file', rules);
        const text = printPolicy(policy);
        const again = parsePolicy(text, 'file');
        assert.equal(printPolicy(again), text);
        for (const each of rules) {
          assert.ok(again.allows(each.subject, each.class, each.name, each.permission));
        }
      }),
      seeded(500),
    );
  });

  it('of mounts print and parse back to the same mounts', () => {
    fc.assert(
      fc.property(fc.uniqueArray(mount, { maxLength: 20, selector: ({ target }) => target }), (mounts) => {
        assert.deepEqual(parseMounts(printMounts(mounts), 'file'), mounts);
      }),
      seeded(500),
    );
  });

  it('of labels and lineage print and parse back', () => {
    fc.assert(
      fc.property(type, type, type, fc.nat({ max: 15 }), name, name, name, fc.nat({ max: 2 }), (...values) => {
        const [user, role, subject, level, agent, session, run, depth] = values;
        const label = { user, role, type: subject, level };
        assert.deepEqual(parseLabel(printLabel(label)), label);
        const lineage = { agent, ...(depth > 0 ? { session } : {}), ...(depth > 1 ? { run } : {}) };
        assert.deepEqual(parseLineage(printLineage(lineage)), lineage);
      }),
      seeded(500),
    );
  });

  it('near a policy parse or are refused with their place', () => {
    const words = [
      'allow ',
      'allow coder_t tool:fs.read execute\n',
      'coder_t ',
      'tool:',
      'model:a/b ',
      'use',
      'read\n',
    ];
    let parsed = 0;
    fc.assert(
      fc.property(near([...words, 'network:default connect', 'deny ', 'execute']), (text) => {
        if (parsesCleanly(text, () => printPolicy(parsePolicy(text, 'file')))) parsed += 1;
      }),
      seeded(20_000),
    );
    assert.ok(parsed > 50, `only ${parsed} parsed`);
  });

  it('near a mount file parse or are refused with their place', () => {
    const words = [
      '/a\t/b\tro\t-\n',
      '/c\t/d\trw\trbind,nosuid\n',
      '/x',
      '\t',
      'ro',
      'rw',
      'bind',
      'rbind,',
      'nodev',
      '\n',
    ];
    let parsed = 0;
    fc.assert(
      fc.property(near(words), (text) => {
        if (parsesCleanly(text, () => printMounts(parseMounts(text, 'file')))) parsed += 1;
      }),
      seeded(20_000),
    );
    assert.ok(parsed > 50, `only ${parsed} parsed`);
  });

  it('near a workspace file parse or are refused, and never reach beyond the neighbours', () => {
    const piece = fc.oneof(fc.constantFrom('.', '..', 'a', '.ssh', '', '/', '../x'), component);
    const text = fc.oneof(
      fc.json(),
      fc
        .array(piece, { maxLength: 4 })
        .map((pieces) => JSON.stringify({ version: 0, repositories: [{ path: pieces.join('/') }] })),
    );
    fc.assert(
      fc.property(text, (value) => {
        parsesCleanly(value, () => {
          for (const { path: found } of parseWorkspace(value, 'file', '/home/me/app').repositories) {
            assert.match(found, /^\/home\/me\/(?:app(?:\/|$)|[^./][^/]*$)/su);
            assert.doesNotMatch(found, /\/\./);
          }
        });
      }),
      seeded(5_000),
    );
  });
});
