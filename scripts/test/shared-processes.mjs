/**
 * Test files that can be run many to a process: to start Node and load what they share costs more than most of them do. These
 * are the ones that, with all they import, start no process and open no connection, and that change nothing of their own process.
 * What failed is named by the file that its test is in; a process that ended early stands for all of its files.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { inCheckout } from '../setup/checkout.mjs';

/** What Node's start costs is shared by so many; more would make one process the longest. */
const mostTogether = 25;
const imported = /(?:\bfrom|\bimport|\bimport\()\s*['"]([^'"\n]+)['"]/g;
const apart = /^node:(?:child_process|cluster|dgram|https?|inspector|module|net|tls|v8|vm|worker_threads)\b/;
const changesItsProcess =
  /\bprocess\.|\bglobalThis\b|\bmock\b|stackTraceLimit|\b(?:before|after)(?:Each)?\(|\bimport\.meta\b/;

/** What a fixture does when all tests of its process have ended, or before each, is for one file. */
const isFixtureOfAll = (name, path) => name === 'node:test' && !/\.test\.m?js$/.test(path);

/** `isQuiet(path)`: nothing that the module imports, or what that imports, is `apart`. */
function quietModules(read) {
  const known = new Map();
  return function isQuiet(path) {
    if (known.has(path)) return known.get(path);
    known.set(path, true); // of a circle, the others say it
    const names = [...read(path).matchAll(imported)].map(([, name]) => name);
    const isApart = (name) => apart.test(name) || isFixtureOfAll(name, path);
    const quiet = names.every((name) =>
      name.startsWith('.') ? isQuiet(resolve(dirname(path), name)) : !isApart(name),
    );
    known.set(path, quiet);
    return quiet;
  };
}

export function canShare(path, read = (each) => readFileSync(each, 'utf8')) {
  return canShareBy(quietModules(read), read)(path);
}

const canShareBy = (isQuiet, read) => (path) => !changesItsProcess.test(read(path)) && isQuiet(path);

const program = (paths) => `import { test } from 'node:test';
for (const path of ${JSON.stringify(paths)}) {
  try {
    await import(path);
  } catch (error) {
    test(path, () => { throw error; });
  }
}
`;

/** Paths as they were, but for those that share a process: `membersOf` says which a path among the new ones stands for. */
export function inSharedProcesses(paths) {
  const read = (path) => readFileSync(path, 'utf8');
  const share = canShareBy(quietModules(read), read);
  const isShared = (path) => path.startsWith('dist/js/src/') && share(inCheckout(path));
  const together = paths.filter(isShared);
  const place = inCheckout('dist', 'test-groups');
  rmSync(place, { recursive: true, force: true });
  mkdirSync(place, { recursive: true });
  const groups = new Map();
  for (let at = 0; at < together.length; at += mostTogether) {
    const name = `group-${groups.size}.test.mjs`;
    const members = together.slice(at, at + mostTogether);
    writeFileSync(join(place, name), program(members.map((path) => inCheckout(path))));
    groups.set(`dist/test-groups/${name}`, members);
  }
  const apartFrom = new Set(together);
  return {
    paths: [...paths.filter((path) => !apartFrom.has(path)), ...groups.keys()],
    membersOf: (path) => groups.get(path) ?? [path],
  };
}
