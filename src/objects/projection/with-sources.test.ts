/** Tools of sources beside those that are files: whose source counts where the person and the machine have one of the same name. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { sourceDirectory, writeToolList } from '../source/source-store.js';
import { printToolList, toolList } from '../source/tool-list.js';
import { catalogueOf } from './disk-catalogue.js';
import { withSources } from './with-sources.js';

const base = mkdtempSync(join(tmpdir(), 'ctx-with-sources-'));
after(() => rmSync(base, { recursive: true, force: true }));
const roots = { root: join(base, 'own'), uid: 1000, system: join(base, 'system') };

function listed(root: string, place: string, source: string, ...names: readonly string[]): void {
  const directory = sourceDirectory(join(root, place), source);
  mkdirSync(directory, { recursive: true });
  const tools = names.map((name) => ({ name, description: `${name} of ${root}`, inputSchema: { type: 'object' } }));
  writeToolList(directory, printToolList(toolList(source, tools), `server of ${root}`));
}

describe('a source of the person’s own', () => {
  listed(roots.root, 'tool', 'both', 'common', 'own');
  listed(roots.system, 'tool', 'both', 'common', 'machine');
  listed(roots.root, 'tool', 'mine', 'tool');
  listed(roots.system, 'tool', 'theirs', 'tool');
  listed(roots.system, 'home/1000/tool', 'theirs', 'tool');
  listed(roots.root, 'tool', 'none');
  listed(roots.system, 'tool', 'none', 'machine');
  const catalogue = withSources(catalogueOf(roots), roots);
  const own = { 'mcp.both.common': roots.root, 'mcp.both.own': roots.root, 'mcp.mine.tool': roots.root };
  const all: Readonly<Record<string, string>> = { ...own, 'mcp.theirs.tool': roots.system };
  const hidden = ['mcp.both.machine', 'mcp.none.machine', 'mcp.other.tool', 'mcp.mine.other'];

  it('stands for the whole of it: no tool of another server is there under its name, whatever is asked', () => {
    for (const [name, root] of Object.entries(all)) {
      assert.equal(catalogue.tool('tool', name)?.source?.directory.startsWith(`${root}/`), true, name);
      assert.match(
        catalogue.control('tool', name, 'origin')?.read().toString() ?? '',
        new RegExp(`server of ${root}\n`),
      );
      assert.match(catalogue.control('tool', name, 'description')?.read().toString() ?? '', new RegExp(`of ${root}`));
      assert.equal(catalogue.isDescribed('tool', name), true, name);
    }
    for (const name of hidden) {
      assert.deepEqual(
        [catalogue.tool('tool', name), catalogue.isDescribed('tool', name), catalogue.control('tool', name, 'origin')],
        [undefined, false, undefined],
        name,
      );
      assert.deepEqual(catalogue.controls('tool', name), [], name);
    }
    assert.deepEqual(catalogue.tools('tool'), Object.keys(all).sort());
    assert.deepEqual(catalogue.described('tool'), Object.keys(all).sort());
  });

  it('is alone in the tier of a user, where the machine has none', () => {
    assert.deepEqual(catalogue.tools('home/1000/tool'), []);
    assert.equal(catalogue.tool('home/1000/tool', 'mcp.theirs.tool'), undefined);
  });
});
