/**
 * `dist/cli/ctx.cjs` with `exec.cjs`, the verb on everybody's way, and `verbs.cjs`, all others; and `hook.cjs`, the part that
 * harnesses start for every tool call, and `keeper.cjs`, which stays. Modules run when they are first imported, so a verb pays for what it uses. CommonJS, since Node's ES module
 * loader alone costs a quarter of a start. What is seldom needed, `authority.cjs` of the hook's
 * and `shell.cjs`, the shell parser, `mcp.cjs`, the official MCP SDK, `vfs.cjs`, the virtual filesystem,
 * `s3.cjs`, Amazon's SDK, `objects.cjs`, an agent's view and its tools, and `migration.cjs`, stores of older formats, is read when it is
 * imported. `bridge.cjs` is run by jails of tool sources.
 */

import { existsSync } from 'node:fs';
import { inCheckout, root } from './checkout.mjs';
import { addCodeCache } from './code-cache.mjs';
import { SetupFailure } from './failure.mjs';
import { filesBelow, fingerprint } from './files.mjs';

const options = {
  entryPoints: {
    ctx: 'src/main.ts',
    exec: 'src/main-exec.ts',
    verbs: 'src/main-verbs.ts',
    hook: 'src/main-hook.ts',
    keeper: 'src/main-keeper.ts',
    authority: 'src/compose-authority.ts',
    shell: 'src/shell/shell-parser.ts',
    mcp: 'src/mcp/mcp-protocol.ts',
    vfs: 'src/sdk/vfs/virtual-files.ts',
    s3: 'src/vfs/engines/s3/s3-sdk.ts',
    objects: 'src/tool/served-objects.ts',
    migration: 'src/vault/migration/migrate-store.ts',
    bridge: 'src/tool/source/http-bridge.ts',
  },
  outExtension: { '.js': '.cjs' },
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node20.19',
  // A part is read by `require`: `import()` would start the ES module loader, at 80 ms.
  supported: { 'dynamic-import': false },
  // Names stay, for stack traces. A map is a file that Node reads only where source maps are switched on.
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'external',
  // What CommonJS does not have.
  banner: { js: "const bundle={get url(){return require('node:url').pathToFileURL(__filename).href}};" },
  define: { 'import.meta.url': 'bundle.url', 'import.meta.filename': '__filename' },
  // Packages with a compiled part find it by their own place in node_modules, so they stay there.
  external: [],
  logLevel: 'silent',
};

/** Modules that are read when they are imported, from a bundle of their own. */
const parts = {
  'main-exec.js': './exec.cjs',
  'main-verbs.js': './verbs.cjs',
  'compose-authority.js': './authority.cjs',
  'shell-parser.js': './shell.cjs',
  'mcp-protocol.js': './mcp.cjs',
  'virtual-files.js': './vfs.cjs',
  's3-sdk.js': './s3.cjs',
  'served-objects.js': './objects.cjs',
  'migrate-store.js': './migration.cjs',
};

const partsPlugin = {
  name: 'parts',
  setup({ onResolve }) {
    for (const [module, path] of Object.entries(parts)) {
      onResolve({ filter: new RegExp(`/${module.replaceAll('.', '\\.')}$`) }, () => ({ path, external: true }));
    }
  },
};

/** What each bundle does most, for the cache of its compiled code. */
const usualWork = {
  exec: {
    calls: [
      ['exec', '--', 'true'],
      ['exec', '--', 'touch', 'file'],
      ['exec', '--', 'sh', '-c', 'cd . && cat file > /dev/null'],
    ],
  },
  // By then `exec` is there to make what they look at.
  verbs: { before: ['exec', '--', 'touch', 'file'], calls: [['status'], ['diff'], ['apply'], ['drop']] },
  shell: {
    entry: 'parse',
    calls: [
      'cd "$a" && X=1 git status | grep -v x > /dev/null 2>&1; for f in *.c; do rm "$f"; done',
      'if [ -f x ]; then cat <<EOF\n$(date) $y\nEOF\nfi; while read -r l; do echo "$l"; done < x; f() { (ls); }; [[ $a == b ]] || echo `id` $((1 + 2))',
    ],
  },
  // What it does when it is read is most of it: schemas are made then.
  mcp: {},
  vfs: {},
  s3: {},
  objects: {},
  hook: {
    words: ['hook', 'claude-code'],
    input: '{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"PROJECT"}',
  },
};

export const bundledCli = {
  name: 'cli',
  title: 'bundling the CLI',
  neededBy: ['start', 'test', 'bench'],

  fingerprint() {
    const sources = filesBelow(inCheckout('src'), (path) => !/\.test\.[cm]?ts$/.test(path));
    return fingerprint({ ...options, parts, usualWork, node: process.version }, [
      'scripts/setup/code-cache.mjs',
      'scripts/setup/make-code-cache.mjs',
      'package.json',
      'package-lock.json',
      'tsconfig.json',
      ...sources.map((path) => `src/${path}`),
    ]);
  },

  async build(staging) {
    if (!existsSync(inCheckout(options.entryPoints.ctx))) {
      throw new SetupFailure(`${options.entryPoints.ctx} is missing: the CLI is bundled from it.`);
    }
    await bundle({ ...options, plugins: [partsPlugin], outdir: staging });
    for (const [name, work] of Object.entries(usualWork)) addCodeCache(staging, name, work);
  },
};

async function bundle(asked) {
  // Loaded here, since the set-up itself has to run before any package is installed.
  const { build, formatMessages } = await import('esbuild');
  try {
    return await build({ ...asked, absWorkingDir: root });
  } catch (error) {
    if (!Array.isArray(error.errors)) throw error;
    const messages = await formatMessages(error.errors, { kind: 'error', color: false });
    throw new SetupFailure(messages.join('').trimEnd());
  }
}

/** Names of files are in a bundle: where `node_modules` is a link, they stay those of the checkout, and the bytes the same anywhere. */
const packaged = { sourcemap: false, write: false, outdir: '/', preserveSymlinks: true };

/** The same for a package, as `path -> bytes`: without caches of compiled code, which are one Node's alone, and without maps. */
export async function packagedCli() {
  const asked = { ...options, ...packaged, plugins: [partsPlugin] };
  return namedFiles(await bundle(asked));
}

/** The SDK in one piece: an ES module, and what it loads when that is first used. */
export async function packagedSdk() {
  const { supported: _supported, banner: _banner, define: _define, outExtension: _extension, ...rest } = options;
  const asked = {
    ...rest,
    entryPoints: { index: 'src/index.ts' },
    format: 'esm',
    splitting: true,
    // Packages of the older kind ask for Node's own modules by `require`.
    banner: { js: "import{createRequire as ctxRequire}from'node:module';const require=ctxRequire(import.meta.url);" },
    ...packaged,
  };
  return namedFiles(await bundle(asked));
}

function namedFiles({ outputFiles }) {
  return outputFiles.map(({ path, contents }) => ({ path: path.slice(1), bytes: Buffer.from(contents) }));
}
