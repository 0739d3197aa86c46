/**
 * The filter every command runs under: an allow-list of system calls. Pure; the same bytes for the same architecture.
 *
 * Three answers. Allowed calls pass at once (the kernel caches that, so they cost next to nothing). Refused calls, which no
 * build or test needs and which ways out of sandboxes have gone through, are told to the owner, counted, and answered
 * EPERM. Unknown calls answer ENOSYS, as on an older kernel, so that libraries fall back.
 */
import { type Architecture, systemCalls } from './system-calls.js';

/** Why each is refused. Programs of an ordinary project use none of them. */
const refusals: Readonly<Record<string, readonly string[]>> = {
  'another view of the filesystem': [
    'mount',
    'umount2',
    'pivot_root',
    'chroot',
    'open_tree',
    'move_mount',
    'fsopen',
    'fsconfig',
    'fsmount',
    'fspick',
    'mount_setattr',
    'open_by_handle_at',
    'name_to_handle_at',
  ],
  'another namespace': ['unshare', 'setns'],
  'into another process': ['pidfd_getfd', 'kcmp', 'process_madvise'],
  'large attack surface in the kernel': [
    'bpf',
    'perf_event_open',
    'userfaultfd',
    'fanotify_init',
    'fanotify_mark',
    'vmsplice',
    'modify_ldt',
    'remap_file_pages',
    'migrate_pages',
    'move_pages',
    'memfd_secret',
    // With EPERM, as where an administrator has switched it off: libraries have another way then.
    'io_uring_setup',
    'io_uring_enter',
    'io_uring_register',
  ],
  'keys of the person': ['add_key', 'request_key', 'keyctl'],
  'the machine itself': [
    'acct',
    'adjtimex',
    'clock_adjtime',
    'clock_settime',
    'delete_module',
    'finit_module',
    'init_module',
    'ioperm',
    'iopl',
    'kexec_file_load',
    'kexec_load',
    'quotactl',
    'quotactl_fd',
    'reboot',
    'setdomainname',
    'sethostname',
    'settimeofday',
    'swapoff',
    'swapon',
    'sysfs',
    'syslog',
    'ustat',
    'vhangup',
  ],
};

/**
 * The overlay renames no directory that was there before the command: the owner prepares it and lets the call go on. It judges nothing, so that
 * what such a call may do is the kernel's answer, as without it.
 */
const prepared = new Set(['rename', 'renameat', 'renameat2']);

/** In an overlay that an unprivileged user mounted, a linked file gets another inode number: native/jail/calls/links.h says what follows. */
const renumbered = new Set(['link', 'linkat']);

/** Libraries probe it and have another way: as if the kernel did not know it. */
const absent = new Set(['clone3']);

const refused = new Set(Object.values(refusals).flat());

const auditArchitecture: Readonly<Record<Architecture, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

const errno = {
  EPERM: 1,
  ENOSYS: 38,
  ENOPROTOOPT: 92,
  EPROTONOSUPPORT: 93,
  ESOCKTNOSUPPORT: 94,
  EAFNOSUPPORT: 97,
} as const;
const answer = {
  allow: 0x7fff0000,
  tell: 0x7fc00000,
  kill: 0x80000000,
  fail: (number: number) => 0x00050000 | number,
} as const;

/** Offsets in struct seccomp_data; arguments are 64 bits, little-endian on both architectures. */
const offset = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index } as const;

interface Instruction {
  readonly code: number;
  readonly yes: number;
  readonly no: number;
  readonly value: number;
}

const load = (at: number): Instruction => ({ code: 0x20, yes: 0, no: 0, value: at });
const respond = (value: number): Instruction => ({ code: 0x06, yes: 0, no: 0, value });
/** Jumps count the instructions to skip. */
const ifEqual = (value: number, yes: number, no: number): Instruction => ({ code: 0x15, yes, no, value });
const ifAtLeast = (value: number, yes: number, no: number): Instruction => ({ code: 0x35, yes, no, value });
const ifAnyBit = (value: number, yes: number, no: number): Instruction => ({ code: 0x45, yes, no, value });

/** NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; and PARENT, which makes a child of the owner, outside, that init never hears of. */
const refusedCloneFlags = 0x7e020000 | 0x8000;
/** UNIX, INET, INET6: what name resolution and local servers use. */
const family = { unix: 1, ip: [2, 10] } as const;
/** Whatever the type has, TCP, UDP, and the echoes of ICMP: not SCTP, DCCP, MPTCP, L2TP and the like, which load modules. */
const ipProtocols = [0, 6, 17, 1, 58];
/** In SOCK_SEQPACKET, SOCK_RDM, SOCK_DCCP and SOCK_PACKET; not in streams, datagrams and raw ones. */
const oddTypes = 0xc;
/** SOL_TCP's TCP_ULP puts another protocol of the kernel's on a connection; libraries that ask for it have their own. */
const upperProtocol = { level: 6, option: 31 } as const;
/** TIOCSTI types into a terminal, TIOCLINUX pastes into one, TIOCSETD loads kernel modules for one. */
const refusedTerminalRequests = [0x5412, 0x541c, 0x5423];

/** PTRACE_SECCOMP_GET_FILTER and PTRACE_SECCOMP_GET_METADATA read filters. */
const refusedTraceRequests = [0x420c, 0x420d];
/** PTRACE_SETOPTIONS and PTRACE_SEIZE take options, of which PTRACE_O_SUSPEND_SECCOMP would switch a filter off. */
const traceOptions = { set: 0x4200, seize: 0x4206, suspendFilter: 1 << 21 } as const;

/**
 * With namespaces of its own a command has every capability there, and so what only they could ask of the kernel before. Mounts stay refused: Landlock
 * refuses them in any case. CLONE_PARENT is as bad as ever.
 */
const nested = { calls: new Set(['unshare', 'setns', 'chroot']), refusedCloneFlags: 0x8000 } as const;
/** Tables of packet filters: from here on at SOL_IP, and two at SOL_IPV6. None but an administrator of a network sets them. */
const packetTables = { ip: { level: 0, from: 64 }, ip6: { level: 41, options: [64, 65] } } as const;

/** For one call: look at an argument; `body` must answer on every path. */
function forCall(number: number | undefined, argument: number, body: readonly Instruction[]): Instruction[] {
  if (number === undefined) return [];
  return [ifEqual(number, 0, body.length + 1), load(offset.argument(argument)), ...body];
}

/**
 * AF_NETLINK, its routing protocol, by which interfaces are listed, and its diagnosis of sockets (`ss`). Both answer for the network
 * namespace of the asker alone, and to change anything takes a capability. The others are the machine's own business.
 */
const netlink = { family: 16, protocols: [0, 4] } as const;
/** RLIMIT_CORE. Its limit keeps crashes from the host's crash handler; lowered to 0 it would let them through. */
const coreLimit = 4;
const pretend = answer.fail(0);

/** The family is known; answers on every path. */
const internetSocket: readonly Instruction[] = [
  load(offset.argument(1)),
  ifAnyBit(oddTypes, 0, 1),
  respond(answer.fail(errno.ESOCKTNOSUPPORT)),
  load(offset.argument(2)),
  ...ipProtocols.flatMap((protocol) => [ifEqual(protocol, 0, 1), respond(answer.allow)]),
  respond(answer.fail(errno.EPROTONOSUPPORT)),
];

const netlinkSocket: readonly Instruction[] = [
  load(offset.argument(2)),
  ...netlink.protocols.flatMap((protocol) => [ifEqual(protocol, 0, 1), respond(answer.allow)]),
  respond(answer.fail(errno.EPROTONOSUPPORT)),
];

/** Answers where such a table is set, and goes on where not. */
const packetTableOptions: readonly Instruction[] = [
  load(offset.argument(1)),
  ifEqual(packetTables.ip.level, 0, 4),
  load(offset.argument(2)),
  ifAtLeast(packetTables.ip.from, 0, 1),
  respond(answer.tell),
  respond(answer.allow),
  ifEqual(packetTables.ip6.level, 0, 1 + 2 * packetTables.ip6.options.length),
  load(offset.argument(2)),
  ...packetTables.ip6.options.flatMap((option) => [ifEqual(option, 0, 1), respond(answer.tell)]),
];

function byArgument(calls: ReadonlyMap<string, number>, nesting: boolean): Instruction[] {
  const cloneFlags = nesting ? nested.refusedCloneFlags : refusedCloneFlags;
  return [
    ...forCall(calls.get('clone'), 0, [ifAnyBit(cloneFlags, 0, 1), respond(answer.tell), respond(answer.allow)]),
    // Debuggers. Landlock keeps a command to its own processes; what is refused here the kernel gives to root's capabilities alone.
    ...forCall(calls.get('ptrace'), 0, [
      ...refusedTraceRequests.flatMap((request) => [ifEqual(request, 0, 1), respond(answer.tell)]),
      ifEqual(traceOptions.set, 1, 0),
      ifEqual(traceOptions.seize, 0, 3),
      load(offset.argument(3)),
      ifAnyBit(traceOptions.suspendFilter, 0, 1),
      respond(answer.tell),
      respond(answer.allow),
    ]),
    ...forCall(calls.get('ioctl'), 1, [
      ...refusedTerminalRequests.flatMap((request) => [ifEqual(request, 0, 1), respond(answer.tell)]),
      respond(answer.allow),
    ]),
    ...forCall(calls.get('socket'), 0, [
      ifEqual(netlink.family, 0, netlinkSocket.length),
      ...netlinkSocket,
      ifEqual(family.unix, 0, 1),
      respond(answer.allow),
      ifEqual(family.ip[0], 1, 0),
      ifEqual(family.ip[1], 0, internetSocket.length),
      ...internetSocket,
      respond(answer.fail(errno.EAFNOSUPPORT)),
    ]),
    ...forCall(calls.get('setsockopt'), 1, [
      ifEqual(upperProtocol.level, 0, 3),
      load(offset.argument(2)),
      ifEqual(upperProtocol.option, 0, 1),
      respond(answer.fail(errno.ENOPROTOOPT)),
      // What was loaded is the level, or an option of another level than these.
      ...(nesting ? packetTableOptions : []),
      respond(answer.allow),
    ]),
    // The pairs that shells and runtimes make.
    ...forCall(calls.get('socketpair'), 0, [
      ifEqual(family.unix, 0, 1),
      respond(answer.allow),
      respond(answer.fail(errno.EAFNOSUPPORT)),
    ]),
    ...forCall(calls.get('setrlimit'), 0, [ifEqual(coreLimit, 0, 1), respond(pretend), respond(answer.allow)]),
    // A null pointer, both halves of it, only asks.
    ...forCall(calls.get('prlimit64'), 1, [
      ifEqual(coreLimit, 0, 5),
      load(offset.argument(2)),
      ifEqual(0, 0, 2),
      load(offset.argument(2) + 4),
      ifEqual(0, 1, 0),
      respond(pretend),
      respond(answer.allow),
    ]),
  ];
}

/** Which filter it is, of one architecture. */
type Kind = Pick<FilterFor, 'overlays' | 'renumbers' | 'nesting'>;

function answerFor(name: string, { overlays, renumbers, nesting }: Kind): number {
  if (nesting && nested.calls.has(name)) return answer.allow;
  const isTold = refused.has(name) || (overlays && prepared.has(name)) || (renumbers && renumbered.has(name));
  return isTold ? answer.tell : answer.allow;
}

/** From this number on, up to the next one's, the answer is the same. */
interface Stretch {
  readonly first: number;
  readonly answer: number;
}

/** All numbers there are, in order; what is not listed is unknown, and so is everything after the last. */
function stretches(calls: ReadonlyMap<string, number>, kind: Kind): Stretch[] {
  // By number, so that no sort is needed: this is on the way to every command.
  const answers: (number | undefined)[] = [];
  for (const [name, number] of calls) {
    if (!absent.has(name)) answers[number] = answerFor(name, kind);
  }
  const unknown = answer.fail(errno.ENOSYS);
  const found: Stretch[] = [];
  for (let number = 0; number <= answers.length; number += 1) {
    const given = answers[number] ?? unknown;
    if (found.at(-1)?.answer !== given) found.push({ first: number, answer: given });
  }
  return found;
}

/**
 * By halves. The kernel runs a filter once for every number there is when it takes it, to know what it need not ask again: one
 * comparison after the other would cost that much at the start of every command.
 */
function search(found: readonly Stretch[]): Instruction[] {
  const middle = found[found.length >> 1];
  if (found.length < 2 || middle === undefined) return found.map((only) => respond(only.answer));
  const below = search(found.slice(0, found.length >> 1));
  // A jump is a byte long: with more stretches than are known today the filter would have to be another.
  if (below.length > 0xff) throw new RangeError('the filter has a jump that is too long');
  return [ifAtLeast(middle.first, below.length, 0), ...below, ...search(found.slice(found.length >> 1))];
}

/** A process of another architecture would be filtered by the wrong numbers: it is killed. */
function programFor(architecture: Architecture, kind: Kind): Buffer {
  const calls = systemCalls[architecture];
  const program: Instruction[] = [
    load(offset.architecture),
    ifEqual(auditArchitecture[architecture], 1, 0),
    respond(answer.kill),
    load(offset.number),
    ...byArgument(calls, kind.nesting),
    // An argument was loaded over the number by a branch that did not answer: there is none such, see forCall.
    ...search(stretches(calls, kind)),
  ];
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, yes, no, value }, index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(yes, index * 8 + 2);
    bytes.writeUInt8(no, index * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, index * 8 + 4);
  });
  return bytes;
}

export interface FilterFor {
  readonly architecture: Architecture;
  /** Whether the jail has any: then renames are told. */
  readonly overlays: boolean;
  /** Whether linked files get other inode numbers in them: then links are told, too. */
  readonly renumbers: boolean;
  /** Whether processes may make namespaces of their own. */
  readonly nesting: boolean;
}

const programs = new Map<string, Buffer>();

/**
 * Made once, for a process that runs many commands. A copy each time: the process that writes into theirs writes into
 * no filter.
 */
export function seccompProgram({ architecture, ...kind }: FilterFor): Buffer {
  const key = `${architecture} ${kind.overlays} ${kind.renumbers} ${kind.nesting}`;
  let program = programs.get(key);
  if (program === undefined) {
    program = programFor(architecture, kind);
    programs.set(key, program);
  }
  return Buffer.from(program);
}

/** The name of a refused call, for the report. */
export function systemCallName(architecture: Architecture, number: number): string {
  for (const [name, known] of systemCalls[architecture]) if (known === number) return name;
  return `system call ${number}`;
}

/** Why it is refused, for people. */
export function refusalReason(name: string): string {
  const found = Object.entries(refusals).find(([, names]) => names.includes(name));
  return found === undefined ? 'this use of it' : found[0];
}
