import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { explainPath } from '../../authority/explain.js';
import { agent, base, data, host, origin, place } from './authority-fixture.js';
import { resolveAuthority } from './authority-of.js';
import { foundInView } from './found-in-view.js';
import { ownPath } from './own-path.js';
import { pathVerdict } from './path-verdict.js';

it('finds what is mounted where the workspace has nothing, by directories that are made in the fork for it', async () => {
  writeFileSync(join(data, 'inner/x'), '');
  const target = join(origin, 'new/deep');
  const coder = agent('coder', { mountText: `${join(data, 'inner')}\t${target}\tro\trbind\n` });
  const resolved = await resolveAuthority(host, { place, agent: coder });
  mkdirSync(join(base, 'empty'), { recursive: true });
  const at = { ...host, store: { directory: join(base, 'empty') } } as typeof host;
  const found = await foundInView(at, place, resolved, join(target, 'x'));
  assert.equal(found.entry?.type, 'file');
  const way = found.way.find(([path]) => path === join(origin, 'new'))?.[1];
  assert.deepEqual([way?.type, way?.uid, way?.inFork], ['directory', place.owner.uid, true]);
  assert.equal((await foundInView(at, place, resolved, join(origin, 'none/x'))).entry, undefined);
});

it('finds at the workspace’s other path what is mounted in it at its own, and never what that covers', async () => {
  const [inner, other] = [join(data, 'inner'), '/workspace'];
  mkdirSync(join(origin, 'covered'), { recursive: true });
  for (const path of [join(origin, 'covered/host'), join(inner, 'mounted'), join(origin, 'plain')])
    writeFileSync(path, '');
  const mountText = `${origin}\t${other}\trw\trbind\n${inner}\t${join(origin, 'covered')}\tro\trbind\n`;
  const resolved = await resolveAuthority(host, { place, agent: agent('coder', { mountText }) });
  mkdirSync(join(base, 'empty'), { recursive: true });
  const at = { ...host, store: { directory: join(base, 'empty') } } as typeof host;
  const check = { host, place, resolved, readonly: false, now: 0, used: 0 };
  const says = async (access: 'read' | 'write', path: string) => {
    const found = await foundInView(at, place, resolved, path);
    const verdict = pathVerdict(check, access, found);
    const own = ownPath(resolved.authority.view, [origin], path);
    const { host: behind, source } = explainPath({
      ...{ authority: resolved.authority, path, own, access, verdict },
      hook: { allowed: true, text: '' },
    });
    return [verdict.allowed ? 'yes' : verdict.code, behind, source];
  };
  const covering = `mounts ${join(origin, 'covered')} (ro)`;
  for (const top of [origin, other]) {
    assert.deepEqual(await says('read', `${top}/covered/mounted`), ['yes', join(inner, 'mounted'), covering]);
    assert.deepEqual(await says('write', `${top}/covered/mounted`), ['EROFS', join(inner, 'mounted'), covering]);
    assert.deepEqual((await says('read', `${top}/covered/host`))[0], 'ENOENT');
    assert.deepEqual((await says('read', `${top}/plain`)).slice(0, 2), ['yes', join(origin, 'plain')]);
  }
});
