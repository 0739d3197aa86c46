/** What an agent sees is what its whole line of parents allows, as their files are now. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { hasCode } from '../../base/errno.js';
import { lineageDepth } from '../../base/limits/objects.js';
import type { Attributes } from '../../vfs/filesystem.js';
import { agentTexts } from '../spec.js';
import { printSupervised } from '../supervised.js';
import { agentViewer, lineOf } from './agent-viewer.js';
import { objectView } from './object-view.js';

const root = mkdtempSync(join(tmpdir(), 'ctx-viewer-'));
after(() => rmSync(root, { recursive: true, force: true }));
const roots = { root, uid: 1000 };

function write(name: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) writeFileSync(join(root, 'agent', `${name}.d`, file), text);
}

/** Not by the store, which waits for the disk. */
function make(name: string, files: Readonly<Record<string, string>> = {}): void {
  mkdirSync(join(root, 'agent', `${name}.d`), { recursive: true });
  const texts = agentTexts(name, {}, { uid: 1000, gid: 1000 });
  write(name, { ...Object.fromEntries(texts), ...files });
}

const rules = (name: string, ...tools: readonly string[]) =>
  tools.map((tool) => `allow ${name}_t tool:${tool} execute\n`).join('');

describe('the line of an agent', () => {
  it('ends with the one that a person made, after so many parents at most', () => {
    make('p0');
    for (let count = 1; count <= lineageDepth + 1; count += 1) make(`p${count}`, { parent: `agent:p${count - 1}\n` });
    const names = lineOf(roots, `p${lineageDepth}`).map(({ name }) => name);
    assert.deepEqual([names.length, names[0], names.at(-1)], [lineageDepth + 1, `p${lineageDepth}`, 'p0']);
    const tooLong = (error: unknown) => hasCode(error, 'EINVAL');
    assert.throws(() => lineOf(roots, `p${lineageDepth + 1}`), tooLong);
    make('circle', { parent: 'agent:round\n' });
    make('round', { parent: 'agent:circle\n' });
    assert.throws(() => lineOf(roots, 'circle'), tooLong);
    make('orphan', { parent: 'agent:nobody\n' });
    assert.throws(
      () => lineOf(roots, 'orphan'),
      (error: unknown) => hasCode(error, 'ENOENT'),
    );
  });
});

describe('what an agent sees', () => {
  const path = (...places: readonly string[]) => places.map((place) => `/ctx/${place}\n`).join('');

  it('is what each of its line allows, or a supervisor granted to one below', () => {
    make('top', { policy: rules('top', 'a', 'b'), path: path('tool'), model: 'x/one\n' });
    make('middle', {
      parent: 'agent:top\n',
      policy: rules('middle', 'a', 'c', 'd'),
      path: path('tool', 'home/1000/tool'),
      model: 'x/one\nx/two\n',
    });
    make('low', {
      parent: 'agent:middle\n',
      policy: rules('low', 'a', 'b', 'c', 'd', 'e'),
      path: path('home/1000/tool', 'tool'),
      model: 'x/two\nx/one\n',
    });
    const granted = (rule: string) => printSupervised([{ by: 'operator', excess: { kind: 'permission', rule } }]);
    write('middle', { supervised: granted('tool:d execute') });
    const { viewer } = agentViewer(roots, 'low', () => 5);
    const tools = () =>
      viewer()
        .authority.policy.rules.map(({ name }) => name)
        .join('');
    assert.deepEqual(
      [tools(), viewer().authority.toolPath, viewer().models, viewer().now],
      ['ad', ['/ctx/tool'], ['x/one'], 5],
    );
    write('top', { supervised: granted('tool:e execute') });
    assert.equal(tools(), 'ad', 'what was granted to a parent is not granted to those that it made');
    write('low', { supervised: granted('tool:e execute') });
    assert.equal(tools(), 'ade');
    write('low', { supervised: granted('tool:b execute') });
    assert.equal(tools(), 'abd');
    write('low', { supervised: granted('tool:b call') });
    assert.equal(tools(), 'ad', 'another permission of the same name is another one');
  });

  it('is less at once where a parent loses it, nothing where a file is wrong, and all again when that is right', () => {
    make('parent', { policy: rules('parent', 'a', 'b') });
    make('child', { parent: 'agent:parent\n', policy: rules('child', 'a', 'b') });
    const { viewer } = agentViewer(roots, 'child', () => 0);
    const tools = () =>
      viewer()
        .authority.policy.rules.map(({ name }) => name)
        .join('');
    assert.equal(tools(), 'ab');
    write('parent', { policy: rules('parent', 'a') });
    assert.equal(tools(), 'a');
    for (const file of ['policy', 'label', 'path', 'expiry', 'supervised', 'model', 'parent'] as const) {
      for (const who of ['parent', 'child'] as const) {
        const whole = agentTexts(who, {}, { uid: 1000, gid: 1000 });
        const before =
          file === 'policy'
            ? rules(who, 'a')
            : file === 'parent' && who === 'child'
              ? 'agent:parent\n'
              : (whole.get(file) ?? '');
        write(who, { [file]: 'what is this\n' });
        assert.equal(tools(), '', `${who} ${file}`);
        assert.deepEqual([viewer().authority.toolPath.length, viewer().models], [0, []], `${who} ${file}`);
        write(who, { [file]: before });
        assert.equal(tools(), 'a', `${who} ${file}`);
      }
    }
    make('another', { policy: 'what is this\n' });
    write('child', { parent: 'agent:another\n' });
    assert.equal(tools(), '');
    write('another', { policy: rules('another', 'a') });
    assert.equal(tools(), 'a', 'a new parent that was mended');
    write('child', { parent: 'agent:parent\n' });
    rmSync(join(root, 'agent/parent.d'), { recursive: true });
    assert.equal(tools(), '');
    assert.throws(
      () => agentViewer(roots, 'nobody', () => 0),
      (error: unknown) => hasCode(error, 'ENOENT'),
    );
  });

  it('is looked for anew with each question, and once for those of one look', () => {
    make('seer', { policy: rules('seer', 'fs.read') });
    const client = join(root, 'client');
    writeFileSync(client, '');
    const { filesystem, inOneLook } = objectView({
      roots,
      agent: 'seer',
      client,
      owner: { uid: 1000, gid: 1000 },
      now: () => 0,
    });
    const find = (within: number, name: string) => filesystem.lookup(within, name) as Attributes | undefined;
    const sees = () => find(find(filesystem.root, 'tool')?.inode ?? 0, 'fs.read') !== undefined;
    assert.equal(sees(), true);
    write('seer', { policy: '' });
    assert.equal(sees(), false);
    write('seer', { policy: rules('seer', 'fs.read') });
    inOneLook(() => {
      assert.equal(sees(), true);
      write('seer', { policy: '' });
      assert.equal(sees(), true, 'a listing is consistent');
    });
    assert.equal(sees(), false, 'and nothing of it is kept');
    assert.throws(() =>
      inOneLook(() => {
        throw new Error('in the middle');
      }),
    );
    write('seer', { policy: rules('seer', 'fs.read') });
    assert.equal(sees(), true);
  });
});
