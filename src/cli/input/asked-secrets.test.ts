import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ErrnoError } from '../../base/errno.js';
import { parseSecret } from './asked-secrets.js';

const environment = { TOKEN: 'tok-1', OTHER: 'x$TOKEN', EMPTY: '' };

describe('--secret', () => {
  it('names a host, a header and variables of whoever calls', () => {
    assert.deepEqual(parseSecret('api.example Authorization: Bearer $TOKEN', environment), {
      host: 'api.example',
      port: 443,
      header: 'Authorization',
      value: 'Bearer tok-1',
    });
    assert.equal(parseSecret('api.example:8443 X-Key:$TOKEN', environment).port, 8443);
    assert.equal(parseSecret('a.example X: $TOKEN-$TOKEN', environment).value, 'tok-1-tok-1');
    assert.equal(parseSecret('a.example X: $OTHER', environment).value, 'x$TOKEN', 'a value names nothing itself');
  });

  it('is no place for the value itself', () => {
    for (const text of [
      '',
      'api.example',
      'api.example X',
      'X: $TOKEN',
      'api.example X: ',
      'api.example X Y: $TOKEN',
    ]) {
      assert.throws(() => parseSecret(text, environment), { code: 'EINVAL' }, text);
    }
    assert.throws(() => parseSecret('api.example X: tok-1', environment), /variable/);
  });

  it('names stored secrets where no variable of that name is set', () => {
    assert.deepEqual(parseSecret('api.example X: Bearer $EMPTY', environment), {
      host: 'api.example',
      port: 443,
      header: 'X',
      template: 'Bearer $EMPTY',
    });
    assert.equal(parseSecret('api.example X: $ONE-$TWO', environment).template, '$ONE-$TWO');
    for (const name of ['constructor', 'toString', '__proto__']) {
      assert.equal(parseSecret(`api.example X: $${name}`, environment).template, `$${name}`);
    }
    assert.throws(() => parseSecret('api.example X: $TOKEN-$STORED', environment), /got both/);
  });

  it('is read or refused, whatever it is', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          const { value, template } = parseSecret(text, environment);
          assert.ok(template?.includes('$') ?? value?.includes('tok-1'));
        } catch (error) {
          assert.ok(error instanceof ErrnoError && error.code === 'EINVAL');
          assert.ok(!error.message.includes('tok-1'));
        }
      }),
    );
  });
});
