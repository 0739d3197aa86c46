// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the strings are source text to be read, not templates.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { importsOf } from './layers/imports.mjs';
import { maskSource } from './layers/mask.mjs';
import { pictureOf, withPicture } from './layers/picture.mjs';
import { checkLayers, checkNative, floors } from './layers/rules.mjs';
import { inCheckout } from './setup/checkout.mjs';
import { filesBelow } from './setup/files.mjs';

const check = (files) =>
  checkLayers(new Map(Object.entries(files))).map(({ file, line, rule }) => `${file}:${line} ${rule}`);
const specifiers = (source) => importsOf(source).map(({ specifier }) => specifier);

describe('the layers of src', () => {
  it('let a folder import what is below it and itself', () => {
    const files = {
      'base/errno.ts': '',
      'vault/fork.ts': "import { x } from '../base/errno.js';\nimport { y } from './layer.js';",
      'vault/layer.ts': '',
      'proxy/run.ts': "import { fork } from '../vault/fork.js';",
      'compose.ts': "import { run } from './proxy/run.js';",
      'main.ts': "import { compose } from './compose.js';",
    };
    assert.deepEqual(check(files), []);
  });

  it('fail an upward import, whatever its form', () => {
    const forms = [
      "import { run } from '../proxy/run.js';",
      "import '../proxy/run.js';",
      "import type { Run } from '../proxy/run.js';",
      "import * as run from '../proxy/run.js';",
      "export * from '../proxy/run.js';",
      "export { run } from '../proxy/run.js';",
      "const run = await import('../proxy/run.js');",
      "type Run = import('../proxy/run.js').Run;",
      'import {\n  run,\n  type Run,\n} from "../proxy/run.js";',
    ];
    for (const form of forms) {
      assert.deepEqual(
        check({ 'vault/fork.ts': form, 'proxy/run.ts': '' }),
        ['src/vault/fork.ts:1 upward import'],
        form,
      );
    }
  });

  it('fail an import between folders of one rank', () => {
    const files = { 'vault/fork.ts': "\nimport { a } from '../audit/chain.js';", 'audit/chain.ts': '' };
    assert.deepEqual(check(files), ['src/vault/fork.ts:2 sideways import']);
  });

  it('fail an import of the composition root from below', () => {
    const files = { 'cli/exec.ts': "import { compose } from '../compose.js';", 'compose.ts': '' };
    assert.deepEqual(check(files), ['src/cli/exec.ts:1 upward import']);
  });

  it('fail a face that reaches past the SDK, for a type or a value', () => {
    const below = { 'sdk/rules.ts': '', 'mcp/server.ts': '', 'base/errno.ts': '', 'proxy/host.ts': '' };
    const good =
      "import '../sdk/rules.js';\nimport '../base/errno.js';\nimport '../mcp/server.js';\nimport './verb.js';";
    assert.deepEqual(check({ ...below, 'cli/exec.ts': good, 'cli/verb.ts': '' }), []);
    for (const form of ["import type { Host } from '../proxy/host.js';", "await import('../proxy/host.js');"]) {
      assert.deepEqual(check({ ...below, 'cli/exec.ts': form }), ['src/cli/exec.ts:1 past the SDK'], form);
      assert.deepEqual(check({ ...below, 'mcp/tool.ts': form }), ['src/mcp/tool.ts:1 past the SDK'], form);
    }
    assert.deepEqual(check({ ...below, 'cli/exec.test.ts': "import { x } from '../proxy/host.js';" }), []);
  });

  it('let the rooms of a folder import what is below them, and fail what points up or sideways', () => {
    const files = {
      'proxy/host.ts': '',
      'proxy/grants/authority-of.ts': "import '../host.js';",
      'proxy/run/run.ts': "import '../grants/authority-of.js';\nimport './view.js';",
      'proxy/run/view.ts': '',
      'proxy/execute.ts': "import './run/run.js';\nimport './host.js';\nimport './prepare.js';",
      'proxy/prepare.ts': '',
    };
    assert.deepEqual(check(files), []);
    const failed = (path, source) => check({ ...files, 'sdk/vfs/vfs.ts': '', [path]: source });
    assert.deepEqual(failed('proxy/grants/uses.ts', "import '../run/view.js';"), [
      'src/proxy/grants/uses.ts:1 upward import',
    ]);
    assert.deepEqual(failed('proxy/workspace.ts', "import './execute.js';"), [
      'src/proxy/workspace.ts:1 upward import',
    ]);
    assert.deepEqual(failed('sdk/workspace/fork.ts', "import '../vfs/vfs.js';"), [
      'src/sdk/workspace/fork.ts:1 sideways import',
    ]);
    assert.deepEqual(failed('proxy/run/view.test.ts', "import '../execute.js';"), []);
  });

  it('fail JSON that is parsed elsewhere, and what was parsed and is cast', () => {
    const failed = (source) => check({ 'base/shape.ts': 'JSON.parse(text);', 'vault/store/x.ts': source });
    for (const checked of ['parsedAs(text, shape);', 'const value = parseJson(f(text));', '// JSON.parse(text) as X']) {
      assert.deepEqual(failed(checked), [], checked);
    }
    assert.deepEqual(failed('let x;\nx = JSON.parse(text);'), ['src/vault/store/x.ts:2 JSON']);
    for (const cast of [
      'parseJson(f(text)) as X;',
      'act(() => readJsonFile(path)) as X;',
      '(readWholeJson(p)) as X;',
    ]) {
      assert.deepEqual(failed(cast), ['src/vault/store/x.ts:1 JSON'], cast);
    }
    assert.deepEqual(check({ 'base/shape.ts': 'return JSON.parse(text) as X;' }), ['src/base/shape.ts:1 JSON']);
    assert.deepEqual(check({ 'vault/store/x.test.ts': 'JSON.parse(text) as X;' }), []);
  });

  it('fail a room that has no rank', () => {
    assert.deepEqual(check({ 'vault/drawer/x.ts': '' }), ['src/vault/drawer/x.ts:1 unknown room']);
  });

  it('fail a folder of more than forty sources, tests not counted', () => {
    const names = Array.from({ length: 40 }, (_, index) => [`x${index}.ts`, `x${index}.test.ts`]).flat();
    const files = Object.fromEntries(names.map((name) => [`vault/tree/${name}`, '']));
    assert.deepEqual(check(files), []);
    assert.deepEqual(check({ ...files, 'vault/tree/y.ts': '' }), ['src/vault/tree:1 crowded folder']);
  });

  it('fail a folder and a top file that have no rank', () => {
    assert.deepEqual(check({ 'utils/x.ts': '', 'helper.ts': '' }), [
      'src/helper.ts:1 unknown file',
      'src/utils/x.ts:1 unknown folder',
    ]);
  });

  it('fail a circle of files, once, and name it', () => {
    const files = new Map(
      Object.entries({
        'base/a.ts': "import { b } from './b.js';",
        'base/b.ts': "import { c } from './c.js';",
        'base/c.ts': "import { a } from './a.js';",
      }),
    );
    const violations = checkLayers(files);
    assert.equal(violations.length, 1);
    assert.equal(violations[0].rule, 'import cycle');
    assert.equal(violations[0].message, 'src/base/a.ts -> src/base/b.ts -> src/base/c.ts -> src/base/a.ts');
  });

  it('let a test import in any direction, but only what exists', () => {
    const files = {
      'base/a.test.ts': "import { run } from '../proxy/run.js';\nimport { gone } from '../proxy/gone.js';",
      'proxy/run.ts': '',
    };
    assert.deepEqual(check(files), ['src/base/a.test.ts:2 missing file']);
  });

  it('fail an import of a test, of what is outside src, and of a computed name', () => {
    const files = {
      'base/a.ts': "import './a.test.js';\nimport '../../bench/measure.js';\nawait import(name);",
      'base/a.test.ts': '',
    };
    assert.deepEqual(check(files), [
      'src/base/a.ts:1 imports a test',
      'src/base/a.ts:2 outside src',
      'src/base/a.ts:3 computed import',
    ]);
  });
});

describe('the pure folders', () => {
  it('may import node:path, node:crypto, packages and types', () => {
    const source =
      "import { join } from 'node:path';\nimport { createHash } from 'node:crypto';\n" +
      "import { parse } from 'unbash';\nimport type { Stats } from 'node:fs';\nimport { type Server } from 'node:net';";
    assert.deepEqual(check({ 'authority/decide.ts': source }), []);
  });

  it('may not touch the system', () => {
    const lines = [
      "import { readFileSync } from 'node:fs';",
      "import { spawn } from 'child_process';",
      "import { readFile } from 'node:fs/promises';",
      "import { connect } from 'node:net';",
      "import { userInfo } from 'node:os';",
      'const home = process.env.HOME;',
      'const now = Date.now();',
      'const today = new Date();',
      'const dice = Math.random();',
      "const page = await fetch('x');",
    ];
    for (const folder of ['authority', 'shell']) {
      for (const line of lines) {
        assert.deepEqual(check({ [`${folder}/x.ts`]: line }), [`src/${folder}/x.ts:1 impure`], line);
      }
    }
  });

  it('may not reach the system through another file', () => {
    const files = {
      'base/atomic-file.ts': "import { openSync } from 'node:fs';",
      'base/store.ts': "import { write } from './atomic-file.js';",
      'authority/decide.ts': "import { store } from '../base/store.js';",
      'authority/type.ts': "import type { Store } from '../base/store.js';",
    };
    assert.deepEqual(check(files), ['src/authority/decide.ts:1 impure']);
  });

  it('do not mistake words for uses', () => {
    const source =
      "const text = 'process.env'; // Date.now()\nconst value = plan.process.name; const when = new Date(0);";
    assert.deepEqual(check({ 'shell/classify.ts': source }), []);
  });
});

describe('the headers of native', () => {
  const checked = (files) =>
    checkNative(new Map(Object.entries(files))).map(({ file, line, rule }) => `${file}:${line} ${rule}`);

  it('fail a circle, also through a room and the shared headers', () => {
    const files = {
      'frame.h': '',
      'jail/plan.h': '#include "frame.h"\n#include "owner/watch.h"\n',
      'jail/owner/watch.h': '#include <stdio.h>\n#include "plan.h"\n',
      'jail/main.c': '#include "plan.h"\n',
    };
    assert.deepEqual(checked(files), ['native/jail/owner/watch.h:2 import cycle']);
    assert.deepEqual(checked({ ...files, 'jail/owner/watch.h': '' }), []);
  });

  it('may not belong to files whose functions call each other in a circle', () => {
    const put = '#include "x.h"\nvoid put(int a) {\n  end(a);\n}\n';
    const end = 'static void quiet(void) {\n}\n\nint end(int a) {\n  return a;\n}\n';
    const files = { 'jail/put.c': put, 'jail/end.c': end, 'tree/put.c': 'void put(int a) {\n}\n' };
    assert.deepEqual(checked(files), []);
    const calling = end.replace('return a', 'put(a)');
    assert.deepEqual(checked({ ...files, 'jail/end.c': calling }), ['native/jail/end.c:1 circle of calls']);
    const said = end.replace('return a;', '/* put(a) */ say("put(a)");');
    assert.deepEqual(checked({ ...files, 'jail/end.c': said }), []);
  });

  it('fail a crowded folder', () => {
    const files = Object.fromEntries(Array.from({ length: 41 }, (_, at) => [`jail/${at}.c`, '']));
    assert.deepEqual(checked(files), ['native/jail:1 crowded folder']);
  });
});

describe('the picture of the house', () => {
  it('says who imports whom, from the top down', () => {
    const files = {
      'base/errno.ts': '',
      'vault/vault.ts': "import './store/layout.js';\nimport '../base/errno.js';",
      'vault/store/layout.ts': "import '../../base/errno.js';",
      'vault/vault.test.ts': "import './upkeep/gc.js';",
    };
    const picture = pictureOf(new Map(Object.entries(files)));
    assert.match(picture, /^floor {2}1 {2}vault {2}-> base\nfloor {2}0 {2}base$/m);
    assert.match(picture, /^ {2}room {2}3 {2}\. +-> store$/m);
  });

  it('is in the documents as the imports are now: node scripts/check-layers.mjs --picture', () => {
    const document = readFileSync(inCheckout('docs/architecture.md'), 'utf8');
    const paths = filesBelow(inCheckout('src'), (path) => /\.[cm]?ts$/.test(path));
    const files = new Map(paths.map((path) => [path, readFileSync(inCheckout('src', path), 'utf8')]));
    assert.equal(withPicture(document, pictureOf(files)), document);
  });

  it('has a place in the table for every folder and room', () => {
    const document = readFileSync(inCheckout('docs/architecture.md'), 'utf8');
    const { rooms } = floors();
    const named = Object.entries(rooms).flatMap(([folder, order]) =>
      order.flat().map((room) => (room === '.' ? `\`${folder}\`, top` : `${folder}/${room.replace(/\.ts$/, '')}`)),
    );
    const missing = named.filter((name) => !document.includes(`| \`${name}`) && !document.includes(name));
    assert.deepEqual(missing, []);
  });
});

describe('finding imports', () => {
  it('ignores comments, strings, templates and regular expressions', () => {
    const source = [
      "// import 'a';",
      "/* import 'b'; */",
      'const text = "import \'c\'";',
      "const more = `import 'd'; ${value + `import 'e'`} import 'f'`;",
      "const pattern = /import 'g'|[/]\"/;",
      'const half = width / 2 / 3;',
      "import { real } from 'h';",
    ].join('\n');
    assert.deepEqual(specifiers(source), ['h']);
  });

  it('finds code inside a template', () => {
    assert.deepEqual(specifiers("const a = `x ${await import('y')} ${{ b: {} }.b} z`; import 'w';"), ['y', 'w']);
  });

  it('does not take exported values or import.meta for imports', () => {
    assert.deepEqual(specifiers("export const from = 'a';\nexport default 'b';\nconst u = import.meta.url + 'c';"), []);
  });

  it('keeps every line where it was', () => {
    const source = "/* a\n b */ const x = `\n${1}\n`;\nimport 'y';";
    assert.equal(maskSource(source).length, source.length);
    assert.equal(importsOf(source)[0].line, 5);
  });
});
