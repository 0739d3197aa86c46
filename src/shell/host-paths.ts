/** Paths that lead out of a jail, or would if it did not hold. Pure. */
import { posix } from 'node:path';
import { type Classes, hostEscapeRisk, mutating, networked, readOnly } from './classes.js';
import { knownValue, type Word } from './word.js';

const process = '(?:self|thread-self|\\d+|\\*|\\$\\$)';
const leadsOut = [
  new RegExp(`^/proc/${process}/(?:task/[^/]+/)?(?:root|cwd)(?:/|$)`),
  /^\/proc\/(?:\d+|\*)\/(?:mem|environ|fd|exe|maps|auxv|stack|syscall)(?:\/|$)/,
  new RegExp(`^/proc/${process}/(?:mem|map_files)(?:/|$)`),
  /^\/proc\/(?:kcore|kmem|sysrq-trigger|kallsyms|keys|key-users|timer_list|sched_debug)$/,
  /^\/dev\/(?:mem|kmem|port|sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme|mmcblk|loop|dm-|md\d|mapper\/|disk\/|block\/|kvm|mtd)/,
  /^(?:\/var)?\/run\/(?:docker|containerd|podman|crio|dbus|systemd)(?:\/|\.sock|$)/,
  /\/(?:docker|containerd|podman|crio|cri-dockerd|snapd)\.sock$/,
  /^\/sys\/(?:kernel|fs\/bpf|firmware|module)(?:\/|$)/,
];

/** Where a shell opens a connection instead of a file. */
const connection = /^\/dev\/(?:tcp|udp)\//;
const nothing = /^\/dev\/(?:null|stdout|stderr|stdin|tty|zero|full|fd\/\d+)$/;
const kernelFiles = /^\/(?:proc|sys)(?:\/|$)/;

/** A path may stand behind `--name=` or `if=`. */
function pathIn(text: string): string | undefined {
  const start = text.indexOf('/');
  if (start < 0 || (start > 0 && text[start - 1] !== '=')) return undefined;
  return posix.normalize(text.slice(start));
}

/** As an argument of a program. */
export function leadsToHost(word: Word): boolean {
  return (word.values ?? [word.start]).some((text) => {
    const path = pathIn(text);
    return path !== undefined && leadsOut.some((pattern) => pattern.test(path));
  });
}

/** As the target of a redirection. */
export function redirectionClasses(word: Word, writes: boolean): { readonly classes: Classes; readonly why: string } {
  const value = knownValue(word);
  if (value === undefined) {
    if (/^\/(?:dev|proc|sys)(?:\/|$)/.test(posix.normalize(word.start || '.'))) {
      return { classes: hostEscapeRisk, why: 'a computed path among devices or kernel files' };
    }
    return { classes: writes ? mutating : readOnly, why: writes ? 'writes a file' : 'reads a file' };
  }
  const path = value.startsWith('/') ? posix.normalize(value) : value;
  if (connection.test(path)) return { classes: networked, why: 'opens a connection' };
  if (nothing.test(path)) return { classes: readOnly, why: 'no file' };
  if (leadsToHost(word)) return { classes: hostEscapeRisk, why: 'leads to the host' };
  if (writes && (kernelFiles.test(path) || path.startsWith('/dev/'))) {
    return { classes: hostEscapeRisk, why: 'writes a device or a file of the kernel' };
  }
  return { classes: writes ? mutating : readOnly, why: writes ? 'writes a file' : 'reads a file' };
}
