/** `ctx diff` shows every change that apply would write, in bounded memory, and says in words what it does not show. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEitherUser } from '../support/users.js';

const isSoak = process.env['CTX_SOAK'] === '1';

forEitherUser((user) => {
  const stage = useWarmStage(user);

  test('every change has a line: large, binary, not UTF-8, modes, kinds, names', async () => {
    const script = `head -c 3000000 /dev/zero | tr '\\0' 'x' | fold -w 60 > large; printf 'a\\0b' > bytes; printf 'caf\\351\\n' > latin
      echo run > script; echo was > pipe; mkdir old kept; echo gone > old/file`;
    const project = stage.project(script);
    const names = await stage.inside(
      project,
      `printf 'last line' >> large; printf 'a\\0c' > bytes; printf 'caf\\350\\n' > latin; chmod +x script; rm pipe; mkfifo pipe
       rm -r old; mkdir new; ln -s /etc/passwd link; echo x > "$(printf 'exe\\342\\200\\256gpj')"; chmod 700 kept
       truncate -s 2G sparse`,
    );
    assert.equal(names, '');
    const { changes } = (await stage.json(project, ['diff'])) as { changes: readonly { path: string }[] };
    const { stdout, stderr } = await stage.ctx(project, ['diff']);
    for (const line of [
      /Files a\/large and b\/large differ\n {2}too large .*: 30\d+ bytes, BLAKE3 \w{64} -> 30\d+ bytes, BLAKE3 \w{64}\n/,
      /Binary files a\/bytes and b\/bytes differ\n {2}3 bytes/,
      /diff --git a\/script b\/script\nold mode 100644\nnew mode 100755\n/,
      /deleted file mode 100644\n--- a\/pipe\n\+\+\+ \/dev\/null\n@@ -1,1 \+0,0 @@\n-was\nFifo pipe: added/,
      /Directory old: deleted\n/,
      /Directory new: added/,
      /Directory kept: mode 755 -> 700\n/,
      /new file mode 120000\n[\s\S]*\+\/etc\/passwd\n/,
      /"b\/exe\\342\\200\\256gpj"/,
      /Binary files \/dev\/null and b\/sparse differ\n {2}nothing -> 2147483648 bytes, BLAKE3 not computed\n/,
    ])
      assert.match(stdout, line);
    assert.equal(stderr, '');
    const bytes = await stage.start(project, ['sh', '-c', `${stage.program} diff latin | od -An -c`]).finished;
    assert.match(bytes.stdout.replaceAll(/\s+/g, ' '), /- c a f 351 \\n \+ c a f 350 \\n/);
    assert.match((await stage.ctx(project, ['diff', '--full', 'large'])).stdout, /last line\n\\ No newline/);
    assert.equal(changes.length, 12);
  });

  test('many files that say they are large cost no memory of their size', async () => {
    const project = stage.project('echo one > a');
    await stage.inside(
      project,
      'mkdir d; cd d; for i in $(seq 200); do mkdir $i; truncate -s 1M $i/package.json; done',
    );
    const measure = `import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)`;
    for (const words of isSoak ? [['diff'], ['diff', '--full'], ['status'], ['apply', '--dry-run']] : [['diff']]) {
      const { stdout, stderr } = await stage.start(project, ['python3', '-c', measure, stage.program, ...words])
        .finished;
      const [code, kilobytes] = stdout.split(' ').map(Number);
      assert.equal(code, 0, stderr);
      assert.ok((kilobytes ?? 0) < 330_000, `${words.join(' ')} took ${kilobytes} kB`);
    }
    const { stderr } = await stage.ctx(project, ['diff']);
    assert.match(stderr, /^and 101 more changes: ctx diff --names lists them/);
  });
});
