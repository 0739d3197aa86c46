/** Files of git's configuration beside git itself: what it reads is read the same, what it refuses is refused. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { gitKey, gitPath, gitSettingsText, isInclude, namesFile, parseGitSettings } from './git-settings.js';

const hasGit = spawnSync('git', ['--version']).status === 0;

/** As git lists them; undefined where it refuses the file. */
function byGit(text: string): readonly string[] | undefined {
  const { status, stdout } = spawnSync('git', ['config', '--file', '-', '--null', '--list'], {
    input: text,
    encoding: 'utf8',
  });
  if (status !== 0) return undefined;
  // A key without a value has no line of its own for one: it is true.
  const entries = stdout.split('\0').slice(0, -1);
  return entries.map((entry) => (entry.includes('\n') ? entry.replace('\n', '=') : `${entry}=true`));
}

const byUs = (text: string) => parseGitSettings(text)?.map((setting) => `${gitKey(setting)}=${setting.value}`);

/** Of values and of what follows them: each by itself behind `key =`, with another setting behind it. */
const values = [
  '',
  'x',
  ' x  ',
  'a b  c',
  '"a  b"',
  '" a "',
  'a" b "c',
  '""',
  '"',
  '"a',
  'a # b',
  'a;b',
  'a ;b # c',
  '"a # b;"',
  '# only',
  'a\\nb',
  'a\\tb\\bc',
  'a\\"b',
  'a\\\\b',
  'a\\',
  'a\\\nb',
  'a \\\n  b',
  'a\\\r\nb',
  '"a\\\nb"',
  '"a\nb"',
  'a\\xb',
  'a\\rb',
  'x\r',
  'x \r',
  'a\\ b',
  'a # c \\',
  'ä€',
];
const wholes = [
  '',
  '\n\n',
  '# only\n; that\n',
  '[a]',
  '[a]b',
  '[a]b=c',
  '[a] b\n[A]C = d',
  '[a]\nb # c\nd',
  '[a]\nb ;c\n',
  '[a.B]\nc = d',
  '[a.B "C"]\nd = e',
  '[a "B"]\nc = d',
  '[a "b\\"c\\\\d"]\ne = f',
  '[a ""]\nb = c',
  '[a "b]\nc = d',
  '[a b]\nc = d',
  '[a]\nb c',
  '[a]\nb- = c',
  '[a]\n-b = c',
  '[1a]\nb = c',
  '[a]\nb_c = d',
  '[a]\r\nb = c\r\nd\r\n',
  '\ufeff[a]\nb = c',
  'b = c',
  '[]\nb = c',
  '[a]\n= c',
];

/** No program writes these, and no setting outside of a section means anything to git. */
const onlyByGit = new Set(['b = c']);

describe('a file of git’s configuration', { skip: hasGit ? false : 'git is not installed' }, () => {
  it('is what git says that it is, whatever value a setting has', () => {
    for (const value of values) {
      const text = `[a]\nkey =${value}\nnext = 1\n`;
      assert.deepEqual(byUs(text), byGit(text), JSON.stringify(value));
    }
  });

  it('is what git says that it is, however it is written', () => {
    for (const text of wholes) {
      const [ours, git] = [byUs(text), byGit(text)];
      assert.deepEqual(ours, onlyByGit.has(text) ? undefined : git, JSON.stringify(text));
    }
  });

  it('is read by git as it was written', () => {
    const odd = ['', ' a ', '"', '\\', '#;', 'a\nb', 'a\tb', 'a\bb', 'ä', 'a"b\\c'];
    for (const value of odd) {
      const settings = [{ section: 's', subsection: `x ${value.replace(/[\n\b\t]/g, '')}`, key: 'k', value }];
      const text = gitSettingsText(settings);
      assert.deepEqual(parseGitSettings(text), settings);
      assert.deepEqual(byGit(text), [`s.${settings[0]?.subsection}.k=${value}`], JSON.stringify(text));
    }
  });
});

describe('a setting', () => {
  const setting = (name: string) => {
    const [section = '', ...rest] = name.split('.');
    return { section, key: rest.at(-1) ?? '', subsection: rest.length > 1 ? rest[0] : undefined, value: 'x' };
  };

  it('takes in another file, or names one, by its name alone', () => {
    for (const name of ['include.path', 'includeif.gitdir:/x.path']) assert.ok(isInclude(setting(name)), name);
    for (const name of ['include.paths', 'includes.path', 'core.path', 'include.if'])
      assert.ok(!isInclude(setting(name)), name);
    const files = [
      'blame.ignorerevsfile',
      'commit.template',
      'core.attributesfile',
      'core.excludesfile',
      'core.hookspath',
      'mailmap.file',
    ];
    for (const name of files) assert.ok(namesFile(setting(name)), name);
    for (const name of ['core.editor', 'core.x.hookspath', 'mailmap.blob', 'credential.helper'])
      assert.ok(!namesFile(setting(name)), name);
  });

  it('names a path that is absolute, in the home, or beside its file, and none that only git knows', () => {
    const cases: readonly (readonly [value: string, path: string | undefined, alone: string | undefined])[] = [
      ['/x', '/x', '/x'],
      ['~/x', '/h/x', '/h/x'],
      ['~/', '/h/', '/h/'],
      ['x/y', '/d/x/y', undefined],
      ['x/', '/d/x/', undefined],
      ['a~', '/d/a~', undefined],
      ['a%(prefix)', '/d/a%(prefix)', undefined],
      ['~', undefined, undefined],
      ['~other/x', undefined, undefined],
      ['%(prefix)/x', undefined, undefined],
      ['', undefined, undefined],
    ];
    for (const [value, path, alone] of cases) {
      assert.equal(gitPath(value, '/h', '/d'), path, value);
      assert.equal(gitPath(value, '/h'), alone, value);
    }
  });
});
