/**
 * System calls that others' sandboxes were left by. Each succeeds for the same user without a jail. Some of them not every kernel
 * has: what the filter says of those is asked of its bytes, and of the same bytes without the rule.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seccompProgram } from '../../src/jail/seccomp.js';
import { type Architecture, systemCalls } from '../../src/jail/system-calls.js';
import { cannotCompile } from '../support/attack-program.js';
import { type FilteredCall, runFilter } from '../support/filter-machine.js';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';
import { useVolley } from '../support/volley.js';

const skip = cannotCompile ?? false;
const refusedAnyway = 'this kernel does not give it to this user, even without a jail';

/** Name of the call, as the report has it, and what it would be good for. */
const refused = {
  bpf: 'load a program into the kernel',
  perf_event_open: 'watch by performance events',
  userfaultfd: 'hold the kernel up in a page fault',
  fanotify_init: 'watch files of others',
  memfd_secret: 'keep memory that nobody can look into',
  vmsplice: 'give pages to a pipe',
  unshare: 'make a namespace by unshare',
  clone: 'make a namespace by clone',
  setns: 'enter a namespace of another',
  mount: 'mount',
  fsopen: 'mount by the new interface',
  open_tree: 'clone the mounts',
  mount_setattr: 'make a mount writable again',
  umount2: 'unmount',
  chroot: 'change the root',
  name_to_handle_at: 'name a file by its handle',
  pidfd_getfd: "take another process's descriptor",
  kcmp: 'compare with the insides of another process',
  keyctl: 'join a keyring',
  add_key: 'add a key',
  adjtimex: 'ask for the discipline of the clock',
  sysfs: 'ask for the file systems by number',
  modify_ldt: 'change the descriptor table',
  io_uring_setup: 'queue calls in io_uring, past the filter',
};

/** Of x86 alone. */
const ofOneMachine = ['sysfs', 'modify_ldt'];

/** Answered as by a kernel or a machine that has no such thing, since libraries probe for them. */
const absent = {
  clone3: 'make a namespace by clone3, whose flags a filter cannot see',
  'raw-socket': 'send raw packets',
  'packet-socket': 'read packets off the wire',
  'kernel-event-socket': 'listen to the kernel’s events',
  'audit-socket': 'speak to the audit',
  'crypto-socket': 'use the kernel’s ciphers',
  'host-socket': 'connect to the hypervisor',
  'multipath-socket': 'speak multipath TCP',
  'telecommunication-socket': 'speak SCTP',
  'kernel-tls': 'have the kernel encrypt a connection',
};

forEachUser((user) => {
  const stage = useWarmStage(user);
  const volley = useVolley(stage, { world: 'mkdir mount', programs: skip === false ? ['calls'] : [] });

  for (const [call, what] of Object.entries({ ...refused, ...absent })) {
    volley.attack(`nothing inside can ${what}`, `./calls ${call}`, { skip, refusedAnyway });
  }

  for (const name of ['32-bit', 'x32']) {
    volley.attack(`a call by the ${name} interface is not judged by the wrong table`, `./calls ${name}`, {
      skip,
      refusedAnyway: 'this machine has no such interface',
    });
  }

  test('every refused call is in the report by its name, with the reason', { skip }, () => {
    const told = new Map(volley.envelope.refusals.map(({ call, why }) => [call, why]));
    const known = Object.keys(refused).filter((call) => process.arch === 'x64' || !ofOneMachine.includes(call));
    for (const call of known) assert.ok((told.get(call) ?? '') !== '', `${call} is not in ${[...told.keys()]}`);
  });
});

/** The filter with its instructions rewritten where `change` gives others. */
function changed(
  program: Buffer,
  change: (code: number, value: number) => readonly [code: number, value: number],
): Buffer {
  const other = Buffer.from(program);
  for (let at = 0; at < other.length; at += 8) {
    const [code, value] = change(other.readUInt16LE(at), other.readUInt32LE(at + 4));
    other.writeUInt16LE(code, at);
    other.writeUInt32LE(value, at + 4);
  }
  return other;
}

const allow = 0x7fff0000;
const instruction = { ifEqual: 0x15, ifAtLeast: 0x35, respond: 0x06 } as const;
const fail = (errno: number) => 0x00050000 | errno;
const errno = { ENOSYS: 38, EPROTONOSUPPORT: 93, EAFNOSUPPORT: 97 } as const;
const audit: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

for (const architecture of ['x64', 'arm64'] as const) {
  describe(`the filter of ${architecture}`, () => {
    const program = seccompProgram({ architecture, overlays: true, renumbers: true, nesting: false });
    const calls = systemCalls[architecture];
    const numberOf = (name: string) => calls.get(name) ?? assert.fail(name);
    /** Passes `without`, a filter that lacks what the sentence is about, and is stopped by ours. */
    const stops = (
      without: Buffer,
      call: Omit<FilteredCall, 'architecture'> & Partial<FilteredCall>,
      answer: number,
    ) => {
      const whole = { architecture: audit[architecture], ...call };
      assert.equal(runFilter(without, whole), allow, `without the rule ${JSON.stringify(call)} has to pass`);
      assert.equal(runFilter(program, whole), answer, JSON.stringify(call));
    };

    test('gives no socket of another family than names, streams and local servers need: no ciphers, packets, hypervisors', () => {
      // Never true: then the number alone decides.
      const anySocket = changed(program, (code, value) =>
        code === instruction.ifEqual && ['socket', 'socketpair'].some((name) => value === numberOf(name))
          ? [code, 0xffffffff]
          : [code, value],
      );
      for (let family = 0; family < 64; family += 1) {
        if (![1, 2, 10, 16].includes(family))
          stops(anySocket, { number: numberOf('socket'), arguments: [family, 5, 0] }, fail(errno.EAFNOSUPPORT));
        if (family !== 1)
          stops(anySocket, { number: numberOf('socketpair'), arguments: [family, 1, 0] }, fail(errno.EAFNOSUPPORT));
      }
      for (let protocol = 1; protocol < 32; protocol += 1)
        if (protocol !== 4)
          stops(anySocket, { number: numberOf('socket'), arguments: [16, 3, protocol] }, fail(errno.EPROTONOSUPPORT));
      for (let protocol = 0; protocol < 300; protocol += 1)
        if (![0, 1, 6, 17, 58].includes(protocol))
          stops(anySocket, { number: numberOf('socket'), arguments: [2, 1, protocol] }, fail(errno.EPROTONOSUPPORT));
    });

    test('knows no call by the x32 interface, whose numbers a list of what is refused does not have', () => {
      const refusing = changed(program, (code, value) =>
        code === instruction.respond && value === fail(errno.ENOSYS) ? [code, allow] : [code, value],
      );
      // ptrace, process_vm_readv, execve and ioctl have numbers of their own there, all others those of x64.
      for (const number of [521, 539, 520, 514, ...calls.values()])
        stops(refusing, { number: (0x40000000 | number) >>> 0 }, fail(errno.ENOSYS));
    });

    test('kills what calls by another architecture, whose numbers mean other calls', () => {
      // "At least 0" is always true.
      const anyArchitecture = changed(program, (code, value) =>
        code === instruction.ifEqual && value === audit[architecture] ? [instruction.ifAtLeast, 0] : [code, value],
      );
      const others = { i386: 0x40000003, arm: 0x40000028, [architecture]: 0 };
      for (const name of ['read', 'write', 'close', 'getpid'])
        for (const other of Object.values(others))
          stops(anyArchitecture, { architecture: other, number: numberOf(name) }, 0x80000000);
    });
  });
}
