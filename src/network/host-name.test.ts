import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { parseHostPort } from '../authority/network.js';
import { ErrnoError } from '../base/errno.js';
import { hostText, literalAddress, parseHost, parseTarget } from './host-name.js';

const refused = (text: string) => assert.throws(() => parseHost(text), { code: 'EINVAL' }, JSON.stringify(text));

describe('a host name', () => {
  it('has one form', () => {
    const forms: readonly (readonly [string, string])[] = [
      ['Registry.NPMJS.org', 'registry.npmjs.org'],
      ['example.org.', 'example.org'],
      ['b\u00fccher.example', 'xn--bcher-kva.example'],
      ['B\u00dcCHER.example', 'xn--bcher-kva.example'],
      ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
      ['_dmarc.example.org', '_dmarc.example.org'],
      ['127.0.0.1', '127.0.0.1'],
      ['[::1]', '[::1]'],
      ['[0:0:0:0:0:0:0:1]', '[::1]'],
      ['[::FFFF:127.0.0.1]', '[::ffff:7f00:1]'],
      ['1.2.3.4.example', '1.2.3.4.example'],
    ];
    for (const [text, form] of forms) assert.equal(parseHost(text), form, text);
  });

  it('is as long as a name may be, in ASCII, and ends in what is no number', () => {
    for (const text of ['h2', 'a.b2', 'a.1a', 'a.0xyz', 'x.0x7g', 'abc.2b']) assert.equal(parseHost(text), text);
    for (const text of ['a.2', 'a.0x', 'a.0x7f', '2']) refused(text);
    const longest = `${'abcdefg.'.repeat(31)}abcde`;
    assert.equal(longest.length, 253);
    assert.equal(parseHost(longest), longest);
    assert.equal(parseHost(`${longest}.`), longest);
    refused(`${longest}f`);
    // Short as it is written, and longer than a name as a resolver is asked for it.
    const label = `\u00fc${'a'.repeat(50)}`;
    const written = `${`${label}.`.repeat(4)}${'a'.repeat(20)}`;
    assert.ok(written.length < 253 && parseHost(label).length < 64);
    refused(written);
  });

  it('may not hide anything: NUL, controls, blanks, escapes, user names', () => {
    for (const text of [
      'example.org\0.evil.example',
      'example.org\r\nX: y',
      'exam ple.org',
      '\texample.org',
      'example.org%00',
      'example%2eorg',
      'user@example.org',
      'user:password@example.org',
      'example.org/path',
      'example.org?x',
      'example.org#x',
      'example.org\\x',
      'example.org:80',
      '*.example.org',
      '',
      '.',
      '..',
      '.example.org',
      'example..org',
      'example.org..',
      '-example.org',
      'example-.org',
      `${'a'.repeat(64)}.org`,
      `${'abcdefg.'.repeat(32)}org`,
      'exam\u200bple.org',
      'exam\u202eple.org',
      '\ufeffexample.org',
    ]) {
      refused(text);
    }
  });

  it('may not look like another by its characters', () => {
    for (const text of [
      '\uff45xample.org', // full-width e
      '\uff11\uff12\uff17.0.0.1', // full-width digits
      '127\u30020\u30020\u30021', // ideographic dots
      'example\uff0eorg',
      '\u212aelvin.org', // the Kelvin sign
      'example.\u2488', // 1.
      'e\u0301xample.org', // not composed
      'xn--a.org',
      'xn--.org',
      '\u2460.org',
    ]) {
      refused(text);
    }
  });

  it('is no IPv4 address in an odd form', () => {
    for (const text of [
      '127.1',
      '127.0.1',
      '2130706433',
      '0x7f000001',
      '0x7f.0.0.1',
      '0177.0.0.1',
      '127.0.0.01',
      '00000127.0.0.1',
      '256.0.0.1',
      '1.2.3.4.5',
      '127.0.0.1.5',
      'example.0x7f',
      'example.1',
      '0x',
    ]) {
      refused(text);
    }
  });

  it('is no IPv6 address with a zone, out of brackets, or half in them', () => {
    for (const text of [
      '[fe80::1%eth0]',
      '[fe80::1%25eth0]',
      '::1',
      '[::1',
      '[::1]x',
      '[]',
      '[1.2.3.4]',
      '[::g]',
      '[::1]]',
    ]) {
      refused(text);
    }
  });

  it('of bytes has to be UTF-8', () => {
    assert.equal(hostText(Buffer.from('b\u00fccher')), 'b\u00fccher');
    for (const hex of ['ff', 'c0ae', 'eda080', 'c3']) {
      assert.throws(() => hostText(Buffer.from(hex, 'hex')), { code: 'EINVAL' }, hex);
    }
  });

  it('is either refused or in a form that a grant has too', () => {
    const part = fc.oneof(
      fc.constantFrom(
        'example',
        'org',
        '.',
        '..',
        '[',
        ']',
        ':',
        '::',
        '0x7f',
        '127',
        '1',
        '%',
        '@',
        '\0',
        '\uff0e',
        'xn--',
        '-',
      ),
      fc.string({ unit: 'binary', maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        let host: string;
        try {
          host = parseHost(parts.join(''));
        } catch (error) {
          assert.ok(error instanceof ErrnoError && error.code === 'EINVAL', String(error));
          return;
        }
        assert.equal(parseHost(host), host);
        assert.equal(parseHostPort(`${host}:443`), `${host}:443`);
      }),
      seeded(1000),
    );
  });
});

describe('a target', () => {
  it('is a host and a port', () => {
    assert.deepEqual(parseTarget('Example.org:443'), { host: 'example.org', port: 443 });
    assert.deepEqual(parseTarget('[::1]:80'), { host: '[::1]', port: 80 });
    for (const port of [1, 65_535]) assert.deepEqual(parseTarget(`a.example:${port}`), { host: 'a.example', port });
    assert.deepEqual(parseTarget('example.org', 80), { host: 'example.org', port: 80 });
    assert.equal(literalAddress('[::1]'), '::1');
    assert.equal(literalAddress('10.0.0.1'), '10.0.0.1');
    assert.equal(literalAddress('example.org'), undefined);
  });

  it('has no odd port and no user', () => {
    for (const text of [
      'a.org',
      'a.org:',
      'a.org:0',
      'a.org:080',
      'a.org:65536',
      'a.org:-1',
      'a.org:+1',
      'a.org:1:2',
    ]) {
      assert.throws(() => parseTarget(text), { code: 'EINVAL' }, text);
    }
    for (const text of [
      'a.org:80@b.org:80',
      'a@b.org:80',
      '::1:80',
      'a.org:80 ',
      'a.org: 80',
      'a.org:0x50',
      'a.org:\uff18\uff10',
    ]) {
      assert.throws(() => parseTarget(text), { code: 'EINVAL' }, text);
    }
  });
});
