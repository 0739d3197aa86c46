/** A fourteenth sample, chosen before any of the tests was read: the faults that no test had noticed. */
export const chosenFourteenth = [
  {
    file: 'native/jail/mount/mounts.c',
    from: '                                    {"size", "25%"},\n',
    to: '',
    why: 'a command could fill all of the memory by the two filesystems that it may write',
    tests: ['attacks/own-jail'],
  },
  {
    file: 'src/workspace/fork-verbs.ts',
    from: '    await recordInterrupted(host, fork);\n',
    to: '',
    why: 'a command that was killed would have no end in the record until another command runs',
    tests: ['workspace/interrupted-runs'],
  },
  {
    file: 'src/hook/authority-grants.ts',
    from: "entry?.of === 'host' && entry.source === entry.target",
    to: "entry?.of === 'host'",
    why: 'a harness would be granted a file of the host where the jail has something else',
    tests: ['hook/authority-grants'],
  },
];
