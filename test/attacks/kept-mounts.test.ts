/**
 * What a kept jail is made of, against what runs in it: the layers of its fork, the places where those are mounted anew for each
 * command, and the socket that commands come by. Each is reached by the same user outside.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { before, test } from 'node:test';
import { keptJailPlace } from '../../src/kept-jail/jail-place.js';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import { envelopeOf, inKeptJail } from '../support/kept-jail.js';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const skip = cannotCompile ?? false;
const rounds = process.env['CTX_SOAK'] === '1' ? 100 : 3;

forUsersInTurn(
  (user, turn) => {
    const stage = useWarmStage(user);
    let racer = '';
    let hunter = '';
    before(() => {
      if (skip !== false) return;
      racer = compileAttackProgram(stage.directory, 'race');
      hunter = compileAttackProgram(stage.directory, 'hunt');
    });
    const run = (project: string, script: string) => stage.ctx(project, ['jail', 'exec', '--', 'sh', '-c', script]);
    const outside = async (script: string) => (await stage.start(stage.home, ['sh', '-c', script]).finished).stdout;

    /** A file's path in the store; others' directories there may be closed. */
    const found = (name: string) => stage.shell(stage.store, `find $PWD -name ${name} 2> /dev/null || true`).trim();

    /** Ways to a path of the host that might be left, and what is done with each. */
    const byEveryWay = (path: string, act: string) =>
      `for way in ${path} /proc/1/root${path} /proc/self/root${path} /proc/$PPID/root${path} /proc/1/cwd/../../../../../..${path} /..${path}; do
         (${act}) 2>/dev/null; done; true`;

    test('nothing that serves the kept jail is open in a command, or can be found by it', () =>
      inKeptJail(stage, async ({ project }) => {
        const place = keptJailPlace(stage.store, project, 'main');
        assert.ok(existsSync(place.socket), 'outside it is there');
        const knock = byEveryWay(
          place.socket,
          `node -e 'require("net").connect(process.argv[1]).on("connect", () => { console.log("won"); process.exit(); }).on("error", () => {})' $way`,
        );
        assert.match(await outside(knock), /^won\n/, 'without a jail this has to work');
        assert.equal((await run(project, knock)).stdout, '');
        const { stdout } = await run(
          project,
          `ls -l /proc/self/fd | grep -v 'pipe:\\|/fd$\\|total'; ls -d ${stage.store} ${place.directory} 2>/dev/null
           find / -xdev -name '*.socket' 2>/dev/null; cat /proc/net/unix | tail -n +2
           for number in 3 4 5 6 7 8 9; do (printf '1 exited 0 0 0 0\\0' >&$number) 2>/dev/null && echo won; done; exit 9`,
        );
        assert.equal(stdout, '');
      }));

    test('the layers of the fork are written by whoever is outside, and by nothing inside', () =>
      inKeptJail(
        stage,
        async ({ project }) => {
          await run(project, 'echo kept > in-live-layer');
          const holding = (name: string) => dirname(found(name));
          const live = holding('in-live-layer');
          // Nothing is mounted between two commands: what is written there now is in the fork.
          assert.equal(await outside(`echo planted > ${live}/planted && echo won`), 'won\n');
          assert.equal((await run(project, 'cat planted')).stdout, 'planted\n', 'without a jail this has to work');
          for (const layer of [live, holding('in-first-layer')]) {
            const write = byEveryWay(layer, 'echo forged > $way/forged && echo won; ls $way && echo won');
            assert.match(await outside(`${write}; rm ${layer}/forged`), /won/);
            assert.equal((await run(project, write)).stdout, '', layer);
          }
          assert.equal(found('forged'), '');
          const named = await run(
            project,
            `grep -o 'upperdir=[^,]*\\|lowerdir[^,]*\\|workdir=[^,]*' /proc/self/mountinfo | cut -d= -f2 | tr ':' '\\n' |
             while read -r layer; do ls -d "$layer" "/$layer" "${stage.store}/$layer" 2>/dev/null; done; true`,
          );
          assert.equal(named.stdout, '');
        },
        { script: 'echo kept > in-first-layer' },
      ));

    test('a store that is named relative to the workspace is not asked: what listens there may be an agent’s', async () => {
      const project = stage.project();
      const store = join(project, 'store');
      const { directory, socket } = keptJailPlace(store, project, 'main');
      mkdirSync(directory, { recursive: true });
      let connections = 0;
      const server = createServer((connection) => {
        connections += 1;
        connection.destroy();
      }).listen(socket);
      await once(server, 'listening');
      try {
        // For a call of any user.
        stage.makeDirectory(relative(stage.directory, store));
        for (const path of [socket, directory, dirname(directory), store]) chmodSync(path, 0o777);
        const named = (place: string) => stage.ctx(project, ['exec', '--', 'true'], { env: { CTX_DATA: place } });
        await named(store);
        assert.ok(connections > 0, 'by its whole path it is asked');
        connections = 0;
        assert.notEqual((await named('store')).code, 0);
        assert.equal(connections, 0);
      } finally {
        server.close();
      }
    });

    turn.test('a file held open keeps the fork from being rolled back, and what is rolled back stays so', () =>
      inKeptJail(
        stage,
        async ({ project }) => {
          await run(project, '(exec 3>> file; while :; do echo more >&3; sleep 0.05; done) & echo $! > ~/writer');
          const refused = await stage.ctx(project, ['rollback']);
          assert.match(refused.stderr, /EBUSY/);
          await run(project, 'kill -9 $(cat ~/writer)');
          assert.equal((await stage.ctx(project, ['rollback', '--wait'])).code, 0);
          const { stdout } = await run(project, 'cat file; sleep 0.2; cat file');
          assert.equal(stdout, 'original\noriginal\n');
        },
        { script: 'echo original > file' },
      ),
    );

    for (const way of ['hide', 'chain']) {
      test(`a list of processes does not show who hides by ${way}`, { skip }, async () => {
        // In a pid namespace of its own, so that it ends with its test.
        const script = `${hunter} ${way} file; sleep 0.2; ${hunter} list hidden; before=$(cat file); sleep 0.2
          test "$(cat file)" != "$before" && echo and goes on`;
        const namespaces = user.uid === 0 ? ['-pmf'] : ['-Urpmf'];
        const words = ['unshare', ...namespaces, '--mount-proc', 'sh', '-c', script];
        assert.equal((await stage.start(stage.project(), words).finished).stdout, 'won\nand goes on\n');
      });

      turn.test(`the fork is as busy with who hides by ${way} as with any other`, { skip }, () => {
        const project = stage.project();
        copyFileSync(hunter, join(project, 'hunt'));
        const use = async () => {
          assert.equal((await run(project, `./hunt ${way} file`)).code, 0);
          for (let round = 0; round < rounds * 10; round += 1) {
            const { warnings, checkpoint } = await envelopeOf(stage, project, 'echo more >> written');
            assert.match(warnings.join(), /processes of earlier commands are running/);
            assert.equal(checkpoint, null, 'nothing is frozen while it writes');
          }
          assert.match((await stage.ctx(project, ['rollback'])).stderr, /EBUSY/);
        };
        return inKeptJail(stage, use, { project });
      });
    }

    test('parents renamed and links planted where the fork is mounted lead nowhere', async () => {
      for (const plant of [':', 'ln -s /etc ~/deep', 'mkdir ~/deep; ln -s /tmp ~/deep/project', 'echo file > ~/deep']) {
        const project = stage.makeDirectory('home/deep/project');
        stage.shell(project, 'echo original > file');
        const before = snapshot(dirname(project));
        await inKeptJail(
          stage,
          async () => {
            await run(project, `cd ~; mv deep moved && { ${plant}; }`);
            // Mounted anew in its place, or refused; what it sees is the fork, and never what the link means.
            const next = await stage.ctx(project, ['jail', 'exec', '--', 'ls', '-A']);
            if (next.code === 0) assert.equal(next.stdout, 'file\n', plant);
            else assert.match(next.stderr, /ELOOP|ENOTDIR|EPIPE|no kept jail|ended/, plant);
          },
          { project },
        );
        assert.deepEqual(snapshot(dirname(project)), before, plant);
        await stage.json(project, ['drop']);
        assert.equal(await stage.inside(project, 'cat file'), 'original\n');
        await stage.json(project, ['drop']);
      }
    });

    test('a mount by path is led astray by names that change places', { skip }, async () => {
      const place = stage.project(
        'mkdir -p deep/project target/project source; echo mounted > source/file; ln -s target link',
      );
      const script = `${racer} swap deep link 30000 & racing=$!; n=0
        while [ $n -lt 5000 ]; do n=$((n+1))
          mount --bind source deep/project 2>/dev/null
          test -e target/project/file && { echo won; break; }
          umount -l deep/project 2>/dev/null; done; kill $racing`;
      const words = ['unshare', user.uid === 0 ? '-m' : '-Urm', 'sh', '-c', script];
      assert.equal((await stage.start(place, words).finished).stdout, 'won\n');
    });

    test('names that change places where the fork is mounted lead nowhere, whenever they stop', { skip }, async () => {
      const project = stage.makeDirectory('home/racing/project');
      const target = stage.makeDirectory('home/target/project');
      stage.shell(project, 'echo original > file');
      copyFileSync(racer, join(project, 'race'));
      const places = () => [project, target].map((place) => snapshot(dirname(place)));
      const before = places();
      for (let round = 0; round < rounds; round += 1) {
        await inKeptJail(
          stage,
          async () => {
            // In the private home, where the fork is; the commands that follow start while it goes on.
            const race = './race swap racing link 60000 > /dev/null 2>&1 & echo $! > racer';
            await run(project, `cd ~; mkdir -p target/project; cp racing/project/race .; ln -sfn target link; ${race}`);
            for (let command = 0; command < 3; command += 1) {
              // The link leads to another directory of the private home; nothing else is seen or written.
              const look = `echo more >> written; test "$(pwd -P)" != ${project} || cat file`;
              const { stdout, stderr } = await run(project, look);
              assert.match(stdout, /^(?:original\n)?$/, stderr);
            }
            await run(project, 'kill -9 $(cat ~/racer); while kill -0 $(cat ~/racer) 2> /dev/null; do :; done');
            const next = await stage.ctx(project, ['jail', 'exec', '--', 'cat', 'file']);
            if (next.code === 0) assert.equal(next.stdout, 'original\n');
            else assert.match(next.stderr, /ELOOP|ENOTDIR|ENOENT|EPIPE|EBUSY|no kept jail|ended|No such file/);
          },
          { project },
        );
        assert.deepEqual(places(), before, 'nothing outside of the fork has changed');
        await stage.json(project, ['drop', '--wait']);
      }
      assert.equal((await stage.ctx(project, ['exec', '--', 'cat', 'file'])).stdout, 'original\n');
    });
  },
  { concurrency: 3 },
);
