/** An agent whose root is a directory of its own: a small system that is not the host's. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

/** A shell, three programs and what they are linked to, at merged-usr paths. */
const smallSystem = `
  mkdir -p root/usr/bin root/etc root/home/other root/srv
  for link in bin lib lib64; do ln -s usr/$link root/$link; done
  for program in sh cat ls id; do
    cp -L "$(command -v $program)" root/usr/bin/
    for library in $(ldd "$(command -v $program)" | grep -o '/[^ ]*'); do
      place=root/usr\${library#/usr}
      mkdir -p "$(dirname "$place")"
      cp -L "$library" "$place"
    done
  done
  echo mine > root/etc/release; echo theirs > root/home/other/file; echo x > root/secret; chmod 755 root`;

async function ok(stage: Stage, cwd: string, words: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await stage.ctx(cwd, words);
  assert.equal(code, 0, `ctx ${words.join(' ')}\n${stdout}${stderr}`);
}

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('its root is all there is, read-only, beside its fork and what it is granted', async () => {
    const place = stage.makeDirectory('systems');
    stage.shell(place, smallSystem);
    const data = stage.makeDirectory('granted');
    stage.shell(data, 'echo granted > file');
    const project = stage.project('echo hello > file');
    await ok(stage, project, ['agent', 'new', 'boxed']);
    await ok(stage, project, ['agent', 'set', 'boxed', 'root', join(place, 'root')]);
    await ok(stage, project, ['agent', 'set', 'boxed', 'mount', `${data}\t/srv/data\tro\trbind\n`]);
    const script = [
      'cat file /etc/release /home/other/file /srv/data/file; echo new > file; cat file',
      'ls /usr/bin; ls -A /etc; ls /usr/share 2> /dev/null; echo $PATH; id -u',
      'for p in /etc/x /usr/x /x /home/x; do (echo x > $p) 2> /dev/null && echo wrote $p; done',
      'echo t > /tmp/t; cat /tmp/t; echo h > ~/h && cat ~/h; cat /proc/1/comm > /dev/null',
    ].join('\n');
    const { stdout, stderr } = await stage.ctx(project, [
      'exec',
      '--json',
      '--agent',
      'boxed',
      '--',
      'sh',
      '-c',
      script,
    ]);
    const envelope = parseJson(stdout, stderr) as Envelope;
    assert.equal(
      envelope.stdout?.text,
      [
        ...['hello', 'mine', 'theirs', 'granted', 'new', 'cat', 'id', 'ls', 'sh'],
        'release',
        '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        ...[String(user.uid), 't', 'h', ''],
      ].join('\n'),
      envelope.stderr?.text,
    );
    assert.deepEqual(
      envelope.changes.map(({ path }) => path),
      ['file'],
    );
    const missing = await stage.ctx(project, ['exec', '--agent', 'boxed', '--', 'env']);
    assert.equal(missing.code, 127, 'a program of the host, which is not in the root');
  });

  test('its root may be the one in its home: empty at first, with a system of its mounts, and filled by its operator', async () => {
    const project = stage.project('echo hello > file');
    const root = `/ctx/home/${user.uid}/agent/homed/root`;
    const system = ['/usr', '/bin', '/lib', '/lib64'].map((path) => `${path}\t${path}\tro\trbind\n`).join('');
    await ok(stage, project, ['agent', 'new', 'homed']);
    await ok(stage, project, ['agent', 'set', 'homed', 'root', root]);
    await ok(stage, project, ['agent', 'set', 'homed', 'mount', `${system}${project}\t/workspace\trw\trbind\n`]);
    await ok(stage, project, ['agent', 'set', 'homed', 'cwd', '/workspace']);
    const said = async (script: string) => {
      const { stdout, stderr } = await stage.ctx(project, ['exec', '--agent', 'homed', '--', 'sh', '-c', script]);
      return stdout + stderr;
    };
    assert.equal(
      await said('pwd; cat file; ls -d /opt /etc/release 2> /dev/null; ls $HOME/root'),
      '/workspace\nhello\n',
    );
    stage.shell(
      `${stage.store}/ctx/home/${user.uid}/agent/homed/root`,
      'mkdir -p etc opt/own && echo mine > etc/release && echo own > opt/own/file && ln -s own opt/link && echo top > top',
    );
    const shown = await said(
      'cat /etc/release /opt/own/file /opt/link/file /top; for at in /etc/x /opt/own/x /top; do (echo x > $at) 2> /dev/null && echo wrote; done',
    );
    assert.equal(shown, 'mine\nown\nown\ntop\n');
    const why = async (access: string, path: string) =>
      (await stage.ctx(project, ['why', '--agent', 'homed', access, path])).stdout.split('\n')[0];
    assert.equal(await why('read', '/opt/link/file'), 'read /opt/own/file: allowed');
    assert.equal(await why('write', '/opt/own/file'), 'write /opt/own/file: refused (EROFS)');
    await ok(stage, project, ['agent', 'set', 'homed', 'root', '/ctx/shared']);
    const { code, stderr } = await stage.ctx(project, ['exec', '--agent', 'homed', '--', 'true']);
    assert.match(stderr, /of the objects only \/ctx\/home\/\d+\/agent\/homed\/root can be its root/);
    assert.equal(code, 13);
  });
});
