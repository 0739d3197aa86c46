import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { networkSecretCharacters, networkSecretValues } from '../base/limits/network.js';
import { Redactor } from './redact.js';
import { hostSecrets } from './secret.js';
import { SecretSearch } from './secret-search.js';

const hiding = (texts: readonly string[]) => new Redactor(new SecretSearch(texts));

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
          const redactor = hiding([secret]);
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

  it('holds back as many bytes whatever they are, until it is asked for them', () => {
    for (const text of ['data: 1\n\nmore', 'data: tok-01', 'tok-0123456']) {
      const redactor = hiding(['tok-01234567']);
      assert.equal(redactor.push(Buffer.from(text)).length, Math.max(0, text.length - 11), text);
      assert.equal(redactor.flush().length, Math.min(text.length, 11), text);
    }
  });

  it('covers a part of eight bytes or more, also where a flush has cut it', () => {
    const secret = 'tok-0123456789abcdef';
    for (let from = 0; from < secret.length; from++) {
      for (let to = from + 1; to <= secret.length; to++) {
        const part = secret.slice(from, to);
        const shown = hiding([secret]).text(`<${part}>`);
        assert.equal(shown, part.length < 8 ? `<${part}>` : `<${'*'.repeat(part.length)}>`);
      }
    }
    for (let cut = 1; cut < secret.length; cut++) {
      const redactor = hiding([secret]);
      const first = `${redactor.push(Buffer.from(secret.slice(0, cut)))}${redactor.flush()}`;
      const rest = `${redactor.push(Buffer.from(secret.slice(cut)))}${redactor.finish()}`;
      assert.equal(first, cut < 8 ? secret.slice(0, cut) : '*'.repeat(cut));
      assert.equal(rest, '*'.repeat(secret.length - cut));
    }
  });

  it('gives pieces of the same size for any two secrets of one length', () => {
    const byte = fc.constantFrom(...Buffer.from('abct-01'));
    const secret = fc.array(byte, { minLength: 12, maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString());
    const step = fc.oneof(
      fc.array(byte, { maxLength: 30 }),
      fc.constant('flush' as const),
      fc.constant('echo' as const),
    );
    fc.assert(
      fc.property(secret, secret, fc.array(step, { maxLength: 12 }), (one, other, steps) => {
        const sizes = (own: string) => {
          const redactor = hiding([own]);
          const pieces = steps.map((each) => {
            if (each === 'flush') return redactor.flush();
            return redactor.push(Buffer.from(each === 'echo' ? own : each));
          });
          return [...pieces, redactor.finish()].map(({ length }) => length);
        };
        assert.deepEqual(sizes(one), sizes(other));
      }),
      seeded(500),
    );
  });
});

describe('a secret', () => {
  const value = 'Bearer tok-0123456789';

  it('is asked with no more when its host has sent back many different parts of it', () => {
    const held = hostSecrets([{ host: 'api.example', header: 'X-Key', value: 'tok-0123456789abcdef' }]).get(
      'api.example',
    );
    assert.ok(held !== undefined);
    const echo = (text: string) => held.redactor().text(text);
    for (let i = 0; i < 99; i++) echo('whole: tok-0123456789abcdef; beginning: tok-0123; none: tok-012x');
    held.checkParts();
    // One character at a time, as a jail would guess that sees where the stars are.
    assert.throws(() => {
      for (let known = 'tok-0123'; known.length < 20; known += '456789abcdef'[known.length - 8]) echo(known);
    }, /held more than 4 different parts of its secret/);
    assert.throws(() => held.checkParts(), { code: 'EACCES' });
    assert.ok(held.isHeader('x_KEY') && held.isHeader('X-Key') && !held.isHeader('XKey'));
  });

  it('counts parts of eight bytes, and neither the whole nor what is left beside it', () => {
    const letters = 'abcdefghijklmnopqrstuvwxyz';
    const held = hostSecrets([{ host: 'api.example', header: 'X-Key', value: letters }]).get('api.example');
    const echo = (text: string) => held?.redactor().text(`<${text}>`);
    echo(letters);
    for (let at = 0; at < 4; at++) for (const _time of [1, 2]) echo(letters.slice(at, at + 8));
    held?.checkParts();
    const guessing = /answers of api\.example held more than 4 different parts.*looks like guessing; no more requests/;
    assert.throws(() => echo(letters.slice(4, 12)), guessing);
  });

  it('counts a part wherever it is in a stream, also where that ends with it', () => {
    const letters = 'abcdefghijklmnopqrstuvwxyz';
    for (const [before, behind] of [
      ['', ''],
      ['', '.'],
      ['.', ''],
      ['.', '.'],
    ] as const)
      for (const size of [1, 5, 100]) {
        const held = hostSecrets([{ host: 'api.example', header: 'X-Key', value: letters }]).get('api.example');
        const echo = (part: string) => {
          const redactor = held?.redactor();
          const text = `${before}${part}${behind}`;
          for (let at = 0; at < text.length; at += size) redactor?.push(Buffer.from(text.slice(at, at + size)));
          redactor?.finish();
        };
        for (let at = 0; at < 4; at++) echo(letters.slice(at, at + 8));
        assert.throws(() => echo(letters.slice(4, 12)), { code: 'EACCES' }, `<${before}|${behind}> by ${size}`);
      }
  });

  it('is shown by nothing', async () => {
    const secrets = hostSecrets([{ host: 'API.example', header: 'Authorization', value }]);
    const held = secrets.get('api.example');
    assert.ok(held !== undefined);
    assert.deepEqual(await held.fields(), [['Authorization', value]]);
    for (const shown of [
      inspect(secrets, { depth: 9, showHidden: true }),
      JSON.stringify(held),
      JSON.stringify([...secrets]),
    ]) {
      assert.ok(!shown.includes('tok-'), shown);
    }
    assert.equal(held.redactor().text(`x ${value} y tok-0123456789`), `x ${'*'.repeat(21)} y ${'*'.repeat(14)}`);
  });

  it('is read for each request, and hidden in answers when it is not used any more', async () => {
    let now = 'tok-first-0123456';
    const held = hostSecrets([{ host: 'api.example', header: 'X-Key', value: async () => now }]).get('api.example');
    assert.ok(held !== undefined);
    assert.deepEqual(await held.fields(), [['X-Key', 'tok-first-0123456']]);
    now = 'tok-second-012345';
    assert.deepEqual(await held.fields(), [['X-Key', 'tok-second-012345']]);
    assert.equal(held.redactor().text('tok-first-0123456 tok-second-012345'), `${'*'.repeat(17)} ${'*'.repeat(17)}`);
    now = 'two\nlines';
    await assert.rejects(held.fields(), { code: 'EINVAL' });
  });

  it('is forgotten when many others have followed it, and not before', async () => {
    for (const headers of [['X-Key'], ['X-Key', 'Y-Key', 'Z-Key']]) {
      let number = 0;
      const next = async () => `token-${String(number++).padStart(8, '0')}`;
      const secrets = headers.map((header) => ({ host: 'api.example', header, value: next }));
      const held = hostSecrets(secrets).get('api.example');
      const isHidden = () => held?.redactor().text('token-00000000') === '*'.repeat(14);
      const most = networkSecretValues + headers.length;
      while (number + headers.length <= most) {
        await held?.fields();
        assert.ok(isHidden(), `${number} of ${most}`);
      }
      await held?.fields();
      assert.ok(!isHidden(), `${number} of ${most}`);
    }
  });

  it('may be of one character or as long as a header takes, at any port, in any header that frames nothing', () => {
    const good = { host: 'a.example', header: 'X', value };
    const refused = (more: object) => assert.throws(() => hostSecrets([{ ...good, ...more }]), { code: 'EINVAL' });
    for (const header of ['X-Host', 'Hosts', 'Te2', 'x-te', 'Not-Proxy-Y', 'a'.repeat(64)])
      hostSecrets([{ ...good, header }]);
    for (const header of ['te', 'TE', 'Proxy-Anything', 'proxy-', 'upgrade', 'a'.repeat(65), '', 'a_b'])
      refused({ header });
    for (const text of ['x', 'x y', 'x'.repeat(networkSecretCharacters)]) hostSecrets([{ ...good, value: text }]);
    for (const text of ['x ', ' x', 'x'.repeat(networkSecretCharacters + 1), 'x\x7f', '\u00e4'])
      refused({ value: text });
    for (const port of [1, 65_535]) assert.equal(hostSecrets([{ ...good, port }]).get('a.example')?.port, port);
    for (const port of [0, 65_536, 1.5, -1, Number.NaN]) refused({ port });
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
