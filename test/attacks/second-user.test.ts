/**
 * Root works in a project that another user owns, and that user changes what the names lead to. Nothing outside of the
 * directories that root named is written, deleted or given away, and nothing that only root may read is read.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { cannotCompile, compileAttackProgram } from '../support/attack-program.js';
import { hasSoakTime, randomFrom, testSeed } from '../support/random.js';
import { useStage } from '../support/stage.js';
import { isRoot } from '../support/users.js';

const other = { uid: 64_731, gid: 64_731 };
const skip = isRoot ? false : 'only root can work in a directory of another user';

/** Each after the other, on one scene. */
const verbs: readonly (readonly string[])[] = [
  ['apply'],
  ['exec', '--write', '../extra', '--', 'sh', '-c', 'cat ../*/kept; echo 2 > new; echo 2 > ../extra/new'],
  ['apply', '--undo'],
  ['vault', 'export', '../extra/out'],
  ['diff'],
  ['vault', 'sync'],
  ['apply', '--to', '../extra'],
  ['apply'],
];

describe('root in a project of another user', { skip, concurrency: 2 }, () => {
  const stage = useStage({ name: 'root', uid: 0, gid: 0 });
  let scenes = 0;
  before(() => {
    if (cannotCompile === undefined) compileAttackProgram(stage.directory, 'exchange');
  });

  /** The other user's project and a further directory of theirs; a directory that only root may enter. */
  function scene() {
    const place = stage.makeDirectory(`scene-${scenes++}`);
    const theirs = join(place, 'theirs');
    for (const name of ['', '/proj', '/extra']) {
      mkdirSync(`${theirs}${name}`);
      chownSync(`${theirs}${name}`, other.uid, other.gid);
    }
    const precious = join(place, 'precious');
    mkdirSync(precious, { mode: 0o700 });
    writeFileSync(join(precious, 'kept'), 'precious\n', { mode: 0o600 });
    const asOther = (script: string) => {
      const { status, stderr } = spawnSync('/bin/sh', ['-euc', script], { cwd: theirs, ...other });
      assert.equal(status, 0, stderr.toString());
    };
    asOther('echo 0 > proj/file; echo 0 > extra/file');
    const isUntouched = () => {
      assert.deepEqual(readdirSync(precious), ['kept']);
      assert.equal(readFileSync(join(precious, 'kept'), 'utf8'), 'precious\n');
    };
    return {
      place,
      project: join(theirs, 'proj'),
      extra: join(theirs, 'extra'),
      theirs,
      precious,
      asOther,
      isUntouched,
    };
  }

  test('a further directory that became a link is neither applied to nor undone in', async () => {
    const { project, extra, precious, asOther, isUntouched } = scene();
    const write = ['exec', '--write', extra, '--', 'sh', '-c', 'echo 1 > ../extra/new'];
    assert.equal((await stage.ctx(project, write)).code, 0);
    const exchange = `mv extra aside; ln -s ${precious} extra`;
    asOther(exchange);
    const refused = await stage.ctx(project, ['apply']);
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /ESTALE/);
    assert.match(refused.stderr, /ctx vault set --moved/);
    const again = await stage.ctx(project, write);
    assert.match(again.stderr, /link of another user/);
    isUntouched();
    asOther('rm extra; mv aside extra');
    assert.equal((await stage.ctx(project, ['apply'])).code, 0);
    assert.equal(readFileSync(join(extra, 'new'), 'utf8'), '1\n');
    asOther(exchange);
    writeFileSync(join(precious, 'new'), '1\n');
    const undone = await stage.ctx(project, ['apply', '--undo']);
    assert.match(undone.stderr, /ESTALE/);
    assert.equal(readFileSync(join(precious, 'new'), 'utf8'), '1\n');
  });

  test('another directory in its place is refused until the person confirms it', async () => {
    const { project, theirs, asOther } = scene();
    assert.equal((await stage.ctx(project, ['exec', '--', 'sh', '-c', 'echo 1 > new'])).code, 0);
    asOther('mv proj aside; mkdir proj');
    for (const words of [['apply'], ['exec', '--', 'true'], ['vault', 'sync']]) {
      const refused = await stage.ctx(project, words);
      assert.match(refused.stderr, /ESTALE/, words.join(' '));
    }
    assert.deepEqual(readdirSync(project), [], 'an empty mount point stays empty');
    assert.equal((await stage.ctx(project, ['vault', 'set', '--moved'])).code, 0);
    assert.equal((await stage.ctx(project, ['apply'])).code, 0);
    assert.equal(readFileSync(join(theirs, 'proj/new'), 'utf8'), '1\n');
  });

  test('an import, an apply and an export refuse links of the other user to what is not theirs', async () => {
    const { project, theirs, precious, asOther, isUntouched } = scene();
    asOther(`ln -s ${precious} link; ln -s extra own`);
    const imported = await stage.ctx(project, ['exec', '--write', '../link', '--', 'cat', `${precious}/kept`]);
    assert.notEqual(imported.code, 0);
    assert.doesNotMatch(imported.stdout, /precious/);
    assert.match((await stage.ctx(project, ['exec', '--cwd', join(theirs, 'link'), '--', 'true'])).stderr, /EACCES/);
    assert.equal((await stage.ctx(project, ['exec', '--write', '../own', '--', 'true'])).code, 0);
    assert.notEqual((await stage.ctx(project, ['vault', 'export', '../link/out'])).code, 0);
    assert.notEqual((await stage.ctx(project, ['vault', 'export', '../link'])).code, 0);
    assert.notEqual((await stage.ctx(project, ['apply', '--to', '../link'])).code, 0);
    isUntouched();
  });

  /** While `act` goes on, two names of the other user change places at every open and make in `watched`. */
  async function whileExchanging(cwd: string, names: readonly string[], act: () => Promise<unknown>): Promise<number> {
    const exchanger = spawn(join(stage.directory, 'exchange'), names, {
      cwd,
      ...other,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const said: Buffer[] = [];
    exchanger.stdout.on('data', (chunk: Buffer) => said.push(chunk));
    const ended = once(exchanger, 'close');
    await once(exchanger.stdout, 'data');
    await act();
    exchanger.stdin.end();
    await ended;
    return Number(Buffer.concat(said).toString().split('\n')[1]);
  }

  test('what they exchange for a directory that apply makes is not given to them', {
    skip: cannotCompile,
  }, async () => {
    const { project, theirs } = scene();
    // Of root's, but theirs to rename: the directory that holds it is theirs.
    mkdirSync(join(project, 'closed'), { mode: 0o700 });
    writeFileSync(join(project, 'closed/secret'), 'root\n', { mode: 0o600 });
    const fill =
      'mkdir new; for n in 1 2 3 4 5 6 7 8; do mkdir new/$n; ln -s f new/$n/l; echo 1 > new/$n/f; done; mkdir z';
    assert.equal((await stage.ctx(project, ['exec', '--', 'sh', '-c', fill])).code, 0);
    await whileExchanging(project, ['.', 'closed', 'new', '0'], () => stage.ctx(project, ['apply']));
    const found = spawnSync('find', [theirs, '-name', 'secret', '-printf', '%U %m ']).stdout.toString();
    assert.equal(found, '0 600 ');
    const closed = spawnSync('find', [theirs, '-uid', '0', '-type', 'd', '-printf', '%m ']).stdout.toString();
    assert.equal(closed, '700 ', 'the directory is still root’s, and as closed as it was');
  });

  test('what they exchange for a file that apply makes is not given to them', { skip: cannotCompile }, async () => {
    const { project, theirs } = scene();
    // Of root's, but theirs to rename and to delete: the directory that holds it is theirs.
    const names = Array.from({ length: 12 }, (_, at) => `f${at}`).join(' ');
    let exchanged = 0;
    for (let round = 0; round < 4; round += 1) {
      spawnSync('rm', ['-f', join(project, 'secret')]);
      writeFileSync(join(project, 'secret'), 'root\n', { mode: 0o600 });
      const fill = `for n in ${names}; do echo ${round} > $n; done`;
      await stage.ctx(project, ['exec', '--', 'sh', '-c', fill]);
      const watched = ['.', '?', 'secret', String(2 * round)];
      exchanged += await whileExchanging(project, watched, () =>
        stage.ctx(project, ['apply', '--conflicts', 'theirs']),
      );
      const { stdout } = spawnSync('grep', ['-rlsx', 'root', theirs]);
      for (const holder of stdout.toString().split('\n').slice(0, -1)) {
        const { uid, mode } = statSync(holder);
        assert.deepEqual([uid, mode & 0o777], [0, 0o600], 'wherever it was moved to, it is root’s');
      }
    }
    assert.ok(exchanged > 0, 'nothing was exchanged: the rounds showed nothing');
  });

  test('names that change places at the opens of every verb lead nowhere', { skip: cannotCompile }, async (context) => {
    const rounds = process.env['CTX_SOAK'] === '1' ? 10_000 : 8;
    const random = randomFrom(testSeed);
    let exchanged = 0;
    let at: ReturnType<typeof scene> | undefined;
    let round = 0;
    for (; round < rounds && hasSoakTime(); round += 1) {
      // A directory that was exchanged in the middle of an apply may be refused from then on: each few rounds start afresh.
      if (at === undefined || round % verbs.length === 0) {
        at = scene();
        at.asOther(`ln -s ${at.precious} trap; ln -s ${at.precious} trap-extra`);
        const first = ['exec', '--write', at.extra, '--', 'sh', '-c', 'echo 1 > new; echo 1 > ../extra/new; mkdir d'];
        assert.equal((await stage.ctx(at.project, first)).code, 0);
      }
      const { theirs, project, asOther, isUntouched } = at;
      const words = verbs[round % verbs.length] ?? [];
      const [left, right] = random() < 0.5 ? ['proj', 'trap'] : ['extra', 'trap-extra'];
      const watched = random() < 0.5 ? '.' : left;
      const first = Math.floor(random() * 12);
      exchanged += await whileExchanging(theirs, [watched, left, right, String(first)], async () => {
        const { stdout } = await stage.ctx(project, words);
        assert.doesNotMatch(stdout, /precious\n/);
      });
      isUntouched();
      asOther(`if [ -L ${left} ]; then mv -T ${left} swap; mv -T ${right} ${left}; mv -T swap ${right}; fi`);
    }
    context.diagnostic(`${round} rounds, ${exchanged} exchanges`);
    assert.ok(exchanged > 0, 'nothing was exchanged: the rounds showed nothing');
  });

  test('a list of rights stays with the file that is replaced, and the group gains nothing', async () => {
    const { project, asOther } = scene();
    // u::rw, u:54321:rw, g::---, m::rw, o::---: of the mode's group bits the group itself has none.
    const list = '0200000001000600ffffffff0200060031d4000004000000ffffffff10000600ffffffff20000000ffffffff';
    asOther(`setfattr -n system.posix_acl_access -v 0x${list} proj/file`);
    const words = ['--only-values', '-n', 'system.posix_acl_access', join(project, 'file')];
    const rights = () => spawnSync('getfattr', ['--absolute-names', ...words]).stdout.toString('hex');
    assert.equal(rights(), list);
    await stage.ctx(project, ['exec', '--', 'sh', '-c', 'rm file; echo 1 > file; chmod 660 file']);
    assert.equal((await stage.ctx(project, ['apply'])).code, 0);
    assert.equal(readFileSync(join(project, 'file'), 'utf8'), '1\n');
    assert.equal(rights(), list);
    assert.equal((await stage.ctx(project, ['apply', '--undo'])).code, 0);
    assert.equal(rights(), list);
  });

  test('a store below a directory of the other user is refused', async () => {
    const { project, theirs } = scene();
    const mine = join(theirs, 'mine');
    mkdirSync(mine, { mode: 0o700 });
    const { code, stderr } = await stage.ctx(project, ['exec', '--', 'true'], {
      env: { CTX_DATA: join(mine, 'store') },
    });
    assert.equal(code, 13);
    assert.match(stderr, /another user \(uid 64731\) owns .*theirs above it/);
    assert.deepEqual(readdirSync(mine), []);
  });

  test('a directory whose name is not UTF-8 is not mistaken for another one', async () => {
    const { place } = scene();
    const odd = Buffer.concat([Buffer.from(`${place}/odd-`), Buffer.from([0xff])]);
    mkdirSync(odd);
    const twin = join(place, 'odd-\ufffd');
    mkdirSync(twin);
    writeFileSync(join(twin, 'twin'), '');
    const words = `cd "$(printf '${place}/odd-\\377')" && exec "$0" exec -- ls`;
    const { code, stdout, stderr } = await stage.start(place, ['/bin/sh', '-c', words, stage.program]).finished;
    assert.notEqual(code, 0);
    assert.equal(stdout, '');
    assert.match(stderr, /not UTF-8/);
  });
});
