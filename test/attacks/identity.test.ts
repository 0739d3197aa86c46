/**
 * What a program is called, and which program it is, decides nothing. Rules that name programs were evaded in all of these
 * ways; here each reads a file that is not shown, and finds no file.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { cannotCompile } from '../support/attack-program.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const skip = cannotCompile ?? false;
const token = 'secret-51c0';
const world = `mkdir ../secrets; echo ${token} > ../secrets/key`;
const loader = 'loader=$(ls /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.* 2>/dev/null | head -1)';
const prelude = `secret=$WORLD/secrets/key; export secret; seen() { grep -q ${token} && echo won; }; ${loader}`;

const installed = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** The program, and how it reads the secret. */
const ways: Readonly<Record<string, readonly [program: string, script: string]>> = {
  'a copy under another name': ['cat', 'cp $(command -v cat) innocent; ./innocent $secret | seen'],
  'a link under another name': ['cat', 'ln -s $(command -v cat) true-link; ./true-link $secret | seen'],
  'another argv[0]': ['bash', `bash -c 'exec -a true cat $secret' | seen`],
  'the root of its own process': ['cat', '/proc/self/root$(command -v cat) /proc/self/root$secret | seen'],
  'the loader, called directly': ['cat', '$loader $(command -v cat) $secret | seen'],
  'the loader and a copy without leave to run': [
    'cat',
    'cp $(command -v cat) data; chmod 644 data; $loader ./data $secret | seen',
  ],
  'a script with an interpreter': ['sh', `printf '#!/bin/sh\\ncat $secret\\n' > s; chmod +x s; ./s | seen`],
  'a builtin of the shell': [
    'bash',
    `bash -c 'echo "$(<$secret)"; mapfile < $secret; read line < $secret; echo "$line"' | seen`,
  ],
  'a redirection': ['sh', 'while read line; do echo "$line"; done < $secret | seen'],
  python: ['/usr/bin/python3', `/usr/bin/python3 -c 'import os; print(open(os.environ["secret"]).read())' | seen`],
  perl: ['perl', `perl -pe 1 $secret | seen`],
  node: ['node', `node -p 'require("fs").readFileSync(process.env.secret, "utf8")' | seen`],
  awk: ['awk', 'awk 1 $secret | seen'],
  'git, which reads any two files': ['git', 'git diff --no-index --no-color /dev/null $secret | seen'],
  tar: ['tar', 'tar -cPf - $secret | tar -xOPf - | seen'],
  dd: ['dd', 'dd if=$secret 2>/dev/null | seen'],
  'a wrapper of wrappers': ['xargs', `echo $secret | env nice timeout 5 xargs -I% find % -exec cat {} \\; | seen`],
  'the preprocessor of a compiler': ['gcc', `printf '#include "%s"\\n' $secret > x.c; gcc -E x.c | seen`],
};

forEachUser((user) => {
  const stage = useWarmStage(user);
  const volley = useVolley(stage, { world, prelude, programs: skip === false ? ['attack'] : [] });

  for (const [way, [program, script]] of Object.entries(ways)) {
    volley.attack(`the secret is not read by ${way}`, script, {
      skip: installed(program) ? false : `${program} is not installed`,
    });
  }
  volley.attack(
    'the secret is not read by a program that is in memory only',
    './attack from-memory $(command -v cat) $secret | seen',
    {
      skip,
    },
  );

  test('a directory without leave to run programs gives none by the loader either', async () => {
    const data = stage.makeDirectory('data');
    stage.shell(data, 'cp /bin/echo say; chmod 755 say');
    const project = stage.project();
    const set = (...words: readonly string[]) => stage.ctx(project, ['agent', ...words]);
    assert.equal((await set('new', 'reader')).code, 0);
    const mount = `${data}\t${data}\tro\tbind,noexec`;
    assert.equal((await set('set', 'reader', 'mount', mount)).code, 0);
    const script = `${data}/say won; ${loader}; $loader ${data}/say won; ls ${data}`;
    assert.equal(stage.shell(project, script), 'won\nwon\nsay\n');
    const { stdout } = await stage.ctx(project, ['exec', '--agent', 'reader', '--', 'sh', '-c', script]);
    assert.equal(stdout, 'say\n');
  });
});
