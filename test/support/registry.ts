/** A server that npm, git, pip and curl take for a registry: one package, one repository, one wheel, one page. */
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';
import type { Stage } from './stage.js';

export interface Registry {
  readonly port: number;
  /** Paths asked for since the last look. */
  take(): string[];
  close(): void;
}

const wheel = 'tiny-1.0-py3-none-any.whl';
const makeWheel = `import zipfile
with zipfile.ZipFile('www/${wheel}', 'w') as wheel:
    wheel.writestr('tiny.py', 'x = 1')
    wheel.writestr('tiny-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n')
    wheel.writestr('tiny-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('tiny-1.0.dist-info/RECORD', '')`;

function fill(directory: string, origin: string): void {
  const www = join(directory, 'www');
  const tarball = readFileSync(join(www, 'tiny-1.0.0.tgz'));
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const versions = {
    '1.0.0': { name: 'tiny', version: '1.0.0', dist: { tarball: `${origin}/tiny-1.0.0.tgz`, integrity } },
  };
  writeFileSync(join(www, 'tiny'), JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }));
  mkdirSync(join(www, 'simple', 'tiny'), { recursive: true });
  writeFileSync(join(www, 'simple', 'tiny', 'index.html'), `<a href="/${wheel}">${wheel}</a>`);
  writeFileSync(join(www, 'hello'), 'hello\n');
}

/** On loopback; `name` is what programs will call it. */
export async function startRegistry(stage: Stage, name: string): Promise<Registry> {
  const directory = stage.makeDirectory('registry');
  stage.shell(
    directory,
    `mkdir -p www package; echo '{"name":"tiny","version":"1.0.0"}' > package/package.json
     tar -czf www/tiny-1.0.0.tgz package; command -v python3 >/dev/null && /usr/bin/python3 -c "${makeWheel}"
     git init -q source; cd source; echo content > file; git add file
     git -c user.name=a -c user.email=a@b commit -qm one; cd ..
     git clone -q --bare source www/repository.git; git -C www/repository.git update-server-info`,
  );
  let asked: string[] = [];
  const server: Server = createServer((request, response) => {
    const path = normalize(decodeURIComponent((request.url ?? '/').split('?')[0] ?? '/'));
    asked.push(path);
    if (path.endsWith('/')) response.setHeader('Content-Type', 'text/html');
    try {
      response.end(readFileSync(join(directory, 'www', path.endsWith('/') ? `${path}index.html` : path)));
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  fill(directory, `http://${name}:${port}`);
  return {
    port,
    take: () => {
      const taken = asked;
      asked = [];
      return taken;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
