import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { keptSecret } from '../../authority/program-paths.js';
import { gitConfigurationBytes, gitConfigurationFiles } from '../../base/limits/store.js';
import { gitSettingsAt } from './git-settings-at.js';

const base = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-git-')));
after(() => rmSync(base, { recursive: true, force: true }));
const [home, repository] = [join(base, 'home'), join(base, 'project/.git/config')];
const configuration = join(home, '.config');
const [own, xdg] = [join(home, '.gitconfig'), join(configuration, 'git/config')];
beforeEach(() => rmSync(base, { recursive: true, force: true }));

function write(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}

const at = (untrusted: readonly string[] = []) => gitSettingsAt({ home, configuration, repository, untrusted });

describe('the person’s git configuration', () => {
  it('is shown as it is, with the files it names, where it holds no secret', () => {
    assert.deepEqual(at(), { reads: [], withheld: [], made: new Map(), environment: {}, notes: [] });
    write(xdg, '[core]\n\tpager = less\n');
    write(
      own,
      `[include]\n\tpath = ~/more\n\tpath = rel\n[core]\n\texcludesFile = ~/ignore\n\thooksPath = ${base}/hooks\n`,
    );
    const [more, rel] = [
      write(join(home, 'more'), '[include]\n\tpath = deep\n'),
      write(join(home, 'rel'), '[a]\n\tb = c\n'),
    ];
    const deep = write(join(home, 'deep'), '[commit]\n\ttemplate = /t\n');
    const { reads, ...rest } = at();
    assert.deepEqual(
      reads,
      [xdg, own, more, deep, rel, join(home, 'ignore'), `${base}/hooks`, '/t'].sort(
        (a, b) => reads.indexOf(a) - reads.indexOf(b),
      ),
    );
    assert.equal(reads.length, 8);
    assert.deepEqual(rest, { withheld: [], made: new Map(), environment: {}, notes: [] });
  });

  it('is not shown where it holds a credential: git reads what is left from files of the jail', () => {
    const secrets = [
      '[http]\n\textraHeader = "Authorization: x"\n',
      '[my]\n\tpassword = x\n',
      '[my]\n\tpass = x\n',
      '[my]\n\tpasswd = x\n',
      '[my]\n\tauthToken = x\n',
      '[my]\n\tclientSecret = x\n',
      '[my]\n\tapiKey = x\n',
      '[url "https://me:x@example.org/"]\n\tinsteadOf = https://example.org/\n',
      '[remote "x"]\n\turl = https://x@example.org/y\n',
      '[credential]\n\thelper = "!echo password=x"\n',
      '[credential]\n\thelper = !say\n',
      '[credential "https://example.org"]\n\thelper = !say\n',
      '[my]\n\tvalue = ghp_0123456789abcdefghijklmnopqrstuvwxyz\n',
    ];
    for (const secret of secrets) {
      write(own, `[user]\n\tname = Me\n${secret}[core]\n\tpager = cat\n`);
      const { made, withheld, notes } = at();
      assert.deepEqual(withheld, [own, own], secret);
      const text = made.get('/etc/gitconfig') ?? '';
      const listed = spawnSync('git', ['config', '--file', '-', '--list'], { input: text, encoding: 'utf8' }).stdout;
      assert.deepEqual([made.size, listed], [1, 'user.name=Me\ncore.pager=cat\n'], secret);
      assert.equal(notes.length, 1);
    }
    for (const plain of [
      '[credential]\n\thelper = store\n',
      '[credential]\n\tusername = !say\n',
      '[alias]\n\thelper = !say\n',
      '[url "https://example.org/"]\n\tinsteadOf = gh:\n',
      '[url "git@example.org:"]\n\tinsteadOf = x\n',
      ...['signingKey', 'signingkey', 'SigningKey'].flatMap((name) => [
        `[user]\n\t${name} = 0123ABCD\n`,
        `[user]\n\t${name} = key::ssh-ed25519 AAAA me@host\n`,
      ]),
    ]) {
      write(own, plain);
      assert.deepEqual([at().made.size, at().withheld], [0, []], plain);
    }
  });

  it('is not shown where a comment of it holds a credential, which is in no file of the jail', () => {
    write(own, '[user]\n\tsigningKey = AB # token = x\n; password = y\n[core]\n\tpager = cat\n');
    const { made, withheld } = at();
    assert.deepEqual(withheld, [own, own]);
    assert.equal(made.get('/etc/gitconfig'), '[user]\n\tsigningkey = "AB"\n[core]\n\tpager = "cat"\n');
  });

  it('has its includes where they are inside: as files of the jail where they hold a secret, in themselves or deeper', () => {
    write(
      own,
      '[include]\n\tpath = plain\n\tpath = deep\n[includeIf "gitdir:./work/"]\n\tpath = token\n[a]\n\tb = 1\n',
    );
    write(join(home, 'plain'), '[c]\n\td = 2\n');
    write(join(home, 'deep'), '[include]\n\tpath = token2\n[e]\n\tf = 3\n');
    for (const name of ['token', 'token2']) write(join(home, name), `[my]\n\ttoken = ${name}\n[g]\n\th = ${name}\n`);
    const { made, withheld } = at();
    const text = (...settings: readonly string[]) =>
      settings.map((each) => each.replace(']', ']\n\t').concat('\n')).join('');
    assert.deepEqual(Object.fromEntries(made), {
      '/etc/gitconfig': text(
        `[include]path = "${home}/plain"`,
        '[include]path = "/etc/gitconfig.1"',
        `[includeif "gitdir:${home}/work/"]path = "/etc/gitconfig.3"`,
        '[a]b = "1"',
      ),
      '/etc/gitconfig.1': text('[include]path = "/etc/gitconfig.2"', '[e]f = "3"'),
      '/etc/gitconfig.2': text('[g]h = "token2"'),
      '/etc/gitconfig.3': text('[g]h = "token"'),
    });
    assert.deepEqual([...new Set(withheld)].sort(), [own, join(home, 'token'), join(home, 'token2')].sort());
    assert.equal(withheld.includes(join(home, 'deep')), false, 'it holds none, and its include is not followed');
  });

  it('asks for no key, and says so, where any of its files turns signing on, or the repository does', () => {
    const off = ['commit.gpgSign', 'push.gpgSign', 'tag.forceSignAnnotated', 'tag.gpgSign'];
    const environment: Record<string, string> = { GIT_CONFIG_COUNT: '4' };
    for (const [index, key] of off.entries()) {
      environment[`GIT_CONFIG_KEY_${index}`] = key;
      environment[`GIT_CONFIG_VALUE_${index}`] = 'false';
    }
    for (const path of [own, xdg, repository]) {
      rmSync(base, { recursive: true, force: true });
      write(path, '[commit]\n\tgpgsign = true\n');
      const found = at();
      assert.deepEqual([found.environment, found.notes.length], [environment, 1], path);
      write(path, '[commit]\n\tgpgsign = false\n');
      assert.deepEqual([at().environment, at().notes], [{}, []], path);
    }
    write(repository, '[my]\n\ttoken = x\n[include]\n\tpath = /x\n[core]\n\thooksPath = /x\n');
    assert.deepEqual([at().reads, at().withheld], [[], []], 'of the repository nothing else is taken');
  });

  it('that an agent could have written counts for nothing, and is not shown by another’s naming it', () => {
    const written = join(base, 'written');
    write(join(written, 'config'), `[include]\n\tpath = ${base}/secret\n[core]\n\tpager = x\n`);
    write(
      own,
      `[include]\n\tpath = ${written}/config\n[core]\n\texcludesFile = ${written}/ignore\n[commit]\n\ttemplate = /t\n`,
    );
    write(join(base, 'secret'), '[my]\n\ttoken = x\n');
    const found = at([join(base, 'other'), written]);
    assert.deepEqual([found.reads, found.withheld, found.made.size], [[own, '/t'], [], 0]);
    assert.equal(at().withheld.includes(join(base, 'secret')), true);
  });

  it('never shows where keys are kept, cannot go round in circles, and has limits', () => {
    write(
      own,
      '[core]\n\texcludesFile = ~/.ssh/id\n[include]\n\tpath = ~/.gitconfig\n\tpath = missing\n\tpath = %(prefix)/x\n',
    );
    const { reads, notes } = at();
    assert.deepEqual([reads, notes.length], [[own], 1]);
    assert.match(notes[0] ?? '', /core\.excludesfile .*\.ssh\/id, which is not shown/);
    const chain = (index: number) => join(home, `chain-${index}`);
    write(own, `[include]\n\tpath = ${chain(1)}\n`);
    for (let index = 1; index <= gitConfigurationFiles; index += 1)
      write(chain(index), `[include]\n\tpath = ${chain(index + 1)}\n`);
    assert.equal(at().reads.length, gitConfigurationFiles);
    for (const [bytes, isRead] of [
      [gitConfigurationBytes, true],
      [gitConfigurationBytes + 1, false],
    ] as const) {
      write(own, `[a]\n\tb = c\n#${'x'.repeat(bytes - 13)}\n`);
      assert.deepEqual(at().reads, isRead ? [own] : []);
    }
  });

  it('never shows where keys are kept by another name either: of a file, of a directory, through several links', () => {
    const link = (path: string, target: string) => {
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(target, path);
      return path;
    };
    const ways: Readonly<Record<string, (secret: string) => string>> = {
      itself: (secret) => secret,
      'a link': (secret) => link(join(home, 'link'), secret),
      'a relative link elsewhere': (secret) =>
        link(join(base, 'other/link'), `../home/${secret.slice(home.length + 1)}`),
      'a link to its directory': (secret) => join(link(join(home, 'directory'), dirname(secret)), basename(secret)),
      'a link to a link': (secret) => link(join(home, 'second'), link(join(home, 'first'), secret)),
    };
    const settings = ['core.excludesFile', 'core.attributesFile', 'commit.template', 'mailmap.file'];
    for (const [way, nameOf] of Object.entries(ways)) {
      for (const [index, kept] of keptSecret.entries()) {
        rmSync(base, { recursive: true, force: true });
        const [section = '', key = ''] = settings[index % settings.length]?.split('.') ?? [];
        const named = nameOf(write(join(home, kept, 'key'), 'private\n'));
        write(own, `[${section}]\n\t${key} = ${named}\n`);
        const { reads, notes } = at();
        assert.deepEqual([reads, notes.length], [[own], 1], `${kept} by ${way}`);
      }
    }
    rmSync(base, { recursive: true, force: true });
    const plain = link(join(home, 'link'), write(join(home, 'ignore'), '*.o\n'));
    write(own, `[core]\n\texcludesFile = ${plain}\n`);
    assert.deepEqual([at().reads, at().notes], [[own, plain], []], 'a link to what is no secret is shown');
  });

  it('that cannot be read as one, or is no file, is not shown; a pipe in its place holds no one up', () => {
    write(own, '[broken\n');
    const { withheld, notes, made } = at();
    assert.deepEqual([withheld, made.get('/etc/gitconfig')], [[own, own], '']);
    assert.match(notes[0] ?? '', /cannot be read/);
    rmSync(own);
    spawnSync('mkfifo', [own]);
    assert.deepEqual(at().reads, []);
    rmSync(own);
    mkdirSync(own);
    assert.deepEqual(at().reads, []);
  });
});
