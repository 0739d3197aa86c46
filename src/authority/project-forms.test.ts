/** Each member of a project's defaults alone: every form that it may have, and its neighbours that it may not. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { projectEntries } from '../base/limits/objects.js';
import { type ProjectDefaults, projectDefaults, projectSentences } from './project-file.js';

const place = {
  root: '/home/ann/shop',
  home: '/home/ann',
  hidden: ['/home/ann/.local/share/ctxfs'],
  leadsTo: (path: string) => path,
  isSocket: () => false,
};
const parsed = (document: unknown): ProjectDefaults => projectDefaults(document, 'file', place);
const refuses = (document: unknown) =>
  assert.throws(() => parsed(document), { code: 'EINVAL' }, JSON.stringify(document));

const lists = ['hosts', 'reads', 'environment', 'secrets'] as const;
/** A secret is for a host that is granted. */
const granted = (name: string) => (name === 'secrets' ? { hosts: ['a.org', 'a.org:8443'] } : {});
const entry = { hosts: 'a.org', reads: '/opt/a', environment: 'A=1', secrets: 'a.org X: $Y' };

describe('a member of a project’s defaults', () => {
  it('is a list of lines, as many as may be, and may be left out', () => {
    assert.deepEqual(parsed({}), { network: [], reads: [], environment: [], secrets: [], quota: {} });
    for (const name of lists) {
      const full = Array.from({ length: projectEntries }, () => entry[name]);
      const members = { network: 'hosts', reads: 'reads', environment: 'environment', secrets: 'secrets' } as const;
      const found = Object.entries(members).find(([, given]) => given === name)?.[0] as keyof typeof members;
      assert.equal(parsed({ ...granted(name), [name]: full })[found].length, projectEntries, name);
      refuses({ ...granted(name), [name]: [...full, entry[name]] });
      for (const bad of [null, 7, entry[name], { 0: entry[name] }, [7], [null], [''], [[entry[name]]]])
        refuses({ ...granted(name), [name]: bad });
      for (const code of [0, 1, 9, 10, 13, 31, 127])
        refuses({ ...granted(name), [name]: [`${entry[name]}${String.fromCharCode(code)}x`] });
    }
  });

  it('that is a host has its port, or that of HTTPS', () => {
    assert.deepEqual(parsed({ hosts: ['A.org', 'a.org:8443', 'a1.org', '[2600::1]:22', 'any'] }).network, [
      'a.org:443',
      'a.org:8443',
      'a1.org:443',
      '[2600::1]:22',
      'any',
    ]);
    for (const bad of [
      'a.org:',
      'a.org:0',
      'a.org:65536',
      'a.org:22:',
      'any:443x',
      '*',
      '*.org',
      'http://a.org',
      'a.org:22/x',
    ])
      refuses({ hosts: [bad] });
  });

  it('that is a path leads below the home, the project or elsewhere, and never to all of it', () => {
    const read = (path: string) => parsed({ reads: [path] }).reads[0]?.path;
    assert.equal(read('a'), '/home/ann/shop/a');
    assert.equal(read('../other'), '/home/ann/other');
    assert.equal(read('~/x'), '/home/ann/x');
    assert.equal(read('~x'), '/home/ann/shop/~x');
    assert.equal(read('/devices'), '/devices');
    for (const bad of [
      '~',
      '~/',
      '~/..',
      '/',
      '/home',
      '../..',
      '.',
      '/proc',
      '/sys/x',
      '/dev/null',
      '/home/ann/shop/',
    ])
      refuses({ reads: [bad] });
  });

  it('that is a variable has a name, and perhaps a value', () => {
    const good = ['A', '_a1=', 'A=b=c', 'PATH=/x y'];
    assert.deepEqual(parsed({ environment: good }).environment, good);
    for (const bad of ['1A', 'A B', '=x', 'A-B=1', ' A', 'A ']) refuses({ environment: [bad] });
  });

  it('that is a secret has a host, a header and the name of a stored secret in its value', () => {
    const read = (text: string) => parsed({ ...granted('secrets'), secrets: [text] }).secrets[0];
    const secret = { host: 'a.org', port: 443, header: 'X-Y1', template: 'Bearer $Z' };
    assert.deepEqual(read('A.org X-Y1: Bearer $Z'), secret);
    assert.deepEqual(read('a.org:8443  X-Y1:Bearer $Z'), { ...secret, port: 8443 });
    assert.deepEqual(read('a.org X-Y1: $Z'), { ...secret, template: '$Z' });
    for (const bad of [
      'a.org',
      'a.org X',
      'a.org X:',
      'a.org X: ',
      'X: $Z',
      'a.org X Y: $Z',
      'a.org X_Y: $Z',
      'a.org X: $',
      'a.org X: $ Z',
    ])
      refuses({ ...granted('secrets'), secrets: [bad] });
    for (const bad of ['a b X: $Z', '* X: $Z', 'a.org:0 X: $Z']) refuses({ ...granted('secrets'), secrets: [bad] });
    refuses({ hosts: ['a.org:22', 'b.org'], secrets: ['a.org X: $Y'] });
    assert.equal(parsed({ hosts: ['any'], secrets: ['a.org X: $Y'] }).secrets.length, 1);
  });

  it('that is a user is one or two numbers', () => {
    assert.deepEqual(parsed({ user: '7' }).user, { uid: 7 });
    assert.deepEqual(parsed({ user: '7:8' }).user, { uid: 7, gid: 8 });
    assert.deepEqual(parsed({ user: '4294967294:0' }).user, { uid: 4_294_967_294, gid: 0 });
    for (const bad of [
      '',
      'root',
      '7:',
      ':7',
      '7:8:9',
      'x7',
      '7x',
      '7:8x',
      '-7',
      ' 7',
      '7 ',
      '12345678901',
      '7:12345678901',
      7,
      null,
      ['7'],
    ])
      refuses({ user: bad });
  });

  it('that is a limit is a size or a number, each alone', () => {
    const limits: Readonly<
      Record<string, readonly [name: string, value: unknown, is: number, bad: readonly unknown[]]>
    > = {
      memory: ['memory', '2G', 2 ** 31, [2, '', '2X', null]],
      disk: ['disk', '512M', 2 ** 29, [2, '', '-1M', true]],
      processes: ['pids', 7, 7, ['7', 0, -1, 1.5, null]],
      files: ['inodes', 8, 8, ['8', 0, 1.5, []]],
      cpus: ['cpu', 0.5, 0.5, ['1', 0, -1, {}]],
    };
    for (const [word, [name, value, is, bad]] of Object.entries(limits)) {
      assert.deepEqual(parsed({ limits: { [word]: value } }).quota, { [name]: is }, word);
      for (const each of bad) refuses({ limits: { [word]: each } });
    }
    const all = Object.fromEntries(Object.entries(limits).map(([word, [, value]]) => [word, value]));
    assert.deepEqual(parsed({ limits: all }).quota, { memory: 2 ** 31, disk: 2 ** 29, pids: 7, inodes: 8, cpu: 0.5 });
    for (const bad of [[], 'x', null, { time: 1 }]) if (bad !== null) refuses({ limits: bad });
  });
});

describe('the sentences of a project’s defaults', () => {
  it('say each of them, with all that a person has to know to confirm it', () => {
    const said = (document: unknown) => projectSentences(parsed(document));
    assert.deepEqual(said({ hosts: ['any', 'a.org:22'] }), ['connect to any public host', 'connect to a.org:22']);
    assert.deepEqual(said({ reads: ['a'] }), ['read /home/ann/shop/a']);
    const linked = projectDefaults({ reads: ['a'] }, 'file', { ...place, leadsTo: () => '/opt/b' });
    assert.deepEqual(projectSentences(linked), ['read /opt/b, where /home/ann/shop/a leads']);
    assert.deepEqual(said({ environment: ['A=1', 'B'] }), [
      'have the variable A=1',
      'have the value that your variable B has',
    ]);
    assert.deepEqual(said({ hosts: ['a.org:8443'], secrets: ['a.org:8443 X: Bearer $Y'] }), [
      'connect to a.org:8443',
      'have the header X: Bearer $Y added to its requests to a.org:8443, from your stored secrets',
    ]);
    assert.deepEqual(said({ user: '7' }), ['be uid 7 and gid 7 inside its jail']);
    assert.deepEqual(said({ user: '7:8' }), ['be uid 7 and gid 8 inside its jail']);
    const limits = { memory: '2G', disk: '1M', processes: 5, files: 6, cpus: 0.5 };
    assert.deepEqual([...said({ limits })].sort(), [
      'have at most 5 processes and threads at one time',
      'hold at most 1 MiB in the fork and its private home',
      'hold at most 6 files, directories and links',
      'use at most 0.5 processors',
      'use at most 2 GiB of memory',
    ]);
  });
});
