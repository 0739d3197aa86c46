/**
 * Small faults in code that acts: C, and TypeScript that touches the kernel or the disk. Each is one change that somebody could make
 * by mistake, why it would matter, and the words of the test files that have to notice. `from` stands exactly once in the file.
 */
export const table = [
  // Walls that stand behind others.
  {
    file: 'src/jail/landlock.ts',
    from: "['/dev', reading | right.writeFile | right.truncate | right.deviceRequest]",
    to: "['/dev', right.all]",
    why: 'a command could make names in a /dev that is writable by mistake',
    tests: ['second-wall', 'jail/plan.test'],
  },
  {
    file: 'native/jail/operations.c',
    from: '    leave_session_keyring();\n',
    to: '',
    why: 'keys of the person’s session would be inside, if the filter did not hold',
    tests: ['second-wall'],
  },
  {
    file: 'native/jail/start.c',
    from: 'if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG',
    to: 'if (prctl(PR_SET_PDEATHSIG',
    why: 'descriptors and memory of the first process could be listed',
    tests: ['second-wall'],
  },
  {
    file: 'native/jail/mounts.c',
    from: 'if (sys_mount_setattr(root_fd, "", AT_EMPTY_PATH, &set) != 0)',
    to: 'if (set.attr_set == 0)',
    why: 'modes of the new root could be changed',
    tests: ['second-wall'],
  },
  {
    file: 'native/jail/mounts.c',
    from: '  int found = open_existing(source);\n  if (found < 0) {\n    find_place(target, true, &name);',
    to: '  int found = openat(root_fd, source + 1, O_PATH | O_CLOEXEC);\n  if (found < 0) {\n    find_place(target, true, &name);',
    why: 'a link in the fork at a part that is shown elsewhere, too, would show the host’s files there',
    tests: ['e2e/agent-mounts'],
  },
  {
    file: 'src/proxy/run/view.ts',
    from: 'shared: [{ source: own.directory, ...kind }], readOnly: kept }',
    to: 'shared: [{ source: own.directory, ...kind }], readOnly: [] }',
    why: 'an agent could write what is kept of its own runs',
    tests: ['e2e/agent-home'],
  },
  {
    file: 'src/vault/store/store-place.ts',
    from: ' && about.uid === 0 && (about.mode & 0o022) === 0 ? systemObjects',
    to: ' ? systemObjects',
    why: 'whoever may write /var/lib/ctxfs would give every user tools',
    tests: ['e2e/agent-home'],
  },
  {
    file: 'src/objects/projection/visible.ts',
    from: 'return line.length === 0 ? undefined : line;',
    to: 'return line;',
    why: 'an agent could write its own control files, and give itself whatever its parent has',
    tests: ['projection/visible'],
  },
  // Rows of tables.
  {
    file: 'src/authority/excess.ts',
    from: "    case 'label':\n    case 'parent is over':",
    to: "    case 'parent is over':",
    why: 'a supervisor could change the label of a child',
    tests: ['authority/excess'],
  },
  {
    file: 'src/shell/programs/wrappers.ts',
    from: "nodemon: { is: 'm', text: '-x --exec'",
    to: "nodemon: { is: 'm', text: '--exec'",
    why: 'a command behind an option would not be read',
    tests: ['shell/tables'],
  },
  {
    file: 'src/jail/seccomp.ts',
    from: '[0x5412, 0x541c, 0x5423]',
    to: '[0x5412, 0x541c]',
    why: 'a terminal’s line discipline loads kernel modules',
    tests: ['jail/seccomp'],
  },
  // Rare states.
  {
    file: 'native/tree/merge.c',
    from: 'if (children->from.stopped && hides && !has_lower && fsetxattr',
    to: 'if (children->from.stopped && hides && !has_lower && children->from.count > 1 && fsetxattr',
    why: 'an emptied directory would show again what was deleted in it',
    tests: ['vault/tree/tree-overlay'],
  },
  {
    file: 'src/vault/apply/apply-plan.ts',
    from: "(kind === 'deleted' || type !== 'directory') && own.some",
    to: "(kind !== 'deleted' && type !== 'directory') && own.some",
    why: 'deleting a directory above ctx’s own files would delete them',
    tests: ['vault/apply/apply-plan'],
  },
  {
    file: 'src/audit/host-history.ts',
    from: "if (known === undefined || known.state !== 'in use')",
    to: "if (known === undefined || known.state === 'revoked')",
    why: 'a key that was replaced could still seal',
    tests: ['audit/host-history'],
  },
  {
    file: 'src/vault/forks/checkpoint.ts',
    from: 'undone: each.id > to.id ? true : undefined',
    to: 'undone: each.id >= to.id ? true : undefined',
    why: 'the moment that was rolled back to would count as undone',
    tests: ['e2e/history'],
  },
  {
    file: 'native/tree/delete.c',
    from: 'RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,',
    to: 'RESOLVE_NO_MAGICLINKS,',
    why: 'a mount inside a tree that is dropped would be emptied',
    tests: ['vault/tree/tree-mounts'],
  },
  {
    file: 'src/cli/verbs/apply.ts',
    from: 'if (!done && !(dryRun && undecided.length === 0)) return',
    to: 'if (!done && !(dryRun && undecided.length >= 0)) return',
    why: 'apply --dry-run would call a conflict a success',
    tests: ['e2e/vaults'],
  },
];
