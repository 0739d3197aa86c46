/** What a command may not do inside, whatever it tries: gain power, change the system, or reach the terminal. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import { ownSeconds, processesCalled, until } from '../support/process.js';
import { snapshot } from '../support/snapshot.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const skip = cannotCompile ?? false;

forEachUser((user) => {
  const stage = useWarmStage(user);
  let project = '';

  before(() => {
    project = stage.project('mkdir mount cell');
    if (skip === false) compileAttackProgram(project);
  });

  const run = async (script: string) => {
    const { stdout, stderr } = await stage.ctx(project, ['exec', '--wait', '--', 'sh', '-c', `echo ran; ${script}`]);
    assert.match(stdout, /^ran\n/, stderr);
    return { stdout: stdout.slice(4), stderr };
  };

  for (const [who, process] of [
    ['the command', 'self'],
    ['the first process', '1'],
  ])
    test(`every capability of ${who} is gone, for good, and no program can give one back`, async () => {
      const { stdout } = await run(`grep -E "^(Cap|NoNewPrivs|Groups)" /proc/${process}/status`);
      const facts = Object.fromEntries(
        stdout
          .trim()
          .split('\n')
          .map((line) => line.split(':').map((part) => part.trim())),
      );
      for (const name of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
        assert.equal(facts[name], '0000000000000000', name);
      assert.equal(facts['NoNewPrivs'], '1');
      if (user.uid === 0) assert.equal(facts['Groups'], '');
    });

  test('every mount inside is without setuid, and without devices or programs where they do not belong', async () => {
    const { stdout } = await run('cut -d" " -f5,6 /proc/self/mountinfo');
    const mounts = stdout
      .trim()
      .split('\n')
      .map((line) => line.split(' '));
    assert.ok(mounts.length > 10, stdout);
    for (const [place = '', text = ''] of mounts) {
      const options = text.split(',');
      assert.ok(options.includes('nosuid'), `${place} ${text}`);
      // A single device is shown where no program can be.
      const mayHoldDevice = /^\/(?:dev|proc)\/./.test(place);
      assert.ok(options.includes('nodev') || (mayHoldDevice && options.includes('noexec')), `${place} ${text}`);
    }
    const optionsOf = (place: string) => mounts.find(([at]) => at === place)?.[1] ?? '';
    assert.match(optionsOf('/proc'), /nosuid,nodev,noexec/);
    assert.match(optionsOf('/dev/pts'), /nosuid,noexec/);
  });

  test('the further groups of whoever starts it stay outside', {
    skip: user.uid === 0 ? false : 'only root can have been given groups here',
  }, async () => {
    const look = 'grep -h ^Groups: /proc/self/status /proc/1/status';
    const given = ['setpriv', '--groups', '54321,54322', '--'];
    assert.match((await stage.start(project, [...given, 'sh', '-c', look]).finished).stdout, /54321 54322/);
    const words = [...given, stage.program, 'exec', '--wait', '--', 'sh', '-c', look];
    const { stdout, stderr } = await stage.start(project, words).finished;
    assert.match(stdout, /^(?:Groups:\s*\n){2}$/, stderr);
  });

  test('on the host the command is nobody where root started it, and its user otherwise', async () => {
    const { stdout } = await run('cat /proc/self/uid_map; id -u');
    const [map = '', uid] = stdout.trim().split('\n');
    const [inside, outside] = map.trim().split(/\s+/).map(Number);
    assert.equal(Number(uid), user.uid);
    if (user.uid === 0) assert.ok(inside === 0 && (outside ?? 0) >= 0x70000000, map);
    else assert.equal(outside, user.uid);
  });

  test('only the processes of the jail are to be seen, and its init cannot be looked into', async () => {
    const { stdout } = await run(
      'ls /proc | grep -c "^[0-9]"; ls -l /proc/1/root /proc/1/cwd /proc/1/fd 2>&1 | grep -c denied; kill -0 1 2>&1; echo x > /proc/1/mem',
    );
    const [count, denied] = stdout.split('\n').map(Number);
    assert.ok((count ?? 99) <= 5, stdout);
    assert.ok((denied ?? 0) >= 3, stdout);
  });

  test('init is neither read, written, traced, robbed of a descriptor nor killed', { skip }, async () => {
    const [pid, address] = ['1', '400000'];
    const tries = [
      `./attack memory-file ${pid} ${address}`,
      `./attack vm-read ${pid} ${address}`,
      `./attack trace ${pid} ${address}`,
      ...[0, 1, 2, 3, 4].map((descriptor) => `./attack steal-descriptor ${pid} ${address} ${descriptor}`),
      'cat /proc/1/environ /proc/1/maps /proc/1/auxv /proc/1/io /proc/1/stack',
      'readlink /proc/1/exe /proc/1/cwd /proc/1/root /proc/1/fd/0 /proc/1/ns/mnt',
      'kill -9 1; kill -STOP 1; kill -SEGV 1',
      'echo -1000 > /proc/1/oom_score_adj && echo won; echo x > /proc/1/mem && echo won',
    ];
    const { stdout } = await run(
      `for i in 1; do ${tries.map((each) => `(${each}) 2>/dev/null`).join('; ')}; done; echo alive`,
    );
    assert.equal(stdout, 'alive\n');
    // Without a jail the same tries find a process of one's own: here a shell of the same user.
    const own = stage.start(project, ['sh', '-c', 'sleep 20; :']);
    const found = stage.shell(
      project,
      `readlink /proc/${own.pid}/exe /proc/${own.pid}/fd/1; cat /proc/${own.pid}/maps | head -1; kill -9 ${own.pid}`,
    );
    assert.match(found, /sh\n(?:pipe|socket):\[\d+\]\n.*-/s);
  });

  test('the kernel cannot be changed and its secrets cannot be read', async () => {
    const files = [
      'sys/kernel/core_pattern',
      'sys/kernel/hostname',
      'sys/vm/drop_caches',
      'sysrq-trigger',
      'sys/kernel/modprobe',
    ];
    // Opened for writing and left as they are, where it could be done; inside even written. What is masked is /dev/null.
    const open = `for file in ${files.join(' ')}; do [ -c /proc/$file ] || (exec 3>> /proc/$file) 2>/dev/null && [ ! -c /proc/$file ] && echo $file; done; true`;
    const opened = stage.shell(project, open).trim().split('\n');
    if (user.uid === 0) assert.ok(opened.length > 2, `without a jail this has to work: ${opened}`);
    assert.equal((await run(open)).stdout, '');
    assert.equal((await run(open.replace('exec 3>>', 'echo x >'))).stdout, '');
    const read =
      'cat /proc/kcore /proc/keys 2>/dev/null | head -c 1 | wc -c; ls /sys/kernel /boot /root 2>/dev/null | head -1 | wc -l';
    const readOutside = stage.shell(project, read).replace(/\s+/g, ' ').trim();
    // Not everybody has keys to be listed, and only root reads the kernel's memory.
    assert.match(readOutside, user.uid === 0 ? /^1 1$/ : /^[01] 1$/, 'without a jail this has to work');
    assert.equal((await run(read)).stdout.replace(/\s+/g, ' ').trim(), '0 0');
  });

  test('writes to the system, to /etc and to the home never reach the host', async () => {
    stage.shell(project, 'echo mine > ~/mine; mkdir -p ~/.config');
    const marker = `ctx-${process.pid}-${user.uid}`;
    const own = `for place in ~ /tmp ${stage.directory}; do echo x > $place/${marker}; rm $place/${marker}; done`;
    stage.shell(project, own); // without a jail this has to work
    const home = snapshot(stage.home);
    const places = ['/usr', '/usr/bin', '/etc', '/', '/var', '/dev', '/run', '/usr/local/lib', '/opt'];
    const { stdout } = await run(
      `for place in ${places.join(' ')}; do (echo x > $place/${marker}) 2>/dev/null && echo "wrote $place"; done; echo changed > ~/mine; echo x > ~/.bashrc; echo x > /tmp/${marker}; (echo x > ${stage.directory}/${marker}) 2>/dev/null; echo 'root::0:0::/:/bin/sh' >> /etc/passwd; true`,
    );
    assert.equal(stdout, '');
    for (const place of [...places, '/tmp', stage.directory])
      assert.throws(() => readFileSync(join(place, marker)), place);
    assert.deepEqual(snapshot(stage.home), home);
  });

  test('a read-only mount stays so, even for the root of a nested namespace', { skip }, async () => {
    const outside = stage.shell(project, './attack nested sh -c "./attack bind /usr mount && echo bound" || true');
    assert.equal(outside, 'bound\n');
    const remount = './attack remount $place';
    const tries = `./attack nested sh -c "${remount} && touch $place/written && echo written"; ${remount} && echo remounted`;
    const tried = await run(`for place in /usr /etc/ld.so.cache / /proc/sys; do ${tries}; done`);
    assert.equal(tried.stdout, '');
    const { stdout } = await run(
      `./attack nested sh -c 'umount -l /usr; umount -l /proc; umount -l ${project}; umount -l /; ls /lost+found ${stage.directory}/secrets ${stage.store}' 2>/dev/null`,
    );
    assert.equal(stdout, '');
  });

  test('nothing of the mounts made inside reaches the host', { skip }, async () => {
    // Others mount things meanwhile; these would be below the stage.
    const mounts = () =>
      readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .filter((line) => line.includes(stage.directory));
    await run("./attack nested sh -c './attack bind /etc mount; mount -t tmpfs none cell; touch cell/x'");
    assert.deepEqual(mounts(), []);
    assert.equal((await run('ls mount cell')).stdout, 'cell:\n\nmount:\n');
  });

  test('devices cannot be made', { skip }, async () => {
    if (user.uid === 0) assert.equal(stage.shell(project, './attack device node'), 'read a device\n');
    const tries = ['./attack device node', './attack nested ./attack device node', './attack device /tmp/node'];
    assert.equal((await run([...tries, './attack device ~/node'].join('; '))).stdout, '');
    stage.shell(project, 'rm -f node');
  });

  test('a setuid bit that a command sets does nothing, and does not survive apply', async () => {
    const own = stage.project();
    await stage.inside(own, 'cp /bin/sh shell; chmod 6755 shell; mkdir d; chmod 1777 d');
    assert.match(await stage.inside(own, './shell -pc "grep -E ^CapEff /proc/self/status"'), /0000000000000000/);
    await stage.json(own, ['apply']);
    assert.match(snapshot(own)['./shell'] ?? '', /^file \d+ \w+ 755 /);
    // A plain copy would keep it.
    const plain = stage.project('cp /bin/sh shell; chmod 6755 shell; cp -a shell copy');
    assert.match(snapshot(plain)['./copy'] ?? '', /^file \d+ \w+ 6755 /);
    assert.deepEqual((await stage.json(own, ['diff']))['changes'], []);
  });

  test('nothing can be typed into the terminal of the person', { skip }, async (context) => {
    const typing = ['./attack', 'type', 'rm -rf x'];
    const outside = await stage.start(project, ['./attack', 'terminal', ...typing]).finished;
    if (!outside.stdout.includes('typed: rm -rf x'))
      return context.skip('this kernel refuses TIOCSTI to this user anyway');
    const inside = await stage.start(project, [
      './attack',
      'terminal',
      stage.program,
      'exec',
      '--wait',
      '--report',
      'never',
      '--',
      ...typing,
    ]).finished;
    assert.equal(inside.stdout, 'typed: \n', inside.stderr);
  });

  test('a terminal at one end of a pipe does not enter the jail, where its modes could be changed', async () => {
    const project = stage.project("echo 'test -t 0; echo stdin $?; test -t 2; echo stderr $?' > ask");
    const ask = 'sh ask';
    const atTerminal = (command: string) =>
      stage.shell(project, `script -qec "${command} | cat" /dev/null < /dev/null | tr -d '\\r'`);
    assert.match(atTerminal(ask), /stdin 0\nstderr 0/);
    assert.match(atTerminal(`${stage.program} exec --report never -- ${ask}`), /stdin 1\nstderr 1/);
  });

  test('a pipe that others write to cannot be opened again to read what they wrote', {
    skip: user.uid === 0 ? false : 'whoever is the same user owns the pipe: see the threat model',
  }, async () => {
    const read = `sh -c 'exec 3>&1; timeout 5 head -c 5 /proc/self/fd/3 >&2; echo out > /dev/stdout'`;
    const among = (command: string) =>
      `{ echo other; ${command}; touch ended; } | { until test -e ended; do sleep 0.1; done; cat; }`;
    const plain = await stage.start(stage.project(), ['sh', '-c', among(read)]).finished;
    assert.deepEqual([plain.stderr, plain.stdout], ['other', '\nout\n'], 'without a jail this has to work');
    const jailed = among(`${stage.program} exec --report never -- ${read}`);
    const { stdout, stderr } = await stage.start(stage.project(), ['sh', '-c', jailed]).finished;
    assert.equal(stdout, 'other\nout\n');
    assert.match(stderr, /Permission denied\n$/);
  });

  test('a file given as stdin cannot be opened again for writing', async () => {
    stage.shell(project, 'mkdir -p ../given; echo input > ../given/file');
    const script = 'cat; echo changed > /proc/self/fd/0; echo changed > /dev/stdin';
    await run('true');
    const give = (argv: string) => stage.shell(project, `{ ${argv}; } < ../given/file`);
    assert.equal(give(`${stage.program} exec --wait -- sh -c '${script}'`).startsWith('input\n'), true);
    assert.equal(stage.shell(project, 'cat ../given/file'), 'input\n');
    give(`sh -c '${script}' 2>/dev/null || true`);
    assert.equal(stage.shell(project, 'cat ../given/file'), 'changed\n', 'without a jail this has to work');
  });

  test('a file given as stdout can be written in order and nothing else', async () => {
    const script = `sh -c 'echo out; : > /proc/self/fd/1; true'`;
    const give = (argv: string) =>
      stage.shell(project, `echo kept > ../given-out; ${argv} >> ../given-out 2>/dev/null; cat ../given-out`);
    assert.equal(give(script), '', 'without a jail this has to work');
    assert.equal(give(`${stage.program} exec --wait -- ${script}`), 'kept\nout\n');
  });

  test('processes that were left behind are dead when the command has ended', async () => {
    const seconds = ownSeconds();
    const leave = `(setsid nohup sh -c 'exec sleep ${seconds}' > /dev/null 2>&1 &); sh -c 'trap "" TERM HUP INT; sleep ${seconds}' > /dev/null 2>&1 & true`;
    stage.shell(project, leave);
    await until(() => processesCalled('sleep', seconds).length === 2, 'without a jail they live on');
    for (const pid of processesCalled('sleep', seconds)) process.kill(pid, 'SIGKILL');
    await until(() => processesCalled('sleep', seconds).length === 0, 'they have ended');
    await run(`${leave}; until test $(ps ax | grep -c "[s]leep ${seconds}") -ge 2; do sleep 0.05; done`);
    assert.deepEqual(processesCalled('sleep', seconds), []);
  });
});
