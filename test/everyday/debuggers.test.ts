/** Debuggers and sanitizers say inside what they say outside. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const program = `#include <stdio.h>
#include <stdlib.h>
int add(int a, int b) { return a + b; }
int main(void) { char *lost = malloc(42); lost[0] = 1; lost = 0; printf("%d\\\\n", add(2, 3)); return 0; }
`;

const flows: Readonly<Record<string, { readonly needs: string; readonly script: string }>> = {
  'gdb stops at a breakpoint, shows the stack and lets the program end': {
    needs: 'gdb',
    script: `gdb -q -batch -nx -ex 'break add' -ex run -ex bt -ex 'print a + b' -ex continue ./program 2>/dev/null | grep '^#\\|^\\$\\|^5\\|exited' | sed 's/process [0-9]*/process/'`,
  },
  'gdb attaches to a running process': {
    needs: 'gdb',
    script: `sleep 600 & gdb -q -batch -nx -p $! -ex 'info inferiors' 2>/dev/null | grep -c 'process'; kill $!`,
  },
  'strace shows the calls of a program and its children': {
    needs: 'strace',
    script: `strace -f -o log -e trace=execve sh -c './program; ./program' && grep -c 'execve("./program".* = 0' log`,
  },
  'strace as a grandchild leaves the status to whoever waits': {
    needs: 'strace',
    script: `strace -D -o log sh -c 'exit 3'; echo $?`,
  },
  'the leak check of AddressSanitizer finds the leak': {
    needs: 'gcc',
    script: `gcc -g -fsanitize=address -o checked program.c && ./checked 2>errors; echo $?; grep -o 'detected memory leaks\\|Direct leak of 42 byte' errors`,
  },
};

forEitherUser((user) => {
  const stage = useWarmStage(user);

  for (const [what, { needs, script }] of Object.entries(flows)) {
    const missing = spawnSync(needs, ['--version']).error !== undefined;
    test(what, { skip: missing && `${needs} is not installed` }, async () => {
      const make = `printf '%b' '${program.replaceAll("'", "'\\''")}' >program.c; gcc -g -o program program.c`;
      const outside = stage.shell(stage.project(make), `set +e; ${script}`);
      const inside = await stage.exec(stage.project(make), ['sh', '-c', script]);
      assert.equal(inside.stdout?.text, outside, inside.stderr?.text);
      assert.notEqual(outside, '');
      assert.deepEqual(inside.refusals, []);
    });
  }
});
