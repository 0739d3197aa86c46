/** What two processes do to one source at the same time. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { removeSource, requireSource, stageSource } from '../../objects/source/source-store.js';
import { refreshList } from './refresh-list.js';

const root = mkdtempSync(join(tmpdir(), 'ctx-refresh-'));
after(() => rmSync(root, { recursive: true }));
const roots = { root, uid: 0 };
const changing = async <T>(act: () => T) => act();
let count = 0;

function add(name: string): string {
  const server = { kind: 'stdio', command: 'it', args: [], environment: {} } as const;
  return stageSource(roots, 'user', name, { server, from: 'test', cap: '' }).place().directory;
}

const added = () => add(`src${count++}`);
const listIn = (directory: string) => readFileSync(join(directory, 'tools'), 'utf8');

describe('a list of tools', () => {
  it('that another process wrote meanwhile is asked for again, so that the last one asked for stays', async () => {
    const directory = added();
    const answers = ['old', 'new'];
    await refreshList(directory, changing, async () => {
      const answer = answers.shift();
      if (answer === 'old') await refreshList(directory, changing, async () => 'newer');
      return answer;
    });
    assert.deepEqual([listIn(directory), answers], ['new', []]);
  });

  it('is not written into a source of the same name that came meanwhile, nor into none', async () => {
    const directory = added();
    const name = directory.split('/').at(-1) ?? '';
    const replaced = refreshList(directory, changing, async () => {
      removeSource(requireSource(roots, name));
      await refreshList(add(name), changing, async () => 'its own');
      return 'of the one before';
    });
    await assert.rejects(replaced, { code: 'ENOENT', reason: /removed while/ });
    assert.equal(listIn(directory), 'its own');
    const removed = refreshList(directory, changing, async () => {
      removeSource(requireSource(roots, name));
      return 'of none';
    });
    await assert.rejects(removed, { code: 'ENOENT' });
  });

  it('that others write each time is given up at last, and one that is not to be written is not', async () => {
    const directory = added();
    const busy = refreshList(directory, changing, async () => {
      await refreshList(directory, changing, async () => `other ${count++}`);
      return 'mine';
    });
    await assert.rejects(busy, { code: 'EAGAIN' });
    const before = listIn(directory);
    await refreshList(directory, changing, async () => undefined);
    assert.equal(listIn(directory), before);
  });
});
