import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { ErrnoError, hasCode } from '../base/errno.js';
import { heldOf, outcomeOf, type Report, refusalOf, splitReports } from './report.js';

const { E2BIG, EACCES, EAGAIN, EDQUOT, EINVAL, ELOOP, EMFILE, ENOENT, ENOSPC, ENOTDIR, EPERM, ESTALE } =
  constants.errno;
const report = (what: string, rest = '', id = 0): Report => ({ id, what, rest });
const failed = (name: string, errno: number, what = '/some path') => report('failed', `7 ${name} ${errno} ${what}`);

describe('the lines of a jail', () => {
  it('are the same however they are cut', () => {
    const line = fc.tuple(
      fc.nat({ max: 9999 }),
      fc.stringMatching(/^[a-z-]{1,9}$/),
      fc.stringMatching(/^[^\0]{0,20}$/).filter((rest) => !rest.startsWith(' ')),
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 6 }), fc.array(fc.nat({ max: 200 })), (lines, cuts) => {
        const text = lines.map(([id, what, rest]) => `${id} ${what}${rest === '' ? '' : ` ${rest}`}\0`).join('');
        const places = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
        let left = '';
        const found: Report[] = [];
        for (const [index, from] of places.entries()) {
          const split = splitReports(left + text.slice(from, places[index + 1] ?? text.length));
          found.push(...split.reports);
          left = split.left;
        }
        assert.equal(left, '');
        assert.deepEqual(
          found,
          lines.map(([id, what, rest]) => ({ id, what, rest })),
        );
      }),
      seeded(200),
    );
    assert.deepEqual(splitReports('3 exi'), { reports: [], left: '3 exi' });
    assert.deepEqual(splitReports('odd\0').reports, [{ id: 0, what: '', rest: '' }]);
  });
});

describe('why a jail was refused', () => {
  const of = (name: string, errno: number, what?: string) => {
    const { code, path, operation, remedy } = refusalOf(failed(name, errno, what));
    return { code, path, operation, remedy: remedy?.split(':')[0]?.slice(0, 44) };
  };

  it('is said of each step, with what a person can do', () => {
    const at = (name: string) => ({ path: '/some path', operation: `jail ${name}` });
    const remedies = {
      namespaces: 'this host does not let you make namespaces; ',
      'map-self': 'this host does not let you use user namespac',
      overlay: 'the store must be on a filesystem that can h',
      landlock: 'this kernel has no Landlock',
      seccomp: 'this kernel has no seccomp filters',
      proc: 'this /proc is masked (a container?); `ctx do',
      bind: undefined,
      pivot: undefined,
    };
    for (const [name, remedy] of Object.entries(remedies))
      assert.deepEqual(of(name, EPERM), { code: 'EPERM', ...at(name), remedy }, name);
    for (const [code, errno, remedy] of [
      ['ELOOP', ELOOP, 'there is a link where something must be moun'],
      ['ESTALE', ESTALE, 'the path has changed since it was granted; l'],
      ['EAGAIN', EAGAIN, 'you may have too few processes and threads l'],
      ['EMFILE', EMFILE, 'too many files may be open, or under way in '],
    ] as const)
      assert.deepEqual(of('overlay', errno), { code, ...at('overlay'), remedy }, code);
    for (const step of ['overlay', 'bind', 'file', 'directory']) {
      assert.match(refusalOf(failed(step, ENOSPC, '/p')).remedy ?? '', /^make room .* fs\.mount-max$/, step);
      assert.match(refusalOf(failed(step, EDQUOT, '/p')).remedy ?? '', /\(quota\)$/, step);
    }
    for (const step of ['bind', 'again', 'fuse', 'overlay'])
      assert.deepEqual(of(step, ENOTDIR, '/srv/data'), {
        ...{ code: 'ENOTDIR', path: '/srv/data', operation: 'mount on' },
        remedy: 'nothing was run; `ctx surface` lists the mou',
      });
    for (const step of ['namespaces', 'map-self'])
      assert.equal(of(step, ENOSPC).remedy, of(step, EPERM).remedy, 'as many as its settings allow');
    assert.deepEqual(of('bind', 9999), { code: 'EIO', ...at('bind'), remedy: undefined });
  });

  it('is said of the program itself, and of what was asked of a kept jail', () => {
    const program = { operation: 'exec', path: '/some program' };
    assert.deepEqual(of('command', ENOENT, '/some program'), {
      ...program,
      code: 'ENOENT',
      remedy: 'install it under /usr, or put its directory ',
    });
    assert.match(of('command', ENOENT, 'ls -la').remedy ?? '', /^give a program and its arguments as words/);
    for (const [code, errno] of [
      ['ENOENT', ENOENT],
      ['ENOTDIR', ENOTDIR],
    ] as const)
      assert.deepEqual(of('directory-of-command', errno, '/p/gone'), {
        ...{ code, operation: 'start in', path: '/p/gone' },
        remedy: 'start in another one; `ctx diff` shows wheth',
      });
    assert.deepEqual(of('command', EACCES, '/some program'), { ...program, code: 'EACCES', remedy: undefined });
    assert.match(refusalOf(failed('command', ENOENT, 'bash')).message, /no such program in the jail$/);
    assert.match(
      refusalOf(failed('command', ENOENT, '/p/run.sh')).message,
      /no such program in the jail, or its first line/,
    );
    assert.match(refusalOf(failed('command', EACCES)).message, /cannot be executed/);
    const long = refusalOf(failed('command', E2BIG, 'bash'));
    assert.deepEqual([long.code, /128 KiB/.test(long.reason), /file/.test(long.remedy ?? '')], ['E2BIG', true, true]);
    const asked = { operation: 'jail', path: undefined };
    assert.deepEqual(of('request', EINVAL, 'an odd one'), { ...asked, code: 'EINVAL', remedy: undefined });
    assert.match(refusalOf(failed('request', EINVAL, 'an odd one')).message, /an odd one/);
    assert.match(of('request', ELOOP).remedy ?? '', /^there is a link where/);
    assert.match(of('request', EMFILE).remedy ?? '', /^too many files/);
  });
});

describe('how a command ended', () => {
  const plain = {
    exitCode: 0,
    signal: null,
    userMicroseconds: 1,
    systemMicroseconds: 2,
    peakMemoryKilobytes: 3,
    copiedForRename: { directories: 0, files: 0, bytes: 0, milliseconds: 0 },
    refusedCalls: [],
  };
  const exited = (status: number) => report('exited', `${status} 1 2 3`);

  it('is unknown before it was said, and an error where it did not start', () => {
    assert.equal(outcomeOf([]), undefined);
    assert.equal(outcomeOf([report('started'), report('refused', '1 1 1 1')]), undefined);
    for (const reports of [[failed('bind', EPERM)], [report('started'), failed('bind', EPERM), exited(0)]])
      assert.throws(
        () => outcomeOf(reports),
        (error) => error instanceof ErrnoError && hasCode(error, 'EPERM'),
      );
  });

  it('is an exit code or a signal: each of them', () => {
    for (let code = 0; code < 256; code += 1)
      assert.deepEqual(outcomeOf([report('started'), exited(code << 8)]), { ...plain, exitCode: code });
    const names = new Set<string>();
    for (const number of Object.values(constants.signals)) {
      for (const core of [0, 0x80]) {
        const outcome = outcomeOf([exited(number | core)]);
        assert.equal(outcome?.exitCode, null);
        assert.equal(constants.signals[outcome?.signal ?? 'SIGKILL'], number);
        names.add(outcome?.signal ?? '');
      }
    }
    assert.equal(names.size, new Set(Object.values(constants.signals)).size);
    assert.equal(outcomeOf([exited(64)])?.signal, 'SIGKILL', 'one without a name');
  });

  it('comes with each thing that was reported, and no other', () => {
    for (const [reports, more] of [
      [
        [report('refused', '165 3 1000 2000'), report('refused', '2 1 5 6')],
        {
          refusedCalls: [
            { number: 165, count: 3, first: 1000, last: 2000 },
            { number: 2, count: 1, first: 5, last: 6 },
          ],
        },
      ],
      [[report('crowded', '12 16')], { crowded: { threads: 12, most: 16 } }],
      [[report('unwritten', `1 ${ENOSPC}`)], { outputError: { stream: 'stdout', code: 'ENOSPC' } }],
      [[report('unwritten', `2 ${EPERM}`)], { outputError: { stream: 'stderr', code: 'EPERM' } }],
      [[report('unwritten', '2 9999')], { outputError: { stream: 'stderr', code: 'EIO' } }],
      [[report('unwritten', `1 ${EAGAIN}`)], { outputError: { stream: 'stdout', code: 'EAGAIN' } }],
      [[report('renamed', '1 2 3 4')], { copiedForRename: { directories: 1, files: 2, bytes: 3, milliseconds: 4 } }],
    ] as const)
      assert.deepEqual(outcomeOf([report('started'), ...reports, exited(0)]), { ...plain, ...more });
  });

  it('is not what it holds meanwhile', () => {
    assert.deepEqual(heldOf(report('held', '10 2 0')), { bytes: 10, files: 2, hidden: false });
    assert.deepEqual(heldOf(report('held', '0 0 1')), { bytes: 0, files: 0, hidden: true });
    for (const what of ['started', 'exited', 'refused']) assert.equal(heldOf(report(what, '10 2 0')), undefined);
  });
});
