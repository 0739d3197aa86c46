/** The machines that `npm run machines` boots: Debian's own kernels, emulated in software. */

/** What suites use beyond the minimum of Debian: a compiler for the attacks, git, tools that look at processes and mounts. */
const packages = [
  ...['kmod', 'procps', 'iproute2', 'git', 'gcc', 'libc6-dev', 'make', 'attr', 'acl', 'python3', 'psmisc'],
  ...['ca-certificates', 'less', 'xz-utils', 'file', 'bsdextrautils', 'libatomic1', 'libstdc++6'],
];

/** `architecture` is Node's word. */
export const machines = {
  amd64: {
    suite: 'bookworm',
    architecture: 'x64',
    packages: [...packages, 'linux-image-cloud-amd64'],
    program: 'qemu-system-x86_64',
    debian: 'qemu-system-x86',
    options: ['-machine', 'q35', '-cpu', 'max'],
    console: 'ttyS0',
  },
  arm64: {
    suite: 'bookworm',
    architecture: 'arm64',
    packages: [...packages, 'linux-image-cloud-arm64'],
    program: 'qemu-system-aarch64',
    debian: 'qemu-system-arm',
    options: ['-machine', 'virt', '-cpu', 'max,pauth-impdef=on'],
    console: 'ttyAMA0',
  },
};

/** The short form: what differs most from machine to machine. All suites: `--all`. */
export const fewSuites = [
  'attacks/second-wall',
  'attacks/privileges',
  'attacks/system-calls',
  'e2e/limits.test',
  'e2e/identity',
];
