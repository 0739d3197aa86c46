import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { builtInProfiles } from './profiles.js';
import { readProfiles } from './profiles-file.js';

const directory = mkdtempSync(join(tmpdir(), 'ctx-profiles-'));
after(() => rmSync(directory, { recursive: true, force: true }));

async function profilesOf(text: string) {
  writeFileSync(join(directory, 'profiles.toml'), text);
  return readProfiles([directory]);
}

const refused = { code: 'EINVAL', path: join(directory, 'profiles.toml') };

describe('profiles of the operator', () => {
  it('copy nothing from outside of the home, whatever list names it', async () => {
    const outside = ['..', '../x', 'a/..', 'a/../../b', './a', 'a/.', '/etc/passwd', 'a//b', 'a/', '/', ' /..', '.'];
    for (const list of ['copies', 'secrets']) {
      for (const path of outside) {
        const text = `[own]\ncommand = ["x"]\n${list} = ["fine", ${JSON.stringify(path)}]\n`;
        await assert.rejects(profilesOf(text), refused, `${list}: ${path}`);
      }
      for (const path of ['.x', '.x/y', 'a..b', '...', '..a/b']) {
        const [own] = await profilesOf(`[own]\ncommand = ["x"]\n${list} = [${JSON.stringify(path)}]\n`);
        const found = own?.copies.map(({ what, secret = false }) => [what, secret]);
        assert.deepEqual(found, [[path, list === 'secrets']]);
      }
    }
  });

  it('are refused whole where a member is unknown or of another kind', async () => {
    const lists = ['hosts', 'reads', 'environment', 'variables', 'copies', 'secrets', 'command'];
    for (const list of lists) {
      for (const value of ['"text"', '1', 'true', '[1]', '["a", 1]', '[""]', '[["a"]]', '{ a = 1 }']) {
        await assert.rejects(profilesOf(`[claude]\n${list} = ${value}\n`), refused, `${list} = ${value}`);
      }
    }
    for (const text of [
      '[claude]\nwrites = ["/"]',
      'claude = 1',
      '[own]\nhosts = ["a"]',
      '[own]\ncommand = []',
      '[a',
      '[".."]',
    ])
      await assert.rejects(profilesOf(text), refused, text);
  });

  it('have names of a closed form, on both sides of its length', async () => {
    for (const name of ['a', 'A.b_c+d-9', 'x'.repeat(64)]) {
      assert.equal((await profilesOf(`["${name}"]\ncommand = ["x"]`))[0]?.name, name);
    }
    for (const name of ['', '.a', '-a', 'a/b', 'a b', 'ä', 'x'.repeat(65)]) {
      await assert.rejects(profilesOf(`["${name}"]\ncommand = ["x"]`), refused, name);
    }
  });

  it('replace the lists they name and keep the others, secrets apart from other copies', async () => {
    for (const before of builtInProfiles) {
      const texts = (needs: readonly { readonly what: string }[]) => needs.map(({ what }) => what);
      const [changed] = await profilesOf(`["${before.name}"]\nhosts = ["a.example"]\ncopies = [".own"]\n`);
      assert.deepEqual(texts(changed?.hosts ?? []), ['a.example']);
      assert.deepEqual(
        [changed?.reads, changed?.environment, changed?.command],
        [before.reads, before.environment, before.command],
      );
      const secrets = before.copies.filter(({ secret }) => secret === true);
      assert.deepEqual(texts(changed?.copies ?? []), ['.own', ...texts(secrets)]);
      const [none] = await profilesOf(`["${before.name}"]\nsecrets = []\n`);
      assert.deepEqual(
        none?.copies,
        before.copies.filter(({ secret }) => secret !== true),
      );
    }
  });

  it('are read from the first directory that has the file, and from no other', async () => {
    const second = join(directory, 'second');
    mkdirSync(second);
    writeFileSync(join(second, 'profiles.toml'), '[second]\ncommand = ["x"]\n');
    await profilesOf('[first]\ncommand = ["x"]\n');
    const names = async (...places: readonly string[]) => (await readProfiles(places)).map(({ name }) => name);
    const builtIn = builtInProfiles.map(({ name }) => name);
    assert.deepEqual(await names(directory, second), ['first', ...builtIn]);
    assert.deepEqual(await names(join(directory, 'nowhere'), second, directory), ['second', ...builtIn]);
    assert.deepEqual(await names(), builtIn);
  });
});
