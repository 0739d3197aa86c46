/**
 * `dist/cli/ctx.js`: the CLI and what it imports in few files, for a quick start. Each lazy `import()` is a chunk of its
 * own, read only when it is needed.
 *
 * Chunks are named by their content and those of the build before stay, so that a `ctx` that is running while the
 * checkout is built again still finds what it has not loaded yet.
 */

import { existsSync } from 'node:fs';
import { inCheckout, root } from './checkout.mjs';
import { SetupFailure } from './failure.mjs';
import { filesBelow, fingerprint } from './files.mjs';

const options = {
  entryPoints: { ctx: 'src/main.ts' },
  entryNames: '[name]',
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // Names stay, for stack traces. A map is a file that Node reads only where source maps are switched on.
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'external',
  // CommonJS dependencies call `require` for Node's own modules, which an ES module does not have.
  banner: { js: "import{createRequire as ctxRequire}from'node:module';const require=ctxRequire(import.meta.url);" },
  // Packages with a compiled part find it by their own place in node_modules, so they stay there.
  external: [],
  logLevel: 'silent',
};

export const bundledCli = {
  name: 'cli',
  title: 'bundling the CLI',
  neededBy: ['start', 'test', 'bench'],
  keepsPreviousBuild: true,
  publishedLast: ['ctx.js'],

  fingerprint() {
    const sources = filesBelow(inCheckout('src'), (path) => !/\.test\.[cm]?ts$/.test(path));
    return fingerprint(options, [
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
    // Loaded here, since the set-up itself has to run before any package is installed.
    const { build, formatMessages } = await import('esbuild');
    try {
      await build({ ...options, absWorkingDir: root, outdir: staging });
    } catch (error) {
      if (!Array.isArray(error.errors)) throw error;
      const messages = await formatMessages(error.errors, { kind: 'error', color: false });
      throw new SetupFailure(messages.join('').trimEnd());
    }
  },
};
