/** `webdav:URL` and `rclone:REMOTE:PATH` against Debian's rclone, and against servers that are not there, know us not, or lie. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ErrnoError } from '../../src/base/errno.js';
import { rcloneFileSystem } from '../../src/vfs/engines/rclone/rclone.js';
import { webdavFileSystem } from '../../src/vfs/engines/webdav/webdav.js';
import { until } from '../support/process.js';
import { ctxProgramFor } from '../support/program.js';
import { Subject } from './conformance-cases.js';
import { conforms } from './conforms.js';
import { own, scratch } from './engines.js';
import { playModel } from './model.js';

const skip = spawnSync('rclone', ['version']).status === 0 ? undefined : 'rclone is not installed';
const both = { read: true, write: true };

async function refuses(code: string, text: RegExp, act: () => unknown): Promise<void> {
  await assert.rejects(
    async () => act(),
    (error: unknown) => {
      assert.ok(error instanceof ErrnoError, String(error));
      assert.equal(error.code, code, error.message);
      assert.match(`${error.reason} ${error.remedy ?? ''}`, text);
      return true;
    },
  );
}

/** Processes of rclone that serve this directory. */
function serversOf(path: string): number {
  return readdirSync('/proc').filter((entry) => {
    try {
      return (
        /^\d+$/.test(entry) &&
        readFileSync(`/proc/${entry}/cmdline`, 'utf8').startsWith(`rclone\0serve\0webdav\0${path}\0`)
      );
    } catch {
      return false; // ended meanwhile
    }
  }).length;
}

const isSoak = process.env['CTX_SOAK'] === '1';

describe('a WebDAV server', skip === undefined ? {} : { skip }, () => {
  const place = scratch();
  let server: ChildProcess | undefined;
  let url = '';
  let number = 0;
  before(async () => {
    mkdirSync(join(place.path, 'data'));
    Object.assign(process.env, { CTX_WEBDAV_USER: 'me', CTX_WEBDAV_PASSWORD: 'secret-word' });
    server = spawn(
      'rclone',
      ['serve', 'webdav', join(place.path, 'data'), '--addr', '127.0.0.1:0', '--dir-cache-time', '1s'],
      {
        env: { ...process.env, RCLONE_USER: 'me', RCLONE_PASS: 'secret-word' },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    let said = '';
    server.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    await until(() => /started on (\S+)/.test(said), 'rclone serves');
    url = /started on (\S+)/.exec(said)?.[1] ?? '';
  });
  after(async () => {
    server?.kill('SIGKILL');
    delete process.env['CTX_WEBDAV_USER'];
    delete process.env['CTX_WEBDAV_PASSWORD'];
    place.remove();
  });
  const made = async () => {
    number += 1;
    const whole = new Subject(await webdavFileSystem({ url, writable: true }));
    await whole.directory(`c ${number}%`);
    await whole.fs.close();
    const at = encodeURIComponent(`c ${number}%`);
    const filesystem = await webdavFileSystem({ url: `${url}${at}`, writable: true });
    return { filesystem, end: async () => filesystem.close() };
  };

  describe('as an engine', () => conforms(made));

  test('random operations are those of the model', () => playModel(made, isSoak ? 40 : 3, isSoak ? 60 : 30));

  test('has whole files or none, and never one over what somebody else wrote meanwhile', async () => {
    const one = new Subject((await made()).filesystem);
    const directory = join(place.path, 'data', `c ${number}%`);
    await one.file('f', 'first');
    assert.deepEqual(readdirSync(directory), ['f']);
    const { inode } = await one.find('f');
    const mine = await one.fs.open(inode, both);
    await one.fs.write(mine, 0, Buffer.from('mine!'));
    assert.equal(readFileSync(join(directory, 'f'), 'utf8'), 'first');
    const other = new Subject(
      await webdavFileSystem({ url: `${url}${encodeURIComponent(`c ${number}%`)}`, writable: true }),
    );
    const theirs = await other.fs.open((await other.find('f')).inode, both);
    await other.fs.write(theirs, 0, Buffer.from('their bytes'));
    await other.fs.release(theirs);
    await refuses('ESTALE', /another client/, () => one.fs.flush?.(mine));
    assert.equal(readFileSync(join(directory, 'f'), 'utf8'), 'their bytes');
    assert.deepEqual(readdirSync(directory), ['f']);
    await other.fs.close();
  });

  test('that does not know us, or has no such collection, is refused when it is opened', async () => {
    await refuses('ENOENT', /not there/, () => webdavFileSystem({ url: `${url}nothing`, writable: false }));
    const whole = new Subject(await webdavFileSystem({ url, writable: true }));
    await whole.file('file', 'x');
    await whole.fs.close();
    await refuses('ENOTDIR', /collection/, () => webdavFileSystem({ url: `${url}file`, writable: false }));
    process.env['CTX_WEBDAV_PASSWORD'] = 'wrong';
    try {
      await refuses('EACCES', /401.*CTX_WEBDAV_PASSWORD/, () => webdavFileSystem({ url, writable: false }));
    } finally {
      process.env['CTX_WEBDAV_PASSWORD'] = 'secret-word';
    }
  });

  test('and rclone are trees of the command line, and what was started ends', () => {
    const [home, project, data] = ['home', 'project', 'drive'].map((name) => join(place.path, name)) as [
      string,
      string,
      string,
    ];
    for (const directory of [home, project, data]) mkdirSync(directory);
    writeFileSync(join(data, 'f'), 'in the drive\n');
    const program = ctxProgramFor({ name: 'this user', ...own }, place.path);
    const environment = {
      CTX_KEEPER: 'off',
      HOME: home,
      CTX_DATA: join(place.path, 'store'),
      PATH: process.env['PATH'],
    };
    const keys = { CTX_WEBDAV_USER: 'me', CTX_WEBDAV_PASSWORD: 'secret-word' };
    const ctx = (words: readonly string[], input = '') =>
      spawnSync(program, words, {
        cwd: project,
        input,
        encoding: 'utf8',
        timeout: 60_000,
        env: { ...environment, ...keys },
      });
    const put = ctx(['vfs', 'put', `webdav:${url}`, '/cli/f', '--writable', '--parents'], 'by webdav\n');
    assert.equal(put.status, 0, put.stderr);
    assert.equal(readFileSync(join(place.path, 'data', 'cli', 'f'), 'utf8'), 'by webdav\n');
    assert.equal(ctx(['vfs', 'cat', `webdav:${url}`, '/cli/f']).stdout, 'by webdav\n');
    assert.match(ctx(['vfs', 'put', `rclone:${data}`, '/g'], 'x').stderr, /EROFS/);
    assert.equal(ctx(['vfs', 'cat', `rclone:${data}`, '/f']).stdout, 'in the drive\n');
    const script = 'cat /mnt/drive/f; echo more > /mnt/drive/g; env';
    const exec = ctx(['exec', '--mount', `rclone:${data}=/mnt/drive:rw`, '--', 'sh', '-c', script]);
    assert.match(exec.stdout, /^in the drive\n/, exec.stderr);
    assert.doesNotMatch(exec.stdout, /secret-word|RCLONE_PASS/);
    assert.equal(readFileSync(join(data, 'g'), 'utf8'), 'more\n');
    assert.equal(serversOf(data), 0);
    for (const [words, status, text] of [
      [['vfs', 'ls', 'webdav:ftp://x/'], 2, /http:\/\/ or https:\/\//],
      [['vfs', 'ls', 'webdav:http://me:pass@127.0.0.1/'], 2, /no password in it[\s\S]*CTX_WEBDAV_PASSWORD/],
      [['vfs', 'ls', 'rclone:no-such-remote:x'], 2, /rclone refused it.*no-such-remote/],
      [['vfs', 'ls', 'rclone:--config=x'], 2, /expected REMOTE:PATH/],
    ] as const) {
      const answer = ctx(words);
      assert.equal(answer.status, status, answer.stderr);
      assert.match(answer.stderr, text);
    }
  });

  test('is served over an encrypted remote of rclone, and ends with whoever opened it', async () => {
    const [data, file] = [join(place.path, 'crypt'), join(place.path, 'rclone.conf')];
    mkdirSync(data);
    const password = spawnSync('rclone', ['obscure', 'hidden'], { encoding: 'utf8' }).stdout.trim();
    writeFileSync(file, `[hidden]\ntype = crypt\nremote = ${data}\npassword = ${password}\n`);
    process.env['RCLONE_CONFIG'] = file;
    try {
      const subject = new Subject(await rcloneFileSystem({ remote: 'hidden:', writable: true }));
      await subject.file('plain', 'text');
      assert.equal(await subject.text('plain'), 'text');
      const [name] = readdirSync(data);
      assert.notEqual(name, 'plain');
      assert.ok(!readFileSync(join(data, name ?? '')).includes('text'));
      assert.equal(serversOf('hidden:'), 1);
      await subject.fs.close();
      assert.equal(serversOf('hidden:'), 0);
      // The process that opened it is killed: nothing closes anything.
      const script = `import { rcloneFileSystem } from ${JSON.stringify(new URL('../../src/vfs/engines/rclone/rclone.js', import.meta.url).href)};
        await rcloneFileSystem({ remote: 'hidden:', writable: false }); console.log('open'); setInterval(() => undefined, 1000);`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await new Promise((resolve) => child.stdout.once('data', resolve));
      assert.equal(serversOf('hidden:'), 1);
      child.kill('SIGKILL');
      await until(() => serversOf('hidden:') === 0, 'rclone has ended');
    } finally {
      delete process.env['RCLONE_CONFIG'];
    }
    assert.ok(existsSync(file));
  });
});

describe('what a server says', () => {
  const servers: Server[] = [];
  after(() => {
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  });
  async function listening(answer: RequestListener): Promise<string> {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/dav`;
  }
  const file =
    '<d:propstat><d:prop><d:getcontentlength>1</d:getcontentlength></d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>';
  const collection = file.replace(
    '<d:getcontentlength>1</d:getcontentlength>',
    '<d:resourcetype><d:collection/></d:resourcetype>',
  );
  const said = (...entries: readonly string[]) =>
    `<?xml version="1.0"?><d:multistatus xmlns:d="DAV:">${entries.join('')}</d:multistatus>`;
  const entry = (href: string, what: string) => `<d:response><d:href>${href}</d:href>${what}</d:response>`;

  test('of names is only what can be one, and only below the collection', async () => {
    const names = ['ok', 'sp%20ace', 'a&amp;b', '%2e%2e', 'x%2fy', '..%2f..%2fetc', '%00', '%ff', '', '.ctx-part-1'];
    const hrefs = [
      '/etc/passwd',
      'http://elsewhere.example/dav/out',
      '/dav/../up',
      ...names.map((name) => `/dav/${name}`),
    ];
    const url = await listening((_, response) => {
      response.writeHead(207).end(said(entry('/dav/', collection), ...hrefs.map((href) => entry(href, file))));
    });
    const subject = new Subject(await webdavFileSystem({ url, writable: false }));
    assert.deepEqual(await subject.names(), ['a&b', 'ok', 'out', 'sp ace']);
    await subject.fs.close();
  });

  test('that is no XML, never ends, never comes, or is too much is an error after the limit at the latest', async () => {
    const open = (url: string, limit = 60_000) => webdavFileSystem({ url, writable: false, limit });
    const plain = await listening((_, response) => response.writeHead(207).end('<html><body>hello'));
    await refuses('EIO', /not the XML of WebDAV/, () => open(plain));
    const entity = await listening((_, response) =>
      response.writeHead(207).end('<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>'),
    );
    await refuses('EIO', /not the XML of WebDAV/, () => open(entity));
    const silent = await listening(() => undefined);
    await refuses('ETIMEDOUT', /within 0.7 s/, () => open(silent, 700));
    const half = await listening((_, response) => response.writeHead(207, { 'content-length': '900' }).write('<x'));
    await refuses('ETIMEDOUT', /within 0.7 s/, () => open(half, 700));
    const other = await listening((_, response) => response.writeHead(200).end('hello'));
    await refuses('EIO', /answered 200/, () => open(other));
    await refuses('EIO', /cannot be reached/, () => open('http://127.0.0.1:9/'));
  });

  test('nothing any more is ETIMEDOUT after the limit, and the kernel, which asks twice, waits for it once', async () => {
    let answers = true;
    const url = await listening((_, response) => {
      if (answers) response.writeHead(207).end(said(entry('/dav/', collection)));
    });
    const { fs } = new Subject(await webdavFileSystem({ url, writable: false, limit: 3_000 }));
    answers = false;
    const began = Date.now();
    for (let times = 0; times < 3; times += 1) {
      await refuses('ETIMEDOUT', /within 3 s/, () => fs.lookup(fs.root, 'f'));
    }
    assert.ok(Date.now() - began < 8_900, `${Date.now() - began} ms`);
    await fs.close();
  });

  test('for a moment too busy is asked again', async () => {
    let asked = 0;
    const url = await listening((_, response) => {
      asked += 1;
      if (asked < 3) response.writeHead(503).end();
      else response.writeHead(207).end(said(entry('/dav/', collection)));
    });
    const filesystem = await webdavFileSystem({ url, writable: false });
    assert.equal(asked, 3);
    await filesystem.close();
  });
});
