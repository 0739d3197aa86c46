import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readlinkSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { seeded } from '../../../test/property/seeded.js';
import { processesCalled, until } from '../../../test/support/process.js';
import { Starter } from '../../base/starter.js';
import { Tree } from './tree.js';
import { freshPlace, program } from './tree-fixture.js';
import { TreeServer } from './tree-server.js';

const startLibrary = fileURLToPath(new URL('../../../../native/start.node', import.meta.url));
const place = freshPlace();
let made = 0;

/** A layer with so many files. */
function layer(files: number): string {
  const name = `layer-${made++}`;
  place.write(`${name}/.keep`);
  rmSync(place.at(name, '.keep'));
  for (let i = 0; i < files; i += 1) place.write(`${name}/f${i}`);
  return place.at(name);
}

function isChild(pid: number, parent: number | undefined): boolean {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1'))?.[1]) === parent;
  } catch {
    return false; // ended meanwhile
  }
}

/** Servers that a process has started; of a server, the jobs that run. */
function serversOf(parent: number | undefined): number[] {
  return processesCalled(program, 'serve').filter((pid) => isChild(pid, parent));
}

describe('a tree program that stays', () => {
  it('answers each of many jobs at once with its own', async () => {
    const tree = new Tree({ program });
    const layers = [1, 2, 3, 300, 5000].map(layer);
    const jobs = [...layers, ...layers].map((upper) => tree.diff({ uppers: [upper], lowers: [] }));
    const found = (await Promise.all(jobs)).map(({ length }) => length);
    assert.deepEqual(found, [1, 2, 3, 300, 5000, 1, 2, 3, 300, 5000]);
  });

  it('gives each job its own list, long or short', async () => {
    const tree = new Tree({ program });
    const layers = [layer(3000)];
    const lists = [0, 1, 7, 3000, 2, 60_000].map((count) => Array.from({ length: count }, (_each, at) => `f${at}`));
    const found = await Promise.all(lists.map((paths) => tree.held({ layers, paths })));
    assert.deepEqual(
      found.map(({ length }) => length),
      [0, 1, 7, 3000, 2, 3000],
    );
  });

  it('is there for the next after one that failed', async () => {
    const tree = new Tree({ program });
    const [missing, fine] = [place.at('missing'), layer(2)];
    const failed = tree.diff({ uppers: [missing], lowers: [] });
    const done = tree.diff({ uppers: [fine], lowers: [] });
    await assert.rejects(failed, { code: 'ENOENT' });
    assert.equal((await done).length, 2);
  });

  it('is started anew where it was killed, and whoever waited is told', async () => {
    const before = serversOf(process.pid);
    const tree = new Tree({ program });
    await tree.diff({ uppers: [layer(1)], lowers: [] });
    const own = serversOf(process.pid).filter((pid) => !before.includes(pid));
    assert.equal(own.length, 1);
    const waiting = tree.digest({ layers: [layer(2000)], most: 2 ** 30 });
    process.kill(own[0] ?? 0, 'SIGKILL');
    await assert.rejects(waiting, { code: 'EIO' });
    assert.equal((await tree.diff({ uppers: [layer(3)], lowers: [] })).length, 3);
  });

  it('says so where a job was killed, by whatever signal, and the jobs beside it go on', async () => {
    const before = serversOf(process.pid);
    const tree = new Tree({ program });
    const [long, short] = [layer(1), layer(2)];
    // Nobody waits until it is read.
    truncateSync(place.at(basename(long), 'f0'), 2 ** 40);
    for (const [signal, code] of [
      ['SIGKILL', 'EIO'],
      ['SIGSEGV', 'EIO'],
      ['SIGINT', 'ECANCELED'],
    ] as const) {
      const jobs = () => serversOf(process.pid).flatMap((pid) => (before.includes(pid) ? [] : serversOf(pid)));
      await until(() => jobs().length === 0, 'those before have ended');
      const waiting = assert.rejects(tree.digest({ layers: [long], most: 2 ** 50 }), { code });
      await until(() => jobs().length > 0, 'the job runs');
      const [job] = jobs();
      const beside = tree.diff({ uppers: [short], lowers: [] });
      process.kill(job ?? 0, signal);
      await waiting;
      assert.equal((await beside).length, 2);
    }
  });

  it('that was stopped with a look is not asked again: the next job has another', async () => {
    const tree = new Tree({ program, starter: new Starter(startLibrary) });
    const whole = { root: layer(2000), against: place.at('none') };
    for (let round = 0; round < 20; round += 1) {
      await tree.diff({ uppers: [layer(1)], lowers: [] });
      const stopped = new AbortController();
      const isWithProgram = round % 2 === 0;
      const found = tree.scan({ ...whole, signal: stopped.signal }).then(
        ({ length }) => length,
        ({ code }: { readonly code: string }) => code,
      );
      if (isWithProgram) await setTimeout(1);
      stopped.abort();
      assert.equal((await tree.scan(whole)).length, 2000, `round ${round}`);
      // One that takes no longer than this process to wake up may have been done.
      const expected = isWithProgram ? ['ECANCELED', 2000] : ['ECANCELED'];
      assert.ok(expected.includes(await found), `round ${round}`);
    }
    tree.release();
  });

  it('keeps nobody from ending, and ends with them', async () => {
    const upper = layer(1);
    const script = `import { Tree } from ${JSON.stringify(new URL('./tree.js', import.meta.url).href)};
      const tree = new Tree({ program: ${JSON.stringify(program)} });
      console.log((await tree.diff({ uppers: [${JSON.stringify(upper)}], lowers: [] })).length);
      if (process.argv[1] === 'stay') setInterval(() => {}, 1000);`;
    const words = ['--input-type=module', '-e', script];
    assert.equal(spawnSync(process.execPath, words, { encoding: 'utf8', timeout: 60_000 }).stdout, '1\n');
    const killed = spawn(process.execPath, [...words, 'stay'], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(killed.stdout, 'data');
    const [server] = serversOf(killed.pid);
    assert.ok(server !== undefined);
    killed.kill('SIGKILL');
    await until(() => !existsSync(`/proc/${server}`), 'the server has ended');
  });

  it('ends with all that it does, however it was started and it ends', async () => {
    const before = serversOf(process.pid);
    const long = layer(1);
    // Read for longer than any test takes.
    truncateSync(place.at(basename(long), 'f0'), 2 ** 40);
    const words = Buffer.from(['digest', '--layer', long, '--most', `${2 ** 50}`, ''].join('\0'));
    const ways: Readonly<Record<string, (pid: number, server: TreeServer) => void>> = {
      'is killed': (pid) => process.kill(pid, 'SIGKILL'),
      'is asked to end': (pid) => process.kill(pid, 'SIGTERM'),
      'is stopped by its caller': (_pid, server) => server.kill(),
    };
    for (const starter of [undefined, new Starter(startLibrary)])
      for (const [how, end] of Object.entries(ways)) {
        const server = new TreeServer(program, starter);
        const ended = Promise.allSettled([1, 2].map(() => server.run(words, Buffer.alloc(0))));
        const own = () => serversOf(process.pid).find((pid) => !before.includes(pid)) ?? 0;
        await until(() => own() > 0 && serversOf(own()).length === 2, 'both jobs run');
        const pid = own();
        const jobs = serversOf(pid);
        const left = () => jobs.filter((job) => existsSync(`/proc/${job}`));
        try {
          end(pid, server);
          assert.ok(
            (await ended).every(({ status }) => status === 'rejected'),
            how,
          );
          await until(() => left().length === 0, `its jobs have ended, too: it ${how}`);
        } finally {
          for (const job of left()) process.kill(job, 'SIGKILL');
        }
      }
  });

  it('reads nothing that the one before it left half said, wherever that was cut off', {
    timeout: 60_000,
  }, async () => {
    const words = Buffer.from(['diff', '--upper', layer(3), ''].join('\0'));
    const whole = await new TreeServer(program, undefined).run(words, Buffer.alloc(0));
    // A head of nine bytes, and a text of more than there is.
    const half = [...Buffer.from([0, 0, 0, 0, 1, 40, 0, 0, 0]), ...Buffer.from('half')];
    for (const [how, last] of Object.entries({ 'is killed': 'exec sleep 600', ends: 'exit 0' })) {
      for (const cut of [1, 4, 8, 9, half.length]) {
        const script = place.at(`${cut}-${how.length}`);
        const said = half.slice(0, cut).map((byte) => `\\${byte.toString(8).padStart(3, '0')}`);
        const first = `if mkdir "$0.first"; then printf '${said.join('')}'; ${last}; fi`;
        writeFileSync(script, `#!/bin/sh\n${first}\nexec ${program} "$@"\n`, { mode: 0o755 });
        const server = new TreeServer(script, undefined);
        const lost = assert.rejects(server.run(words, Buffer.alloc(0)));
        if (how === 'is killed') {
          await until(() => existsSync(`${script}.first`), 'the first one runs');
          // What it says has come, or is under way.
          await setTimeout(30);
          server.kill();
        }
        await lost;
        assert.deepEqual(await server.run(words, Buffer.alloc(0)), whole, `${how} after ${cut}`);
        server.release();
      }
    }
  });

  it('takes nothing that is no job', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const { status, signal } = spawnSync(program, ['serve'], { input: bytes, timeout: 60_000 });
        assert.equal(signal, null);
        assert.ok(status === 0 || status === 1, `${status}`);
      }),
      seeded(60),
    );
  });

  it('has no directory of its caller as its own, however it was started', async () => {
    assert.notEqual(process.cwd(), '/');
    for (const tree of [new Tree({ program }), new Tree({ program, starter: new Starter(startLibrary) })]) {
      await tree.diff({ uppers: [layer(0)], lowers: [] });
      const servers = serversOf(process.pid);
      assert.ok(servers.length > 0);
      for (const pid of servers) assert.equal(readlinkSync(`/proc/${pid}/cwd`), '/');
      tree.release();
    }
  });
});
