/** Files as such: renames, links, modes, times, names. */
import type { Flow } from '../flow.js';

const tree = 'mkdir -p d/e; echo a > d/a; echo b > d/e/b; ln -s a d/link; chmod 640 d/a; chmod 755 d/e/b';
const linked = `${tree}; ln d/a d/hard`;

export const fileFlows: readonly Flow[] = [
  { name: 'rename the working directory', before: tree, run: 'cd d; mv ../d ../f; ls; ls ../f' },
  { name: 'rename a directory', quick: true, before: tree, run: 'mv d f && find f | sort && cat f/e/b' },
  {
    name: 'rename a directory by system call',
    needs: ['/usr/bin/python3'],
    before: tree,
    run: `/usr/bin/python3 -c 'import os; os.rename("d", "f"); os.rename("f/e", "g"); os.replace("g/b", "f/b")'; find . | sort`,
  },
  {
    name: 'rename a directory in node',
    before: tree,
    run: `node -e 'require("fs").renameSync("d", "f")'; find . | sort`,
  },
  {
    name: 'rename a directory and back, and another in its place',
    before: tree,
    run: 'mv d f; mkdir d; echo new > d/a; mv d g; mv f d; rm -r g; find . | sort; cat d/a',
  },
  {
    name: 'exchange and replace directories',
    needs: ['/usr/bin/python3'],
    before: `${tree}; mkdir empty`,
    run: `/usr/bin/python3 -c 'import os; os.rename("d", "empty")'; find . | sort`,
  },
  {
    name: 'hard links stay one file',
    quick: true,
    before: linked,
    run: 'echo more >> d/hard; cat d/a; ln d/e/b c; stat -c %h d/a c',
  },
  { name: 'rename a directory with hard links', before: linked, run: 'mv d f; stat -c %h f/a f/hard' },
  {
    name: 'unpack hard links',
    before: `${linked}; find d -exec touch -hd 2020-01-01 {} +; tar -cf a.tar d; rm -r d`,
    run: 'tar xf a.tar; stat -c %h d/a d/hard',
  },
  {
    name: 'replace a hard link',
    before: linked,
    run: 'echo new > x; mv x d/hard; cat d/a d/hard; stat -c %h d/a d/hard',
  },
  {
    name: 'modes and links',
    quick: true,
    before: tree,
    run: 'chmod 600 d/e/b; chmod 750 d/e; ln -sfn e d/link; ln -s /nowhere broken; mkfifo pipe; chmod 1777 d; umask 077; touch private; mkdir p',
  },
  {
    name: 'times that are set',
    quick: true,
    before: tree,
    run: "touch -d '2001-02-03 04:05:06' d/a; touch -h -d 2002-02-02 d/link; cp -p d/a copy; stat -c '%n %Y' d/a copy d/link; [ d/e/b -nt d/a ] && echo newer",
  },
  {
    name: 'directory times',
    before: `${tree}; touch -d 2001-01-01 d/e d`,
    run: "stat -c '%n %Y' d d/e; touch d/e/new; touch -d 2003-03-03 d",
  },
  {
    name: 'odd names',
    before: "mkdir ' a b'; echo 1 > ' a b/-rf'; printf x > \"$(printf 'new\\nline')\"; touch 'ü' \"it's\" '*'",
    run: "mv ' a b' 'c d'; ls -1 | cat -A; rm -- 'c d/-rf'; touch -- -n; ls -A 'c d' | wc -l",
  },
  {
    name: 'replace a tree by another kind',
    before: tree,
    run: 'rm -rf d; echo file > d; ln -s d l; mkdir n; mv d n/; ls -l n | wc -l; cat n/d',
  },
  {
    name: 'archive and unpack',
    before: tree,
    run: 'tar --format=posix -cf a.tar d; rm -r d; tar xf a.tar; rm a.tar; find . | sort',
  },
  { name: 'copy a tree with everything', before: linked, run: 'cp -a d f; diff -r d f; stat -c "%a %h %N" f/* | sort' },
  {
    name: 'find and delete',
    before: tree,
    run: "find . -name 'b' -delete; find d -type d -empty -delete; find . | sort",
  },
  {
    name: 'sparse file',
    run: 'truncate -s 10M s; printf x | dd of=s bs=1 seek=5M conv=notrunc status=none; du -k s | cut -f1; stat -c %s s',
  },
  {
    name: 'fallocate and punch holes',
    needs: ['fallocate'],
    run: 'fallocate -l 1M f; fallocate -p -o 0 -l 512K f; stat -c %s f',
  },
  {
    name: 'extended attributes',
    needs: ['setfattr'],
    before: tree,
    run: 'setfattr -n user.x -v 1 d/a; getfattr -d d/a',
  },
  {
    name: 'locks',
    needs: ['flock'],
    run: 'exec 9> lock; flock 9; flock -n lock true; echo $?; flock -u 9; flock -n lock echo free',
  },
  {
    name: 'in-place edits',
    before: tree,
    run: "sed -i 's/a/A/' d/a; sed -i.bak 's/b/B/' d/e/b; perl -pi -e 's/B/C/' d/e/b; cat d/a d/e/b",
  },
  {
    name: 'what lies in /tmp lasts',
    run: ['echo hello > /tmp/everyday-$(id -u)', 'cat /tmp/everyday-$(id -u); rm /tmp/everyday-$(id -u)'],
  },
  {
    name: 'files in memory',
    run: 'echo 3 > /dev/shm/everyday-$(id -u); cat /dev/shm/everyday-$(id -u); rm /dev/shm/everyday-$(id -u)',
  },
  {
    name: 'open files that are removed',
    before: tree,
    run: 'exec 3< d/e/b; rm -r d; cat <&3; exec 4> gone; rm gone; echo x >&4; echo ok',
  },
  { name: 'a case of a name changes', before: 'echo a > readme', run: 'mv readme README; ls' },
  {
    name: 'many small files',
    before: 'mkdir m; for i in $(seq 500); do echo $i > m/$i; done',
    run: 'rm m/1*; for f in m/2*; do echo x >> $f; done; cat m/* | cksum',
  },
];
