import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { shownFrom } from './shown-from.js';

const top = realpathSync(mkdtempSync(join(tmpdir(), 'ctx-shown-')));
after(() => rmSync(top, { recursive: true, force: true }));
const origin = join(top, 'app');
mkdirSync(join(origin, 'src'), { recursive: true });
mkdirSync(join(top, 'app-other'));
symlinkSync(origin, join(top, 'link'));
symlinkSync('/etc', join(origin, 'out'));
symlinkSync('src', join(origin, 'alias'));

test('no path is not the directory itself, with all that is in it', () => {
  assert.throws(() => shownFrom({ origin, directory: origin }, ['a', '']), { code: 'EINVAL' });
});

test('paths are named as the changes of a fork are, from wherever they are meant', () => {
  const from = (directory: string, word: string) => shownFrom({ origin, directory }, [word])[0];
  for (const [word, shown] of [
    ['.', 'src'],
    ['a', 'src/a'],
    ['./a/../b', 'src/b'],
    ['..', '.'],
    ['../a', 'a'],
    ['..a', 'src/..a'],
    ['../..a/b', '..a/b'],
    ['../...', '...'],
    [origin, '.'],
    [`${origin}/a`, 'a'],
    [`${origin}/out`, 'out'],
    // A link of the workspace is what is changed, not where it leads.
    ['../out/passwd', 'out/passwd'],
    ['../alias/a', 'alias/a'],
    // By the other name of the workspace.
    [`${top}/link/a`, 'a'],
    [`${top}/link`, '.'],
    // Not of the workspace: in full, also where its name begins alike.
    ['../..', top],
    [`${top}/app-other/a`, `${top}/app-other/a`],
    [`${top}/app2`, `${top}/app2`],
    ['/etc/passwd', '/etc/passwd'],
  ] as const) {
    assert.equal(from(join(origin, 'src'), word), shown, word);
  }
});
