/** `--mount SPEC=TARGET:grants=FILE`: a command may do in a tree what the guard allows, and nothing else. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe } from 'node:test';
import { createVfs, type ErrnoError } from 'ctxfs';
import { parseGrants } from '../../src/guard/grants-file.js';
import { scopes } from '../../src/guard/guard.js';
import type { Envelope } from '../../src/proxy/report/envelope.js';
import { noneIsLeft, reasonToSkip } from '../support/fuse-in-jail.js';
import { randomFrom, testSeed } from '../support/random.js';
import { parseJson, type Stage, useWarmStage } from '../support/stage.js';
import { forUsersInTurn } from '../support/users.js';

const places = ['/', '/a', '/a/a', '/a/b', '/b'];
const files = ['/f', '/a/f', '/a/a/f', '/a/b/f', '/b/f'];

/** What is tried of a tree in one run; each name is new, so that what one try leaves is in the way of no other. */
const tries: readonly (readonly [string, string])[] = [
  ...files.flatMap((path) => ['read', 'write', 'chmod', 'truncate'].map((act) => [act, path] as const)),
  ...places.flatMap((path) => ['list', 'create', 'mkdir', 'symlink'].map((act) => [act, path] as const)),
  ...files.flatMap((path) => ['rename', 'unlink'].map((act) => [act, path] as const)),
];

const inside = `
import errno, json, os, sys
root, tries = sys.argv[1], json.loads(sys.argv[2])
def opened(path, flags): os.close(os.open(path, flags))
acts = {
  'read': lambda p: open(p).read(), 'write': lambda p: opened(p, os.O_RDWR), 'chmod': lambda p: os.chmod(p, 0o640),
  'truncate': lambda p: os.truncate(p, 1), 'list': os.listdir,
  'create': lambda p: opened(p + '/new', os.O_WRONLY | os.O_CREAT | os.O_EXCL), 'mkdir': lambda p: os.mkdir(p + '/made'),
  'symlink': lambda p: os.symlink('f', p + '/link'), 'rename': lambda p: os.rename(p, p + '.moved'),
  'unlink': lambda p: os.unlink(p) if os.path.lexists(p) else os.unlink(p + '.moved'),
}
said = []
for act, path in tries:
  try: acts[act](root + path); said.append('ok')
  except OSError as error: said.append(errno.errorcode[error.errno])
print(json.dumps(said))
`;

/** The same by the host API, on a tree of its own. */
async function byGuard(grants: string): Promise<readonly string[]> {
  const vfs = await createVfs({ mounts: {} });
  for (const path of places.slice(1)) await vfs.mkdir(path);
  for (const path of files) await vfs.writeFile(path, path);
  const guest = vfs.restricted(parseGrants(grants, 'grants'));
  const acts: Readonly<Record<string, (path: string) => Promise<unknown>>> = {
    read: (path) => guest.readFile(path),
    write: async (path) => (await guest.open(path, 'r+')).close(),
    chmod: (path) => guest.chmod(path, 0o640),
    truncate: (path) => guest.truncate(path, 1),
    list: (path) => guest.readdir(path),
    create: async (path) => (await guest.open(`${path}/new`, 'wx')).close(),
    mkdir: (path) => guest.mkdir(`${path}/made`),
    symlink: (path) => guest.symlink('f', `${path}/link`),
    rename: (path) => guest.rename(path, `${path}.moved`),
    unlink: async (path) => guest.unlink((await vfs.lstat(path).catch(() => undefined)) ? path : `${path}.moved`),
  };
  const said: string[] = [];
  for (const [act, path] of tries) {
    said.push(
      await (acts[act]?.(path) ?? Promise.reject(new Error(act))).then(
        () => 'ok',
        (error: ErrnoError) => error.code,
      ),
    );
  }
  await vfs.close();
  return said;
}

/** Both have to allow it or refuse it; the kernel looks a name up first, so it may say ENOENT where the guard says EACCES. */
const verdicts = (said: readonly string[]) =>
  said.map((word, index) => `${tries[index]?.join(' ')}: ${/^(EACCES|ENOENT)$/.test(word) ? 'refused' : word}`);

async function exec(stage: Stage, cwd: string, mount: string, argv: readonly string[]): Promise<Envelope> {
  const { stdout, stderr } = await stage.ctx(cwd, ['exec', '--json', '--mount', mount, '--', ...argv]);
  return parseJson(stdout, stderr) as Envelope;
}

const refusals = async (stage: Stage, cwd: string, object: string) => {
  const { stdout } = await stage.ctx(cwd, ['audit', 'query', '--status', 'denied', '--json']);
  return stdout.split('\n').filter((line) => line.includes(`"${object}"`));
};

forUsersInTurn((user, turn) => {
  const skip = reasonToSkip(user);
  describe('a mount with grants in a jail', skip === undefined ? { concurrency: 2 } : { skip }, () => {
    const stage = useWarmStage(user);

    turn.test(
      'allows a command what the guard allows by the host API, and nothing else; refusals are recorded',
      async () => {
        const cwd = stage.project();
        const place = stage.makeDirectory('grants');
        const store = join(place, 'store');
        const fill = `cd /t; mkdir -p a/a a/b b; for f in f a/f a/a/f a/b/f b/f; do echo /$f > $f; done`;
        assert.equal((await exec(stage, cwd, `chunked:${store}=/t:rw`, ['sh', '-ec', fill])).exitCode, 0);
        const random = randomFrom(testSeed);
        const pick = <T>(of: readonly T[]) => of[Math.floor(random() * of.length)] as T;
        const line = () => `${pick(scopes)} ${pick([...places, ...files, '/none'])}`;
        const every = scopes.map((scope) => `${scope} /a`).join('\n');
        const cases = [
          '',
          'fs.read /',
          every,
          ...Array.from({ length: 3 }, () => Array.from({ length: 5 }, line).join('\n')),
        ];
        for (const [number, grants] of cases.entries()) {
          const file = join(place, `grants-${number}`);
          writeFileSync(file, grants, { mode: 0o644 });
          await stage.ctx(cwd, ['vfs', 'clone', `chunked:${store}`, `c${number}`]);
          const mount = `chunked:${store}@c${number}=/t:rw:grants=${file}`;
          const argv = ['python3', '-c', inside, '/t', JSON.stringify(tries)];
          const { stdout, stderr } = await exec(stage, cwd, mount, argv);
          assert.deepEqual(
            verdicts(parseJson(stdout?.text ?? '', stderr?.text) as unknown as string[]),
            verdicts(await byGuard(grants)),
            grants,
          );
        }
        const recorded = await refusals(stage, cwd, 'vfs/t');
        assert.ok(recorded.length > 10, recorded.join('\n'));
        assert.match(recorded.join('\n'), /"layer":"guard"/);
      },
    );

    turn.test(
      'follows its file while a command runs, in a kept jail too, and what was granted before is gone',
      async () => {
        const cwd = stage.project();
        const file = join(stage.makeDirectory('followed'), 'grants');
        writeFileSync(file, 'fs.read /\nfs.write /\nfs.create /\n', { mode: 0o644 });
        const mount = `memory:=/mnt/m:rw:grants=${file}`;
        const words = ['--mount', mount];
        const inJail = (script: string) => stage.ctx(cwd, ['jail', 'exec', '--', 'sh', '-c', script]);
        assert.equal((await stage.ctx(cwd, ['jail', 'start', ...words])).code, 0);
        try {
          const made = await inJail('echo one > /mnt/m/f; cat /mnt/m/f; rm /mnt/m/f');
          assert.equal(made.stdout, 'one\n');
          assert.match(made.stderr, /Permission denied/);
          const waiting = inJail(
            'exec 3< /mnt/m/f; touch go; for i in $(seq 200); do cat /mnt/m/f || exit 7; sleep 0.1; done',
          );
          await until(async () => (await inJail('test -e go')).code === 0);
          writeFileSync(file, 'fs.create /new\n');
          assert.equal((await waiting).code, 7);
          assert.notEqual((await inJail('cat /mnt/m/f')).code, 0);
        } finally {
          await stage.ctx(cwd, ['jail', 'stop']);
        }
        await noneIsLeft('/mnt/m');
      },
    );

    turn.test('is refused where its file is wrong, missing, or the command could write to it', async () => {
      const cwd = stage.project('echo "fs.read /" > grants');
      const place = stage.makeDirectory('refused');
      writeFileSync(join(place, 'wrong'), 'fs.read /\nfs.fly /x\n', { mode: 0o644 });
      writeFileSync(join(place, 'right'), 'fs.read /\n', { mode: 0o644 });
      const refused: readonly (readonly [number, RegExp, readonly string[]])[] = [
        [2, /wrong:2:1: expected one of fs\.read/, ['--mount', `memory:=/m:grants=${place}/wrong`]],
        [1, /none.*ENOENT/, ['--mount', `memory:=/m:grants=${place}/none`]],
        [2, /expected SPEC=TARGET/, ['--mount', 'memory:=/m:grants=']],
        [2, /could change its own grants/, ['--live', '--mount', 'memory:=/m:grants=grants']],
        [2, /could change its own grants/, ['--write-live', place, '--mount', `memory:=/m:grants=${place}/right`]],
        [2, /could change its own grants/, ['--mount', `host:${place}=/m:rw:grants=${place}/right`]],
      ];
      for (const [expected, message, words] of refused) {
        const { code, stdout, stderr } = await stage.ctx(cwd, ['exec', ...words, '--', 'echo', 'ran']);
        assert.equal(code, expected, `${words.join(' ')}\n${stderr}`);
        assert.match(stderr, message);
        assert.equal(stdout, '');
      }
      // In the fork a command writes to its own copy, and the grants are the person's.
      const { exitCode, stdout } = await exec(stage, cwd, 'memory:=/m:rw:grants=grants', [
        ...['sh', '-c', 'echo "fs.create /" >> grants; sleep 0.5; touch /m/x 2>&1; cat grants | wc -l'],
      ]);
      assert.equal(exitCode, 0);
      assert.match(stdout?.text ?? '', /Permission denied\n2\n$/);
      assert.equal(readFileSync(join(cwd, 'grants'), 'utf8'), 'fs.read /\n');
    });
  });
});

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) if (await isSo()) return;
  assert.fail('it never came to be');
}
