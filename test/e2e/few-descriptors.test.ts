/** A program that uses the SDK and is out of descriptors: each call is answered, nothing stays open, and the next one does what it is asked. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-few-descriptors-')));
after(() => rmSync(base, { recursive: true, force: true }));
const sdk = new URL('../../src/index.js', import.meta.url).href;

/** Calls with so many descriptors left, and without a limit after each: how both went, and how many more are open. */
const script = `
  import { closeSync, openSync, readdirSync } from 'node:fs';
  const { open, operate } = await import(${JSON.stringify(sdk)});
  const [directory, data, most] = process.argv.slice(1);
  const operator = await operate({ data });
  await operator.agents.make('few', {});
  const workspace = await open({ directory, data });
  const asAgent = await open({ directory, data, agent: 'few' });
  const calls = {
    exec: () => workspace.exec(['true']),
    run: () => workspace.run({ shell: 'echo said' }),
    status: () => workspace.status(),
    agent: () => asAgent.exec(['true']),
  };
  const opened = () => readdirSync('/proc/self/fd').length;
  const answered = (call) => {
    let late;
    const patience = new Promise((resolve) => {
      late = setTimeout(resolve, 20_000, 'no answer');
    });
    const answer = call().then(() => 'done', (error) => error.name + ' ' + error.code);
    return Promise.race([answer, patience]).finally(() => clearTimeout(late));
  };
  const rows = [];
  for (const [name, call] of Object.entries(calls)) {
    for (let count = 0; count < 2; count += 1) await call();
    for (let left = 0; left <= Number(most); left += 1) {
      const before = opened();
      const held = [];
      try {
        for (;;) held.push(openSync('/dev/null'));
      } catch {}
      for (const descriptor of held.splice(0, left)) closeSync(descriptor);
      const few = await answered(call);
      for (const descriptor of held) closeSync(descriptor);
      const next = await answered(call);
      await new Promise((resolve) => setTimeout(resolve, 100));
      rows.push([name + ' with ' + left, few, next, opened() - before]);
    }
  }
  for (const each of [workspace, asAgent]) await each.close();
  console.log(JSON.stringify(rows));
  process.exit(0);
`;

describe('a program with few descriptors left', () => {
  test('is answered each time, by EMFILE where they are too few, keeps none open, and goes on', {
    timeout: 240_000,
  }, () => {
    const [directory, data, home] = ['work', 'store', 'home'].map((name) => join(base, name)) as [
      string,
      string,
      string,
    ];
    for (const each of [directory, home]) mkdirSync(each);
    const words = ['-c', 'ulimit -n 200; exec "$0" --input-type=module -e "$@"', process.execPath];
    const { stdout, stderr } = spawnSync('/bin/sh', [...words, script, directory, data, '12'], {
      encoding: 'utf8',
      env: { ...process.env, HOME: home, XDG_CONFIG_HOME: join(home, 'config') },
    });
    assert.ok(stdout !== '', stderr);
    const rows = JSON.parse(stdout) as readonly (readonly [string, string, string, number])[];
    const isRefused = (few: string) => /^(?:done|ErrnoError E(?:MFILE|IO))$/.test(few);
    assert.deepEqual(
      rows.filter(([, few, next]) => !isRefused(few) || next !== 'done'),
      [],
    );
    // A program that stays for quick jobs comes and goes: what is left behind each time adds up.
    const more = rows.reduce((sum, row) => sum + row[3], 0);
    assert.ok(more <= 4, `${more} more are open: ${JSON.stringify(rows)}`);
    assert.ok(rows.some(([, few]) => few === 'ErrnoError EMFILE'));
  });
});
