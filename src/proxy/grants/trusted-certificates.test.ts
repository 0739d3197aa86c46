import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { certificatesBytes } from '../../base/limits/network.js';
import { storePaths } from '../../vault/store/layout.js';
import { certificatesIn, certificatesOf, noCertificates, withCertificatesOf } from './trusted-certificates.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-certificates-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const store = join(directory, 'store');
const kept = storePaths(store).certificates;

const block = (text: string, end = '\n') => `-----BEGIN CERTIFICATE-----${end}${text}${end}-----END CERTIFICATE-----`;
function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}
const [one, two] = [block('b25l'), block('dHdv')];
const named = [
  'SSL_CERT_FILE',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
];

describe('certificates of the person’s own', () => {
  it('are taken from each variable that programs know them by, and handed on as files of certificates alone', () => {
    assert.deepEqual(certificatesOf({}, store), noCertificates);
    assert.equal(existsSync(kept), false);
    const path = file(
      'company.pem',
      `# a comment\nkey = x\n${one}\n${two}\n-----BEGIN PRIVATE KEY-----\nYQ==\n-----END PRIVATE KEY-----\n`,
    );
    for (const [variable, inside] of [
      ...named.map((name) => [name, name] as const),
      ['NODE_EXTRA_CA_CERTS', 'NODE_EXTRA_CA_CERTS'],
      ['CTX_NODE_EXTRA_CA_CERTS', 'NODE_EXTRA_CA_CERTS'],
    ] as const) {
      const { trusted, shared, environment } = certificatesOf({ [variable]: path, OTHER: path }, store);
      assert.deepEqual([trusted, Object.keys(environment)], [[one, two], [inside]], variable);
      const [only, ...more] = shared;
      assert.deepEqual([only?.target, only?.access, more], [environment[inside], 'read only', []]);
      assert.match(only?.target ?? '', /^\/etc\/ssl\/ctx\/[0-9a-f]{16}\.pem$/);
      assert.equal(readFileSync(only?.source ?? '', 'utf8'), `${one}\n${two}\n`);
    }
    assert.deepEqual([readdirSync(kept).length, statSync(kept).mode & 0o777], [1, 0o700]);
    const [source = ''] = readdirSync(kept).map((name) => join(kept, name));
    writeFileSync(source, '');
    certificatesOf({ SSL_CERT_FILE: path }, store);
    assert.equal(readFileSync(source, 'utf8'), `${one}\n${two}\n`, 'a power cut had emptied it');
    chmodSync(source, 0o600);
    certificatesOf({ SSL_CERT_FILE: path }, store);
    assert.equal(statSync(source).mode & 0o777, 0o644, 'whoever a command is inside reads it');
  });

  it('are each trusted once, and each file is there once', () => {
    const [first, second, same] = [file('1.pem', one), file('2.pem', `${two}\n${one}\n`), file('3.pem', `${one}\nx`)];
    const { trusted, shared, environment } = certificatesOf(
      { SSL_CERT_FILE: first, PIP_CERT: second, CURL_CA_BUNDLE: same },
      store,
    );
    assert.deepEqual([[...trusted].sort(), shared.length], [[one, two].sort(), 2]);
    assert.equal(environment['SSL_CERT_FILE'], environment['CURL_CA_BUNDLE']);
    assert.notEqual(environment['SSL_CERT_FILE'], environment['PIP_CERT']);
    const { environment: preferred } = certificatesOf(
      { NODE_EXTRA_CA_CERTS: first, CTX_NODE_EXTRA_CA_CERTS: second },
      store,
    );
    assert.equal(preferred['NODE_EXTRA_CA_CERTS'], environment['SSL_CERT_FILE']);
    const { environment: empty } = certificatesOf({ NODE_EXTRA_CA_CERTS: '', CTX_NODE_EXTRA_CA_CERTS: second }, store);
    assert.equal(empty['NODE_EXTRA_CA_CERTS'], environment['PIP_CERT']);
  });

  it('that cannot be read are none: what is no file, holds none, or is too large; a pipe holds no one up', () => {
    const pipe = join(directory, 'pipe');
    spawnSync('mkfifo', [pipe]);
    const padded = (bytes: number) => file('large.pem', `${one}\n${'x'.repeat(bytes - one.length - 1)}`);
    for (const path of [pipe, directory, join(directory, 'none'), '/dev/zero', file('none.pem', 'x'), '']) {
      assert.deepEqual(certificatesOf({ SSL_CERT_FILE: path }, store), noCertificates, path);
    }
    assert.equal(certificatesOf({ SSL_CERT_FILE: padded(certificatesBytes) }, store).trusted.length, 1);
    assert.equal(certificatesOf({ SSL_CERT_FILE: padded(certificatesBytes + 1) }, store).trusted.length, 0);
  });

  it('are whole blocks of base64', () => {
    const lines = block(`${'A'.repeat(64)}\n${'B'.repeat(10)}=`);
    assert.deepEqual(certificatesIn(`${lines}x${block('YQ==', '\r\n')}`), [lines, block('YQ==', '\r\n')]);
    for (const text of ['', block(''), block('a b'), block('A'.repeat(77)), one.replace('END', 'ENDE')]) {
      assert.deepEqual(certificatesIn(text), [], text);
    }
  });
});

it('a kept jail’s commands have the variables of certificates as they were when it started, whatever their caller has', () => {
  const own = Object.fromEntries(
    ['NODE_EXTRA_CA_CERTS', 'CTX_NODE_EXTRA_CA_CERTS', ...named].map((name) => [name, `own ${name}`]),
  );
  const callers = Object.fromEntries(Object.keys(own).map((name) => [name, 'caller']));
  assert.deepEqual(withCertificatesOf({ ...callers, PATH: 'p' }, { ...own, PATH: 'other' }), { ...own, PATH: 'p' });
  const left = withCertificatesOf({ ...callers, PATH: 'p' }, {});
  assert.deepEqual(
    Object.entries(left).filter(([, value]) => value !== undefined),
    [['PATH', 'p']],
  );
});
