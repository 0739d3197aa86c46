import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { hasCode } from '../../base/errno.js';
import { commandEnvironment } from './environment.js';

const person = { uid: 1000, name: 'user', home: '/home/ada' };
const search = ['/usr/bin', '/bin'];
const made = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'CTX_JAIL'];
const presentation = ['TERM', 'COLORTERM', 'NO_COLOR', 'FORCE_COLOR', 'LANG', 'LANGUAGE', 'TZ', 'CI'];
const build = (inherited: Record<string, string | undefined>, additions: readonly string[] = []) =>
  commandEnvironment({ inherited, search, person, additions });

describe("the command's environment", () => {
  it('inherits how things look and nothing else, whatever the caller has', () => {
    const name = fc.oneof(
      fc.constantFrom(...presentation, ...made, 'LC_ALL', 'LD_PRELOAD', 'NODE_OPTIONS', 'SSH_AUTH_SOCK', 'AWS_SECRET'),
      fc.stringMatching(/^[A-Z_]{1,12}$/),
      fc.string({ minLength: 1 }),
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.string()), (inherited) => {
        const environment = build(inherited);
        for (const [key, value] of Object.entries(environment)) {
          if (made.includes(key)) continue;
          assert.ok(presentation.includes(key) || /^LC_[A-Z]+$/.test(key), key);
          assert.equal(value, inherited[key]);
        }
        assert.equal(environment['PATH'], '/usr/bin:/bin');
        assert.equal(environment['HOME'], '/home/ada');
        assert.deepEqual(
          made.filter((key) => !(key in environment)),
          [],
        );
      }),
      seeded(500),
    );
  });

  it('passes on what is named, by value or from the caller', () => {
    const environment = build({ TOKEN: 'secret', OTHER: 'x' }, ['TOKEN', 'A=b=c', 'EMPTY=']);
    assert.equal(environment['TOKEN'], 'secret');
    assert.equal(environment['A'], 'b=c');
    assert.equal(environment['EMPTY'], '');
    assert.equal('OTHER' in environment, false);
  });

  it('lets what is named win over what is made', () => {
    assert.equal(build({}, ['HOME=/x', 'HOME=/y'])['HOME'], '/y');
  });

  it('refuses a name that is none, and a variable the caller does not have', () => {
    for (const text of ['', '=x', '1A=x', 'A B=x', 'A-B', 'UNSET', 'toString', '__proto__', 'constructor']) {
      assert.throws(
        () => build({ A: 'x' }, [text]),
        (error) => hasCode(error, 'EINVAL'),
        text,
      );
    }
  });

  it('keeps a variable of any name apart from the object it stands in', () => {
    const environment = build({}, ['__proto__=x']);
    assert.deepEqual(Object.entries(environment).at(-1), ['__proto__', 'x']);
    assert.ok(Object.isFrozen(environment));
  });

  it('of an agent says where its objects are, then what its own file says, and last what was asked for', () => {
    const agent = { uid: 7, toolPath: ['/ctx/tool', '/x'], variables: { OWN: 'one', LANG: 'de', CTX_JAIL: '2' } };
    const inherited = { LANG: 'C', TERM: undefined, SECRET: 'x' };
    const asked = { inherited, search, person, agent, network: { HTTP_PROXY: 'p' }, git: { GIT_X: 'y' } };
    const plain = {
      ...{ LANG: 'de', PATH: '/usr/bin:/bin', HOME: '/home/ada', USER: 'user', LOGNAME: 'user', SHELL: '/bin/sh' },
      ...{ TMPDIR: '/tmp', CTX_JAIL: '2', HTTP_PROXY: 'p', GIT_X: 'y' },
      ...{ CTX_ROOT: '/ctx', CTX_HOME: '/ctx/home/7', CTX_PATH: '/ctx/tool:/x', OWN: 'one' },
    };
    assert.deepEqual({ ...commandEnvironment({ ...asked, additions: [] }) }, plain);
    const given = commandEnvironment({
      ...asked,
      agent: { ...agent, home: '/h' },
      additions: ['OWN=two', 'SECRET', 'A='],
    });
    assert.deepEqual({ ...given }, { ...plain, HOME: '/h', OWN: 'two', SECRET: 'x', A: '' });
  });

  it('keeps the tar of root from giving files away', () => {
    assert.equal('TAR_OPTIONS' in build({}), false);
    const root = commandEnvironment({ inherited: {}, search, person: { ...person, uid: 0 }, additions: [] });
    assert.equal(root['TAR_OPTIONS'], '--no-same-owner');
  });
});
