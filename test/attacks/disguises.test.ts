/**
 * Commands dressed up so that anyone who reads their words is fooled. Nothing depends on the reading: each deletes a
 * file beside the project without a jail, however it is read, and inside that file does not exist.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const installed = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

/** What looks harmless, and deletes `$V`. */
const disguises: Readonly<Record<string, string>> = {
  'flags in another order, and long ones': 'rm -- "$V" -f 2>/dev/null; rm --force --recursive "$V"',
  'another directory first': 'cd .. && rm -f victims/$(basename $V)',
  "git's own option for that": 'git -C .. -c alias.look="!rm -f $V" look',
  'a variable in front': 'A=1 B=2 rm -f "$V"',
  'an absolute path': '"$(command -v rm)" -f "$V"',
  'a shell in a shell': `sh -c 'sh -c "rm -f $V"'`,
  'wrappers of wrappers': 'env nice timeout 9 xargs rm -f <<end\n$V\nend',
  'find, which runs things': 'find "$V" -exec rm -f {} +',
  'find, which deletes': 'find "$V" -delete',
  'a semicolon, a newline and a carriage return': `true; :\nrm -f "$V"; printf 'x\\r' > /dev/null`,
  'more commands than anybody reads': `${Array(80).fill('true').join('; ')}; rm -f "$V"`,
  'a redirection after an allowed echo':
    'echo harmless > "$V"; test -s "$V" && ! grep -q kept "$V" && : > "$V" && rm "$V"',
  'a trap': `sh -c 'trap "rm -f $V" EXIT'`,
  'an exported function or alias': 'ls() { command rm -f "$V"; }; ls',
  'a here-document': 'sh <<end\nrm -f $V\nend',
  'a substitution inside arithmetic': ': $((1 + $(rm -f "$V"; echo 1)))',
  'process substitution': `bash -c 'cat <(rm -f "$V")'`,
  'arithmetic that runs an index': `bash -c 'x="a[\\$(rm -f $V)]"; : $((x))'`,
  'an interpreter': `node -e 'require("fs").rmSync(process.env.V)'`,
  'text that is built': `p=r; q=m; "$p$q" -f "$V"`,
  'text that is decoded': `eval "$(printf '\\162\\155 -f %s' "$V")"`,
  'a program under another name': 'cp "$(command -v rm)" innocent; ./innocent -f "$V"',
  'git, and what its configuration runs':
    'git init -q r; git -C r -c core.fsmonitor="rm -f $V; false" status > /dev/null 2>&1',
  'make, which looks like a build': `printf 'all:\\n\\trm -f $V\\n' > Makefile; make -s`,
  'tar, which runs things': 'tar -cf /dev/null --checkpoint=1 --checkpoint-action=exec="rm -f $V" own',
};
const needs: Readonly<Record<string, string>> = {
  'process substitution': 'bash',
  'arithmetic that runs an index': 'bash',
  'make, which looks like a build': 'make',
};

forEitherUser((user) => {
  const stage = useWarmStage(user);
  const count = Object.keys(disguises).length;
  const volley = useVolley(stage, {
    world: `mkdir ../victims; for i in $(seq 0 ${count}); do echo kept > ../victims/$i; done; echo own > own`,
  });

  Object.entries(disguises).forEach(([name, script], number) => {
    const program = needs[name];
    const skip = program === undefined || installed(program) ? false : `${program} is not installed`;
    // Inside the file is not there to begin with: what counts is the one outside, below.
    const attack = `export V=$WORLD/victims/${number}; test -e "$V" || { mkdir -p "\${V%/*}" && echo kept > "$V"; } 2>/dev/null
      ( ${script}\n ) > /dev/null 2>&1; case $WORLD in */plain) test -e "$V" || echo won ;; esac`;
    volley.attack(`${name}: nothing outside is deleted`, attack, { skip });
  });

  test('every file beside the project is still there', () => assert.ok(volley.unchanged));
});
