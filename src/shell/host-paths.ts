/**
 * Paths that lead out of a jail, or would if it did not hold: to the memory, files and secrets of other processes, to disks, to
 * daemons that act as root, to the kernel's own switches. What only tells how the machine is (`/sys/kernel/mm`, `/proc/self/maps`)
 * leads nowhere. Pure.
 */
import { posix } from 'node:path';
import { type Classes, hostEscapeRisk, mutating, networked, readOnly } from './classes.js';
import { knownValue, type Word } from './word.js';

const process = '(?:self|thread-self|\\d+|\\*|\\$\\$)';

/** Whatever is done with it: what is listed there is already the host's. */
const root = new RegExp(`^/proc/${process}/(?:task/[^/]+/)?root(?:/|$)`);

const contents = [
  root,
  /^\/proc\/(?:\d+|\*)\/(?:task\/[^/]+\/)?cwd(?:\/|$)/,
  /^\/proc\/(?:\d+|\*)\/(?:task\/[^/]+\/)?(?:mem|environ|fd)(?:\/|$)/,
  new RegExp(`^/proc/${process}/(?:task/[^/]+/)?(?:mem|map_files)(?:/|$)`),
  /^\/proc\/(?:kcore|kmem|sysrq-trigger|kallsyms|keys|key-users|timer_list|sched_debug)$/,
  /^\/dev\/(?:mem|kmem|port|sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme|mmcblk|loop|dm-|md\d|mapper\/|disk\/|block\/|kvm|mtd)/,
  /^(?:\/var)?\/run\/(?:docker|containerd|podman|crio|dbus)(?:\/|\.sock|$)/,
  /^(?:\/var)?\/run\/systemd\/(?:private|notify|userdb|machines|inaccessible|transient)(?:\/|$)/,
  /\/(?:docker|containerd|podman|crio|cri-dockerd|snapd)\.sock$/,
  /^\/sys\/(?:kernel\/(?:debug|tracing)|fs\/bpf)(?:\/|$)/,
];

/** A path among the words of these is text, or the question whether it is there. */
const printers = new Set([
  'echo',
  'printf',
  ':',
  'true',
  'false',
  'test',
  '[',
  'export',
  'declare',
  'local',
  'readlink',
]);
/** These show that something is there, and not what is in it. */
const listers = new Set(['ls', 'stat', 'file', 'namei', 'realpath', 'lsof']);

/** Where a shell opens a connection instead of a file. */
const connection = /^\/dev\/(?:tcp|udp)\//;
const nothing = /^\/dev\/(?:null|stdout|stderr|stdin|tty|zero|full|random|urandom|ptmx|fd\/\d+|pts\/\d+)$/;
/** Files in memory. */
const shared = /^\/dev\/(?:shm|mqueue)\/./;
const kernelFiles = /^\/(?:proc|sys)(?:\/|$)/;
/** What a process may say about itself. */
const ownSettings = new RegExp(
  `^/proc/${process}/(?:task/[^/]+/)?(?:oom_score_adj|oom_adj|comm|coredump_filter|timerslack_ns|clear_refs|autogroup)$`,
);

/** A path may be behind `--name=`, `if=` or `UNIX-CONNECT:`. */
function pathIn(text: string): string | undefined {
  const start = text.indexOf('/');
  if (start < 0 || (start > 0 && !/[=:]/.test(text[start - 1] ?? ''))) return undefined;
  return posix.normalize(text.slice(start));
}

function somePath(word: Word, matches: (path: string) => boolean): boolean {
  // A pattern is computed, and says what it is for: `/proc/*/environ`.
  return (word.values ?? [word.start, word.text]).some((text) => {
    const path = pathIn(text);
    return path !== undefined && matches(path);
  });
}

/** As an argument of a program. */
export function leadsToHost(word: Word, program: string): boolean {
  if (printers.has(program)) return false;
  const patterns = listers.has(program) ? [root] : contents;
  return somePath(word, (path) => patterns.some((pattern) => pattern.test(path)));
}

/** As what a program writes to. */
export function changesKernel(word: Word): boolean {
  return somePath(word, (path) => kernelFiles.test(path) && !ownSettings.test(path));
}

/** As the target of a redirection. */
export function redirectionClasses(word: Word, writes: boolean): { readonly classes: Classes; readonly why: string } {
  const value = knownValue(word);
  const file = { classes: writes ? mutating : readOnly, why: writes ? 'writes a file' : 'reads a file' };
  if (value === undefined) {
    const start = posix.normalize(word.start || '.');
    const ours = shared.test(`${start}x`) || ownSettings.test(word.text) || (!writes && kernelFiles.test(start));
    if (!ours && /^\/(?:dev|proc|sys)(?:\/|$)/.test(start)) {
      return { classes: hostEscapeRisk, why: 'a computed path among devices or kernel files' };
    }
    return file;
  }
  const path = value.startsWith('/') ? posix.normalize(value) : value;
  if (connection.test(path)) return { classes: networked, why: 'opens a connection' };
  if (nothing.test(path)) return { classes: readOnly, why: 'no file' };
  if (shared.test(path)) return file;
  if (leadsToHost(word, 'redirection')) return { classes: hostEscapeRisk, why: 'leads to the host' };
  if (writes && (changesKernel(word) || path.startsWith('/dev/'))) {
    return { classes: hostEscapeRisk, why: 'writes a device or a file of the kernel' };
  }
  return file;
}
