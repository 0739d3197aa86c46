import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { seeded } from '../../test/property/seeded.js';
import { gitKey, gitPath, gitSettingsText, isSigning, parseGitSettings, signingSettings } from './git-settings.js';

const read = (text: string) => parseGitSettings(text)?.map((setting) => `${gitKey(setting)}=${setting.value}`);

describe('a file of git’s configuration', () => {
  it('is read as git reads it', () => {
    const text = `\ufeff# comment
[Core] bare = false ; comment
\tquoted = "a # b" c  ; d
\tlong = one \\
two
  flag
[URL "https://x\\"y\\\\"]
\tinsteadOf=gh:
[branch.Main]merge = x`;
    assert.deepEqual(read(text), [
      'core.bare=false',
      'core.quoted=a # b c',
      'core.long=one two',
      'core.flag=true',
      'url.https://x"y\\.insteadof=gh:',
      'branch.main.merge=x',
    ]);
  });

  it('is refused where git refuses it', () => {
    for (const text of ['key = x', '[a\nkey = x', '[a]\nkey = "open', '[a]\n1key = x', '[a]\nkey = \\x', '[a] ]'])
      assert.equal(parseGitSettings(text), undefined, text);
  });

  it('says the same when it is written and read again', () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
    const value = fc.string().filter((text) => !/[\0\r\f\v]/.test(text));
    const setting = fc.record({
      section: word,
      subsection: fc.option(
        value.filter((text) => !text.includes('\n')),
        { nil: undefined },
      ),
      key: word,
      value,
    });
    fc.assert(
      fc.property(fc.array(setting), (settings) => {
        const plain = settings.map((each) => ({ ...each }));
        assert.deepEqual(parseGitSettings(gitSettingsText(plain)), plain);
      }),
      seeded(200),
    );
  });

  it('names paths of the home and beside itself, and knows what signs', () => {
    assert.equal(gitPath('~/x', '/h'), '/h/x');
    assert.equal(gitPath('x', '/h', '/h/d'), '/h/d/x');
    assert.equal(gitPath('~other/x', '/h', '/h'), undefined);
    const signs = (value: string) => isSigning({ section: 'commit', key: 'gpgsign', value });
    assert.deepEqual(['true', 'yes', '1', 'false', 'Off', '0'].map(signs), [true, true, true, false, false, false]);
  });
});

describe('settings that ask for a signing key', () => {
  it('are these, on, and no others', () => {
    const set = (line: string) => {
      const [section = '', key = '', value = ''] = line.split(' ');
      const [setting] = parseGitSettings(`[${section}]\n${key} = ${value}`) ?? [];
      assert.ok(setting !== undefined, line);
      return isSigning(setting);
    };
    for (const line of ['commit gpgsign true', 'push gpgSign yes', 'tag forceSignAnnotated 1', 'Tag GPGSign on']) {
      assert.ok(set(line), line);
    }
    for (const line of ['commit gpgsign false', 'push gpgsign no', 'tag gpgsign off', 'tag gpgsign 0']) {
      assert.ok(!set(line), line);
    }
    const named = ['commit.gpgSign', 'push.gpgSign', 'tag.forceSignAnnotated', 'tag.gpgSign'];
    assert.deepEqual([...signingSettings], named, 'all that is asked for is put off');
    for (const name of signingSettings) assert.ok(set(`${name.replace('.', ' ')} true`), name);
    for (const line of ['xcommit gpgsign true', 'commit gpgsignx true', 'gpg program true'])
      assert.ok(!set(line), line);
  });
});
