/** Faults in the walker of trees that lines which no near test reached, or whose result none looked at, let through. */
export const chosenTree2 = [
  {
    file: 'native/tree/merge.c',
    from: 'follows ? &below->status : &found->status',
    to: '&found->status',
    why: 'a directory that stays for what it holds would undo a chmod of the person’s',
    tests: ['tree/tree-merge'],
  },
  {
    file: 'native/tree/merge.c',
    from: '    if (found.state == FOUND_ENTRY) white_out(target, name, &sides->below);\n',
    to: '    white_out(target, name, &sides->below);\n',
    why: 'what is deleted already would be deleted once more, and show as an entry',
    tests: ['tree/tree-merge'],
  },
  {
    file: 'native/tree/merge.c',
    from: "    path.data[prefix] = '\\0'; /* the caller asks for its own path again */\n",
    to: '',
    why: 'a directory would be looked up in the list by the name of its last entry',
    tests: ['tree/tree-merge'],
  },
  {
    file: 'native/tree/jobs.c',
    from: '  signal(SIGXFSZ, SIG_IGN);',
    to: ' ',
    why: 'a limit of file sizes would kill an apply beside the file that it makes',
    tests: ['tree/tree-limits'],
  },
];
