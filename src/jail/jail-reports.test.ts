import assert from 'node:assert/strict';
import { readFileSync, readlinkSync } from 'node:fs';
import { describe, it } from 'node:test';
import { hasCode } from '../base/errno.js';
import { heldCacheOf } from './held-cache.js';
import { JailReports } from './jail-reports.js';
import type { HeldFiles, Report } from './report.js';

const parent = Number(/^PPid:\t(\d+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
const of = (what: string, rest: string): Report => ({ id: 0, what, rest });

/** What each report led to, given byte by byte. */
async function heard(...lines: readonly string[]) {
  const held: HeldFiles[] = [];
  const beside: Report[] = [];
  const none = () => undefined;
  const reports = new JailReports({
    onHeld: (each) => void held.push(each),
    beside: { open: () => -1, take: (report) => void beside.push(report), lose: none },
  });
  let hasStarted = false;
  void reports.started.then(() => {
    hasStarted = true;
  });
  for (const byte of Buffer.from(lines.map((line) => `${line}\0`).join(''), 'latin1'))
    reports.take(Buffer.from([byte]));
  await Promise.resolve();
  return { reports, held, beside, hasStarted };
}

describe('the reports of a jail', () => {
  it('are whole with the end of its own command', async () => {
    const early = await heard('0 started');
    assert.deepEqual([early.hasStarted, early.reports.areWhole], [true, false]);
    assert.throws(
      () => early.reports.outcome('SIGKILL'),
      (error) => hasCode(error, 'EIO') && /SIGKILL/.test(String(error)),
    );
    // Once it has started it passes signals on: it ended by something else.
    assert.throws(
      () => early.reports.outcome('SIGTERM', true),
      (error) => hasCode(error, 'EIO'),
    );
    const whole = await heard('0 started', '0 refused 165 1 2 3', '0 exited 256 1 2 3');
    assert.deepEqual([whole.hasStarted, whole.reports.areWhole, whole.beside], [true, true, []]);
    const { exitCode, refusedCalls, heldCaches } = whole.reports.outcome(null);
    assert.deepEqual([exitCode, refusedCalls.length, heldCaches], [1, 1, undefined]);
  });

  it('of another command are for who asked for it', async () => {
    const { reports, beside, hasStarted } = await heard('3 started', '3 exited 0 1 2 3', '4 failed 0 request 22 odd');
    assert.deepEqual([hasStarted, reports.areWhole], [false, false]);
    assert.deepEqual(beside, [
      { id: 3, what: 'started', rest: '' },
      { id: 3, what: 'exited', rest: '0 1 2 3' },
      { id: 4, what: 'failed', rest: '0 request 22 odd' },
    ]);
  });

  it('of what is held are told each time, whoever holds it', async () => {
    const { reports, held, beside } = await heard('0 held 1 2 0', '3 held 0 0 1', '0 exited 0 1 2 3');
    assert.deepEqual(held, [
      { bytes: 1, files: 2, hidden: false },
      { bytes: 0, files: 0, hidden: true },
    ]);
    assert.deepEqual(beside, []);
    assert.equal(reports.outcome(null).exitCode, 0);
  });

  it('of caches that are read-only come with the outcome', async () => {
    const { reports } = await heard(
      '0 read-only-cache 0 /a b',
      `0 read-only-cache ${process.pid} /c`,
      '0 exited 0 1 2 3',
    );
    assert.equal(reports.outcome(null).userMicroseconds, 1);
    assert.deepEqual(reports.outcome(null).heldCaches, [
      { path: '/a b' },
      { path: '/c', holder: { pid: parent, directory: readlinkSync(`/proc/${parent}/cwd`) } },
    ]);
  });

  it('without anybody who wants them are dropped', () => {
    const reports = new JailReports({});
    reports.take(Buffer.from('0 held 1 2 0\x003 started\x000 exited 0 1 2 3\0'));
    assert.equal(reports.outcome(null).exitCode, 0);
  });
});

describe('who has a cache', () => {
  it('is the process that runs commands in the jail that has it, and unknown where there is none', () => {
    assert.equal(heldCacheOf(of('held', '1 /x')), undefined);
    for (const gone of ['0', '4194304', '1'])
      assert.equal(heldCacheOf(of('read-only-cache', `${gone} /x`))?.holder, undefined);
    assert.equal(heldCacheOf(of('read-only-cache', `${process.pid} /x`))?.holder?.pid, parent);
  });
});
