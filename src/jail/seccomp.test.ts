import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
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
  runFilter(seccompProgram({ architecture, overlays: true, renumbers: true, nesting: false }), {
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
        'symlinkat',
      ]) {
        assert.equal(answer(architecture, name, 1), allow, name);
      }
    });

    it('have, each, the verdict that was read and agreed to', () => {
      const words = new Map<number, string>([
        [allow, 'allowed'],
        [tell, 'told'],
        [missing, 'missing'],
      ]);
      const lines = [...systemCalls[architecture].keys()]
        .map((name) => `${name} ${words.get(answer(architecture, name)) ?? answer(architecture, name).toString(16)}`)
        .sort();
      const file = new URL(`../../../../test/vectors/system-calls-${architecture}.txt`, import.meta.url);
      if (process.env['CTX_WRITE_VECTORS'] === '1') writeFileSync(file, `${lines.join('\n')}\n`);
      assert.deepEqual(lines, readFileSync(file, 'utf8').trimEnd().split('\n'));
    });

    it('that lead out are told to the owner', () => {
      const ways = ['mount', 'unshare', 'setns', 'bpf', 'keyctl', 'open_by_handle_at', 'pidfd_getfd', 'kexec_load'];
      for (const name of ways) {
        assert.equal(answer(architecture, name), tell, name);
        assert.notEqual(refusalReason(name), 'this use of it');
        assert.equal(systemCallName(architecture, systemCalls[architecture].get(name) ?? -1), name);
      }
    });

    it('that trace are allowed, but for what reads a filter or switches it off', () => {
      const suspend = 1 << 21;
      for (const request of [0, 4, 0x10, 0x4202, 0x4206, 0x4207]) {
        assert.equal(answer(architecture, 'ptrace', request), allow, request.toString(16));
      }
      assert.equal(answer(architecture, 'ptrace', 5, 1, 0, suspend), allow, 'a word that is written into a process');
      for (const request of [0x420c, 0x420d]) assert.equal(answer(architecture, 'ptrace', request), tell);
      for (const request of [0x4200, 0x4206]) {
        assert.equal(answer(architecture, 'ptrace', request, 1, 0, suspend | 1), tell);
        assert.equal(answer(architecture, 'ptrace', request, 1, 0, 0x10ff), allow);
      }
      for (const name of ['process_vm_readv', 'process_vm_writev']) assert.equal(answer(architecture, name), allow);
    });

    it('that make namespaces are allowed where they are granted, and mounts and packet filters are not', () => {
      const program = seccompProgram({ architecture, overlays: true, renumbers: true, nesting: true });
      const given = (name: string, ...values: number[]) => {
        const number = systemCalls[architecture].get(name) ?? assert.fail(name);
        return runFilter(program, { architecture: audit[architecture], number, arguments: values });
      };
      assert.equal(given('clone', 0x70020011), allow);
      assert.equal(given('clone', 0x10008011), tell, 'a child of the owner');
      for (const name of ['unshare', 'setns', 'chroot']) assert.equal(given(name), allow, name);
      for (const name of [
        'mount',
        'umount2',
        'pivot_root',
        'fsopen',
        'move_mount',
        'mount_setattr',
        'open_tree',
        'bpf',
      ])
        assert.equal(given(name), tell, name);
      for (const [level, option] of [
        [0, 64],
        [0, 65],
        [0, 96],
        [0, 1200],
        [41, 64],
        [41, 65],
      ])
        assert.equal(given('setsockopt', 3, level ?? 0, option ?? 0), tell, `${level} ${option}`);
      for (const [level, option] of [
        [0, 10],
        [0, 49],
        [41, 26],
        [41, 67],
        [1, 2],
        [6, 1],
      ])
        assert.equal(given('setsockopt', 3, level ?? 0, option ?? 0), allow, `${level} ${option}`);
      assert.equal(given('setsockopt', 3, 6, 31), 0x00050000 | 92, 'an upper protocol');
    });

    it('that rename are told to the owner where there is an overlay, and nowhere else', () => {
      for (const name of ['rename', 'renameat', 'renameat2']) {
        const number = systemCalls[architecture].get(name);
        if (number === undefined) continue;
        const call = { architecture: audit[architecture], number };
        assert.equal(
          runFilter(seccompProgram({ architecture, overlays: true, renumbers: true, nesting: false }), call),
          tell,
          name,
        );
        assert.equal(
          runFilter(seccompProgram({ architecture, overlays: false, renumbers: false, nesting: false }), call),
          allow,
          name,
        );
      }
    });

    it('that link are told to the owner where linked files get other inode numbers, and nowhere else', () => {
      for (const name of ['link', 'linkat']) {
        const number = systemCalls[architecture].get(name);
        if (number === undefined) continue;
        const call = { architecture: audit[architecture], number };
        const filter = { architecture, overlays: true, nesting: false };
        assert.equal(runFilter(seccompProgram({ ...filter, renumbers: true }), call), tell, name);
        assert.equal(runFilter(seccompProgram({ ...filter, renumbers: false }), call), allow, name);
      }
    });

    it('that libraries do without are answered as by an older kernel', () => {
      assert.equal(answer(architecture, 'clone3'), missing);
    });

    it('that queue others past the filter are refused where they are counted', () => {
      for (const name of ['io_uring_setup', 'io_uring_enter', 'io_uring_register'])
        assert.equal(answer(architecture, name), tell);
    });

    it('are judged by their arguments where the number does not say enough', () => {
      assert.equal(answer(architecture, 'clone', 0x01200011), allow);
      for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x8000]) {
        assert.equal(answer(architecture, 'clone', 0x11 | flag), tell, flag.toString(16));
      }
      assert.equal(answer(architecture, 'ioctl', 0, 0x5401), allow);
      for (const request of [0x5412, 0x541c, 0x5423]) {
        assert.equal(answer(architecture, 'ioctl', 0, request), tell, request.toString(16));
        assert.equal(answer(architecture, 'ioctl', 0, request + 1), allow, 'its neighbour');
      }
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
          assert.equal(
            runFilter(seccompProgram({ architecture, overlays: true, renumbers: true, nesting: false }), {
              architecture: audit[architecture],
              number,
            }),
            missing,
          );
        }),
        seeded(300),
      );
      assert.equal(
        runFilter(seccompProgram({ architecture, overlays: true, renumbers: true, nesting: false }), {
          architecture: audit[architecture],
          number: 0x40000000,
        }),
        missing,
      );
    });

    it('of another architecture kill the process', () => {
      for (const other of [0, 0x40000003, audit[architecture === 'x64' ? 'arm64' : 'x64']]) {
        assert.equal(
          runFilter(seccompProgram({ architecture, overlays: true, renumbers: true, nesting: false }), {
            architecture: other,
            number: 0,
          }),
          0x80000000,
        );
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
