/** Debuggers, tracers, sanitizers, profilers. */
import type { Flow } from '../flow.js';

const crashing = `printf 'int *p; int g(int x) { return x + *p; }\\nint main(void) { return g(1); }\\n' > c.c; gcc -g -O0 -o c c.c`;
const leaking = `printf '#include <stdlib.h>\\nint main(void) { char *volatile p = malloc(7); p = 0; return 0; }\\n' > l.c`;

export const debuggingFlows: readonly Flow[] = [
  {
    name: 'gdb: a backtrace of a crash',
    needs: ['gdb', 'gcc'],
    before: crashing,
    run: 'gdb -batch -nx -ex run -ex bt ./c 2>/dev/null | grep -E "SIGSEGV|^#"',
    tidy: (text) => text.replace(/0x[0-9a-f]+/g, '0x'),
  },
  {
    name: 'gdb: attach to a child',
    needs: ['gdb', 'gcc'],
    before: `printf '#include <unistd.h>\\nint main(void) { for (;;) pause(); }\\n' > w.c; gcc -g -o w w.c`,
    run: './w & p=$!; sleep 0.3; gdb -batch -nx -p $p -ex bt 2>/dev/null | grep -c main; kill $p',
  },
  {
    name: 'strace: calls of a program',
    quick: true,
    needs: ['strace'],
    run: 'strace -f -e trace=execve -o trace sh -c "/bin/true; exit 3"; echo $?; grep -c execve trace; rm trace',
  },
  {
    name: 'strace: attach',
    needs: ['strace'],
    run: 'sleep 5 & p=$!; timeout 2 strace -qq -o t -p $p; kill $p 2>/dev/null; [ -e t ] && echo traced; rm -f t',
  },
  {
    name: 'address sanitizer: a leak is found',
    quick: true,
    needs: ['gcc'],
    before: `${leaking}; gcc -g -fsanitize=address -o l l.c`,
    run: './l 2>&1 | grep -E "SUMMARY|ptrace"; ./l > /dev/null 2>&1; echo $?',
  },
  {
    name: 'address sanitizer: an overflow is found',
    needs: ['gcc'],
    before: `printf '#include <stdlib.h>\\nint main(void) { char *p = malloc(4); p[4] = 1; free(p); return 0; }\\n' > o.c; gcc -g -fsanitize=address -o o o.c`,
    run: './o 2>&1 | grep -o "heap-buffer-overflow" | head -1',
  },
  {
    name: 'undefined behaviour sanitizer',
    needs: ['gcc'],
    before: `printf '#include <limits.h>\\nint main(int c, char **v) { return INT_MAX + c > 0; }\\n' > u.c; gcc -g -fsanitize=undefined -o u u.c`,
    run: './u 2>&1 | grep -o "signed integer overflow"',
  },
  {
    name: 'thread sanitizer',
    needs: ['gcc'],
    before: `printf '#include <pthread.h>\\nint x; void *f(void *a) { x++; return a; }\\nint main(void) { pthread_t t; pthread_create(&t, 0, f, 0); x++; pthread_join(t, 0); return 0; }\\n' > t.c; gcc -g -fsanitize=thread -o t t.c -pthread`,
    run: './t 2>&1 | grep -o "data race" | head -1',
  },
  {
    name: 'valgrind: a leak is found',
    needs: ['valgrind', 'gcc'],
    before: `${leaking}; gcc -g -o l l.c`,
    run: 'valgrind -q --leak-check=full --error-exitcode=9 ./l > /dev/null 2> v; echo $?; grep -o "definitely lost" v; rm v',
  },
  {
    name: 'core files and signals',
    needs: ['gcc'],
    before: crashing,
    run: 'ulimit -c 0; ./c; echo $?; sh -c "kill -TERM \\$\\$"; echo $?; timeout -s KILL 0.2 sleep 5; echo $?',
    tidy: (text) => text.replace(/\(core dumped\)/g, ''),
  },
  {
    name: 'ltrace-like: LD_PRELOAD',
    needs: ['gcc'],
    before: `printf 'int puts(const char *s) { return __builtin_printf("caught %%s\\\\n", s); }\\n' > p.c; gcc -shared -fPIC -o p.so p.c; printf '#include <stdio.h>\\nint main(void) { puts("x"); return 0; }\\n' > m.c; gcc -fno-builtin -o m m.c`,
    run: 'LD_PRELOAD=./p.so ./m; ./m',
  },
  { name: 'time and resources', run: '{ time -p true; } 2>&1 | cut -d" " -f1; ulimit -n 64; ulimit -n' },
];
