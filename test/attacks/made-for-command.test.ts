/**
 * What the command that a jail is made for is, and what it leaves: its program, its limits, how many it is, and the sockets of its view.
 */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { JailView } from '../../src/jail/jail-view.js';
import { AskedJail, type AskedOptions } from '../support/asked-jail.js';
import { bareJail, bareUser, type PlanOptions } from '../support/bare-jail.js';

const jail = bareJail();
const home = join(jail.base, 'home');
const open: PlanOptions = { weakened: ['landlock', 'seccomp'] };

const once = (script: string, options: AskedOptions = {}, view: Partial<JailView> = {}, plan = open) =>
  new AskedJail(jail, jail.plan(['sh', '-c', script], { ...plan, more: view }), options);

/** How a command ended: what a shell says of it. */
function ending(report: string): number {
  const status = Number(/ exited (\d+) /.exec(report)?.[1]);
  return (status & 0x7f) === 0 ? status >> 8 : 128 + (status & 0x7f);
}

describe('the program of a command', () => {
  const make = (path: string, text: string, mode: number) => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
    chmodSync(join(home, path), mode);
  };
  const script = (code: number) => `#!/bin/sh\nexit ${code}\n`;

  it('is searched in the directories of its PATH, in their order, and nowhere else', async () => {
    make('one/tool', script(1), 0o755);
    make('two/tool', script(2), 0o755);
    make('two/other', script(3), 0o755);
    make('closed/tool', script(4), 0o644);
    make('closed/only', script(4), 0o644);
    make('file', '', 0o644);
    make('plain/tool', 'exit $((5 + $#))\n', 0o755);
    make('tool', script(9), 0o755);
    mkdirSync(join(home, 'directory', 'tool'), { recursive: true });
    const [ENOENT, EACCES] = [/ command 2 (tool|only|missing)$/, / command 13 (tool|only)$/];
    const at = (...names: readonly string[]) => names.map((name) => `/home/user/${name}`).join(':');
    const cases: readonly (readonly [path: string | undefined, argv: readonly string[], expected: number | RegExp])[] =
      [
        [at('one'), ['tool'], 1],
        [at('one', 'two'), ['tool'], 1],
        [at('two', 'one'), ['tool'], 2],
        [at('one', 'two'), ['other'], 3],
        [`${at('missing')}:${at('two')}:`, ['tool'], 2],
        [at('file', 'one'), ['tool'], 1],
        [at('closed', 'one'), ['tool'], 1],
        [at('closed', 'missing'), ['only'], EACCES],
        [at('missing', 'closed', 'file'), ['only'], EACCES],
        [at('directory'), ['tool'], EACCES],
        [at('one', 'two'), ['missing'], ENOENT],
        ['', ['tool'], ENOENT],
        [':', ['tool'], ENOENT],
        [undefined, ['tool'], ENOENT],
        [`/${'x'.repeat(5000)}:${at('one')}`, ['tool'], 1],
        [at('one'), ['/home/user/two/tool'], 2],
        [at('one'), ['./tool'], 9],
        [at('one'), ['two/tool'], 2],
        [at('plain'), ['tool'], 5],
        [at('plain'), ['tool', 'a', 'b c'], 7],
      ];
    for (const [path, argv, expected] of cases) {
      const environment = { XPATH: at('two'), PAT: at('two'), ...(path === undefined ? {} : { PATH: path }) };
      const plan = jail.plan(argv, { ...open, more: { environment, directory: '/home/user' } });
      const asked = new AskedJail(jail, plan);
      await asked.closed;
      const said = asked.said.at(-1) ?? '';
      const what = `${path} ${argv.join(' ')}`;
      if (typeof expected === 'number') assert.equal(ending(said), expected, what);
      else assert.match(said, expected, what);
    }
  });

  it('has its words and its variables as they were given', async () => {
    const odd = ['', ' ', 'a=b', '-x', "'", '\n', 'ä'];
    const look = 'cat /proc/$$/cmdline > /home/user/words; cat /proc/$$/environ > /home/user/variables; exit 0';
    const environment = { PATH: '/usr/bin:/bin', EMPTY: '', ODD: 'a=b c', LINES: 'x\ny' };
    const plan = jail.plan(['sh', '-c', look, ...odd], { ...open, more: { environment } });
    await new AskedJail(jail, plan).closed;
    assert.deepEqual(readFileSync(join(home, 'words'), 'utf8').split('\0'), ['sh', '-c', look, ...odd, '']);
    assert.deepEqual(readFileSync(join(home, 'variables'), 'utf8').split('\0'), [
      ...Object.entries(environment).map((each) => each.join('=')),
      '',
    ]);
  });
});

describe('limits of a command', () => {
  const hard = (name: string) =>
    new RegExp(`^Max ${name} +(\\S+) +(\\S+)`, 'm').exec(readFileSync(join(home, 'limits'), 'utf8'))?.slice(1, 3);

  it('are those of its plan, and never more than the caller has', async () => {
    for (const [wrapper, files, size] of [
      ['', ['16384', '16384'], ['1000000', '1000000']],
      ['ulimit -n 100;', ['100', '100'], ['1000000', '1000000']],
      ['ulimit -Sn 100;', ['16384', '16384'], ['1000000', '1000000']],
      ['ulimit -n 512; ulimit -f 100;', ['512', '512'], ['51200', '51200']],
    ] as const) {
      const unlimited = 'ulimit -n 20000 2> /dev/null || ulimit -n 16384;';
      const shellOf = ['sh', '-c', `${wrapper.startsWith('ulimit -Sn') ? unlimited : ''} ${wrapper} exec "$0" "$@"`];
      const asked = once('cat /proc/self/limits > /home/user/limits', { wrapper: shellOf }, { fileBytes: 1_000_000 });
      await asked.closed;
      assert.deepEqual([hard('open files'), hard('file size')], [files, size], wrapper);
    }
  });
});

describe('the directory of a view’s sockets', () => {
  const parent = join(jail.base, 'views');
  const [own, other] = [join(parent, 'own'), join(parent, 'other')];
  const make = () => {
    rmSync(parent, { recursive: true, force: true });
    for (const path of [own, other]) {
      mkdirSync(path, { recursive: true });
      for (const name of ['a', 'b']) writeFileSync(join(path, name), '');
    }
    if (bareUser.uid !== undefined)
      for (const path of [parent, own, other]) chownSync(path, bareUser.uid, bareUser.gid);
    return openSync(own, 'r');
  };
  const left = () => [existsSync(own), readdirSync(other)];

  it('is taken away where the process has ended that served there, and is left to that where it lives', async () => {
    for (const [script, ends, isLeft] of [
      ['exit 0', false, true],
      ['sleep 600', true, false],
    ] as const) {
      const directory = make();
      const asked = once(script, { more: [directory] });
      await asked.reported(/^0 started$/);
      if (ends) await asked.end();
      await asked.closed;
      closeSync(directory);
      assert.deepEqual(left(), [isLeft, ['a', 'b']], script);
      if (isLeft) assert.deepEqual(readdirSync(own), ['a', 'b']);
    }
    const directory = make();
    const kept = new AskedJail(jail, jail.keptPlans([], open).jail, { mode: 'serve', more: [directory] });
    await kept.reported(/^0 started$/);
    await kept.end();
    closeSync(directory);
    assert.deepEqual(left(), [false, ['a', 'b']]);
  });
});

describe('a crowd', () => {
  /** That many processes at the end, the shell among them. */
  const crowd = (count: number) => `n=1; while [ $n -lt ${count} ]; do sleep 600 & n=$((n+1)); done; exit 0`;

  it('is told where as many were seen as the command may have, or nearly so', async () => {
    for (const [most, seen, isTold] of [
      [8, 8, true],
      [8, 7, false],
      [15, 14, false],
      [16, 12, true],
      [16, 11, false],
      [40, 30, true],
      [40, 29, false],
    ] as const) {
      const asked = once(crowd(seen), {}, { processes: most });
      await asked.closed;
      const told = asked.said.filter((report) => / crowded /.test(report));
      assert.deepEqual(told, isTold ? [`0 crowded ${seen} ${most}`] : [], `${seen} of ${most}`);
    }
  });

  it('is of threads', async () => {
    rmSync(join(home, 'threads'), { force: true });
    const threads = `python3 -c '
import threading, time
for _ in range(10): threading.Thread(target=lambda: time.sleep(600)).start()
open("/home/user/threads", "w")' & until test -e /home/user/threads; do :; done; exit 0`;
    const asked = once(threads, {}, { processes: 12 });
    await asked.closed;
    assert.deepEqual(
      asked.said.filter((report) => / crowded /.test(report)),
      ['0 crowded 12 12'],
    );
  });
});
