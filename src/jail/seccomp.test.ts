import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { runFilter } from '../../test/support/filter-machine.js';
import { refusalReason, seccompProgram, systemCallName } from './seccomp.js';
import { type Architecture, systemCalls } from './system-calls.js';

const architectures: readonly Architecture[] = ['x64', 'arm64'];
const audit = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
const allow = 0x7fff0000;
const tell = 0x7fc00000;
const missing = 0x00050000 | 38;

const answer = (architecture: Architecture, name: string, ...values: number[]) =>
  runFilter(seccompProgram(architecture), {
    architecture: audit[architecture],
    number: systemCalls[architecture].get(name) ?? assert.fail(name),
    arguments: values,
  });

for (const architecture of architectures) {
  describe(`the system calls of ${architecture}`, () => {
    it('that ordinary programs make are allowed', () => {
      for (const name of [
        'read',
        'openat',
        'execve',
        'mmap',
        'futex',
        'connect',
        'wait4',
        'statx',
        'getrandom',
        'renameat',
      ]) {
        assert.equal(answer(architecture, name, 1), allow, name);
      }
    });

    it('that lead out are told to the owner', () => {
      const ways = [
        'mount',
        'unshare',
        'setns',
        'ptrace',
        'bpf',
        'keyctl',
        'open_by_handle_at',
        'pidfd_getfd',
        'kexec_load',
      ];
      for (const name of ways) {
        assert.equal(answer(architecture, name), tell, name);
        assert.notEqual(refusalReason(name), 'this use of it');
        assert.equal(systemCallName(architecture, systemCalls[architecture].get(name) ?? -1), name);
      }
    });

    it('that libraries do without are answered as by an older kernel', () => {
      for (const name of ['clone3', 'io_uring_setup', 'io_uring_enter'])
        assert.equal(answer(architecture, name), missing);
    });

    it('are judged by their arguments where the number does not say enough', () => {
      assert.equal(answer(architecture, 'clone', 0x01200011), allow);
      for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x8000]) {
        assert.equal(answer(architecture, 'clone', 0x11 | flag), tell, flag.toString(16));
      }
      assert.equal(answer(architecture, 'ioctl', 0, 0x5401), allow);
      assert.equal(answer(architecture, 'ioctl', 0, 0x5412), tell);
      assert.equal(answer(architecture, 'ioctl', 0, 0x541c), tell);
      assert.equal(answer(architecture, 'socket', 1, 0x80005), allow);
      for (const family of [2, 10]) {
        for (const [type, protocol] of [
          [0x80001, 0],
          [1, 6],
          [0x80802, 17],
          [2, 1],
          [2, 58],
        ] as const)
          assert.equal(answer(architecture, 'socket', family, type, protocol), allow, `${type} ${protocol}`);
        for (const type of [4, 0x80005, 6, 10])
          assert.equal(answer(architecture, 'socket', family, type, 0), 0x00050000 | 94);
        for (const protocol of [33, 115, 132, 136, 256, 262])
          assert.equal(answer(architecture, 'socket', family, 1, protocol), 0x00050000 | 93);
      }
      assert.equal(answer(architecture, 'setsockopt', 3, 6, 1), allow);
      assert.equal(answer(architecture, 'setsockopt', 3, 1, 31), allow);
      assert.equal(answer(architecture, 'setsockopt', 3, 6, 31), 0x00050000 | 92);
      assert.equal(answer(architecture, 'socket', 16, 3, 0), allow);
      for (const protocol of [9, 15, 16])
        assert.equal(answer(architecture, 'socket', 16, 3, protocol), 0x00050000 | 93);
      assert.equal(answer(architecture, 'socketpair', 1), allow);
      for (const family of [2, 17, 30, 40]) assert.equal(answer(architecture, 'socketpair', family), 0x00050000 | 97);
      for (const family of [0, 17, 38, 40]) assert.equal(answer(architecture, 'socket', family), 0x00050000 | 97);
    });

    it('cannot hand a crash to the host: the limit of core files stays', () => {
      assert.equal(answer(architecture, 'setrlimit', 7, 1), allow);
      assert.equal(answer(architecture, 'setrlimit', 4, 1), 0x00050000);
      assert.equal(answer(architecture, 'prlimit64', 0, 7, 1), allow);
      assert.equal(answer(architecture, 'prlimit64', 0, 4, 0), allow);
      for (const pointer of [1, 2 ** 32, 2 ** 47 - 8]) {
        assert.equal(answer(architecture, 'prlimit64', 0, 4, pointer), 0x00050000);
      }
    });

    it('that nobody knows are refused, those of x32 among them', () => {
      const known = new Set(systemCalls[architecture].values());
      fc.assert(
        fc.property(fc.nat({ max: 2 ** 31 }), (number) => {
          if (known.has(number)) return;
          assert.equal(runFilter(seccompProgram(architecture), { architecture: audit[architecture], number }), missing);
        }),
        seeded(300),
      );
      assert.equal(
        runFilter(seccompProgram(architecture), { architecture: audit[architecture], number: 0x40000000 }),
        missing,
      );
    });

    it('of another architecture kill the process', () => {
      for (const other of [0, 0x40000003, audit[architecture === 'x64' ? 'arm64' : 'x64']]) {
        assert.equal(runFilter(seccompProgram(architecture), { architecture: other, number: 0 }), 0x80000000);
      }
    });
  });
}

describe('the numbers of system calls', () => {
  const header = `/usr/include/${process.arch === 'arm64' ? 'asm-generic/unistd.h' : 'x86_64-linux-gnu/asm/unistd_64.h'}`;

  it("are the host's own", {
    skip: process.arch === 'x64' ? false : 'the generic header gives names in two ways',
  }, () => {
    const text = readFileSync(header, 'utf8');
    for (const [name, number] of systemCalls.x64) {
      const given = new RegExp(`#define __NR_${name} (\\d+)\\b`).exec(text)?.[1];
      if (given !== undefined) assert.equal(number, Number(given), name);
    }
  });

  it('are never given twice', () => {
    for (const architecture of architectures) {
      const numbers = [...systemCalls[architecture].values()];
      assert.equal(new Set(numbers).size, numbers.length);
      assert.ok(numbers.every((number) => Number.isSafeInteger(number)));
    }
  });
});
