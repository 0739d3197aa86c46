/** Real programs do their usual work inside. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { checkout } from '../support/program.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

function missing(...programs: readonly string[]): string | false {
  const absent = programs.filter(
    (program) => spawnSync('sh', ['-c', `command -v ${program}`], { env: { PATH: systemPath } }).status !== 0,
  );
  return absent.length === 0 ? false : `${absent.join(' and ')} not installed`;
}

forUsersInTurn((user, turn) => {
  const stage = useWarmStage(user);

  turn.test(
    'git: init, commit with the identity of ~/.gitconfig, branch, merge, diff, status',
    {
      skip: missing('git'),
    },
    async () => {
      stage.shell(
        stage.home,
        'git config --global user.name Person; git config --global user.email person@example.org',
      );
      const project = stage.project('echo one > file');
      const script = `set -e
      git init -q -b main; git add .; git commit -qm first; git checkout -qb side; echo two >> file
      git diff --stat | tail -1; git commit -qam second; git checkout -q main; git merge -q side; git status --short
      git log --format='%an <%ae> %s'; git fsck 2>&1 | grep -v '^notice' || true; git gc -q`;
      assert.equal(
        await stage.inside(project, script),
        ' 1 file changed, 1 insertion(+)\nPerson <person@example.org> second\nPerson <person@example.org> first\n',
      );
      assert.equal((await stage.json(project, ['apply']))['done'], true);
      assert.equal(
        stage.shell(project, 'git status --short; git log --format=%s; git fsck 2>&1 | grep -v notice || true'),
        'second\nfirst\n',
      );
      assert.equal(
        await stage.inside(project, 'git status --short; git stash list; echo x >> file; git status --short'),
        ' M file\n',
      );
    },
  );

  turn.test(
    'node and npm: an offline package is installed and its test runs',
    {
      skip: missing('node', 'npm'),
    },
    async () => {
      const project = stage.project(`mkdir -p vendor/package
      echo '{"name":"greeting","version":"1.0.0","main":"index.js","bin":{"greet":"index.js"}}' > vendor/package/package.json
      printf '#!/usr/bin/env node\\nmodule.exports = "hello"; console.log("hello");\\n' > vendor/package/index.js
      tar -C vendor -czf greeting.tgz package; rm -r vendor
      echo '{"name":"app","version":"1.0.0","dependencies":{"greeting":"file:greeting.tgz"},"scripts":{"test":"greet && node test.js"}}' > package.json
      echo 'require("assert").equal(require("greeting"), "hello"); console.log("passed", process.cwd())' > test.js`);
      const output = await stage.inside(
        project,
        'npm install --offline --no-audit --no-fund --loglevel=error >&2 && npm test --silent',
      );
      assert.match(output, new RegExp(`hello\\n.*passed ${project}\\n$`, 's'));
      stage.shell(project, 'test ! -e node_modules');
      await stage.json(project, ['apply']);
      assert.match(
        stage.shell(project, 'node test.js; test -x node_modules/.bin/greet; test -L node_modules/.bin/greet'),
        /passed/,
      );
    },
  );

  turn.test('gcc and make: compile and run', { skip: missing('gcc', 'make') }, async () => {
    const project = stage.project(`printf '#include <stdio.h>\\nint main(void) { puts("built"); return 0; }\\n' > main.c
      printf 'main: main.c\\n\\tgcc -o $@ $<\\nrun: main\\n\\t./main\\n' > Makefile`);
    assert.match(
      await stage.inside(project, 'make run && make run'),
      /gcc -o main main.c\n\.\/main\nbuilt\n\.\/main\nbuilt\n$/,
    );
  });

  turn.test(
    'python3: modules, temporary files, subprocesses, a virtual environment',
    {
      skip: missing('python3'),
    },
    async () => {
      const project = stage.project('echo "value = 7" > module.py');
      const script = `import module, tempfile, subprocess, os, pwd, socket, multiprocessing
with tempfile.NamedTemporaryFile() as f: f.write(b'x')
print(module.value, subprocess.check_output(['echo', 'sub']).decode().strip(), pwd.getpwuid(os.getuid()).pw_dir == os.environ['HOME'])
print(socket.gethostbyname('localhost'), multiprocessing.get_context('fork').Lock() is not None)`;
      assert.equal(await stage.inside(project, `python3 -c "${script}"`), '7 sub True\n127.0.0.1 True\n');
    },
  );

  turn.test('a server on the loopback inside, and a client of it', { skip: missing('node') }, async () => {
    const project = stage.project();
    const script = `const http = require('http');
      const server = http.createServer((_, answer) => answer.end('served')).listen(0, '127.0.0.1', () => {
        http.get({ port: server.address().port, host: 'localhost', family: 4 }, (answer) => answer.on('data', (chunk) => { console.log(String(chunk)); server.close(); }));
      });`;
    const envelope = await stage.exec(project, ['node', '-e', script]);
    assert.equal(envelope.stdout?.text, 'served\n', envelope.stderr?.text);
  });

  turn.test(
    'redis: a server under load, saved and read again by the next command',
    {
      skip: missing('redis-benchmark', 'redis-check-rdb'),
    },
    async () => {
      const project = stage.project();
      // Debian's redis-tools has the server too: it is one program, which goes by its name.
      const serve = `bash -c 'exec -a redis-server redis-check-rdb --port 6390 --dir . --daemonize no --save "" --logfile log' &
      for i in $(seq 100); do redis-cli -p 6390 ping 2>/dev/null | grep -q PONG && break; sleep 0.05; done`;
      const load = `${serve}; redis-benchmark -p 6390 -q -n 3000 -c 20 -P 4 -t set,get,incr,lpush --csv | tr -d '"' | cut -d, -f1
      redis-cli -p 6390 set kept value; redis-cli -p 6390 save; redis-cli -p 6390 shutdown nosave; wait`;
      assert.match(await stage.inside(project, load), /\nSET\nGET\nINCR\nLPUSH.*\nOK\nOK\n$/s);
      const again = `${serve}; redis-cli -p 6390 get kept; redis-cli -p 6390 shutdown nosave; wait`;
      assert.equal(await stage.inside(project, again), 'value\n');
    },
  );

  turn.test(
    'ripgrep: searches as it does outside, and finds nothing beside the project',
    {
      skip: missing('rg'),
    },
    async () => {
      const project = stage.project(
        'mkdir -p ../beside src; echo needle > ../beside/file; echo needle > src/a; echo x > src/b; echo src/c > .ignore; echo needle > src/c',
      );
      const search =
        'rg --sort path -n needle; rg needle .. --files-with-matches --sort path | sed "s,.*/project,project,"';
      const found = await stage.inside(project, search);
      assert.equal(found, `src/a:1:needle\n${found.split('\n')[1]}\n`);
      assert.match(found, /^src\/a:1:needle\nproject-\d+\/src\/a\n$/);
    },
  );

  turn.test('tar: modes, links, sparse files and long names go in and come out', { skip: missing('tar') }, async () => {
    const project =
      stage.project(`mkdir -p in/${'n'.repeat(120)}/${'m'.repeat(120)}; echo x > in/file; chmod 640 in/file
      ln -s file in/link; ln in/file in/hard; truncate -s 50M in/sparse; mkfifo in/pipe`);
    const script = `tar -czSf all.tgz in && mkdir out && tar -xzf all.tgz -C out && cd out/in && cat link
      stat -c '%a %h' file; readlink link; stat -c '%s' sparse; test -p pipe && ls | wc -l; du -k sparse | cut -f1`;
    const [text, mode, link, size, count, room] = (await stage.inside(project, script)).trimEnd().split('\n');
    assert.deepEqual([text, mode, link, size, count], ['x', '640 2', 'file', String(50 * 2 ** 20), '6']);
    assert.ok(Number(room) < 1024);
  });

  for (const [editor, keys] of [
    ['vim', 'vim -u NONE -N -c "normal! Anew" -c "wq" file'],
    ['less', 'less -FX file'],
  ] as const) {
    turn.test(`${editor} works at a terminal`, { skip: missing(editor, 'script') }, async () => {
      const project = stage.project('echo old > file');
      const typed = `${stage.program} exec --wait --env TERM=xterm --report never -- sh -c '${keys}; tty > terminal; stty size >> terminal'`;
      stage.shell(project, `script -qec "${typed.replaceAll('"', '\\"')}" /dev/null < /dev/null > screen`);
      assert.match(await stage.inside(project, 'cat terminal'), /^\/dev\/(?:pts\/\d+|console)\n\d+ \d+\n$/);
      if (editor === 'vim') assert.equal(await stage.inside(project, 'cat file'), 'oldnew\n');
      else assert.match(stage.shell(project, 'cat screen'), /old/);
    });
  }

  turn.test('there is no network beyond the loopback', { skip: missing('node') }, async () => {
    const project = stage.project();
    const script = `const { networkInterfaces } = require('os'); console.log(Object.keys(networkInterfaces()).join());
      require('net').connect(80, '192.0.2.1').on('error', (error) => console.log(error.code));`;
    assert.match((await stage.exec(project, ['node', '-e', script])).stdout?.text ?? '', /^(lo)?\nENETUNREACH\n$/);
  });

  turn.test(
    'shells: jobs, here-documents, process substitution, pipes, /dev/stderr',
    {
      skip: missing('bash'),
    },
    async () => {
      const project = stage.project();
      const script = `cat <(echo one) <<< two; echo err > /dev/stderr; echo out > /dev/stdout; sleep 0.05 & wait; seq 3 | tac | paste -sd,; echo $((6*7)) | tee /dev/stderr`;
      const envelope = await stage.exec(project, ['bash', '-c', script]);
      assert.deepEqual([envelope.stdout?.text, envelope.stderr?.text], ['one\nout\n3,2,1\n42\n', 'err\n42\n']);
    },
  );

  turn.test('the environment is made, not inherited', async () => {
    const project = stage.project();
    const env = {
      SECRET_TOKEN: 'x',
      LD_PRELOAD: '',
      NODE_OPTIONS: '--no-warnings',
      TERM: 'xterm',
      BASH_ENV: '/x',
      GIT_DIR: '/x',
    };
    const { stdout } = await stage.ctx(project, ['exec', '--env', 'GIVEN=1', '--env', 'TERM', '--', 'env'], { env });
    const names = stdout
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0])
      .sort();
    const expected = ['CTX_JAIL', 'GIVEN', 'HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'USER'];
    assert.deepEqual(
      names.filter((name) => name !== 'PWD' && name !== 'TAR_OPTIONS'),
      expected,
    );
  });

  turn.test('ctx itself says where it is, and where it can be asked', async () => {
    const project = stage.project('mkdir ctx-bin');
    stage.shell(project, `cp ${stage.program} ctx-bin/ctx`);
    const said = await stage.inside(project, './ctx-bin/ctx status 2>&1; echo $?');
    const where = /^ctx: this is inside a jail of ctx, [^\n]*\n[^\n]*ctx apply keeps it[^\n]*\n69\n$/;
    assert.match(said, where);
    // Where the installation is shown, too; what needs neither fork nor jail works there.
    const script = `${stage.program} $0 2>&1; echo $?`;
    const shown = async (word: string) =>
      (await stage.ctx(project, ['exec', '--read', checkout, '--', 'sh', '-c', script, word])).stdout;
    for (const verb of ['status', 'exec', 'doctor']) assert.match(await shown(verb), where);
    assert.match(await shown('--version'), /^ctx \d[^\n]*\n0\n$/);
  });
});
