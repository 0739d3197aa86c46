/** Runs on a directory itself: each has a file that is its own for as long as it goes on, whoever looks at the files meanwhile. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { storePaths } from '../../vault/store/layout.js';
import { testHost } from '../host-fixture.js';
import { liveNote, livingRuns, recordInterruptedLive } from './live-runs.js';

const { host } = testHost();
const directory = storePaths(host.store.directory).liveRuns;
const run = (name: string) => ({ run: name, agent: null });
const about = { pid: process.pid, origin: '/project', command: 'make all' };
const listed = (name: string) => ({ ...run(name), ...about });
const byName = () => [...livingRuns(host)].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

it('a run is listed from its beginning to its end, and what others look at leaves it', () => {
  const notes = ['a', 'b'].map((name) => [name, liveNote(host, '/project', ['make', 'all'])] as const);
  assert.deepEqual(livingRuns(host), []);
  for (const [name, note] of notes) note.begin(run(name));
  for (let looks = 0; looks < 2; looks++) {
    recordInterruptedLive(host);
    assert.deepEqual(byName(), [listed('a'), listed('b')]);
  }
  for (const [name, note] of notes) note.end(run(name));
  assert.deepEqual([livingRuns(host), readdirSync(directory)], [[], []]);
});

it('a file whose owner is gone is no run, and goes, whatever is in it', () => {
  mkdirSync(directory, { recursive: true });
  const whole = JSON.stringify({ ...run('x'), ...about });
  for (const text of ['', whole.slice(0, 9), whole, `${whole.slice(0, 9)}\n`, '{}\n', '[]\n', `${whole}\n`]) {
    writeFileSync(join(directory, 'x'), text);
    assert.deepEqual(livingRuns(host), [], text);
    recordInterruptedLive(host);
    assert.equal(existsSync(join(directory, 'x')), false, text);
  }
});

/** Takes a file as who settles it does: locked, and gone, or gone and another made, by the time that it lets go. */
const settling = `
import fcntl, os, sys, time
path, made = sys.argv[1:]
file = open(path, 'a')
fcntl.flock(file, fcntl.LOCK_EX)
print('held', flush=True)
sys.stdin.readline()
time.sleep(0.2)
os.unlink(path)
if made == 'made': open(path, 'a').close()
`;

it('a run that begins as its file is taken away, or another put there, has one that has its name', async () => {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, 'taken');
  for (const made of ['gone', 'made']) {
    const other = spawn('python3', ['-c', settling, file, made], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(other, 'close');
    await once(other.stdout, 'data');
    const { ino } = statSync(file);
    const note = liveNote(host, '/project', ['make', 'all']);
    other.stdin.end('\n');
    // Waits for the lock.
    await new Promise((resolve) => setTimeout(resolve, 50));
    note.begin(run('taken'));
    await ended;
    assert.ok(existsSync(file), made);
    assert.notEqual([statSync(file).ino, readFileSync(file, 'utf8')].join(), [ino, ''].join(), made);
    assert.deepEqual(byName(), [listed('taken')], made);
    note.end(run('taken'));
    assert.deepEqual(readdirSync(directory), []);
  }
});
