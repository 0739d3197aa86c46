/** System calls that others' sandboxes were left by. Each succeeds for the same user without a jail. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cannotCompile } from '../support/attack-program.js';
import { useStage } from '../support/stage.js';
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
  ptrace: 'trace a process',
  process_vm_readv: "read another process's memory",
  process_vm_writev: "write another process's memory",
  pidfd_getfd: "take another process's descriptor",
  kcmp: 'compare with the insides of another process',
  keyctl: 'join a keyring',
  add_key: 'add a key',
  adjtimex: 'ask for the discipline of the clock',
  sysfs: 'ask for the file systems by number',
  modify_ldt: 'change the descriptor table',
};

/** Of x86 alone. */
const ofOneMachine = ['sysfs', 'modify_ldt'];

/** Answered as by a kernel or a machine that has no such thing, since libraries probe for them. */
const absent = {
  io_uring_setup: 'queue calls in io_uring, past the filter',
  clone3: 'make a namespace by clone3, whose flags a filter cannot see',
  'raw-socket': 'send raw packets',
  'packet-socket': 'read packets off the wire',
  'kernel-event-socket': 'listen to the kernel’s events',
  'audit-socket': 'speak to the audit',
  'crypto-socket': 'use the kernel’s ciphers',
  'host-socket': 'connect to the hypervisor',
};

forEachUser((user) => {
  const stage = useStage(user);
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
