/** What a jail is shown of the machine: processors, memory, packages. None of it can be written, and its sockets are its own alone. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { useWarmStage } from '../support/stage.js';
import { forEachUser } from '../support/users.js';

const without = (program: string) =>
  spawnSync('sh', ['-c', `command -v ${program}`]).status === 0 ? false : `${program} is not installed`;

const everyNetlink = `import socket
for protocol in range(32):
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
        print(protocol)
    except OSError: pass`;

forEachUser((user) => {
  const stage = useWarmStage(user);

  test('/sys has the processors and the memory, and nothing of it can be written', async () => {
    const project = stage.project();
    const listing = await stage.inside(
      project,
      'cd /sys; ls; ls devices; ls devices/system; cat devices/system/cpu/online',
    );
    assert.match(listing, /^devices\nsystem\ncpu\n(node\n)?[0-9,-]+\n$/);
    const tried = `find /sys /var/lib/dpkg /var/cache/man -type f 2>/dev/null | head -3000 |
      while read -r file; do (exec 3>> "$file") 2>/dev/null && echo "$file"; done
      find /sys /var/lib/dpkg /var/cache/man -type d 2>/dev/null | head -300 |
      while read -r place; do (mkdir "$place/x") 2>/dev/null && echo "$place"; done; true`;
    assert.equal(await stage.inside(project, tried), '');
    const ids = 'find /sys | grep -iE "serial|uuid|asset|/dmi|/block|/net|/class|/firmware|/kernel/" | head; true';
    assert.equal(await stage.inside(project, ids), '');
  });

  test('of netlink it has routing and the diagnosis of sockets', { skip: without('python3') }, async () => {
    const project = stage.project();
    assert.ok(
      stage.shell(project, `python3 -c '${everyNetlink}'`).split('\n').length > 4,
      'without a jail there are more',
    );
    assert.equal(await stage.inside(project, `python3 -c '${everyNetlink}'`), '0\n4\n');
  });

  test('ss lists the sockets of its own jail, and can end none', {
    skip: without('ss') || without('python3'),
  }, async () => {
    const place = join(stage.directory, 'outside.socket');
    const [named, local] = [createServer(), createServer()];
    await Promise.all([
      new Promise<void>((resolve) => named.listen(place, resolve)),
      new Promise<void>((resolve) => local.listen(0, '127.0.0.1', resolve)),
    ]);
    const { port } = local.address() as { port: number };
    try {
      const project = stage.project();
      const list = 'ss -Hxltna; ss -Hltn';
      assert.match(
        stage.shell(project, list),
        new RegExp(`outside.socket[^]*:${port} `),
        'without a jail they are listed',
      );
      const script = `python3 -c 'import socket, subprocess
server = socket.create_server(("127.0.0.1", 0)); port = server.getsockname()[1]
client = socket.create_connection(("127.0.0.1", port)); served = server.accept()[0]
listing = subprocess.run(["sh", "-c", "${list}"], capture_output=True, text=True).stdout
print("own" if ":%d " % port in listing else listing)
print("theirs" if "outside.socket" in listing or ":${port} " in listing else "alone")
subprocess.run(["ss", "-K", "dport", "=", str(port)], capture_output=True)
client.sendall(b"alive\\n"); print(served.recv(9).decode(), end="")'`;
      assert.equal(await stage.inside(project, script), 'own\nalone\nalive\n');
    } finally {
      named.close();
      local.close();
    }
  });

  test('dpkg knows whose a file is, and man finds its pages', { skip: without('dpkg') || without('man') }, async () => {
    const script = 'dpkg -S /usr/bin/dpkg; man -w man >/dev/null || test ! -e /usr/share/man/man1/man.1.gz';
    assert.equal(await stage.inside(stage.project(), script), 'dpkg: /usr/bin/dpkg\n');
  });
});
