import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ErrnoError } from '../base/errno.js';
import { projectDefaults, projectSentences } from './project-file.js';

const links: Readonly<Record<string, string>> = {
  '/home/ann/src/shop/docs': '/home/ann/notes',
  '/home/ann/src/shop/all': '/home',
  '/home/ann/src/shop/system': '/proc/1',
  '/home/ann/src/shop/docker': '/opt/docker.sock',
  '/home/ann/src/shop/bus': '/run/user/1000',
  '/home/ann/src/shop/records': '/home/ann/.local/share/ctxfs/audit',
};
const place = {
  root: '/home/ann/src/shop',
  home: '/home/ann',
  hidden: ['/home/ann/.local/share/ctxfs'],
  leadsTo: (path: string) => links[path] ?? path,
  isSocket: (path: string) => path.endsWith('.sock'),
};
const parsed = (document: unknown) => projectDefaults(document, '.ctx/project.toml', place);

describe("a project's defaults", () => {
  it('are hosts, paths, variables, stored secrets and limits', () => {
    const defaults = parsed({
      hosts: ['Registry.npmjs.org', 'github.com:22', 'any'],
      reads: ['../api', '/opt/tools', '~/.cargo/registry'],
      environment: ['CI=1', 'ACTOR'],
      secrets: ['api.example Authorization: Bearer $TOKEN'],
      user: '1000:100',
      limits: { memory: '2G', processes: 50, cpus: 0.5 },
    });
    assert.deepEqual(defaults, {
      network: ['registry.npmjs.org:443', 'github.com:22', 'any'],
      reads: ['/home/ann/src/api', '/opt/tools', '/home/ann/.cargo/registry'].map((path) => ({ path, target: path })),
      environment: ['CI=1', 'ACTOR'],
      secrets: [{ host: 'api.example', port: 443, header: 'Authorization', template: 'Bearer $TOKEN' }],
      user: { uid: 1000, gid: 100 },
      quota: { memory: 2 ** 31, pids: 50, cpu: 0.5 },
    });
    const sentences = projectSentences(defaults);
    assert.equal(sentences.length, 13);
    assert.ok(sentences.includes('connect to any public host'));
    assert.ok(sentences.includes('have the value that your variable ACTOR has'));
    assert.ok(sentences.includes('use at most 2 GiB of memory'));
    assert.deepEqual(projectSentences(parsed({})), []);
    const linked = parsed({ reads: ['docs'] });
    assert.deepEqual(projectSentences(linked), ['read /home/ann/notes, where /home/ann/src/shop/docs leads']);
  });

  it('ask for nothing else, and not for too much', () => {
    for (const [document, reason] of [
      ...[null, undefined, [], 'x', 1].map((document) => [document, /expected a table/] as const),
      [{ writes: ['/'] }, /members hosts, reads/],
      [{ weaken: ['seccomp'] }, /members/],
      [{ private_hosts: ['127.0.0.1:22'] }, /members/],
      [{ reads: ['/'] }, /too much/],
      [{ reads: ['~'] }, /too much/],
      [{ reads: ['..'] }, /too much/],
      [{ reads: ['.'] }, /too much/],
      [{ reads: ['all'] }, /reads\[0\]: "all" asks for too much/],
      [{ reads: ['system'] }, /nothing of \/proc/],
      [{ reads: ['/sys/kernel'] }, /nothing of \/proc/],
      [{ reads: ['records'] }, /ctx keeps its own files there/],
      [{ reads: ['docker'] }, /reads\[0\]: "docker" asks for too much: .*sockets/],
      [{ reads: ['bus'] }, /sockets/],
      [{ reads: ['/run'] }, /sockets/],
      [{ reads: ['~/.local/share/ctxfs'] }, /ctx keeps its own files there/],
      [{ reads: 'x' }, /list of strings/],
      [{ reads: [1] }, /reads\[0\]/],
      [{ reads: ['a\nb'] }, /one line/],
      [{ hosts: ['a b'] }, /hosts\[0\]: expected host:port/],
      [{ environment: ['=x'] }, /NAME=VALUE/],
      [{ secrets: ['api.example X: literal'] }, /\$NAME/],
      [{ secrets: ['api.example X: $TOKEN\u202e'] }, /printable/],
      [{ secrets: ['api.example X: $TOKEN'] }, /hosts to name api\.example:443/],
      [{ hosts: ['api.example:8443'], secrets: ['api.example X: $TOKEN'] }, /hosts to name api\.example:443/],
      [{ hosts: ['any'], secrets: ['api.local X: $TOKEN'] }, /hosts to name api\.local:443/],
      [{ user: 1000 }, /"UID"/],
      [{ user: 'root' }, /"UID"/],
      [{ limits: { memory: 4 } }, /size such as/],
      [{ limits: { memory: '4X' } }, /limits\.memory: expected a size such as/],
      [{ limits: { processes: -1 } }, /limits\.processes: .*positive/],
      [{ limits: { processes: 2 } }, /limits\.processes: expected at least 3, got "2"/],
      [{ limits: { memory: '1023K' } }, /limits\.memory: expected at least 1 MiB, got "1023K"/],
      [{ limits: new Date(0) }, /limits: expected a table/],
      [{ limits: { time: 3 } }, /members memory/],
      [{ hosts: Array.from({ length: 65 }, () => 'a.example') }, /at most 64/],
      [[], /table/],
    ] as const) {
      assert.throws(() => parsed(document), { code: 'EINVAL', reason }, JSON.stringify(document));
    }
  });

  it('are read or refused, whatever they are', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('hosts', 'reads', 'limits', 'x'), fc.jsonValue()), (document) => {
        try {
          for (const { target } of parsed(document).reads)
            assert.ok(!place.home.startsWith(`${target}/`) && target !== '/');
        } catch (error) {
          assert.ok(error instanceof ErrnoError && error.code === 'EINVAL', String(error));
        }
      }),
    );
  });
});
