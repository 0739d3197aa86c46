/** Whatever a directory may hold: strange names, strange kinds, large files. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const names = [
  'with space',
  "it's",
  'double"quote',
  '-leading',
  '--help',
  'new\nline',
  'tab\there',
  'ünïcödé 日本 🎉',
  '$(touch x)',
  '*',
  '\\back',
  'a:b,c=d',
  '#',
  '~',
];
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);

  turn.test('a project with a strange path works from import to apply', async () => {
    for (const name of ['my project', 'colon:comma,equals=', 'quo\'te" ünïcödé 日本', '-dash back\\slash %s%n']) {
      const project = stage.makeDirectory(join('strange', name));
      stage.shell(project, 'echo base > base');
      const envelope = await stage.exec(project, ['sh', '-c', 'pwd; cat base; echo new > made']);
      assert.equal(envelope.stdout?.text, `${project}\nbase\n`, envelope.stderr?.text);
      assert.equal((await stage.json(project, ['apply']))['done'], true);
      assert.equal(stage.shell(project, 'cat made'), 'new\n');
    }
  });

  turn.test('a project with a newline in its path works', async () => {
    const project = stage.makeDirectory('strange/new\nline');
    const { code, stdout, stderr } = await stage.ctx(project, ['exec', '--', 'pwd']);
    assert.deepEqual([code, stdout], [0, `${project}\n`], stderr);
  });

  turn.test(
    'a file of equal content under another name is said to be renamed, by a command and in what is pending',
    async () => {
      const project = stage.project('mkdir d; seq 100 > d/kept; seq 200 > gone; seq 300 > edited; : > empty');
      const said = async (script: string) => {
        const { changes } = await stage.exec(project, ['sh', '-c', script]);
        return changes.map(({ kind, path, renamedFrom = '' }) => `${kind} ${path} ${renamedFrom}`.trim());
      };
      const moved = await said(
        'mkdir e; mv d/kept e; mv gone "new\tname"; mv empty void; mv edited e/edited; echo x >> e/edited',
      );
      const pending = [
        ...['deleted d/kept', 'added e', 'added e/edited', 'added e/kept d/kept', 'deleted edited', 'deleted empty'],
        ...['deleted gone', 'added new\tname gone', 'added void'],
      ];
      assert.deepEqual(moved.sort(), pending.sort());
      assert.deepEqual((await said('mv e/kept again')).sort(), ['added again e/kept', 'restored e/kept']);
      const { stdout } = await stage.ctx(project, ['diff', '--names']);
      assert.match(stdout, /^ {2}A again {2}292 B, renamed from d\/kept$/m);
      assert.match(stdout, /^ {2}A new\\tname {2}692 B, renamed from gone$/m);
      const since = await stage.json(project, ['diff', '--since', '2']);
      assert.deepEqual(
        (since['changes'] as { path: string; renamedFrom?: string }[]).map(({ path, renamedFrom }) => [
          path,
          renamedFrom,
        ]),
        [
          ['again', 'e/kept'],
          ['e/kept', undefined],
        ],
      );
      assert.equal((await stage.json(project, ['apply']))['done'], true);
      assert.equal(stage.shell(project, 'cat again | wc -l; ls d'), '100\n');
    },
  );

  turn.test(
    'what is made in a directory that hands its group down hands it down as well, at the top, too',
    async () => {
      const project = stage.project('mkdir inner; chmod 2775 . inner');
      const made = await stage.exec(project, ['sh', '-c', 'umask 002; mkdir d inner/d; stat -c %a . d inner/d']);
      assert.equal(made.stdout?.text, '2775\n2775\n2775\n');
      assert.equal((await stage.json(project, ['apply']))['done'], true);
      assert.equal(stage.shell(project, 'stat -c %a . d inner inner/d'), '2775\n2775\n2775\n2775\n');
    },
  );

  turn.test('file names with every kind of character survive import, command and apply', async () => {
    const all = names.map((name) => quoted(`./${name}`)).join(' ');
    const project = stage.project(
      `for name in ${all}; do printf '%s\\n' "$name" > "$name"; done; mkdir ${quoted('./dir\nectory')}`,
    );
    assert.equal(
      await stage.inside(
        project,
        `for name in ${all}; do test "$(cat "$name")" = "$name" || echo bad; echo more >> "$name"; echo made > "$name.new"; done`,
      ),
      '',
    );
    const { changes } = (await stage.json(project, ['diff'])) as { changes: { path: string }[] };
    assert.deepEqual(changes.map(({ path }) => path).sort(), names.flatMap((name) => [name, `${name}.new`]).sort());
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    stage.shell(
      project,
      `for name in ${all}; do test "$(tail -1 "$name")" = more; test "$(cat "$name.new")" = made; done`,
    );
  });

  turn.test('control characters in names are shown escaped, one line a path', async () => {
    const project = stage.project();
    const script =
      'echo x > "$(printf \'evil\\033[2J\\nD forged\')"; echo x > "$(printf \'right\\342\\200\\256left\')"; mkdir "$(printf \'bell\\007\')"';
    const { stderr } = await stage.ctx(project, ['exec', '--report', 'always', '--', 'sh', '-c', script]);
    for (const shown of ['A evil\\e[2J\\nD forged', 'A right\\u202eleft', 'A bell\\x07/'])
      assert.ok(stderr.includes(`  ${shown}`), stderr);
    assert.doesNotMatch(stderr, /[\u0000-\u0009\u000b-\u001f\u202e]/);
    const { stdout } = await stage.ctx(project, ['diff', '--names']);
    assert.equal(stdout.trimEnd().split('\n').length, 3);
    assert.doesNotMatch(stdout, /[\u0000-\u0009\u000b-\u001f\u202e]/);
  });

  turn.test('names that are not UTF-8 survive, and two of them stay two', async () => {
    const project = stage.project(
      'echo 1 > "$(printf \'bad\\377\')"; echo 2 > "$(printf \'bad\\376\')"; mkdir "$(printf \'d\\200\')"',
    );
    const before = snapshot(project, { times: false });
    assert.equal(Object.keys(before).length, 4);
    await stage.inside(
      project,
      'cat bad*; echo 3 > "$(printf \'bad\\377\')"; echo 4 > "$(printf \'d\\200/new\\201\')"; rm "$(printf \'bad\\376\')"',
    );
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.deepEqual(Object.keys(snapshot(project)).sort(), ['.', './bad\xff', './d\x80', './d\x80/new\x81'].sort());
    stage.shell(project, 'echo 5 > "$(printf \'bad\\377\')"');
    assert.equal(await stage.inside(project, 'cat bad*'), '5\n');
  });

  /** `$byte` is a name that is not UTF-8; `$sign` is the name that Node makes of it. */
  const typed = (project: string, ...lines: readonly string[]) => {
    const begin = `byte=$(printf '\\377'); sign=$(printf '\\357\\277\\275'); ctx() { ${quoted(stage.program)} "$@"; }`;
    return stage.start(project, ['/bin/sh', '-c', [begin, ...lines].join('\n')]).finished;
  };

  turn.test('a word that is not UTF-8 means the file of that name, from a command to an apply', async () => {
    const project = stage.makeDirectory('typed');
    const said = `ctx exec --env "X=$byte" -- sh -c 'printf %s "$X" | od -An -tx1; od -An -tx1 -- "$1"' x "$byte"`;
    const { stdout, stderr } = await typed(
      project,
      'echo 1 > "$byte"; echo 22 > "$sign"',
      said,
      `ctx checkpoint save before > /dev/null; ctx jail start > /dev/null; ${said}; ctx jail stop > /dev/null`,
      `for each in "$byte" "$sign"; do ctx exec -- sh -c 'echo more >> "$1"' x "$each"; done`,
      'for each in "$byte" "$sign"; do ctx diff --names -- "$each"; ctx blame "$each" | head -1; done',
      'ctx rollback before "$byte" > /dev/null; ctx diff --names',
      `ctx exec -- sh -c 'echo new >> "$1"' x "$byte"`,
      'ctx apply -- "$byte"; ctx diff --names; cat "$byte" "$sign"',
    );
    assert.equal(stderr, '');
    const lines = [
      ...[' ff', ' 31 0a', ' ff', ' 31 0a'],
      ...['  M \\xff  7 B', '\\xff modified by', '  M \ufffd  8 B', '\ufffd modified by'],
      ...['  M \ufffd  8 B', 'applied 1 change', '  M \ufffd  8 B', '1', 'new', '22', ''],
    ];
    assert.deepEqual(stdout.split('\n'), lines);
  });

  turn.test(
    'where a name has to be text such a word is refused, and nothing is shown or made in another place',
    async () => {
      stage.makeDirectory('typed too');
      const project = stage.makeDirectory('typed too/project');
      const calls = [
        ...[
          'exec --read "../$byte" -- ls ..',
          'vault export "../$byte/e"',
          'vfs ls "host:../$byte"',
          'exec --env X -- true',
        ],
        ...[
          'exec --read ../link -- ls ..',
          'vault export ../link/e',
          'apply --to ../link',
          'vfs put chunked:../link/db /f',
        ],
      ];
      const places = ['HOME="$PWD/../$byte"', 'CTX_ROOT="$PWD/../$byte"', 'CTX_DATA="$PWD/../link"'];
      const each = [
        ...calls.map((call) => `ctx ${call}`),
        ...places.map((place) => `${place} ${quoted(stage.program)} status`),
      ];
      const { stdout, stderr } = await typed(
        project,
        'mkdir "../$byte" "../$sign"; ln -s "$byte" ../link; ctx exec -- true; export X="$byte"',
        ...each.map((line) => `echo x | ${line} > ../out 2>&1; echo $?; cat ../out >&2`),
        'ls "../$sign"',
      );
      assert.equal(stdout.replaceAll(/^(1|2)\n/gm, ''), '', stderr);
      const refusals = stderr.match(/^ctx: .*(?: UTF-8|an absolute path without empty).*$/gm);
      assert.equal(refusals?.length, each.length, stderr);
    },
  );

  turn.test('a sparse file of 2 GB is imported and one changed byte is reported', async () => {
    const project = stage.project(
      'truncate -s 2G large; printf x | dd of=large bs=1 seek=1000000000 conv=notrunc status=none',
    );
    const envelope = await stage.exec(project, [
      'sh',
      '-c',
      'stat -c %s large; dd if=large bs=1 skip=1000000000 count=1 status=none',
    ]);
    assert.equal(envelope.stdout?.text, '2147483648\nx');
    const changed = await stage.exec(project, [
      'sh',
      '-c',
      'printf y | dd of=large bs=1 seek=5 conv=notrunc status=none',
    ]);
    assert.deepEqual(
      changed.changes.map(({ kind, size, path }) => [kind, size, path]),
      [['modified', 2_147_483_648, 'large']],
    );
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(
      stage.shell(
        project,
        'dd if=large bs=1 skip=5 count=1 status=none; dd if=large bs=1 skip=1000000000 count=1 status=none',
      ),
      'yx',
    );
    assert.ok(Number(stage.shell(project, 'du -k large | cut -f1')) < 100_000, 'apply keeps the holes');
  });

  turn.test('links of every kind are kept as they are', async () => {
    const project = stage.project(
      'mkdir d; echo x > d/x; ln -s d/x relative; ln -s /etc/passwd absolute; ln -s nowhere dangling; ln -s loop2 loop1; ln -s loop1 loop2; ln -s d dir',
    );
    const before = snapshot(project);
    assert.match(
      await stage.inside(project, 'cat relative dir/x; readlink absolute dangling loop1'),
      /^x\nx\n\/etc\/passwd\nnowhere\nloop2\n$/,
    );
    assert.deepEqual((await stage.json(project, ['diff']))['changes'], []);
    await stage.inside(project, 'ln -s nowhere2 made; rm dangling; ln -sfn elsewhere dir');
    await stage.json(project, ['apply']);
    const after = snapshot(project);
    assert.match(after['./made'] ?? '', /^link nowhere2 /);
    assert.match(after['./dir'] ?? '', /^link elsewhere /);
    for (const path of ['./relative', './absolute', './loop1', './loop2', './d/x'])
      assert.equal(after[path], before[path]);
  });

  turn.test('hard links are one file inside, and a write through one is seen through the other', async () => {
    const project = stage.project('echo base > one; ln one two; mkdir d; ln one d/three');
    assert.equal(await stage.inside(project, 'stat -c %h one; cmp one two'), '3\n');
    await stage.inside(
      project,
      'ln made-first made-second 2>/dev/null; echo new > first; ln first second; stat -c %h first',
    );
    await stage.json(project, ['apply']);
    assert.equal(stage.shell(project, 'cat first second one two d/three'), 'new\nnew\nbase\nbase\nbase\n');
  });

  turn.test('a fifo is kept, a socket is left out and named in the report', async () => {
    const project = stage.project('mkfifo pipe; echo x > x');
    const made = spawnSync(
      process.execPath,
      ['-e', 'require("net").createServer().listen("socket", () => process.kill(process.pid, 9))'],
      { cwd: project },
    );
    assert.equal(made.signal, 'SIGKILL');
    const envelope = await stage.exec(project, [
      'sh',
      '-c',
      'test -p pipe; echo $?; ls; (echo through > pipe &) ; cat pipe; mkfifo made',
    ]);
    assert.equal(envelope.stdout?.text, '0\npipe\nx\nthrough\n');
    assert.deepEqual(envelope.warnings, ['not in the fork: socket (ENOTSUP: sockets are left out)']);
    assert.deepEqual(
      envelope.changes.map(({ type, path }) => [type, path]),
      [['fifo', 'made']],
    );
    assert.equal((await stage.json(project, ['apply', '--allow-sensitive']))['done'], true);
    stage.shell(project, 'test -p made; test -S socket');
  });

  turn.test('a socket that a command leaves behind does not stand in the way of apply', async () => {
    const project = stage.project();
    const script = "require('net').createServer().listen('left', () => process.kill(process.pid, 9))";
    await stage.exec(project, ['node', '-e', script]);
    await stage.inside(project, 'echo x > x');
    const { code, stderr } = await stage.ctx(project, ['apply']);
    assert.deepEqual([code, stderr], [0, '  left out: left (a socket is not written to your directory)\n']);
    assert.equal(stage.shell(project, 'ls; cat x'), 'x\nx\n');
    assert.equal(await stage.inside(project, 'ls'), 'x\n', 'the fork agrees with the directory again');
  });

  turn.test('read-only files and directories can be changed in the fork only as their modes allow', async () => {
    const project = stage.project('echo ro > ro; mkdir rod; echo x > rod/x; chmod 444 ro; chmod 555 rod');
    await stage.inside(project, 'rm -f ro; echo new > ro; chmod 444 ro; chmod 755 rod; echo y > rod/y; chmod 555 rod');
    assert.equal((await stage.json(project, ['apply']))['done'], true);
    assert.equal(stage.shell(project, 'cat ro rod/y; stat -c %a ro rod; chmod 755 rod'), 'new\ny\n444\n555\n');
  });

  turn.test('extended attributes of users are kept, overlay marks are not', async (context) => {
    if (spawnSync('setfattr', ['--version']).error !== undefined) return context.skip('setfattr is not installed');
    const project = stage.project('echo x > x; setfattr -n user.note -v kept x 2>/dev/null || true');
    const kept = stage.shell(project, 'getfattr --only-values -n user.note x 2>/dev/null || true');
    assert.equal(await stage.inside(project, 'getfattr --only-values -n user.note x 2>/dev/null || true'), kept);
  });

  turn.test('deep and wide trees: 200 levels, 1000 files in one directory', async () => {
    const project = stage.project('i=0; while [ $i -lt 200 ]; do mkdir d; cd d; i=$((i+1)); done; echo deep > deep');
    const script =
      'mkdir wide; i=0; while [ $i -lt 1000 ]; do : > wide/$i; i=$((i+1)); done; find . -name deep | tr -cd d | wc -c';
    const envelope = await stage.exec(project, ['sh', '-c', script]);
    assert.equal(envelope.stdout?.text.trim(), '201');
    assert.equal(envelope.changes.length, 1001);
    // A drop takes the same time whatever it drops, so it counts so far and no further.
    assert.deepEqual(await stage.json(project, ['drop']), { version: 1, dropped: 1000, more: true });
  });
});
