/** Vaults and the care of the store: what each verb prints and keeps, and what is refused. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Answer, Calls } from '../../../test/support/calls.js';

const calls = new Calls();
after(() => calls.end());

const command = ['exec', '--', 'sh', '-c', 'echo 1 > n; ln -s n l'];
const vault = { id: 'ID', name: null, origin: 'HERE', created: 'TIME', roots: ['HERE'], forks: ['main'], copied: true };
const json = ({ stdout }: Answer) => JSON.parse(stdout);

test('a directory is imported once, gets a name and limits, and is found by each of its names', async () => {
  calls.write('a', 'one\n');
  const { project } = calls;
  await calls.all([
    ['vault info', 'ENOENT'],
    ['vault list', 0],
    ['vault create', 0, 'made  ID  -  HERE  1 fork, 2 layers\n'],
    ['vault create', 0, 'there already  ID  -  HERE  1 fork, 2 layers\n'],
    ['vault import', 0, { outcome: 'there', vault: { ...vault, layers: 2 }, problems: [] }],
    ['vault create --no-copy', 'EEXIST'],
    ['vault create --live', 'EEXIST'],
    ['vault create --max-files 0', 'EINVAL'],
    ['vault create --from=', 'EINVAL'],
    ['vault create --max-bytes x', 'EINVAL'],
    [['vault', 'create', '--from', join(project, 'nosuch')], 'ENOENT'],
    ['vault create api', 0, /^named .* api {2}HERE {2}1 fork, 2 layers\n$/],
    ['vault create other', 'EEXIST'],
    ['vault list', 0, '  ID  api  HERE  1 fork, 2 layers\n'],
    ['vault list', 0, { vaults: [{ ...vault, name: 'api', layers: 2 }], faults: [] }],
    [
      'vault info',
      0,
      /^ {2}ID {2}api .*\n {2}made TIME\n {2}root HERE\n {2}fork main\n {2}holds \S+ \S+\n {2}holds \d+ files and directories\n$/,
    ],
    ['vault set', 'EINVAL'],
    ['vault set nosuch --name x', 'ENOENT'],
    ['vault set --max-files x', 'EINVAL'],
    [
      'vault set --max-bytes 1G --max-files 1000 --max-file-bytes 1M',
      0,
      /^ {2}ID {2}api .*\n {2}holds \S+ \S+, at most 1\.1 GB\n {2}holds \d+ .*, at most 1000\n {2}a file of at most 1\.0 MB\n$/,
    ],
  ]);
  for (const named of ['api', project, json(await calls.run(['vault', 'info', '--json'])).vault.id]) {
    const about = json(await calls.run(['vault', 'info', named, '--json'], { directory: '/' }));
    assert.deepEqual(
      [about.vault.name, about.limits],
      ['api', { maxBytes: 2 ** 30, maxFiles: 1000, maxFileBytes: 2 ** 20 }],
    );
    assert.ok(about.usage.bytes > 0 && about.usage.inodes > 0);
  }
  const changed = json(await calls.run(['vault', 'set', '--max-bytes', 'none', '--name', 'web', '--json']));
  assert.deepEqual([changed.vault.name, changed.limits], ['web', { maxFiles: 1000, maxFileBytes: 2 ** 20 }]);
  await calls.all([
    ['vault info api', 'ENOENT'],
    [
      'vault set --max-files none --max-file-bytes none',
      0,
      /^ {2}ID {2}web .*\n {2}holds \S+ \S+\n {2}holds \d+ [^,]*\n$/,
    ],
    ['vault set --moved', 0, /^ {2}ID {2}web /],
  ]);
});

test('edits enter when they are asked for, and what the fork shows is written out', async () => {
  calls.enter('synced');
  calls.write('a', 'one\n');
  const to = join(calls.directory, 'exported');
  await calls.all([
    [command, 0],
    ['vault sync', 0, '0 paths entered\n'],
  ]);
  calls.write('b', 'two\n');
  await calls.all([
    ['vault sync', 0, /^1 path entered\n/],
    ['vault sync', 0, { entered: [], clashes: [], problems: [] }],
    [['vault', 'export', to], 0, 'exported to ~/exported\n'],
    [['vault', 'export', to], 'EEXIST'],
    ['fork create clean --from origin', 0, /./],
    [['vault', 'export', '--fork', 'clean', `${to}.tar`], 0, { to: '~/exported.tar', problems: [] }],
    [['vault', 'export', '--fork', 'nosuch', `${to}-2`], 'ENOENT'],
  ]);
  assert.deepEqual(
    ['a', 'b', 'n', 'l'].map((name) => readFileSync(join(to, name), 'utf8')),
    ['one\n', 'two\n', '1\n', '1\n'],
  );
  assert.ok(existsSync(`${to}.tar`) && !existsSync(`${to}-2`));
  const bytes = readFileSync(`${to}.tar`).toString('latin1');
  assert.ok(bytes.includes('two\n') && !bytes.includes('./n\0'));
});

test('layers are merged and collected, the store is looked through, and a vault is deleted with nothing of the directory', async () => {
  calls.enter('kept');
  calls.write('a', 'one\n');
  const store = { format: 2, faults: [], repaired: [], freeing: 0 };
  await calls.all([
    ['flatten', 'ENOENT'],
    [command, 0],
    [['exec', '--', 'sh', '-c', 'echo 2 > n'], 0],
    ['checkpoint delete 2', 0, /./],
    ['flatten', 0, /^\d layers became 1\n$|^\d layers became \d\n$/],
    ['flatten', 0, /^\{"version":1,"before":\d,"after":\d\}\n$|layer/],
    ['fsck', 0, /^store format 2: 3 vaults, 0 faults/],
    ['fsck', 0, { ...store, vaults: 3 }],
    ['fsck --repair', 0, { ...store, vaults: 3 }],
    ['gc', 0, /^\d layers? deleted\n$/],
    ['vault migrate', 0, '~/store: format 2\n'],
    ['vault migrate', 0, { store: '~/store', format: 2, migrated: null }],
    ['vault migrate --undo', 'ESTALE'],
    ['vault delete', 'EINVAL'],
    ['vault delete nosuch', 'ENOENT'],
    [['vault', 'delete', calls.project], 0, 'deleted the vault of HERE\n'],
    ['status', 'ENOENT'],
    ['fsck', 0, { ...store, vaults: 2 }],
  ]);
  assert.equal(calls.file('a'), 'one\n');
  const collected = json(await calls.run(['gc', '--json']));
  assert.deepEqual([collected.version, collected.collected.length], [1, 2]);
  const vaults = join(calls.store, 'vault');
  const [id = ''] = readdirSync(vaults);
  const layers = join(vaults, id, 'layer');
  const [lost = ''] = readdirSync(layers);
  rmSync(join(layers, lost), { recursive: true });
  const found = await calls.run(['fsck', '--json']);
  const faults = json(found).faults.length;
  assert.ok(found.code === 1 && faults > 0, found.stdout);
  await calls.check([
    'fsck',
    1,
    new RegExp(`^(?: {2}ID {2}.* ~/store/.*\n){${faults}}store format 2: 2 vaults, ${faults} faults?\n$`),
  ]);
});

test('a fork is made ready without a command, and runs are found in the record', async () => {
  calls.enter('ready');
  calls.write('a', 'one\n');
  await calls.all([
    ['inspect', 'ENOENT'],
    ['prepare', 0, 'ready  fork main of HERE, imported\n'],
  ]);
  calls.write('b', 'two\n');
  await calls.all([
    ['prepare', 0, 'ready  fork main of HERE, 1 edit of yours\n'],
    ['prepare --agent nosuch', 'ENOENT'],
    ['prepare --fork nosuch', 'ENOENT'],
    [['exec', '--', 'sh', '-c', 'echo 3 > a; exit 3'], 3],
    [['exec', '--timeout', '300ms', '--', 'sleep', '60'], 143, '', /./],
  ]);
  const prepared = json(await calls.run(['prepare', '--json']));
  assert.deepEqual(
    [prepared.imported, prepared.entered, prepared.workspace.fork, prepared.clashes, prepared.problems, prepared.agent],
    [false, [], 'main', [], [], null],
  );
  const { runs, fork } = json(await calls.run(['inspect', 'main', '--json']));
  assert.deepEqual([fork, runs.length], ['main', 2]);
  const [first, last] = runs;
  assert.deepEqual([first.facts.exitCode, first.facts.changes, last.facts.timedOut], [3, ['modified a'], true]);
  assert.equal(json(await calls.run(['inspect', '--json'])).run, last.run);
  assert.equal(json(await calls.run(['inspect', first.run, '--json'])).run, first.run);
  const line = (end: string, changes: string, what: string) => `RUN  TIME  ${end}  ${changes}  ${what}\n`;
  await calls.all([
    [
      'inspect main',
      0,
      line('exit 3', '1 change', "sh -c 'echo 3 > a; exit 3'") + line('timed out', '0 changes', 'sleep 60'),
    ],
    [
      `inspect ${first.run}`,
      0,
      new RegExp(
        [
          '^run +RUN\ncommand .*\nin +HERE, fork/ID/main\nfor +no agent\ndecision +allow.* by default: .*\n',
          'checkpoint +1\ntime +TIME to TIME\nending +exit 3\nrecord +person:\\d+, person:\\d+\nchange +modified a\n$',
        ].join(''),
      ),
    ],
    ['inspect nosuch', 'ENOENT'],
  ]);
});
