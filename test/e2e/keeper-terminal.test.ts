/** `ctx exec` at a terminal: what a keeper runs answers there as a Node of the caller's own, whatever is typed and whoever ends. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  callsHaveEnded,
  callsRunBy,
  endKeeper,
  keepCompany,
  keeperOff,
  keeperOn,
  startKeeper,
} from '../support/keeper.js';
import { useStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

/** As `test/support/job-terminal.py` has them. */
type Steps = readonly (readonly (string | number)[])[];

const program = fileURLToPath(new URL('../../../../test/support/job-terminal.py', import.meta.url));
const ends: Steps = [['ends'], ['modes'], ['left']];
const reads = 'echo ready; read line; echo "got $line"';

/** It says what happens to it, and goes on. */
const talks = [
  `trap 'echo "size $(stty size)"' WINCH`,
  `trap 'echo interrupted; exit 5' INT`,
  `trap 'trap "" CONT; echo continued' CONT`,
  'echo ready; while :; do read line && echo "got $line"; done',
].join('\n');

const survives = [
  `trap 'trap "" TERM; echo told' TERM`,
  `trap 'echo interrupted; exit 5' INT`,
  'echo ready; while :; do read line && echo "got $line"; done',
].join('\n');

/** Reads key by key, as editors do. */
const editor = [
  'import os, sys, termios, tty',
  'before = termios.tcgetattr(0); tty.setraw(0)',
  'os.write(1, b"\\x1b[?1049hready")',
  'keys = b""',
  'while not keys.endswith(b"q"): keys += os.read(0, 1)',
  'os.write(1, b"\\x1b[?1049l"); termios.tcsetattr(0, termios.TCSADRAIN, before)',
  'print(repr(keys), os.get_terminal_size(), os.ttyname(2))',
].join('\n');

const sh = (script: string): readonly string[] => ['--', 'sh', '-c', script];

const alike: readonly (readonly [name: string, words: readonly string[], steps: Steps])[] = [
  [
    'what it prints, and how it ends',
    sh('tty; stty size; stty -a; echo err >&2; ls -l /proc/self/fd | wc -l; exit 3'),
    ends,
  ],
  ['a command that is not there', ['--', 'no-such-program'], ends],
  [
    'the key that stops it, bg, fg, its size, Ctrl-C',
    sh(talks),
    [
      ...[['shows', 'ready'], ['types', '\u001a'], ['stops'], ['modes']],
      ...[
        ['types', 'for the shell\n'],
        ['shows', 'for the shell'],
        ['left'],
        ['bg'],
        ['shows', 'continued'],
        ['modes'],
      ],
      ...[['types', 'this too\n'], ['shows', 'this too'], ['left'], ['front'], ['raw']],
      ...[
        ['types', 'one\n'],
        ['shows', 'got one'],
        ['size', 30, 100],
        ['shows', 'size 30 100'],
      ],
      ...[['types', '\u0003'], ['shows', 'interrupted'], ...ends],
    ],
  ],
  [
    'a program that reads keys',
    ['--', 'python3', '-c', editor],
    [['shows', 'ready'], ['types', 'a\u001a\u0003\u001c\r\u0004q'], ...ends],
  ],
  ['Ctrl-\\', sh('echo ready; sleep 61'), [['shows', 'ready'], ['types', '\u001c'], ...ends]],
  [
    'Ctrl-D',
    // What is typed before the terminal is raw is shown once more.
    sh('echo ready; exec cat'),
    [['shows', 'ready'], ['types', 'word\n'], ['shows', 'word\r\nword'], ['types', '\u0004'], ...ends],
  ],
  [
    'a job that starts in the background',
    sh(reads),
    [
      ...[['background'], ['shows', 'ready'], ['modes'], ['types', 'for the shell\n'], ['shows', 'shell'], ['left']],
      ...[['front'], ['raw'], ['types', 'x\n'], ['shows', 'got x'], ...ends],
    ],
  ],
  [
    'a job that no shell could let go on',
    sh(reads),
    [['leader'], ['shows', 'ready'], ['types', '\u001ax\n'], ['shows', 'got'], ['ends']],
  ],
  ['SIGTERM', sh(reads), [['shows', 'ready'], ['signal', 'SIGTERM'], ...ends]],
  [
    'a stopped job that is told to end',
    sh(reads),
    [
      ...[['shows', 'ready'], ['types', '\u001a'], ['stops']],
      ...[['signal', 'SIGTERM', 'group'], ['signal', 'SIGCONT', 'group'], ...ends],
    ],
  ],
  [
    'a stopped job that does not end by it, and is put in front again',
    sh(survives),
    [
      ...[
        ['shows', 'ready'],
        ['types', '\u001a'],
        ['stops'],
        ['signal', 'SIGTERM', 'group'],
        ['bg'],
        ['shows', 'told'],
      ],
      ...[['types', 'for the shell\n'], ['shows', 'shell'], ['left'], ['front'], ['raw']],
      ...[
        ['types', 'one\n'],
        ['shows', 'got one'],
      ],
      ...[['types', '\u0003'], ['shows', 'interrupted'], ...ends],
    ],
  ],
  [
    'SIGSTOP, which nothing can prepare for',
    sh(reads),
    [['shows', 'ready'], ['signal', 'SIGSTOP'], ['stops'], ['fg'], ['types', 'x\n'], ['shows', 'got x'], ...ends],
  ],
  [
    'SIGSTOP until it was seen that another job is in front, and a shell that gives it its modes back',
    sh(reads),
    [
      ...[['shows', 'ready'], ['raw'], ['signal', 'SIGSTOP'], ['stops'], ['pauses', 0.6], ['fg']],
      ...[['types', 'x\n'], ['shows', 'got x'], ...ends],
    ],
  ],
  ['the end of what runs it', sh(reads), [['shows', 'ready'], ['kills', 'call'], ['ends']]],
  ['the end of the jail’s owner', sh(reads), [['shows', 'ready'], ['kills', 'owner'], ...ends]],
  [
    'a question, to which what was typed before is not the answer',
    ['--agent', 'agent', '--', 'curl', 'https://example.org/'],
    [['typed', 'y\n'], ['shows', '[N]o: '], ['modes'], ['types', 'n\n'], ...ends],
  ],
  [
    'a question, to which what was typed before, without the end of a line, is no part of the answer',
    ['--agent', 'agent', '--', 'curl', 'https://example.org/'],
    [['typed', 'y'], ['shows', '[N]o: '], ['modes'], ['types', '\n'], ...ends],
  ],
  [
    'a question of a job that is stopped, and goes on',
    ['--agent', 'agent', '--', 'curl', 'https://example.org/'],
    [['shows', '[N]o: '], ['types', '\u001a'], ['stops'], ['modes'], ['fg'], ['types', 'n\n'], ...ends],
  ],
];

const oneAfterTheOther = { concurrency: 1 };

forUsersInTurn((user, turn) => {
  const company = keepCompany(user);
  const stage = useStage(user);
  let keeper = 0;
  let projects: readonly [cold: string, warm: string] = ['', ''];
  before(async () => {
    projects = [stage.project('echo one > file'), stage.project('echo one > file')];
    // What is shown while a directory is imported depends on how long that takes.
    for (const each of projects) assert.equal((await stage.ctx(each, ['exec', '--', 'true'])).code, 0);
    assert.equal((await stage.ctx(stage.home, ['agent', 'new', 'agent'])).code, 0);
    keeper = await startKeeper(stage, projects[1]);
  });
  after(async () => {
    await endKeeper(stage.store);
    company.end();
  });

  async function atTerminal(kept: boolean, words: readonly string[], steps: Steps): Promise<string> {
    const env = { TERM: 'xterm', ...(kept ? { ...keeperOn, KEEPER: String(keeper) } : keeperOff) };
    const all = ['python3', program, JSON.stringify(steps), ...words];
    const { stdout, stderr } = await stage.start(projects[kept ? 1 : 0], all, { env }).finished;
    const told = stdout + stderr;
    assert.doesNotMatch(told, /^NEVER|Traceback/m);
    // SIGCONT comes from the shell and from the process that stopped the command, and may be one.
    return told
      .replaceAll(/(?:continued\\r\\n)+/g, 'CONTINUED')
      .replaceAll(/\d+(?:\.\d+)? m?s\b/g, 'TIME')
      .replaceAll(/\d\d:\d\d:\d\d/g, 'CLOCK')
      .replaceAll(/(?<=approval \\u001b\[1m|grant |\()[0-9a-f]{8}/g, 'APPROVAL')
      .replaceAll(/vault [0-9a-f]{16}/g, 'VAULT')
      .replaceAll(/project-\d+/g, 'PROJECT');
  }

  async function bothWays(words: readonly string[], steps: Steps): Promise<string> {
    const [cold, warm] = await Promise.all([atTerminal(false, words, steps), atTerminal(true, words, steps)]);
    assert.equal(warm, cold);
    return cold;
  }

  for (const [name, words, steps] of alike) {
    turn.test(`is alike for ${name}`, async () => void (await bothWays([stage.program, 'exec', ...words], steps)));
  }

  turn.test('is alike where one stream alone is a terminal, and for JSON', async () => {
    const ctx = `${stage.program} exec`;
    for (const [script, typed] of [
      [`${ctx} --report never -- sh -c '${reads}' | cat; echo behind`, 'x\n'],
      [`echo x | ${ctx} -- sh -c '${reads}'`, ''],
      [`${ctx} -- sh -c 'tty; echo err >&2; ${reads}' </dev/null 2>/dev/null`, ''],
      [`${ctx} --json -- sh -c '${reads}' | grep -o '"text":"ready.*got x.n"'`, 'x\n'],
      [`stty tostop; ${ctx} -- echo ready`, ''],
    ] as const) {
      const told = await bothWays(['sh', '-c', script], [['typed', typed], ...ends]);
      assert.match(told, /ready/, script);
    }
  });

  turn.test('is alike for other verbs there', async () => {
    const verbs = ['status', 'checkpoint save here', 'diff --names | cat', 'diff --names', 'rollback', 'apply', 'drop'];
    const script = verbs.map((verb) => `${stage.program} ${verb}; echo $?`).join('\n');
    await bothWays(['sh', '-c', script], ends);
  });

  turn.test('hangs the command up where the terminal goes', async () => {
    for (const [kept, project] of [
      [false, projects[0]],
      [true, projects[1]],
    ] as const) {
      // Told twice, by the terminal and by the end of the shell: the second time a command gets SIGTERM.
      const words = sh(`trap '' TERM; trap 'echo ${kept} > hung-up; exit' HUP; ${reads}`);
      await atTerminal(kept, [stage.program, 'exec', ...words], [['shows', 'ready'], ['hangup']]);
      const found = async () => (await stage.ctx(project, ['exec', '--', 'cat', 'hung-up'])).stdout;
      for (let looks = 0; looks < 50 && (await found()) !== `${kept}\n`; looks++) await sleep(100);
      assert.equal(await found(), `${kept}\n`);
    }
  });

  turn.test('stops with a job none of whose streams is the terminal', async () => {
    for (const kept of [false, true]) {
      const said = join(stage.makeDirectory('said'), `${kept}`);
      const endless = 'n=0; while :; do n=$((n + 1)); echo $n; sleep 0.02; done';
      const script = `echo begun; exec ${stage.program} exec -- sh -c '${endless}' </dev/null >${said} 2>&1`;
      const steps: Steps = [['shows', 'begun'], ['writes', said], ['types', '\u001a'], ['stops'], ['rests', said]];
      const told = await atTerminal(kept, ['sh', '-c', script], [...steps, ['fg'], ['types', '\u0003'], ['ends']]);
      assert.match(told, /^stops stopped\nrests\nends exit 130\n/, `kept ${kept}`);
    }
  });

  turn.test('runs behind the shell, which alone reads there, with its output in a file', async () => {
    for (const kept of [false, true]) {
      const said = join(stage.makeDirectory('said'), `behind-${kept}`);
      const endless = 'n=0; while :; do n=$((n + 1)); echo $n; sleep 0.02; done';
      const script = `exec ${stage.program} exec -- sh -c '${endless}' >${said} 2>&1`;
      const steps: Steps = [
        ...[['background'], ['writes', said], ['types', 'for the shell\n'], ['shows', 'shell'], ['writes', said]],
        ...[['left'], ['signal', 'SIGTERM', 'group'], ['ends']],
      ];
      const told = await atTerminal(kept, ['sh', '-c', script], steps);
      assert.match(told, /^left "for the shell\\n"\nends exit 143\n/, `kept ${kept}`);
    }
  });

  turn.test('runs it in the keeper, with a report', async () => {
    await callsHaveEnded(keeper);
    const ran = callsRunBy(keeper);
    const told = await atTerminal(true, [stage.program, 'exec', '--', 'true'], ends);
    assert.match(told, /^ends exit 0\nmodes canonical echo signals newlines\nleft ""\nshown ".*exit 0.*\\r\\n"\n$/);
    await callsHaveEnded(keeper);
    assert.ok(callsRunBy(keeper) > ran);
  });

  turn.test('waits without using the processor', async () => {
    const steps: Steps = [['shows', 'ready'], ['idle', 1], ['types', 'x\n'], ['ends']];
    const told = await atTerminal(true, [stage.program, 'exec', ...sh(reads)], steps);
    assert.match(told, /^idle 0\n/);
  });

  turn.test(
    'leaves no terminal raw where the caller is killed behind the shell, or after signals to all of its job',
    async () => {
      const deaf = `trap '' HUP INT QUIT TERM USR1 USR2; echo ready; while :; do read line; done`;
      const kills: Steps = [['kills', 'caller'], ['cooked'], ['ends']];
      const before: readonly Steps[] = [
        [['signal', 'SIGSTOP'], ['stops']],
        ...['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGUSR1', 'SIGUSR2'].map((name) => [['signal', name, 'group']]),
      ];
      for (const steps of before) {
        const all: Steps = [['shows', 'ready'], ['raw'], ...steps, ...kills];
        const told = await atTerminal(true, [stage.program, 'exec', ...sh(deaf)], all);
        assert.match(told, /^raw\n(?:stops stopped\n)?cooked\nends signal 9\n/, JSON.stringify(steps));
      }
    },
  );

  turn.test('leaves no terminal raw where the caller is killed in front, or the keeper', async () => {
    const caller: Steps = [['shows', 'ready'], ['kills', 'caller'], ['cooked'], ['ends']];
    assert.match(await bothWays([stage.program, 'exec', ...sh(reads)], caller), /^cooked\nends signal 9\n/);
    const killed: Steps = [['shows', 'ready'], ['kills', 'keeper'], ...ends];
    const told = await atTerminal(true, [stage.program, 'exec', ...sh(reads)], killed);
    assert.match(told, /^ends exit 70\nmodes canonical echo signals newlines\n/);
    assert.match(told, /the keeper ended, and with it what it ran/);
  });
}, oneAfterTheOther);
