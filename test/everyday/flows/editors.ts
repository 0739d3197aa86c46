/** Editors, pagers, terminals. */
import type { Flow } from '../flow.js';

const text = 'seq 1 50 > t';
const steady = (all: string) => all.replace(/\r/g, '').replace(/\u001b\[[0-9;?]*[a-zA-Z]/g, '');

export const editorFlows: readonly Flow[] = [
  {
    name: 'vim: edit and save',
    needs: ['vim'],
    before: text,
    run: "vim -es -u NONE -c '%s/1/one/ge' -c wq t; head -3 t; ls -A",
  },
  {
    name: 'vim: backup and swap files',
    needs: ['vim'],
    before: text,
    run: "vim -es -u NONE -c 'set backup writebackup' -c '1d' -c wq t; ls -A; head -1 t",
  },
  { name: 'ed', needs: ['ed'], before: text, run: "printf '1,3d\\nw\\nq\\n' | ed -s t; head -1 t" },
  {
    name: 'less: as a filter',
    needs: ['less'],
    before: text,
    run: 'less t | tail -1; LESS=-F less -X t < /dev/null | wc -l',
  },
  {
    name: 'git with a pager',
    needs: ['git'],
    before: `${text}; git init -q .`,
    run: "GIT_PAGER='head -1' git -c color.ui=never status -s; git -p status -s | cat",
  },
  {
    name: 'a terminal',
    needs: ['script'],
    before: text,
    run: 'script -qec "tty > /dev/null && stty size > /dev/null && tput -T xterm cols > /dev/null; [ -t 0 ] && [ -t 1 ] && echo terminal" /dev/null < /dev/null',
    tidy: steady,
  },
  {
    name: 'less: on a terminal',
    needs: ['script', 'less'],
    before: text,
    run: 'printf q | TERM=xterm script -qec "less t" /dev/null | tr -d "\\r" | grep -c "^[0-9]" | sed "s/[1-9][0-9]*/lines/"',
    tidy: steady,
  },
  {
    name: 'editor of git',
    needs: ['git', 'vim'],
    before: `${text}; git init -q -b main .; git add t`,
    environment: {
      EDITOR: "vim -es -u NONE -c '1s/^/subject/' -c wq",
      GIT_AUTHOR_NAME: 'a',
      GIT_AUTHOR_EMAIL: 'a@x',
      GIT_COMMITTER_NAME: 'c',
      GIT_COMMITTER_EMAIL: 'c@x',
      GIT_AUTHOR_DATE: '2005-04-07T22:13:13',
      GIT_COMMITTER_DATE: '2005-04-07T22:13:13',
    },
    run: 'git commit -q; git log --format=%s',
  },
];
