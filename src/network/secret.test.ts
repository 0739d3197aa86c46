import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { Redactor } from './redact.js';
import { hostSecrets } from './secret.js';

describe('hiding a text in a stream', () => {
  it('works wherever the stream is cut, and changes no length', () => {
    const noise = fc.constantFrom('a', 'b', 'ab', 'aba', 'hunter2', 'xyz');
    fc.assert(
      fc.property(
        fc.array(noise),
        fc.constantFrom('hunter2', 'abab', 'aab'),
        fc.integer({ min: 1, max: 5 }),
        (words, secret, size) => {
          const text = words.join('');
          const redactor = new Redactor([secret]);
          let out = '';
          for (let at = 0; at < text.length; at += size)
            out += redactor.push(Buffer.from(text.slice(at, at + size))).toString();
          out += redactor.finish().toString();
          assert.equal(out.length, text.length);
          assert.ok(!out.includes(secret), out);
          if (!text.includes(secret)) assert.equal(out, text);
        },
      ),
      seeded(500),
    );
  });

  it('holds back only what may be a beginning', () => {
    const redactor = new Redactor(['secret']);
    assert.equal(redactor.push(Buffer.from('data: 1\n\n')).toString(), 'data: 1\n\n');
    assert.equal(redactor.push(Buffer.from('a se')).toString(), 'a ');
    assert.equal(redactor.push(Buffer.from('cond')).toString(), 'second');
  });
});

describe('a secret', () => {
  const value = 'Bearer tok-0123456789';

  it('is shown by nothing', () => {
    const secrets = hostSecrets([{ host: 'API.example', header: 'Authorization', value }]);
    const held = secrets.get('api.example');
    assert.ok(held !== undefined);
    assert.deepEqual(held.fields(), [['Authorization', value]]);
    for (const shown of [
      inspect(secrets, { depth: 9, showHidden: true }),
      JSON.stringify(held),
      JSON.stringify([...secrets]),
    ]) {
      assert.ok(!shown.includes('tok-'), shown);
    }
    assert.equal(held.redactor().text(`x ${value} y tok-0123456789`), `x ${'*'.repeat(21)} y ${'*'.repeat(14)}`);
  });

  it('is refused where it could change a message, without being shown', () => {
    for (const bad of [
      { host: 'a.example', header: 'Host', value },
      { host: 'a.example', header: 'Transfer-Encoding', value },
      { host: 'a.example', header: 'X: y', value },
      { host: 'a.example', header: 'X', value: `${value}\r\nY: z` },
      { host: 'a.example', header: 'X', value: '' },
      { host: 'a.example', header: 'X', value: ` ${value}` },
      { host: '*.example', header: 'X', value },
      { host: 'a.example', header: 'X', value, port: 0 },
    ]) {
      assert.throws(
        () => hostSecrets([bad]),
        (error: Error & { code?: string }) => error.code === 'EINVAL' && !inspect(error).includes('tok-'),
      );
    }
    const twice = { host: 'a.example', header: 'x-key', value };
    assert.throws(() => hostSecrets([twice, { ...twice, header: 'X-Key' }]), { code: 'EINVAL' });
    assert.throws(() => hostSecrets([twice, { ...twice, header: 'Y', port: 8443 }]), { code: 'EINVAL' });
  });
});
