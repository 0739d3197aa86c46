/**
 * node older-store.mjs STORE: makes a store of format 1 out of one of today, as the user whose it is. Of each vault one fork, with what
 * its first command changed: layers of the trunk get numbers, the live layer becomes `fork/main/upper`.
 */
import fs from 'node:fs';

const [store] = process.argv.slice(2);
const json = (path) => JSON.parse(fs.readFileSync(path, 'utf8'));
const put = (path, value) => fs.writeFileSync(path, `${JSON.stringify(value, undefined, 2)}\n`, { mode: 0o600 });
for (const id of fs.readdirSync(`${store}/vault`)) {
  const at = (...names) => [store, 'vault', id, ...names].join('/');
  const vault = json(at('meta.json'));
  const states = fs.readdirSync(at('fork/main')).filter((name) => /^state-/.test(name));
  const newest = Math.max(...states.map((name) => Number(name.slice(6, -5))));
  const { state } = json(at('fork/main', `state-${newest}.json`));
  if (state.deltas.length > 0) throw new Error('expected one command that changed something');
  fs.mkdirSync(at('old'));
  const move = (from, to) => {
    if (!fs.existsSync(from)) return fs.mkdirSync(to);
    const { mode } = fs.statSync(from);
    fs.chmodSync(from, mode | 0o700);
    fs.renameSync(from, to);
    fs.chmodSync(to, mode);
  };
  for (const [index, name] of vault.trunk.entries()) move(at('layer', name, 'workspace'), at('old', String(index)));
  move(at('layer', state.live, 'workspace'), at('upper'));
  for (const name of ['layer', 'edits', 'scan', 'meta.synced.json'])
    fs.rmSync(at(name), { recursive: true, force: true });
  fs.renameSync(at('old'), at('layer'));
  for (const name of fs.readdirSync(at('fork/main'))) {
    if (name !== 'home') fs.rmSync(at('fork/main', name), { recursive: true });
  }
  fs.renameSync(at('upper'), at('fork/main/upper'));
  fs.mkdirSync(at('fork/main/work'));
  fs.mkdirSync(at('fork/git-index'));
  fs.writeFileSync(at('origin.scan'), 'signatures of format 1');
  const { origin, created, trunk } = vault;
  const layers = trunk.map((_, index) => String(index));
  put(at('meta.json'), { format: 1, origin, created, layers, nextLayer: layers.length, clashes: [] });
}
const { overlay } = json(`${store}/meta.json`);
fs.writeFileSync(`${store}/meta.json`, `${JSON.stringify({ format: 1, overlay })}\n`);
