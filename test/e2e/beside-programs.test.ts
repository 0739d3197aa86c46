/** Programs that people run beside each other: a database with two writers, git twice, a server and its client, a day of commands. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { open } from 'ctxfs';
import { useWarmStage } from '../support/stage.js';
import { asOneUser, forEitherUser } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';
const hasSqlite = spawnSync('python3', ['-c', 'import sqlite3']).status === 0;

forEitherUser((user) => {
  const stage = useWarmStage(user);
  const run = async (project: string, script: string) => {
    const { code, stdout, stderr } = await stage.ctx(project, ['exec', '--', 'sh', '-c', script]);
    assert.equal(code, 0, stderr);
    return stdout;
  };

  const writer = (name: string) => `python3 -c '
import sqlite3
db = sqlite3.connect("db", timeout=60)
for i in range(20):
    with db: db.execute("insert into t values (?)", ("${name}",))'`;

  test('a database with two writers, in both journals', {
    skip: hasSqlite ? false : 'no python3 with sqlite',
  }, async () => {
    for (const journal of ['delete', 'wal']) {
      const project = stage.project();
      const make = `import sqlite3; db = sqlite3.connect("db"); db.execute("pragma journal_mode=${journal}"); db.execute("create table t (n)"); db.commit()`;
      await run(project, `python3 -c '${make}'`);
      await Promise.all([run(project, writer('a')), run(project, writer('b'))]);
      const count =
        'import sqlite3; d = sqlite3.connect("db"); print(d.execute("select n, count(*) from t group by n").fetchall(), d.execute("pragma integrity_check").fetchall())';
      assert.equal(await run(project, `python3 -c '${count}'`), "[('a', 20), ('b', 20)] [('ok',)]\n");
    }
  });

  test('git in two processes commits all of both', async () => {
    const project = stage.project(
      'git init -q; git config user.name x; git config user.email x@localhost; git commit -q --allow-empty -m 0',
    );
    const commits = (name: string) =>
      `for i in 1 2 3; do echo $i > ${name}$i; until git add ${name}$i && git commit -q -m ${name}$i -- ${name}$i; do sleep 0.0$(($$ % 9 + 1)); done 2> /dev/null; done`;
    await Promise.all([run(project, commits('a')), run(project, commits('b'))]);
    assert.equal(
      await run(
        project,
        'git log --format=%s | sort | tr "\\n" " "; git status --short; git fsck 2>&1 | grep -v dangling || true',
      ),
      '0 a1 a2 a3 b1 b2 b3 ',
    );
  });
});

asOneUser((user) => {
  const stage = useWarmStage(user);

  /** A command that goes on until the file `stop` is there; resolves when it has printed `up`. */
  const serve = async (project: string, argv: readonly string[]) => {
    const server = stage.startCtx(project, ['exec', '--timeout', '90s', '--', ...argv]);
    await server.printed('up');
    return server;
  };
  const inside = async (project: string, script: string) => {
    const { code, stdout, stderr } = await stage.ctx(project, ['exec', '--', 'sh', '-c', script]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const ask = `node -e 'require("net").connect("app.sock").setEncoding("utf8").on("data", (text) => process.stdout.write(text))'`;

  test('a development server sees what others write as it is written, and its tests reach it', async () => {
    const project = stage.project('mkdir src; echo one > src/page; echo one > src/style; echo base > log');
    const server = `
      const fs = require('fs');
      const pages = () => ['page', 'style'].map((name) => fs.readFileSync('src/' + name, 'utf8').trim()).join(' ');
      let shown = pages();
      // The directory, and a file of the person's that nobody has written yet.
      for (const at of ['src', 'src/style']) fs.watch(at, () => { shown = pages(); });
      fs.watch('.', () => fs.existsSync('stop') && process.exit());
      require('net').createServer((socket) => socket.end(shown + '\\n')).listen('app.sock', () => console.log('up'));`;
    const running = await serve(project, ['node', '-e', server]);
    const tail = await serve(project, [
      'sh',
      '-c',
      'echo up; tail -n +1 -f log & until test -e stop; do sleep 0.02; done; kill $!',
    ]);
    assert.equal(await inside(project, ask), 'one one\n');
    // In place, and by a rename as editors save.
    const until = (text: string) => `until ${ask} | grep -qx '${text}'; do sleep 0.02; done`;
    await inside(
      project,
      `echo two > src/style; ${until('one two')}; echo three > src/new; mv src/new src/page; ${until('three two')}`,
    );
    await inside(project, 'echo more >> log');
    await tail.printed('more');
    await inside(project, 'touch stop');
    assert.equal((await running.finished).code, 0);
    assert.equal((await tail.finished).stdout, 'up\nbase\nmore\n');
  });

  test('memory that two map from one file is the same, and a database serves its client', {
    skip: hasSqlite ? false : 'no python3 with sqlite',
  }, async () => {
    const project = stage.project();
    const database = `
import mmap, os, socket, sqlite3
db = sqlite3.connect("db"); db.execute("create table t (n)"); db.commit()
with open("shared", "wb") as file: file.write(bytes(4096))
with open("shared", "r+b") as file: shared = mmap.mmap(file.fileno(), 4096)
listener = socket.socket(socket.AF_UNIX); listener.bind("db.sock"); listener.listen(); print("up", flush=True)
while not os.path.exists("stop"):
    client, _ = listener.accept()
    text = client.recv(1000).decode()
    with db: rows = db.execute(text).fetchall()
    shared[0:4] = len(rows).to_bytes(4, "little")
    client.sendall((repr(rows) + " " + shared[8:12].decode()).encode()); client.close()`;
    const client = (statement: string) => `
import mmap, socket
with open("shared", "r+b") as file: shared = mmap.mmap(file.fileno(), 4096)
shared[8:12] = b"mine"
server = socket.socket(socket.AF_UNIX); server.connect("db.sock"); server.sendall(b"${statement}")
print(server.recv(1000).decode(), int.from_bytes(shared[0:4], "little"))`;
    const running = await serve(project, ['python3', '-c', database]);
    const query = (statement: string, more = ':') => inside(project, `${more}; python3 -c '${client(statement)}'`);
    assert.equal(await query('insert into t values (1), (2)'), '[] mine 0\n');
    assert.equal(await query('select n from t'), '[(1,), (2,)] mine 2\n');
    await query('select 1', 'touch stop');
    assert.equal((await running.finished).code, 0);
  });

  test('many commands at once in one workspace all run, within bounds, and undo leads back', async () => {
    const project = stage.project(': > log');
    const workspace = await open({ directory: project, data: stage.store });
    try {
      await workspace.run({ shell: 'echo first > kept' });
      await workspace.checkpoint('before');
      const count = isSoak ? 1_000 : 100;
      const all = Array.from({ length: count }, (_, number) => workspace.run({ shell: `echo ${number} >> log` }));
      for (const { exitCode } of await Promise.all(all)) assert.equal(exitCode, 0);
      const { stdout } = await workspace.run({ shell: 'sort -n log | uniq | wc -l' });
      assert.equal(stdout?.text, `${count}\n`);
      const { undone } = await workspace.rollback({ checkpoint: 'before' });
      assert.deepEqual(
        undone.map(({ path }) => path),
        ['log'],
      );
      assert.equal((await workspace.run({ shell: 'wc -l < log; cat kept' })).stdout?.text, '0\nfirst\n');
    } finally {
      await workspace.close();
    }
  });
});
