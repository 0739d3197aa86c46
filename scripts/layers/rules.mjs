/**
 * The layers of `src/` and what each may do, and the rules for `native/`. Pure: `checkLayers` and `checkNative` take the files as a map
 * and return violations.
 */

import { dirname, posix } from 'node:path';
import { importsOf, lineOf } from './imports.mjs';
import { maskSource } from './mask.mjs';
import { callCircles, callsBetween } from './native-calls.mjs';

const ranks = [
  ['base'],
  ['authority', 'shell', 'audit', 'vfs', 'vault'],
  ['guard', 'jail', 'network', 'fuse'],
  ['proxy', 'objects'],
  ['hook', 'keeper', 'kept-jail', 'workspace'],
  ['agent', 'tool', 'model', 'guest', 'sdk'],
  ['mcp', 'console'],
  ['cli'],
];

/**
 * Rooms of the larger folders, lowest first: between them imports point down, too. `.` is what is at the folder's own
 * top; a file that is named is there and has a rank of its own.
 */
const rooms = {
  vault: [['tree'], ['store'], ['migration'], ['.'], ['git'], ['forks'], ['apply'], ['upkeep']],
  proxy: [['.'], ['grants'], ['approval'], ['report'], ['run'], ['execute.ts', 'prepare.ts']],
  sdk: [['.'], ['workspace', 'vfs'], ['operator'], ['shapes.ts', 'entries.ts']],
  cli: [
    ['.'],
    ['text'],
    ['input'],
    ['exec'],
    ['kept-jail'],
    ['setup', 'tools', 'mounts'],
    ['verbs'],
    ['verbs.ts', 'call-verb.ts', 'process-caller.ts', 'command-line.ts'],
  ],
};

/**
 * A folder with more sources than this is a drawer: no one finds anything in it. Tests are beside their files and are
 * not counted.
 */
const sourcesInOneFolder = 40;

/**
 * The command line and the MCP server are faces: they reach the product through the SDK, types included, so that a program
 * can do and is refused whatever a person can do and is refused (docs/decisions/0015).
 */
const faces = { mcp: ['base', 'sdk'], cli: ['base', 'sdk', 'mcp'] };

/** Files of `src/` itself: above every folder, and free to import each other. */
const topFiles = [
  'compose.ts',
  'compose-authority.ts',
  'compose-hook.ts',
  'compose-places.ts',
  'compose-recorder.ts',
  'compose-store.ts',
  'main.ts',
  'main-exec.ts',
  'main-hook-call.ts',
  'main-hook.ts',
  'main-keeper.ts',
  'main-verbs.ts',
  'index.ts',
];
const topRank = ranks.length;

const pureFolders = ['authority', 'shell'];
const pureModules = ['node:path', 'node:crypto'];
const impureGlobals = [
  { pattern: /(?<![\w$.])process\s*(?:\.|\?\.|\[)/g, what: 'process' },
  { pattern: /(?<![\w$.])globalThis\b/g, what: 'globalThis' },
  { pattern: /(?<![\w$.])fetch\s*\(/g, what: 'fetch' },
  { pattern: /(?<![\w$.])(?:setTimeout|setInterval|setImmediate)\s*\(/g, what: 'a timer' },
  { pattern: /(?<![\w$.])Date\s*\.\s*now\b/g, what: 'the clock' },
  { pattern: /(?<![\w$.])new\s+Date\s*\(\s*\)/g, what: 'the clock' },
  { pattern: /(?<![\w$.])performance\s*\./g, what: 'the clock' },
  { pattern: /(?<![\w$.])Math\s*\.\s*random\b/g, what: 'chance' },
];

const builtins = new Set(
  'assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads zlib'.split(
    ' ',
  ),
);

/**
 * Files that parse JSON themselves, with the reason. Everything else asks `parseJson` or `parsedAs`, whose answer is to be looked at before
 * it is anything: what was parsed is not cast.
 */
const jsonParsers = {
  'base/shape.ts': 'the way itself',
  'hook/json-text.ts': 'a parser of its own, stricter, which asks for single words and strings',
  'tool/source/http-bridge.ts': 'a program of its own, which imports nothing of ours',
};
const jsonParse = /\bJSON\s*\.\s*parse\b/g;
const parsedText = /\b(?:JSON\s*\.\s*parse|parseJson|readJsonFile|readWholeJson)\s*\(/g;

/** `files`: path below `src/` with `/` -> source. Returns `{ file, line, rule, message }`, sorted. */
export function checkLayers(files) {
  const modules = new Map([...files].map(([path, source]) => [path, readModule(path, source)]));
  const violations = [];
  for (const module of modules.values()) {
    const report = (line, rule, message) => violations.push({ file: `src/${module.path}`, line, rule, message });
    if (module.rank === undefined) reportUnknown(module, report);
    if (module.room !== undefined && module.roomRank === undefined) {
      report(
        1,
        'unknown room',
        `src/${module.folder}/${module.room} has no rank; give it one in scripts/layers/rules.mjs`,
      );
    }
    for (const edge of module.imports) checkEdge(module, edge, modules, report);
    if (!module.isTest) checkFace(module, modules, report);
    if (pureFolders.includes(module.folder) && !module.isTest) checkPurity(module, modules, report);
    if (!module.isTest && !module.path.endsWith('-fixture.ts')) checkParsing(module, files.get(module.path), report);
  }
  violations.push(...findCycles(modules), ...findCrowdedFolders(modules));
  return violations.sort((left, right) => left.file.localeCompare(right.file) || left.line - right.line);
}

/** The order of folders and of the rooms in them, lowest first. */
export function floors() {
  return { folders: ranks, rooms };
}

/** Who imports whom: between folders, and between the rooms of each. Tests and files of `src/` itself are left out. */
export function importsBetween(files) {
  const modules = new Map([...files].map(([path, source]) => [path, readModule(path, source)]));
  const betweenFolders = new Map();
  const betweenRooms = new Map();
  const add = (map, from, to) => map.set(from, (map.get(from) ?? new Set()).add(to));
  for (const module of modules.values()) {
    if (module.isTest || module.folder === undefined) continue;
    for (const { target } of module.imports) {
      const imported = modules.get(target);
      if (imported?.folder === undefined) continue;
      if (imported.folder !== module.folder) add(betweenFolders, module.folder, imported.folder);
      else if (module.roomRank !== undefined) {
        if (!betweenRooms.has(module.folder)) betweenRooms.set(module.folder, new Map());
        add(betweenRooms.get(module.folder), roomName(module), roomName(imported));
      }
    }
  }
  return { betweenFolders, betweenRooms };
}

/** As the list of rooms has it. */
function roomName({ folder, path, room }) {
  const file = path.slice(folder.length + 1);
  return rooms[folder].some((members) => members.includes(file)) ? file : room;
}

function readModule(path, source) {
  const masked = maskSource(source);
  const folder = path.includes('/') ? path.slice(0, path.indexOf('/')) : undefined;
  return {
    path,
    folder,
    rank: rankOf(path, folder),
    ...roomOf(path, folder),
    isTest: /\.test\.[cm]?ts$/.test(path),
    imports: importsOf(source, masked).map((found) => ({ ...found, target: targetOf(path, found.specifier) })),
    impurities: impureGlobals.flatMap(({ pattern, what }) =>
      [...masked.matchAll(pattern)].map((match) => ({ line: lineOf(source, match.index), what })),
    ),
  };
}

function checkParsing({ path }, source, report) {
  const masked = maskSource(source);
  if (!Object.hasOwn(jsonParsers, path)) {
    for (const { index } of masked.matchAll(jsonParse)) {
      report(lineOf(source, index), 'JSON', 'ask parsedAs of base/shape, with the shape that it has, or parseJson');
    }
  }
  for (const { index, 0: call } of masked.matchAll(parsedText)) {
    const rest = masked.slice(endOfCall(masked, index + call.length)).replace(/^[\s)]+/, '');
    if (!/^as\b(?!\s+unknown\b)/.test(rest)) continue;
    report(lineOf(source, index), 'JSON', 'what was parsed is cast: check its shape, base/shape');
  }
}

/** Behind the parenthesis that closes one that is open at `at`. */
function endOfCall(masked, at) {
  let end = at;
  for (let open = 1; open > 0 && end < masked.length; end += 1) {
    if (masked[end] === '(') open += 1;
    if (masked[end] === ')') open -= 1;
  }
  return end;
}

function rankOf(path, folder) {
  if (folder === undefined) return topFiles.includes(path.replace(/\.test\.ts$/, '.ts')) ? topRank : undefined;
  const rank = ranks.findIndex((folders) => folders.includes(folder));
  return rank === -1 ? undefined : rank;
}

/** The room of a file and its rank among those of its folder; none for folders that have no rooms. */
function roomOf(path, folder) {
  const order = rooms[folder];
  if (order === undefined) return {};
  const [, first, ...rest] = path.split('/');
  const room = rest.length > 0 ? first : '.';
  const named = order.findIndex((members) => members.includes(first.replace(/\.test\.ts$/, '.ts')));
  const roomRank = rest.length === 0 && named === -1 ? order.findIndex((members) => members.includes('.')) : named;
  return { room, roomRank: roomRank === -1 ? undefined : roomRank };
}

/** The path below `src/` that a relative import means; undefined for packages. It may begin with `../`. */
function targetOf(path, specifier) {
  if (specifier === undefined || !/^\.{1,2}(?:\/|$)/.test(specifier)) return undefined;
  return posix.join(dirname(path), specifier).replace(/\.([cm]?)js$/, '.$1ts');
}

function reportUnknown(module, report) {
  if (module.folder === undefined) {
    report(1, 'unknown file', `src/ itself holds only ${topFiles.join(', ')}; put it into the folder of its layer`);
  } else {
    report(1, 'unknown folder', `src/${module.folder} has no layer; give it a rank in scripts/layers/rules.mjs`);
  }
}

function checkEdge(module, edge, modules, report) {
  const { line, specifier, target } = edge;
  if (specifier === undefined) {
    if (!module.isTest)
      report(line, 'computed import', 'write the module name as a plain string, so that it can be checked');
    return;
  }
  if (target === undefined || target === '../package.json') return;
  const imported = modules.get(target);
  if (imported === undefined) {
    if (target.startsWith('../') && !module.isTest) {
      report(line, 'outside src', `'${specifier}' is outside src/, which imports only itself and packages`);
    } else if (!target.startsWith('../')) {
      report(line, 'missing file', `'${specifier}' means src/${target}, which does not exist`);
    }
    return;
  }
  if (module.isTest) return;
  if (imported.isTest) report(line, 'imports a test', `'${specifier}' is a test; move what is shared out of it`);
  if (module.rank === undefined || imported.rank === undefined) return;
  if (imported.rank > module.rank) {
    report(line, 'upward import', `${nameOf(module)} may not import ${nameOf(imported)}: imports point down only`);
  } else if (imported.rank === module.rank && imported.folder !== module.folder) {
    report(
      line,
      'sideways import',
      `${nameOf(module)} may not import its sibling ${nameOf(imported)}: let a higher layer join them`,
    );
  } else if (imported.folder === module.folder) checkRooms(module, imported, line, report);
}

function checkRooms(module, imported, line, report) {
  if (module.roomRank === undefined || imported.roomRank === undefined) return;
  const names = `src/${module.path} may not import src/${imported.path}`;
  if (imported.roomRank > module.roomRank) {
    report(line, 'upward import', `${names}: between the rooms of a folder, too, imports point down only`);
  } else if (imported.roomRank === module.roomRank && imported.room !== module.room) {
    report(line, 'sideways import', `${names}: their rooms have one rank`);
  }
}

function checkFace(module, modules, report) {
  const open = faces[module.folder];
  if (open === undefined) return;
  for (const { line, specifier, target } of module.imports) {
    const folder = modules.get(target)?.folder;
    if (folder === undefined || folder === module.folder || open.includes(folder)) continue;
    report(line, 'past the SDK', `${module.folder}/ may not import '${specifier}': give src/sdk what it needs`);
  }
}

function nameOf({ folder, path, rank }) {
  return `${folder ?? path} (rank ${rank})`;
}

function checkPurity(module, modules, report) {
  for (const { line, what } of module.impurities) {
    report(line, 'impure', `${module.folder}/ is pure and may not use ${what}: take it as an argument`);
  }
  for (const { line, specifier, target, typeOnly } of module.imports) {
    if (typeOnly || specifier === undefined) continue;
    if (isImpureModule(specifier)) {
      report(
        line,
        'impure',
        `${module.folder}/ is pure and may not import ${specifier}: only ${pureModules.join(' and ')}`,
      );
    }
    const chain = target === undefined ? undefined : impureChain(target, modules, new Set());
    if (chain) report(line, 'impure', `${module.folder}/ is pure, but this leads to ${chain.join(' -> ')}`);
  }
}

function isImpureModule(specifier) {
  const name = specifier.replace(/^node:/, '').split('/')[0];
  const isBuiltin = specifier.startsWith('node:') || builtins.has(name);
  return isBuiltin && !pureModules.includes(`node:${specifier.replace(/^node:/, '')}`);
}

/** How a file of another folder reaches something impure; files of pure folders answer for themselves. */
function impureChain(path, modules, visited) {
  const module = modules.get(path);
  if (module === undefined || visited.has(path) || pureFolders.includes(module.folder)) return undefined;
  visited.add(path);
  const [impurity] = module.impurities;
  if (impurity) return [`src/${path}:${impurity.line}`, impurity.what];
  for (const edge of module.imports) {
    if (edge.typeOnly || edge.specifier === undefined) continue;
    if (isImpureModule(edge.specifier)) return [`src/${path}:${edge.line}`, edge.specifier];
    const rest = edge.target === undefined ? undefined : impureChain(edge.target, modules, visited);
    if (rest) return [`src/${path}:${edge.line}`, ...rest];
  }
  return undefined;
}

/**
 * `files`: path below `native/` -> source. Headers include each other in no circle, and no folder is crowded; a name is looked for as
 * the compiler does: in `native/` and in the folder of its program.
 */
export function checkNative(files) {
  const headers = new Map(
    [...files]
      .filter(([path]) => path.endsWith('.h'))
      .map(([path, source]) => [path, { imports: includesOf(path, source, files), isTest: false }]),
  );
  return [
    ...findCycles(headers, 'native'),
    ...findCallCircles(files),
    ...findCrowdedFolders(new Map([...files.keys()].map((path) => [path, { path, isTest: false }])), 'native'),
  ];
}

function findCallCircles(files) {
  return callCircles(callsBetween(files)).map((circle) => ({
    file: `native/${circle[0]}`,
    line: 1,
    rule: 'circle of calls',
    message: `these files call each other: ${circle.map((path) => `native/${path}`).join(' ')}`,
  }));
}

function includesOf(path, source, files) {
  const program = path.slice(0, path.indexOf('/') + 1);
  return [...source.matchAll(/^#include "([^"]+)"/gm)].map((match) => ({
    target: [`${program}${match[1]}`, match[1]].find((each) => files.has(each)),
    line: lineOf(source, match.index),
  }));
}

function findCrowdedFolders(modules, top = 'src') {
  const folders = new Map();
  for (const { path, isTest } of modules.values()) {
    if (!isTest) folders.set(dirname(path), (folders.get(dirname(path)) ?? 0) + 1);
  }
  return [...folders]
    .filter(([, count]) => count > sourcesInOneFolder)
    .map(([folder, count]) => ({
      file: `${top}/${folder}`,
      line: 1,
      rule: 'crowded folder',
      message: `${count} sources, more than ${sourcesInOneFolder}: give what belongs together a room of its own`,
    }));
}

/** Every cycle once, reported at the import that closes it. */
function findCycles(modules, top = 'src') {
  const violations = [];
  const finished = new Set();
  const visit = (path, trail) => {
    for (const { target, line } of modules.get(path).imports) {
      if (target === undefined || !modules.has(target) || modules.get(target).isTest) continue;
      const start = trail.indexOf(target);
      if (start !== -1) {
        const files = [...trail.slice(start), target].map((each) => `${top}/${each}`);
        violations.push({ file: `${top}/${path}`, line, rule: 'import cycle', message: files.join(' -> ') });
      } else if (!finished.has(target)) visit(target, [...trail, target]);
    }
    finished.add(path);
  };
  for (const [path, module] of modules) if (!module.isTest && !finished.has(path)) visit(path, [path]);
  return violations;
}
